//===- ProgramTargetTest.cpp - prog text, .moe file, and back --------------===//

#include "Program/Format.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Parser/Parser.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Target/Program/Program.h"
#include "moert/moert.h"
#include "gtest/gtest.h"

#include <cstdlib>
#include <random>

using namespace mlir;
using Bytes = SmallVector<char, 0>;

namespace {

/// Every kind of op, size and buffer. Output sizes in x[0] = m and z[0] = n: y [2m + 3, 64], big [max(m, n)], few
/// [ceil(m / 4)].
const char *const kProgram = R"(
  module @kernels {
    func.func private @k(memref<?x64xf32, strided<[?, 1]>> {prog.access = "read"}, memref<?xi8> {prog.access = "readwrite"}, index)
  }
  prog.program @main(%x: memref<?x64xf32, strided<[?, 1]>>, %z: memref<?xf32>)
      attributes {input_names = ["x", "z"], output_names = ["y", "big", "few", "bits", "halves", "same"]} {
    %c2 = arith.constant 2 : i64
    %c3 = arith.constant 3 : i64
    %c4 = arith.constant 4 : i64
    %m = prog.dim %x, 0 : memref<?x64xf32, strided<[?, 1]>>
    %n = prog.dim %z, 0 : memref<?xf32>
    %m2 = arith.muli %m, %c2 : i64
    %rows = arith.addi %m2, %c3 : i64
    %max = arith.maxsi %m, %n : i64
    %few = arith.ceildivsi %m, %c4 : i64
    %y = prog.output 0 (%rows) : memref<?x64xf32, strided<[?, 1]>>
    %big = prog.output 1 (%max) : memref<?xui8>
    %f = prog.output 2 (%few) : memref<?xi64>
    %bits = prog.output 3 () : memref<4xi1>
    %halves = prog.output 4 () : memref<3xbf16>
    %same = prog.output 5 () : memref<5xi32>
    prog.memset %y, 0 : memref<?x64xf32, strided<[?, 1]>>
    prog.memset %big, 7 : memref<?xui8>
    prog.memset %f, -1 : memref<?xi64>
    %b = prog.constant dense<[true, false, false, true]> : tensor<4xi1> : memref<4xi1>
    prog.copy %b, %bits : memref<4xi1>, memref<4xi1>
    %h = prog.constant dense<[1.0, -2.0, 0.5]> : tensor<3xbf16> : memref<3xbf16>
    prog.copy %h, %halves : memref<3xbf16>, memref<3xbf16>
    %s = prog.constant dense<-9> : tensor<5xi32> : memref<5xi32>
    %t = prog.buffer () at %offset : memref<5xi32>
    prog.copy %s, %t : memref<5xi32>, memref<5xi32>
    prog.wait
    prog.copy %t, %same : memref<5xi32>, memref<5xi32>
    %zero = arith.constant 0 : i64
    %offset = arith.constant 64 : i64
    %arena = arith.constant 128 : i64
    prog.return arena(%arena)
  })";

class ProgramTarget : public testing::Test {
protected:
  ProgramTarget() : handler(&context, [this](Diagnostic &diagnostic) { messages += diagnostic.str() + "\n"; }) {
    context.loadDialect<prog::ProgDialect, arith::ArithDialect, func::FuncDialect>();
  }

  OwningOpRef<ModuleOp> parse(const std::string &text) { return parseSourceString<ModuleOp>(text, &context); }

  FailureOr<Bytes> write(const std::string &text, ArrayRef<char> object = {}) {
    OwningOpRef<ModuleOp> module = parse(text);
    if (!module)
      return failure();
    return moe::translateToProgram(*module, object, {"cpu", "x86-64-v3"});
  }

  MLIRContext context;
  ScopedDiagnosticHandler handler;
  std::string messages;
};

std::string check(moe_status *status) {
  std::string message = moe_status_message(status);
  moe_status_free(status);
  return message;
}

std::string replace(std::string text, StringRef from, StringRef to) {
  size_t at = text.find(from.str());
  EXPECT_NE(at, std::string::npos) << from.str();
  return text.replace(at, from.size(), to.str());
}

/// The program of the test; a use must come after its definition.
std::string program() {
  std::string text = replace(kProgram, "    %offset = arith.constant 64 : i64\n", "");
  return replace(text, "    %c2 = ", "    %offset = arith.constant 64 : i64\n    %c2 = ");
}

moe_buffer buffer(void *data, moe_dtype dtype, ArrayRef<int64_t> shape) {
  size_t bytes = moe_dtype_size(dtype);
  for (int64_t size : shape)
    bytes *= size;
  return {data, bytes, dtype, static_cast<int32_t>(shape.size()), shape.data(), nullptr};
}

} // namespace

TEST_F(ProgramTarget, RunsAsWritten) {
  FailureOr<Bytes> bytes = write(program());
  ASSERT_TRUE(succeeded(bytes)) << messages;
  moe_program *loaded;
  ASSERT_EQ(check(moe_program_load(bytes->data(), bytes->size(), &loaded)), "");
  EXPECT_STREQ(moe_program_target(loaded), "cpu");
  EXPECT_STREQ(moe_program_arch(loaded), "x86-64-v3");
  moe_argument_info info;
  ASSERT_EQ(check(moe_program_input(loaded, 0, 1, &info)), "");
  EXPECT_STREQ(info.name, "z");
  EXPECT_EQ(info.dims[0], -1);
  ASSERT_EQ(check(moe_program_output(loaded, 0, 4, &info)), "");
  EXPECT_STREQ(info.name, "halves");
  EXPECT_EQ(info.dtype, MOE_BF16);
  EXPECT_EQ(info.dims[0], 3);

  const int64_t m = 9, n = 4;
  std::vector<float> x(m * 64, 1), z(n, 1), y((2 * m + 3) * 64, 5);
  std::vector<uint8_t> big(9), bits(4);
  std::vector<int64_t> few(3);
  std::vector<uint16_t> halves(3);
  std::vector<int32_t> same(5);
  int64_t shapeX[] = {m, 64}, shapeZ[] = {n}, shapeY[] = {2 * m + 3, 64}, nine[] = {9}, three[] = {3}, four[] = {4},
          five[] = {5};
  moe_buffer in[] = {buffer(x.data(), MOE_F32, shapeX), buffer(z.data(), MOE_F32, shapeZ)};
  moe_buffer out[] = {buffer(y.data(), MOE_F32, shapeY),      buffer(big.data(), MOE_U8, nine),
                      buffer(few.data(), MOE_I64, three),     buffer(bits.data(), MOE_I1, four),
                      buffer(halves.data(), MOE_BF16, three), buffer(same.data(), MOE_I32, five)};
  size_t size, align;
  ASSERT_EQ(check(moe_workspace_query(loaded, 0, in, 2, &size, &align)), "");
  EXPECT_GE(size, 256u + 128u);
  for (unsigned i = 0; i < 6; ++i) {
    int64_t shape[MOE_MAX_RANK];
    ASSERT_EQ(check(moe_output_shape(loaded, 0, in, 2, i, shape)), "");
    for (int32_t d = 0; d < out[i].rank; ++d)
      EXPECT_EQ(shape[d], out[i].shape[d]) << "output " << i << " dimension " << d;
  }
  moe_session *session;
  if (moe_status *status = moe_session_create(loaded, 0, nullptr, &session)) {
    moe_code code = moe_status_code(status);
    std::string message = check(status);
    moe_program_release(loaded);
    if (code == MOE_WRONG_TARGET)
      GTEST_SKIP() << message;
    FAIL() << message;
  }
  std::vector<uint64_t> workspace(size / 8 + 16);
  void *aligned = workspace.data();
  size_t space = workspace.size() * 8;
  aligned = std::align(align, size, aligned, space);
  ASSERT_EQ(check(moe_enqueue(session, 0, in, 2, out, 6, aligned, size, nullptr, nullptr)), "");
  EXPECT_EQ(y, std::vector<float>(y.size(), 0));
  EXPECT_EQ(big, std::vector<uint8_t>(9, 7));
  EXPECT_EQ(few, std::vector<int64_t>(3, -1));
  EXPECT_EQ(bits, (std::vector<uint8_t>{1, 0, 0, 1}));
  EXPECT_EQ(halves, (std::vector<uint16_t>{0x3f80, 0xc000, 0x3f00}));
  EXPECT_EQ(same, std::vector<int32_t>(5, -9));
  moe_session_release(session);
  moe_program_release(loaded);
}

TEST_F(ProgramTarget, RequiredSizes) {
  FailureOr<Bytes> bytes = write(R"(
    prog.program @main(%x: memref<?xf32>, %y: memref<?xf32>) {
      %m = prog.dim %x, 0 : memref<?xf32>
      %n = prog.dim %y, 0 : memref<?xf32>
      %c2 = arith.constant 2 : i64
      %m2 = arith.muli %m, %c2 : i64
      prog.require %n = %m2
      prog.return
    })");
  ASSERT_TRUE(succeeded(bytes)) << messages;
  moe_program *loaded;
  ASSERT_EQ(check(moe_program_load(bytes->data(), bytes->size(), &loaded)), "");
  float data[8];
  int64_t four[] = {4}, eight[] = {8};
  moe_buffer good[] = {buffer(data, MOE_F32, four), buffer(data, MOE_F32, eight)}, bad[] = {good[0], good[0]};
  size_t size, align;
  EXPECT_EQ(check(moe_workspace_query(loaded, 0, good, 2, &size, &align)), "");
  EXPECT_NE(check(moe_workspace_query(loaded, 0, bad, 2, &size, &align)).find("dimension 0 is 4, but must be 8"),
            std::string::npos);
  moe_program_release(loaded);
}

/// Sizes for which a file has no expression of its own.
TEST_F(ProgramTarget, DifferenceAndMinimum) {
  FailureOr<Bytes> bytes = write(R"(
    prog.program @main(%x: memref<?xi8>, %y: memref<?xi8>) {
      %m = prog.dim %x, 0 : memref<?xi8>
      %n = prog.dim %y, 0 : memref<?xi8>
      %difference = arith.subi %m, %n : i64
      %least = arith.minsi %m, %n : i64
      %out = prog.output 0 (%difference) : memref<?xi8>
      %few = prog.output 1 (%least) : memref<?xi8>
      prog.return
    })");
  ASSERT_TRUE(succeeded(bytes)) << messages;
  moe_program *loaded;
  ASSERT_EQ(check(moe_program_load(bytes->data(), bytes->size(), &loaded)), "");
  char data[9];
  int64_t nine[] = {9}, two[] = {2}, shape[MOE_MAX_RANK];
  moe_buffer in[] = {buffer(data, MOE_I8, nine), buffer(data, MOE_I8, two)};
  EXPECT_EQ(check(moe_output_shape(loaded, 0, in, 2, 0, shape)), "");
  EXPECT_EQ(shape[0], 7);
  EXPECT_EQ(check(moe_output_shape(loaded, 0, in, 2, 1, shape)), "");
  EXPECT_EQ(shape[0], 2);
  moe_program_release(loaded);
}

TEST_F(ProgramTarget, ReadsWhatItWrote) {
  std::string text = replace(program(), "    prog.wait\n", R"(
    prog.wait
    prog.require %n = %m2
    %bytes = prog.buffer (%n) at %offset : memref<?xi8>
    prog.launch @kernels::@k(%x, %bytes, %n) flops(%m2) bytes(%n) : memref<?x64xf32, strided<[?, 1]>>, memref<?xi8>, i64
    %bounds = prog.buffer () at %offset : memref<3x2xi64>
    prog.launch @kernels::@bounds(%bounds) bytes(%m2) {bounds = 0 : i64} : memref<3x2xi64>
)");
  text = replace(text, "module @kernels {\n", "module @kernels {\nfunc.func private @bounds(memref<3x2xi64>)\n");
  SmallVector<char> object(1000, 'o');
  FailureOr<Bytes> bytes = write(text, object);
  ASSERT_TRUE(succeeded(bytes)) << messages;
  FailureOr<moe::ReadProgram> read = moe::readProgram(*bytes, "test.moe", &context);
  ASSERT_TRUE(succeeded(read)) << messages;
  EXPECT_EQ(read->target.kind, "cpu");
  EXPECT_EQ(read->target.arch, "x86-64-v3");
  ASSERT_EQ(read->kernels.size(), 2u);
  EXPECT_EQ(read->kernels[0].name, "k");
  EXPECT_EQ(read->kernels[0].numArgs, 2u);
  EXPECT_EQ(read->kernels[0].numScalars, 1u);
  EXPECT_EQ(read->object, ArrayRef<char>(object));

  // Op by op what was written, in order; sizes are apart.
  auto steps = [](ModuleOp module) {
    std::vector<std::string> result;
    module.walk([&](Operation *op) {
      if (isa<prog::ProgDialect>(op->getDialect()) && !isa<prog::ProgramOp, prog::DimOp>(op))
        result.push_back(op->getName().getStringRef().str());
    });
    return result;
  };
  EXPECT_EQ(steps(*read->module).size(), steps(*parse(text)).size());
  SmallVector<prog::LaunchOp> launches;
  read->module->walk([&](prog::LaunchOp op) { launches.push_back(op); });
  ASSERT_EQ(launches.size(), 2u);
  EXPECT_TRUE(launches[0].getFlops() && launches[0].getBytes() == launches[0].getArguments()[2]);
  EXPECT_FALSE(launches[0].getBounds());
  EXPECT_FALSE(launches[1].getFlops());
  EXPECT_EQ(launches[1].getBytes(), launches[0].getFlops());
  EXPECT_EQ(launches[1].getBounds(), 0u);
  auto function = read->module->lookupSymbol<ModuleOp>("kernels").lookupSymbol<func::FuncOp>("k");
  EXPECT_EQ(prog::getAccess(function, 0), prog::Access::Read);
  EXPECT_EQ(prog::getAccess(function, 1), prog::Access::ReadWrite);

  // Reading loses nothing: the file written from what was read is read as the same text.
  FailureOr<Bytes> again = moe::translateToProgram(*read->module, object, read->target);
  ASSERT_TRUE(succeeded(again)) << messages;
  FailureOr<moe::ReadProgram> readAgain = moe::readProgram(*again, "test.moe", &context);
  ASSERT_TRUE(succeeded(readAgain)) << messages;
  auto print = [](ModuleOp module) {
    std::string text;
    llvm::raw_string_ostream(text) << module;
    return text;
  };
  EXPECT_EQ(print(*read->module), print(*readAgain->module));
}

TEST_F(ProgramTarget, EmptyConstants) {
  FailureOr<Bytes> bytes = write(R"(
    prog.program @main() {
      %y = prog.output 0 () : memref<0xf32>
      %z = prog.output 1 () : memref<0xi1>
      %c = prog.constant dense<> : tensor<0xf32> : memref<0xf32>
      %d = prog.constant dense<> : tensor<0xi1> : memref<0xi1>
      prog.copy %c, %y : memref<0xf32>, memref<0xf32>
      prog.copy %d, %z : memref<0xi1>, memref<0xi1>
      prog.return
    })");
  ASSERT_TRUE(succeeded(bytes)) << messages;
  EXPECT_TRUE(succeeded(moe::readProgram(*bytes, "test.moe", &context))) << messages;
}

TEST_F(ProgramTarget, RefusesWhatAFileCannotHold) {
  auto expect = [&](const std::string &text, StringRef message) {
    messages.clear();
    EXPECT_TRUE(failed(write(text)));
    EXPECT_NE(messages.find(message.str()), std::string::npos) << messages;
  };
  expect("module {}", "the module has no prog.program, expected one for each entry of the file");
  expect(replace(program(), " at %offset", ""), "has no place in the arena; run prog-plan-arena first");
  expect(R"(
    func.func private @k()
    prog.program @main() {
      prog.launch @k()
      prog.return
    })",
         "kernel is @k, expected a function of module @kernels");
  expect(R"(
    prog.program @main() {
      %c = arith.constant -4 : i64
      %y = prog.output 0 (%c) : memref<?xf32>
      prog.memset %y, 0 : memref<?xf32>
      prog.return
    })",
         "cannot be a program: ");
  expect(R"(
    prog.program @main() {
      %c = prog.constant dense<0> : tensor<3000000000xi8> : memref<3000000000xi8>
      prog.return
    })",
         "have 3000000000 bytes, expected at most");
}

TEST_F(ProgramTarget, RefusesDamagedFiles) {
  FailureOr<Bytes> good = write(program());
  ASSERT_TRUE(succeeded(good)) << messages;
  const char *given = std::getenv("MOE_SEED");
  uint64_t seed = given ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("MOE_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::mt19937_64 random(seed);
  for (int i = 0; i < 500; ++i) {
    Bytes bytes = *good;
    if (i % 5 == 0)
      bytes.resize(random() % bytes.size());
    else
      bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    messages.clear();
    EXPECT_TRUE(failed(moe::readProgram(bytes, "bad.moe", &context)));
    EXPECT_FALSE(messages.empty());
  }
  // With a checksum that fits the damage, a file may be accepted; it must not do any harm.
  for (int i = 0; i < 3000; ++i) {
    Bytes bytes = *good;
    for (uint64_t flips = 1 + random() % 3; flips > 0; --flips)
      bytes[moert::kHeaderBytes + random() % (bytes.size() - moert::kHeaderBytes)] ^=
          static_cast<char>(1 + random() % 255);
    moert::writeHeader(bytes.data() + moert::kHeaderBytes, bytes.size() - moert::kHeaderBytes,
                       reinterpret_cast<uint8_t *>(bytes.data()));
    messages.clear();
    if (failed(moe::readProgram(bytes, "bad.moe", &context)))
      EXPECT_FALSE(messages.empty());
  }
}
