//===- Executor.cpp - loads a program onto a CUDA device -----------------------------===//
#include "Executor.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <elf.h>
#include <string>

using namespace moert;
using namespace moert::cuda;

FramePool::Words FramePool::take() {
  std::lock_guard<std::mutex> lock(mutex);
  if (free.empty())
    return Words(new int64_t[words]);
  Words frame = std::move(free.back());
  free.pop_back();
  return frame;
}

void FramePool::give(Words frame) {
  std::lock_guard<std::mutex> lock(mutex);
  free.push_back(std::move(frame));
}

static size_t mostWords(const moe_program &program) {
  size_t words = 1;
  for (const Entry &entry : program.entries)
    words = std::max(words, size_t(entry.frameWords));
  return words;
}

CUDAExecutor::CUDAExecutor(const moe_program &program)
    : program(program), frames(mostWords(program)), peers(program.entries.size()) {}

CUDAExecutor::~CUDAExecutor() {
  if (!context)
    return;
  {
    CurrentContext current(driver, context);
    peers.clear();
    if (module)
      driver.ModuleUnload(module);
    if (constants)
      driver.MemFree(constants);
  }
  driver.DevicePrimaryCtxRelease(device);
}

moe_status *CUDAExecutor::chooseDevice(int32_t number) {
  int count = 0;
  MOERT_CUDA(driver, DeviceGetCount, &count);
  if (number < 0 || number >= count)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "device is %d; there are %d", number, count);
  MOERT_CUDA(driver, DeviceGet, &device, number);
  int major = 0, minor = 0, processors = 0;
  MOERT_CUDA(driver, DeviceGetAttribute, &major, kMajor, device);
  MOERT_CUDA(driver, DeviceGetAttribute, &minor, kMinor, device);
  MOERT_CUDA(driver, DeviceGetAttribute, &processors, kMultiprocessors, device);
  multiprocessors = uint32_t(processors);
  char name[128] = "", arch[32];
  driver.DeviceGetName(name, sizeof(name), device);
  // Code with a letter runs on its very chip only.
  std::snprintf(arch, sizeof(arch), "sm_%d%da", major, minor);
  if (std::strcmp(arch, program.arch) != 0)
    return MOERT_ERROR(MOE_WRONG_TARGET, "the program was compiled for %s; device %d, %s, is %s", program.arch, number,
                       name, arch);
  return nullptr;
}

/// The driver is not told how long the cubin is, so what its header says must lie within it.
static moe_status *checkCubin(const uint8_t *object, size_t bytes) {
  Elf64_Ehdr header;
  if (bytes >= sizeof(header)) {
    std::memcpy(&header, object, sizeof(header));
    auto within = [&](uint64_t offset, uint64_t n, uint64_t size) {
      return offset <= bytes && n * size <= bytes - offset;
    };
    if (!std::memcmp(header.e_ident, ELFMAG, SELFMAG) && header.e_machine == EM_CUDA &&
        within(header.e_shoff, header.e_shnum, header.e_shentsize) &&
        within(header.e_phoff, header.e_phnum, header.e_phentsize))
      return nullptr;
  }
  return MOERT_ERROR(MOE_BAD_PROGRAM, "the program's object, of %zu bytes, is not a whole cubin", bytes);
}

/// Finds the function and holds it to the parameters that the program says it takes.
moe_status *CUDAExecutor::prepare(const Kernel &kernel, Function &function) {
  MOERT_CUDA(driver, ModuleGetFunction, &function, module, kernel.name);
  MOERT_CUDA(driver, FuncLoad, function);
  size_t offset = 0, bytes = 0, n = 0;
  for (const Param &param : kernel.cuda.params) {
    size_t expected = param.kind == Param::TensorMap ? kTensorMapBytes : param.width / 8;
    // Where the driver puts it is no matter: it is passed by its address.
    if (driver.FuncGetParamInfo(function, n, &offset, &bytes))
      return MOERT_ERROR(MOE_BAD_PROGRAM, "the function in the cubin has %zu parameters; the program says %zu", n,
                         kernel.cuda.params.size());
    if (bytes != expected)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "parameter %zu has %zu bytes in the cubin; the program says %zu", n, bytes,
                         expected);
    ++n;
  }
  if (kernel.cuda.shared)
    MOERT_CUDA(driver, FuncSetAttribute, function, kMaxDynamicShared, int(kernel.cuda.shared));
  return nullptr;
}

moe_status *CUDAExecutor::uploadConstants() {
  if (!program.constantBytes)
    return nullptr;
  MOERT_CUDA(driver, MemAlloc, &constants, program.constantBytes);
  std::vector<int64_t> values;
  for (const Entry &entry : program.entries) {
    values.assign(entry.exprs.size(), 0);
    for (size_t i = 0; i < values.size(); ++i) {
      const Expr &expr = entry.exprs[i];
      int64_t dim = expr.kind == Expr::Dim ? std::max<int64_t>(entry.inputs[size_t(expr.a)].dims[expr.b], 0) : 0;
      // An expression that fails for these sizes is not one of a constant's, which the loader has evaluated.
      moe_status_free(evaluate(entry, i, values.data(), dim, values[i]));
    }
    for (size_t i = 0; i < entry.buffers.size(); ++i) {
      const Buffer &buffer = entry.buffers[i];
      uint64_t bytes = 0;
      if (buffer.kind != Buffer::Constant)
        continue;
      MOERT_TRY(bufferBytes(buffer, values.data(), i, bytes));
      if (bytes)
        MOERT_CUDA(driver, MemcpyHtoD, constants + buffer.constant, buffer.data, bytes);
    }
  }
  return nullptr;
}

moe_status *CUDAExecutor::create(int32_t number) {
  MOERT_TRY(driver.open());
  MOERT_TRY(chooseDevice(number));
  Context primary = nullptr;
  MOERT_CUDA(driver, DevicePrimaryCtxRetain, &primary, device);
  context = primary;
  CurrentContext current(driver, context);
  if (!program.kernels.empty()) {
    MOERT_TRY(checkCubin(program.object, program.objectBytes));
    MOERT_CUDA(driver, ModuleLoadData, &module, program.object);
  }
  functions.resize(program.kernels.size());
  for (size_t i = 0; i < functions.size(); ++i)
    if (moe_status *status = prepare(program.kernels[i], functions[i]))
      return named(("kernel '" + std::string(program.kernels[i].name) + "'").c_str(), status);
  return uploadConstants();
}

moe_status *CUDAExecutor::findPeers(const Entry &entry, const Call &call, int64_t *values, Peers *&found) {
  MOERT_TRY(checkInputs(entry, call.inputs, call.numInputs, values));
  int64_t bytes = values[*entry.peer];
  if (bytes < 0)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "the peer arena has %lld bytes for these inputs", (long long)bytes);
  std::lock_guard<std::mutex> lock(peersMutex);
  std::unique_ptr<Peers> &own = peers[size_t(&entry - program.entries.data())];
  if (!own || !own->isOf(call.comm)) {
    auto stream = static_cast<Stream>(call.stream);
    int capturing = 0;
    MOERT_CUDA(driver, StreamIsCapturing, stream, &capturing);
    if (capturing)
      return MOERT_ERROR(MOE_INVALID_ARGUMENT,
                         "entry '%s' has no memory in common with the other ranks yet; call moe_session_connect before "
                         "its stream captures",
                         entry.name);
    own = nullptr;
    MOERT_TRY(Peers::connect(driver, {device, context}, call.comm, uint64_t(bytes), stream, own));
  }
  if (uint64_t(bytes) > own->bytes())
    return MOERT_ERROR(MOE_INVALID_ARGUMENT,
                       "the peer arena of entry '%s' has %llu bytes, but must have %lld for these inputs; call "
                       "moe_session_connect with the largest ones first",
                       entry.name, (unsigned long long)own->bytes(), (long long)bytes);
  found = own.get();
  return found->failure();
}

moe_status *CUDAExecutor::readFaults(const void *workspace, FaultBlock &block) {
  {
    std::lock_guard<std::mutex> lock(peersMutex);
    for (const std::unique_ptr<Peers> &one : peers)
      if (one)
        MOERT_TRY(one->failure());
  }
  CurrentContext current(driver, context);
  MOERT_CUDA(driver, MemcpyDtoH, &block, DevicePtr(reinterpret_cast<uintptr_t>(workspace)), sizeof(block));
  return nullptr;
}

moe_status *moert::createCUDAExecutor(const moe_program &program, int32_t device, const moe_options &options,
                                      std::unique_ptr<Executor> &executor) {
  if (options.num_threads)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "options->num_threads is %u, but the cuda target has no threads",
                       options.num_threads);
  if (options.threads_of)
    return MOERT_ERROR(MOE_INVALID_ARGUMENT, "options->threads_of is given, but the cuda target has no threads");
  auto result = std::make_unique<CUDAExecutor>(program);
  MOERT_TRY(result->create(device));
  executor = std::move(result);
  return nullptr;
}
