//===- Program.h - a loaded and verified program ------------------------------===//
#ifndef MOERT_PROGRAM_PROGRAM_H
#define MOERT_PROGRAM_PROGRAM_H

#include "Status.h"

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace moert {

/// Arena, frame and workspace begin on this boundary.
constexpr size_t kAlignment = 64;

/// The workspace begins with the faults.
constexpr size_t kFaultBytes = 256;

/// Constants on a device begin on this boundary.
constexpr size_t kConstantAlignment = 256;

/// Strings and data point into the program's copy of the file.
struct Expr {
  enum Kind : int8_t { Const, Dim, Add, Mul, CeilDiv, Max };
  Kind kind;
  int64_t a, b;
};

struct Argument {
  const char *name;
  moe_dtype dtype;
  int32_t rank;
  int64_t dims[MOE_MAX_RANK];
  bool hasExprs;                ///< inputs may have none
  uint32_t exprs[MOE_MAX_RANK]; ///< the sizes this argument must have
  int32_t alias;                ///< outputs: an input or -1
};

struct Buffer {
  enum Kind : int8_t { Input, Output, Arena, Constant, Peer };
  Kind kind;
  uint32_t index;  ///< of the input or output
  uint32_t offset; ///< expression
  moe_dtype dtype;
  int32_t rank;
  uint32_t dims[MOE_MAX_RANK]; ///< expressions
  const uint8_t *data;         ///< constants
  uint64_t constant;           ///< constants: position among all of the program, in bytes
  uint32_t descriptor;         ///< position of its memref descriptor in the frame, in 8-byte words
};

struct Step {
  enum Kind : int8_t { Launch, Memset, Copy, Wait, AllToAll };
  Kind kind;
  uint32_t kernel = 0;
  std::vector<uint32_t> args, scalars;
  std::optional<uint32_t> flops, bytes; ///< launches: expressions
  std::optional<uint32_t> bounds;       ///< launches: the buffer that it fills with the rows of each group
  uint32_t counter = 0;                 ///< launches on cuda: number of the launch, which has counters of its own
  uint32_t source = 0, target = 0;      ///< buffers
  int32_t send = -1, receive = -1;      ///< buffers with the bounds of an AllToAll, or -1
  bool stores = false;                  ///< an AllToAll that its kernel does, with the operands as args
  uint8_t value = 0;
};

struct Entry {
  const char *name;
  std::vector<Argument> inputs, outputs;
  std::vector<Expr> exprs;
  std::vector<Buffer> buffers;
  std::vector<Step> steps;
  uint32_t arena;
  uint32_t flags;
  const char *axis;             ///< of its exchanges
  uint32_t ranks;               ///< of that axis; 0 without exchanges
  bool moves = false;           ///< some exchange is the communicator's
  std::optional<uint32_t> peer; ///< expression: bytes of the peer arena, if some exchange is a kernel's

  /// The frame is what an enqueue needs to remember: the values of all expressions, one View for each input and
  /// output, one memref descriptor for each buffer, and the argument list of a launch. It lies in the caller's
  /// workspace, so that an enqueue allocates nothing. Positions in 8-byte words; expressions come first.
  uint32_t viewsWord, argsWord, frameWords;

  /// The workspace, in bytes: the faults; on the cpu the frame, on cuda a counter for each launch (kCounterBytes); then
  /// the arena.
  size_t arenaOffset;
};

/// A size or stride of a tensor map: constant + factor * (size of a dimension or its stride in bytes).
struct Term {
  enum Of : int8_t { None, Size, Stride };
  int64_t constant, factor;
  Of of;
  uint16_t dim;
};

constexpr uint32_t kMaxMapRank = 5;
/// Bytes of a kernel's parameters, which the driver takes as one block.
constexpr uint32_t kMaxParamBytes = 4096;
constexpr uint32_t kMaxSharedBytes = 232448, kMaxThreads = 1024, kMaxParams = 128, kMaxAlign = 128;
/// Bytes of a CUtensorMap, and of a launch's place for a counter: a sector of L2 of its own.
constexpr uint32_t kTensorMapBytes = 128, kCounterBytes = 128;

/// A parameter of a cuda kernel; program.fbs says what each is.
struct Param {
  enum Kind : int8_t { Pointer, Size, Stride, Scalar, Faults, Counter, TensorMap, Peers };
  Kind kind;
  uint8_t width; ///< bits
  uint8_t rank;  ///< of a tensor map
  bool tf32;     ///< a tensor map rounds f32 to it
  uint32_t align;
  uint32_t arg, dim;
  uint32_t offset; ///< in the block where the host makes all parameters, in bytes
  moe_dtype element;
  Term dims[kMaxMapRank], strides[kMaxMapRank];
  uint32_t box[kMaxMapRank];
};

struct CudaKernel {
  std::vector<Param> params;
  uint32_t threads, cluster, shared, perSM, blocks;
  int32_t fallback = -1; ///< a kernel
};

struct Kernel {
  const char *name;
  uint32_t numArgs, numScalars;
  CudaKernel cuda; ///< only of a cuda program
};

/// What kernels saw in the data; the workspace begins with it. Kernels of both targets write it as it is here.
struct FaultBlock {
  struct Record {
    int64_t count, row, value, limit;
  } records[MOE_NUM_FAULT_KINDS];
  uint32_t lock;
};
static_assert(sizeof(FaultBlock) <= kFaultBytes, "the fault block has its place");

/// Where a caller's buffer lies: all that the checks of overlap need. Sizes and strides in bytes.
struct View {
  uintptr_t begin;
  uint64_t span;  ///< from the first byte to after the last one; 0 if there are no elements
  uint64_t pitch; ///< largest stride of a dimension longer than 1, 0 if none is
  uint64_t row;   ///< bytes from the first to after the last one with that dimension held fixed
};
constexpr uint32_t kViewWords = sizeof(View) / 8;

} // namespace moert

struct moe_program {
  std::atomic<int64_t> references{1};
  std::unique_ptr<uint8_t, void (*)(void *)> payload{nullptr, nullptr}; ///< the FlatBuffer, 64-byte aligned
  const char *target, *arch;
  bool isCuda = false;
  std::vector<moert::Kernel> kernels;
  std::vector<moert::Entry> entries;
  const uint8_t *object = nullptr;
  size_t objectBytes = 0;
  uint64_t constantBytes = 0; ///< of all constants, each from a multiple of kConstantAlignment
};

namespace moert {

/// Checks and decodes a whole file.
moe_status *loadProgram(const void *blob, size_t n, std::unique_ptr<moe_program> &program);

/// Value of expression i from the values before it. `dim` gives the size of dimension b of input a.
moe_status *evaluate(const Entry &entry, size_t i, const int64_t *values, int64_t dim, int64_t &value);

/// Checks count, types, ranks and static sizes of the inputs, evaluates every expression into values
/// (entry.exprs.size() of them), and checks that sizes which several arguments share agree.
moe_status *checkInputs(const Entry &entry, const moe_buffer *inputs, size_t numInputs, int64_t *values);

/// The same for the outputs, given the values that checkInputs found.
moe_status *checkOutputs(const Entry &entry, const moe_buffer *outputs, size_t numOutputs, const int64_t *values);

/// Checks where a caller's buffer lies and what its strides are, and writes the view and the strides in elements, one
/// for each dimension. `what` is "input" or "output". The type, rank and shape have been checked.
moe_status *checkMemory(const char *what, size_t i, const Argument &argument, const moe_buffer &buffer, View &view,
                        int64_t *strides);

/// Bytes of the workspace for these values, of which the arena's buffers are within the arena.
moe_status *workspaceLayout(const Entry &entry, const int64_t *values, size_t &bytes);

/// Bytes of a row-major tensor with these dimensions (expressions).
moe_status *bufferBytes(const Buffer &buffer, const int64_t *values, size_t i, uint64_t &bytes);

/// May the two views share a byte? Exact for column windows of one matrix, otherwise by their first and last bytes.
bool overlap(const View &a, const View &b);

/// May two elements of a tensor with these strides (in elements, checked by checkMemory) share memory?
bool overlapsItself(const Argument &argument, const int64_t *shape, const int64_t *strides);

} // namespace moert

#endif
