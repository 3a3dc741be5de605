//===- WriteTestProgram.cpp - a .moe for the tests of the tools ----------------------===//
//
// Entries: add (a, b -> sum, doubled; f32[m,n]), types (a copy of each element type), faults (ids[n], limit 8), swap
// (x -> y, i64[n] in halves between two ranks).
//
//===----------------------------------------------------------------------===//
#include "TestPrograms.h"

using namespace moe_test;

static EntryBuilder add() {
  EntryBuilder e("add");
  uint32_t m = e.dim(0, 0), n = e.dim(0, 1);
  e.entry.arena = e.constant(0);
  e.input("a", fb::DType::F32, {-1, -1});
  e.input("b", fb::DType::F32, {-1, -1});
  e.output("sum", fb::DType::F32, {-1, -1}, {m, n});
  e.output("doubled", fb::DType::F32, {-1, -1}, {m, n});
  uint32_t a = e.buffer(fb::BufferKind::Input, 0, fb::DType::F32, {m, n});
  uint32_t b = e.buffer(fb::BufferKind::Input, 1, fb::DType::F32, {m, n});
  uint32_t sum = e.buffer(fb::BufferKind::Output, 0, fb::DType::F32, {m, n});
  uint32_t doubled = e.buffer(fb::BufferKind::Output, 1, fb::DType::F32, {m, n});
  e.launch(kAdd, {a, b, sum});
  e.launch(kAdd, {sum, a, doubled});
  return e;
}

static EntryBuilder types() {
  EntryBuilder e("types");
  uint32_t n = e.dim(0, 0);
  e.entry.arena = e.constant(0);
  for (uint32_t type = MOE_F32; type <= MOE_I1; ++type) {
    // Without a name, so that they go by number.
    e.input("", fb::DType(type), {-1});
    e.output("", fb::DType(type), {-1}, {n});
    uint32_t from = e.buffer(fb::BufferKind::Input, type, fb::DType(type), {n});
    uint32_t to = e.buffer(fb::BufferKind::Output, type, fb::DType(type), {n});
    e.copy(from, to);
  }
  return e;
}

static EntryBuilder faults() {
  EntryBuilder e("faults");
  uint32_t n = e.dim(0, 0), limit = e.constant(8);
  e.entry.arena = e.constant(0);
  e.input("ids", fb::DType::I32, {-1});
  uint32_t ids = e.buffer(fb::BufferKind::Input, 0, fb::DType::I32, {n});
  e.launch(kIds, {ids}, {limit});
  return e;
}

int main(int argc, char **argv) {
  if (argc != 2)
    return std::fprintf(stderr, "usage: %s out.moe\n", argv[0]), 1;
  fb::ProgramT program = programOf(add());
  program.entries.push_back(std::make_unique<fb::EntryT>(types().entry));
  program.entries.push_back(std::make_unique<fb::EntryT>(faults().entry));
  program.entries.push_back(std::make_unique<fb::EntryT>(blockExchange("swap", 2).entry));
  std::vector<uint8_t> file = fileOf(program);
  std::ofstream stream(argv[1], std::ios::binary);
  stream.write(reinterpret_cast<const char *>(file.data()), std::streamsize(file.size()));
  return stream.good() ? 0 : 1;
}
