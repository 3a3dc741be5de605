//===- Load.cpp - checks and decodes a .moe file --------------------------------===//
//
// Nothing in the file is believed: the checksum only says that it was not altered by accident. After the
// FlatBuffer's own structure has been verified, every index, kind and size is checked here, once, so that running
// the program needs no checks but those on the caller's buffers.
//
//===----------------------------------------------------------------------===//
#include "Format.h"
#include "LoadCuda.h"
#include "Program.h"
#include "program_generated.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <string>
#include <string_view>

using namespace moert;
namespace fb = moe::fb;

namespace {

/// Says where in the file an error is, and bounds the work: a hostile file can let many tables share one long
/// vector, but an honest one has no more elements than bytes.
class Decoder {
public:
  Decoder(moe_program &program, size_t bytes) : program(program), budget(bytes) {}

  moe_status *decode(const fb::Program &file);

private:
  moe_status *decodeEntry(const fb::Entry &from, Entry &entry);
  moe_status *decodeArguments(const char *what, const flatbuffers::Vector<flatbuffers::Offset<fb::Argument>> *from,
                              size_t numInputs, std::vector<Argument> &arguments);
  moe_status *decodeExprs(const fb::Entry &from);
  moe_status *decodeBuffer(const fb::Buffer &from, size_t i, Buffer &buffer);
  moe_status *decodeStep(const fb::Step &from, size_t i, Step &step);
  moe_status *decodeCost(const fb::Launch &from, size_t i, Step &step);
  moe_status *decodeAllToAll(const fb::AllToAll &from, size_t i, Step &step);
  moe_status *decodeExchangeKernel(uint32_t number, size_t i, Step &step);
  moe_status *decodeCall(size_t i, const char *what, Step &step);
  moe_status *checkWritable(const char *what, size_t step, uint32_t buffer);
  moe_status *decodeRefs(const char *what, const flatbuffers::Vector<uint32_t> *from, size_t limit,
                         std::vector<uint32_t> &refs);
  moe_status *spend(size_t elements) {
    if (elements > budget)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "the program has more elements than bytes");
    budget -= elements;
    return nullptr;
  }

  moe_program &program;
  size_t budget;
  Entry *entry = nullptr;      ///< the one being decoded
  std::vector<int64_t> values; ///< of its expressions, as far as known
  std::vector<bool> known;     ///< the value does not depend on a dynamic dimension
  uint32_t launches = 0;       ///< of the entry, as far as known
};

template <typename T> size_t sizeOf(const flatbuffers::Vector<T> *vector) { return vector ? vector->size() : 0; }

/// Element i of a vector of scalars, whose alignment within the file the verifier does not check.
template <typename T> T elementOf(const flatbuffers::Vector<T> &vector, size_t i) {
  T element;
  std::memcpy(&element, vector.Data() + i * sizeof(T), sizeof(T));
  return flatbuffers::EndianScalar(element);
}

const char *textOf(const flatbuffers::String *text) { return text ? text->c_str() : ""; }

} // namespace

/// The type as this runtime's enum, or an error naming `what` i.
static moe_status *decodeDType(const char *what, size_t i, fb::DType from, moe_dtype &dtype) {
  if (int(from) < 0 || !moe_dtype_size(moe_dtype(int(from))))
    return MOERT_ERROR(MOE_BAD_PROGRAM, "%s %zu has unknown element type %d", what, i, int(from));
  dtype = moe_dtype(int(from));
  return nullptr;
}

/// An error in what the program says by itself, whatever the inputs.
static moe_status *ofProgram(moe_status *status) {
  if (!status)
    return nullptr;
  moe_status *bad = MOERT_ERROR(MOE_BAD_PROGRAM, "%s", moe_status_message(status));
  moe_status_free(status);
  return bad;
}

moe_status *Decoder::decodeRefs(const char *what, const flatbuffers::Vector<uint32_t> *from, size_t limit,
                                std::vector<uint32_t> &refs) {
  MOERT_TRY(spend(sizeOf(from)));
  refs.clear();
  for (size_t i = 0; i < sizeOf(from); ++i) {
    uint32_t ref = from->Get(uint32_t(i));
    if (ref >= limit)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "%s refers to number %u of %zu", what, ref, limit);
    refs.push_back(ref);
  }
  return nullptr;
}

moe_status *Decoder::decodeArguments(const char *what,
                                     const flatbuffers::Vector<flatbuffers::Offset<fb::Argument>> *from,
                                     size_t numInputs, std::vector<Argument> &arguments) {
  bool isOutput = what[0] == 'o';
  MOERT_TRY(spend(sizeOf(from)));
  for (size_t i = 0; i < sizeOf(from); ++i) {
    const fb::Argument &argument = *from->Get(uint32_t(i));
    Argument &to = arguments.emplace_back();
    to.name = textOf(argument.name());
    MOERT_TRY(decodeDType(what, i, argument.dtype(), to.dtype));
    size_t rank = sizeOf(argument.dims());
    if (rank > MOE_MAX_RANK)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "%s %zu has rank %zu; the most is %d", what, i, rank, MOE_MAX_RANK);
    to.rank = int32_t(rank);
    for (size_t d = 0; d < MOE_MAX_RANK; ++d) {
      to.dims[d] = d < rank ? elementOf(*argument.dims(), d) : 0;
      if (to.dims[d] < -1)
        return MOERT_ERROR(MOE_BAD_PROGRAM, "%s %zu has dimension %lld", what, i, (long long)to.dims[d]);
    }
    // The references of exprs are checked once the expressions are known.
    size_t numExprs = sizeOf(argument.exprs());
    if (numExprs != rank && !(numExprs == 0 && !isOutput))
      return MOERT_ERROR(MOE_BAD_PROGRAM, "%s %zu has %zu size expressions; its rank is %zu", what, i, numExprs, rank);
    to.hasExprs = numExprs != 0 || isOutput;
    for (size_t d = 0; d < numExprs; ++d)
      to.exprs[d] = argument.exprs()->Get(uint32_t(d));
    to.alias = argument.alias();
    if (to.alias < -1 || (to.alias >= 0 && (!isOutput || size_t(to.alias) >= numInputs)))
      return MOERT_ERROR(MOE_BAD_PROGRAM, "%s %zu has alias %d; the entry has %zu inputs", what, i, to.alias,
                         numInputs);
  }
  return nullptr;
}

moe_status *Decoder::decodeExprs(const fb::Entry &from) {
  size_t n = sizeOf(from.exprs());
  MOERT_TRY(spend(n));
  entry->exprs.resize(n);
  values.assign(n, 0);
  known.assign(n, false);
  for (size_t i = 0; i < n; ++i) {
    // Copied for the same reason as in elementOf.
    fb::Expr raw;
    std::memcpy(&raw, from.exprs()->Data() + i * sizeof(fb::Expr), sizeof(fb::Expr));
    Expr &expr = entry->exprs[i];
    expr = {Expr::Kind(raw.kind()), raw.a(), raw.b()};
    int64_t dim = 0;
    switch (raw.kind()) {
    case fb::ExprKind::Const:
      known[i] = true;
      break;
    case fb::ExprKind::Dim: {
      size_t inputs = entry->inputs.size();
      if (expr.a < 0 || uint64_t(expr.a) >= inputs || expr.b < 0 || expr.b >= entry->inputs[size_t(expr.a)].rank)
        return MOERT_ERROR(MOE_BAD_PROGRAM, "expression %zu is dimension %lld of input %lld, which does not exist", i,
                           (long long)expr.b, (long long)expr.a);
      dim = entry->inputs[size_t(expr.a)].dims[expr.b];
      known[i] = dim >= 0;
      break;
    }
    case fb::ExprKind::Add:
    case fb::ExprKind::Mul:
    case fb::ExprKind::CeilDiv:
    case fb::ExprKind::Max:
      if (expr.a < 0 || uint64_t(expr.a) >= i || expr.b < 0 || uint64_t(expr.b) >= i)
        return MOERT_ERROR(MOE_BAD_PROGRAM, "expression %zu has operands %lld and %lld; they must come before it", i,
                           (long long)expr.a, (long long)expr.b);
      known[i] = known[size_t(expr.a)] && known[size_t(expr.b)];
      break;
    default:
      return MOERT_ERROR(MOE_BAD_PROGRAM, "expression %zu has unknown kind %d", i, int(raw.kind()));
    }
    if (!known[i])
      continue;
    MOERT_TRY(ofProgram(evaluate(*entry, i, values.data(), dim, values[i])));
  }
  return nullptr;
}

moe_status *Decoder::decodeBuffer(const fb::Buffer &from, size_t i, Buffer &buffer) {
  buffer.kind = Buffer::Kind(from.kind());
  buffer.index = from.index();
  buffer.offset = from.offset();
  buffer.data = nullptr;
  MOERT_TRY(decodeDType("buffer", i, from.dtype(), buffer.dtype));
  size_t rank = sizeOf(from.dims());
  if (rank > MOE_MAX_RANK)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "buffer %zu has rank %zu; the most is %d", i, rank, MOE_MAX_RANK);
  buffer.rank = int32_t(rank);
  MOERT_TRY(spend(rank));
  for (size_t d = 0; d < rank; ++d) {
    buffer.dims[d] = from.dims()->Get(uint32_t(d));
    if (buffer.dims[d] >= entry->exprs.size())
      return MOERT_ERROR(MOE_BAD_PROGRAM, "dimension %zu of buffer %zu is expression %u of %zu", d, i, buffer.dims[d],
                         entry->exprs.size());
    if (known[buffer.dims[d]] && values[buffer.dims[d]] < 0)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "dimension %zu of buffer %zu is %lld", d, i,
                         (long long)values[buffer.dims[d]]);
  }

  switch (from.kind()) {
  case fb::BufferKind::Input:
  case fb::BufferKind::Output: {
    bool isInput = from.kind() == fb::BufferKind::Input;
    const std::vector<Argument> &arguments = isInput ? entry->inputs : entry->outputs;
    const char *what = isInput ? "input" : "output";
    if (buffer.index >= arguments.size())
      return MOERT_ERROR(MOE_BAD_PROGRAM, "buffer %zu is %s %u of %zu", i, what, buffer.index, arguments.size());
    const Argument &argument = arguments[buffer.index];
    if (argument.dtype != buffer.dtype || argument.rank != buffer.rank)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "buffer %zu has type %s and rank %d, but its %s %u has type %s and rank %d",
                         i, moe_dtype_name(buffer.dtype), buffer.rank, what, buffer.index,
                         moe_dtype_name(argument.dtype), argument.rank);
    return nullptr;
  }
  case fb::BufferKind::Peer:
    if (!entry->peer)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "buffer %zu is in a peer arena, but the entry has none", i);
    [[fallthrough]];
  case fb::BufferKind::Arena:
    if (buffer.offset >= entry->exprs.size())
      return MOERT_ERROR(MOE_BAD_PROGRAM, "the offset of buffer %zu is expression %u of %zu", i, buffer.offset,
                         entry->exprs.size());
    return nullptr;
  case fb::BufferKind::Constant: {
    for (size_t d = 0; d < rank; ++d)
      if (!known[buffer.dims[d]])
        return MOERT_ERROR(MOE_BAD_PROGRAM, "dimension %zu of constant buffer %zu depends on the inputs", d, i);
    uint64_t bytes = 0;
    MOERT_TRY(ofProgram(bufferBytes(buffer, values.data(), i, bytes)));
    if (bytes != sizeOf(from.data()))
      return MOERT_ERROR(MOE_BAD_PROGRAM, "constant buffer %zu has %zu bytes of data; its type needs %llu", i,
                         sizeOf(from.data()), (unsigned long long)bytes);
    buffer.data = from.data() ? from.data()->Data() : nullptr;
    if (reinterpret_cast<uintptr_t>(buffer.data) % moe_dtype_size(buffer.dtype))
      return MOERT_ERROR(MOE_BAD_PROGRAM, "the data of constant buffer %zu is misaligned", i);
    buffer.constant = program.constantBytes;
    program.constantBytes += (bytes + kConstantAlignment - 1) / kConstantAlignment * kConstantAlignment;
    return nullptr;
  }
  }
  return MOERT_ERROR(MOE_BAD_PROGRAM, "buffer %zu has unknown kind %d", i, int(from.kind()));
}

/// A step may write outputs and the arena, never what the caller or the file owns.
moe_status *Decoder::checkWritable(const char *what, size_t step, uint32_t buffer) {
  Buffer::Kind kind = entry->buffers[buffer].kind;
  if (kind == Buffer::Output || kind == Buffer::Arena || kind == Buffer::Peer)
    return nullptr;
  return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (%s) writes buffer %u, which is %s", step, what, buffer,
                     kind == Buffer::Input ? "an input" : "a constant");
}

/// What a launch says of itself for traces.
moe_status *Decoder::decodeCost(const fb::Launch &from, size_t i, Step &step) {
  step.flops = from.flops();
  step.bytes = from.bytes();
  for (std::optional<uint32_t> expr : {step.flops, step.bytes})
    if (expr && *expr >= entry->exprs.size())
      return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (launch) costs expression %u of %zu", i, *expr,
                         entry->exprs.size());
  if (!from.bounds())
    return nullptr;
  if (*from.bounds() >= step.args.size())
    return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (launch) has bounds in argument %u of %zu", i, *from.bounds(),
                       step.args.size());
  step.bounds = step.args[*from.bounds()];
  const Buffer &buffer = entry->buffers[*step.bounds];
  if (buffer.dtype != MOE_I64 || buffer.rank != 2 || !known[buffer.dims[1]] || values[buffer.dims[1]] != 2)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (launch) has bounds in buffer %u, which is not [groups, 2] of i64", i,
                       *step.bounds);
  return nullptr;
}

moe_status *Decoder::decodeAllToAll(const fb::AllToAll &from, size_t i, Step &step) {
  step.kind = Step::AllToAll;
  step.source = from.source();
  step.target = from.target();
  step.send = from.send();
  step.receive = from.receive();
  if (!entry->ranks)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (all_to_all) is in an entry for 0 ranks", i);
  if ((step.send < 0) != (step.receive < 0))
    return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (all_to_all) has one of its two bounds", i);
  for (int64_t buffer : {int64_t(step.source), int64_t(step.target), int64_t(step.send), int64_t(step.receive)})
    if (buffer >= int64_t(entry->buffers.size()))
      return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (all_to_all) refers to buffer %lld of %zu", i, (long long)buffer,
                         entry->buffers.size());
  const Buffer &source = entry->buffers[step.source], &target = entry->buffers[step.target];
  if (step.source == step.target || source.rank < 1 || source.dtype != target.dtype || source.rank != target.rank)
    return MOERT_ERROR(MOE_BAD_PROGRAM,
                       "step %zu (all_to_all) exchanges type %s and rank %d of buffer %u for type %s and rank %d of "
                       "buffer %u",
                       i, moe_dtype_name(source.dtype), source.rank, step.source, moe_dtype_name(target.dtype),
                       target.rank, step.target);
  // What lies in one piece: a caller's rows may be padded.
  for (const Buffer *buffer : {&source, &target})
    if (buffer->rank > 1 && (buffer->kind == Buffer::Input || buffer->kind == Buffer::Output))
      return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (all_to_all) exchanges rows of a caller's buffer", i);
  for (int32_t number : {step.send, step.receive}) {
    if (number < 0)
      continue;
    const Buffer &bounds = entry->buffers[size_t(number)];
    if (bounds.dtype != MOE_I64 || bounds.rank != 2 || bounds.kind == Buffer::Input || bounds.kind == Buffer::Output)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (all_to_all) has bounds of type %s and rank %d in buffer %d", i,
                         moe_dtype_name(bounds.dtype), bounds.rank, number);
  }
  MOERT_TRY(checkWritable("all_to_all", i, step.target));
  entry->moves |= from.kernel() < 0;
  return from.kernel() < 0 ? nullptr : decodeExchangeKernel(uint32_t(from.kernel()), i, step);
}

/// The kernel that does an exchange by itself.
moe_status *Decoder::decodeExchangeKernel(uint32_t number, size_t i, Step &step) {
  step.stores = true;
  step.kernel = number;
  step.args = {step.source};
  if (step.send >= 0)
    step.args.insert(step.args.end(), {uint32_t(step.send), uint32_t(step.receive)});
  step.args.push_back(step.target);
  if (entry->buffers[step.target].kind != Buffer::Peer)
    return MOERT_ERROR(MOE_BAD_PROGRAM,
                       "step %zu (all_to_all) has a kernel, but its target is no buffer of a peer arena", i);
  MOERT_TRY(decodeCall(i, "all_to_all", step));
  const CudaKernel &kernel = program.kernels[number].cuda;
  bool isExchange = std::any_of(kernel.params.begin(), kernel.params.end(),
                                [](const Param &param) { return param.kind == Param::Peers; });
  if (!isExchange || kernel.fallback >= 0)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (all_to_all) runs kernel '%s', which is not one of an exchange", i,
                       program.kernels[number].name);
  return nullptr;
}

/// The kernel of a step, and what it takes.
moe_status *Decoder::decodeCall(size_t i, const char *what, Step &step) {
  if (step.kernel >= program.kernels.size())
    return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (%s) launches kernel %u of %zu", i, what, step.kernel,
                       program.kernels.size());
  const Kernel &kernel = program.kernels[step.kernel];
  if (step.args.size() != kernel.numArgs || step.scalars.size() != kernel.numScalars)
    return MOERT_ERROR(MOE_BAD_PROGRAM,
                       "step %zu (%s) passes %zu buffers and %zu scalars to kernel '%s', which takes %u and %u", i,
                       what, step.args.size(), step.scalars.size(), kernel.name, kernel.numArgs, kernel.numScalars);
  if (!program.isCuda)
    return nullptr;
  step.counter = launches++;
  MOERT_TRY(checkCudaArguments(kernel, entry->buffers, step, i));
  if (kernel.cuda.fallback < 0)
    return nullptr;
  return checkCudaArguments(program.kernels[size_t(kernel.cuda.fallback)], entry->buffers, step, i);
}

moe_status *Decoder::decodeStep(const fb::Step &from, size_t i, Step &step) {
  size_t numBuffers = entry->buffers.size();
  if (!from.op())
    return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu is empty", i);
  switch (from.op_type()) {
  case fb::Op::Launch: {
    const fb::Launch &launch = *from.op_as_Launch();
    step.kind = Step::Launch;
    step.kernel = launch.kernel();
    std::string what = "step " + std::to_string(i) + " (launch)";
    MOERT_TRY(decodeRefs((what + ", argument,").c_str(), launch.args(), numBuffers, step.args));
    MOERT_TRY(decodeRefs((what + ", scalar,").c_str(), launch.scalars(), entry->exprs.size(), step.scalars));
    MOERT_TRY(decodeCost(launch, i, step));
    MOERT_TRY(decodeCall(i, "launch", step));
    for (const Param &param : program.kernels[step.kernel].cuda.params)
      if (param.kind == Param::Peers)
        return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (launch) runs kernel '%s', which is one of an exchange", i,
                           program.kernels[step.kernel].name);
    return nullptr;
  }
  case fb::Op::Memset: {
    const fb::Memset &memset = *from.op_as_Memset();
    step.kind = Step::Memset;
    step.target = memset.buffer();
    step.value = memset.value();
    if (step.target >= numBuffers)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (memset) refers to buffer %u of %zu", i, step.target, numBuffers);
    return checkWritable("memset", i, step.target);
  }
  case fb::Op::Copy: {
    const fb::Copy &copy = *from.op_as_Copy();
    step.kind = Step::Copy;
    step.source = copy.source();
    step.target = copy.target();
    if (step.source >= numBuffers || step.target >= numBuffers)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (copy) refers to buffers %u and %u of %zu", i, step.source,
                         step.target, numBuffers);
    const Buffer &source = entry->buffers[step.source], &target = entry->buffers[step.target];
    if (source.dtype != target.dtype || source.rank != target.rank)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu (copy) copies type %s and rank %d to type %s and rank %d", i,
                         moe_dtype_name(source.dtype), source.rank, moe_dtype_name(target.dtype), target.rank);
    return checkWritable("copy", i, step.target);
  }
  case fb::Op::AllToAll:
    return decodeAllToAll(*from.op_as_AllToAll(), i, step);
  case fb::Op::Wait:
    step.kind = Step::Wait;
    return nullptr;
  default:
    return MOERT_ERROR(MOE_BAD_PROGRAM, "step %zu has unknown kind %d", i, int(from.op_type()));
  }
}

moe_status *Decoder::decodeEntry(const fb::Entry &from, Entry &to) {
  entry = &to;
  launches = 0;
  to.name = from.name()->c_str();
  MOERT_TRY(decodeArguments("input", from.inputs(), 0, to.inputs));
  MOERT_TRY(decodeArguments("output", from.outputs(), to.inputs.size(), to.outputs));
  MOERT_TRY(decodeExprs(from));
  for (const std::vector<Argument> *arguments : {&to.inputs, &to.outputs})
    for (const Argument &argument : *arguments)
      for (int32_t d = 0; argument.hasExprs && d < argument.rank; ++d)
        if (argument.exprs[d] >= to.exprs.size())
          return MOERT_ERROR(MOE_BAD_PROGRAM, "dimension %d of argument '%s' is expression %u of %zu", d, argument.name,
                             argument.exprs[d], to.exprs.size());
  if (from.arena() >= to.exprs.size())
    return MOERT_ERROR(MOE_BAD_PROGRAM, "the arena's size is expression %u of %zu", from.arena(), to.exprs.size());
  to.arena = from.arena();
  to.flags = from.flags();
  if (to.flags & ~uint32_t(MOE_ENTRY_NEEDS_COMM | MOE_ENTRY_HOST_SYNC | MOE_ENTRY_CAPTURABLE))
    return MOERT_ERROR(MOE_BAD_PROGRAM, "unknown flags 0x%x", to.flags);
  to.peer = from.peer();
  if (to.peer && *to.peer >= to.exprs.size())
    return MOERT_ERROR(MOE_BAD_PROGRAM, "the peer arena's size is expression %u of %zu", *to.peer, to.exprs.size());
  if (to.peer && (!program.isCuda || !from.ranks()))
    return MOERT_ERROR(MOE_BAD_PROGRAM, "it has a peer arena, which is for ranks of the cuda target");
  to.axis = textOf(from.axis());
  to.ranks = from.ranks();
  if (to.ranks > INT32_MAX || (to.ranks != 0) != ((to.flags & MOE_ENTRY_NEEDS_COMM) != 0))
    return MOERT_ERROR(MOE_BAD_PROGRAM, "flags 0x%x and %u ranks contradict each other", to.flags, to.ranks);

  MOERT_TRY(spend(sizeOf(from.buffers())));
  to.buffers.reserve(sizeOf(from.buffers()));
  for (size_t i = 0; i < sizeOf(from.buffers()); ++i)
    MOERT_TRY(decodeBuffer(*from.buffers()->Get(uint32_t(i)), i, to.buffers.emplace_back()));
  MOERT_TRY(spend(sizeOf(from.steps())));
  to.steps.reserve(sizeOf(from.steps()));
  for (size_t i = 0; i < sizeOf(from.steps()); ++i)
    MOERT_TRY(decodeStep(*from.steps()->Get(uint32_t(i)), i, to.steps.emplace_back()));

  // The budget keeps these sums far below 2^32 words for any file of less than 2 GB.
  uint32_t word = uint32_t(to.exprs.size());
  to.viewsWord = word;
  word += kViewWords * uint32_t(to.inputs.size() + to.outputs.size());
  for (Buffer &buffer : to.buffers) {
    buffer.descriptor = word;
    word += 3 + 2 * uint32_t(buffer.rank);
  }
  to.argsWord = word;
  size_t mostArgs = 0;
  for (const Step &step : to.steps)
    mostArgs = std::max(mostArgs, step.args.size() + step.scalars.size());
  to.frameWords = word + uint32_t(mostArgs);
  size_t before = program.isCuda ? size_t(launches) * kCounterBytes : size_t(to.frameWords) * 8;
  to.arenaOffset = kFaultBytes + (before + kAlignment - 1) / kAlignment * kAlignment;
  return nullptr;
}

moe_status *Decoder::decode(const fb::Program &file) {
  program.target = file.target()->kind()->c_str();
  program.arch = file.target()->arch()->c_str();
  program.isCuda = std::string_view(program.target) == "cuda";
  if (file.object()) {
    program.object = file.object()->Data();
    program.objectBytes = file.object()->size();
  }
  MOERT_TRY(spend(sizeOf(file.kernels())));
  for (size_t i = 0; i < sizeOf(file.kernels()); ++i) {
    const fb::Kernel &kernel = *file.kernels()->Get(uint32_t(i));
    program.kernels.push_back({kernel.name()->c_str(), kernel.num_args(), kernel.num_scalars(), {}});
    if (!program.isCuda)
      continue;
    MOERT_TRY(spend(kernel.cuda() ? sizeOf(kernel.cuda()->params()) : 0));
    MOERT_TRY(decodeCudaKernel(kernel, sizeOf(file.kernels()), program.kernels.back()));
  }
  MOERT_TRY(checkFallbacks(program.kernels));
  MOERT_TRY(spend(sizeOf(file.entries())));
  program.entries.resize(sizeOf(file.entries()));
  std::set<std::string_view> names;
  for (size_t i = 0; i < program.entries.size(); ++i) {
    if (moe_status *status = decodeEntry(*file.entries()->Get(uint32_t(i)), program.entries[i])) {
      std::string where = std::string("entry '") + textOf(file.entries()->Get(uint32_t(i))->name()) + "'";
      return named(where.c_str(), status);
    }
    if (!names.insert(program.entries[i].name).second)
      return MOERT_ERROR(MOE_BAD_PROGRAM, "two entries are named '%s'", program.entries[i].name);
  }
  return nullptr;
}

moe_status *moert::loadProgram(const void *blob, size_t n, std::unique_ptr<moe_program> &program) {
  const uint8_t *bytes = static_cast<const uint8_t *>(blob);
  if (n < kHeaderBytes)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "the file has %zu bytes; its header alone has %zu", n, kHeaderBytes);
  Header header = readHeader(bytes);
  if (std::memcmp(header.magic, kMagic, sizeof(kMagic)) != 0)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "not a .moe file: it does not begin with \"MOEP\"");
  if (header.version != kFormatVersion)
    return MOERT_ERROR(MOE_WRONG_VERSION, "the file has format version %u; this runtime reads version %u",
                       header.version, kFormatVersion);
  size_t length = n - kHeaderBytes;
  if (header.length != length)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "the file has %zu bytes after its header, which promises %llu", length,
                       (unsigned long long)header.length);
  if (length >= FLATBUFFERS_MAX_BUFFER_SIZE)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "the file has %zu bytes; the most is %llu", n,
                       (unsigned long long)FLATBUFFERS_MAX_BUFFER_SIZE);
  uint8_t sum[kChecksumBytes];
  checksum(bytes + kHeaderBytes, length, sum);
  if (std::memcmp(sum, header.checksum, kChecksumBytes) != 0)
    return MOERT_ERROR(MOE_BAD_PROGRAM, "the checksum is wrong: the file was altered");

  auto result = std::make_unique<moe_program>();
  size_t rounded = (length + kAlignment) / kAlignment * kAlignment;
  result->payload = {static_cast<uint8_t *>(std::aligned_alloc(kAlignment, rounded)), std::free};
  if (!result->payload)
    return &outOfMemory();
  std::memcpy(result->payload.get(), bytes + kHeaderBytes, length);
  flatbuffers::Verifier verifier(result->payload.get(), length);
  if (!fb::VerifyProgramBuffer(verifier))
    return MOERT_ERROR(MOE_BAD_PROGRAM, "the FlatBuffer's structure is wrong");
  MOERT_TRY(Decoder(*result, length).decode(*fb::GetProgram(result->payload.get())));
  program = std::move(result);
  return nullptr;
}
