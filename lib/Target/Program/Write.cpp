//===- Write.cpp - from the prog dialect to a .moe file ---------------------===//

#include "CudaKernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>
#include <tuple>

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::program;
using flatbuffers::Offset;

/// FlatBuffers hold less than 2 GiB; the rest is for the program itself.
static constexpr uint64_t kMostDataBytes = (uint64_t(1) << 31) - (uint64_t(1) << 24);
static constexpr size_t kDataAlignment = 64;

/// The row-major bytes of a constant.
static FailureOr<std::vector<uint8_t>> getBytes(prog::ConstantOp op) {
  auto type = cast<MemRefType>(op.getBuffer().getType());
  size_t elementBytes = llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  size_t bytes = type.getNumElements() * elementBytes;
  if (bytes > kMostDataBytes)
    return op.emitOpError("has ") << bytes << " bytes, expected at most " << kMostDataBytes;
  std::vector<uint8_t> result;
  result.reserve(bytes);
  if (auto dense = dyn_cast<DenseElementsAttr>(op.getValue())) {
    if (type.getElementType().isInteger(1)) {
      for (bool value : dense.getValues<bool>())
        result.push_back(value);
    } else {
      ArrayRef<char> raw = dense.getRawData();
      for (int64_t i = 0, e = dense.isSplat() ? type.getNumElements() : 1; i < e; ++i)
        result.insert(result.end(), raw.begin(), raw.end());
    }
  } else if (auto resource = dyn_cast<DenseResourceElementsAttr>(op.getValue());
             resource && !type.getElementType().isInteger(1)) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      result.assign(blob->getData().begin(), blob->getData().end());
  } else {
    return op.emitOpError("value is neither dense elements nor a resource of bytes");
  }
  if (result.size() != bytes)
    return op.emitOpError("value has ") << result.size() << " bytes, expected " << bytes;
  return result;
}

namespace {

struct Kernel {
  uint32_t numArgs, numScalars;
  std::vector<uint8_t> access;
};

/// Kernels in the order of their first launch; all programs share them.
using Kernels = llvm::MapVector<StringAttr, Kernel>;

class EntryWriter {
public:
  EntryWriter(prog::ProgramOp program, flatbuffers::FlatBufferBuilder &fbb, Kernels &kernels,
              SymbolTableCollection &symbols)
      : program(program), fbb(fbb), kernels(kernels), symbols(symbols) {}

  FailureOr<Offset<fb::Entry>> write(bool isCuda);

private:
  LogicalResult write(Operation *op);
  LogicalResult writeSize(Operation *op);
  LogicalResult writeLaunch(prog::LaunchOp op);
  LogicalResult writeAllToAll(prog::AllToAllOp op);
  /// Number of the kernel that an op calls with these operands; fills the lists of them.
  FailureOr<uint32_t> writeKernel(Operation *op, SymbolRefAttr symbol, ValueRange operands, std::vector<uint32_t> &args,
                                  std::vector<uint32_t> &scalars);
  void writeBuffer(Value value, fb::BufferKind kind, uint32_t index, ArrayRef<uint32_t> dims, uint32_t offset = 0,
                   const std::vector<uint8_t> &data = {});
  template <typename T> void writeStep(fb::Op kind, Offset<T> step) {
    steps.push_back(fb::CreateStep(fbb, kind, step.Union()));
  }
  std::vector<Offset<fb::Argument>> writeInputs();
  std::vector<Offset<fb::Argument>> writeOutputs();

  /// Number of an expression, made if there is none like it yet.
  uint32_t expr(fb::ExprKind kind, int64_t a, int64_t b = 0);
  uint32_t expr(Value size) { return sizes.lookup(size); }
  /// Expressions of the dimensions of a memref, of which the dynamic ones are given.
  SmallVector<uint32_t> exprs(Type type, ValueRange dynamic);
  /// Expressions of the dimensions of an input as it is.
  SmallVector<uint32_t> inputExprs(BlockArgument input);

  prog::ProgramOp program;
  flatbuffers::FlatBufferBuilder &fbb;
  Kernels &kernels;
  SymbolTableCollection &symbols;

  std::vector<fb::Expr> expressions;
  std::map<std::tuple<fb::ExprKind, int64_t, int64_t>, uint32_t> numbers; ///< of the expressions
  llvm::DenseMap<Value, uint32_t> sizes, bufferNumbers;
  std::vector<Offset<fb::Buffer>> buffers;
  std::vector<Offset<fb::Step>> steps;
  std::string axis; ///< of the exchanges, and its number of ranks
  uint32_t ranks = 0;
  bool readsBounds = false; ///< an exchange has to know them on the host
};

} // namespace

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

uint32_t EntryWriter::expr(fb::ExprKind kind, int64_t a, int64_t b) {
  auto [it, isNew] = numbers.try_emplace({kind, a, b}, expressions.size());
  if (isNew)
    expressions.emplace_back(kind, a, b);
  return it->second;
}

SmallVector<uint32_t> EntryWriter::exprs(Type type, ValueRange dynamic) {
  SmallVector<uint32_t> result;
  for (int64_t size : cast<MemRefType>(type).getShape()) {
    if (ShapedType::isDynamic(size)) {
      result.push_back(expr(dynamic.front()));
      dynamic = dynamic.drop_front();
    } else {
      result.push_back(expr(fb::ExprKind::Const, size));
    }
  }
  return result;
}

SmallVector<uint32_t> EntryWriter::inputExprs(BlockArgument input) {
  SmallVector<uint32_t> result;
  for (auto [d, size] : llvm::enumerate(cast<MemRefType>(input.getType()).getShape()))
    result.push_back(ShapedType::isDynamic(size) ? expr(fb::ExprKind::Dim, input.getArgNumber(), d)
                                                 : expr(fb::ExprKind::Const, size));
  return result;
}

LogicalResult EntryWriter::writeSize(Operation *op) {
  auto binary = [&](fb::ExprKind kind) { return expr(kind, expr(op->getOperand(0)), expr(op->getOperand(1))); };
  auto negate = [&](uint32_t number) { return expr(fb::ExprKind::Mul, number, expr(fb::ExprKind::Const, -1)); };
  sizes[op->getResult(0)] =
      llvm::TypeSwitch<Operation *, uint32_t>(op)
          .Case([&](prog::DimOp dim) {
            return expr(fb::ExprKind::Dim, cast<BlockArgument>(dim.getSource()).getArgNumber(), dim.getDim());
          })
          .Case([&](arith::ConstantOp constant) {
            return expr(fb::ExprKind::Const, cast<IntegerAttr>(constant.getValue()).getInt());
          })
          .Case([&](arith::AddIOp) { return binary(fb::ExprKind::Add); })
          .Case([&](arith::SubIOp) {
            return expr(fb::ExprKind::Add, expr(op->getOperand(0)), negate(expr(op->getOperand(1))));
          })
          .Case([&](arith::MulIOp) { return binary(fb::ExprKind::Mul); })
          .Case([&](arith::MinSIOp) {
            return negate(expr(fb::ExprKind::Max, negate(expr(op->getOperand(0))), negate(expr(op->getOperand(1)))));
          })
          .Case([&](arith::CeilDivSIOp) { return binary(fb::ExprKind::CeilDiv); })
          .Default([&](Operation *) { return binary(fb::ExprKind::Max); }); // the verifier lets nothing else in
  return success();
}

//===----------------------------------------------------------------------===//
// Buffers and steps
//===----------------------------------------------------------------------===//

void EntryWriter::writeBuffer(Value value, fb::BufferKind kind, uint32_t index, ArrayRef<uint32_t> dims,
                              uint32_t offset, const std::vector<uint8_t> &data) {
  bufferNumbers.try_emplace(value, buffers.size());
  Offset<flatbuffers::Vector<uint8_t>> dataOffset;
  if (kind == fb::BufferKind::Constant) {
    fbb.ForceVectorAlignment(data.size(), 1, kDataAlignment);
    dataOffset = fbb.CreateVector(data);
  }
  auto dimsOffset = fbb.CreateVector(dims.data(), dims.size());
  buffers.push_back(fb::CreateBuffer(
      fbb, kind, index, offset, toDType(cast<MemRefType>(value.getType()).getElementType()), dimsOffset, dataOffset));
}

FailureOr<uint32_t> EntryWriter::writeKernel(Operation *op, SymbolRefAttr symbol, ValueRange operands,
                                             std::vector<uint32_t> &args, std::vector<uint32_t> &scalars) {
  auto kernel = symbols.lookupNearestSymbolFrom<FunctionOpInterface>(op, symbol);
  if (symbol.getRootReference() != "kernels" || symbol.getNestedReferences().size() != 1)
    return op->emitOpError("kernel is ") << symbol << ", expected a function of module @kernels";
  if (!kernel)
    return op->emitOpError("kernel ") << symbol << " is not in the module";

  Kernel description;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    if (!isa<MemRefType>(operand.getType())) {
      scalars.push_back(expr(operand));
      continue;
    }
    args.push_back(bufferNumbers.lookup(operand));
    description.access.push_back(static_cast<uint8_t>(prog::getAccess(kernel, i)));
  }
  description.numArgs = args.size();
  description.numScalars = scalars.size();
  return static_cast<uint32_t>(kernels.insert({symbol.getLeafReference(), description}).first - kernels.begin());
}

LogicalResult EntryWriter::writeLaunch(prog::LaunchOp op) {
  std::vector<uint32_t> args, scalars;
  FailureOr<uint32_t> number = writeKernel(op, op.getKernelAttr(), op.getArguments(), args, scalars);
  if (failed(number))
    return failure();
  auto optional = [&](Value size) { return size ? std::optional<uint32_t>(expr(size)) : std::nullopt; };
  std::optional<uint32_t> bounds;
  if (op.getBounds())
    bounds = static_cast<uint32_t>(*op.getBounds());
  writeStep(fb::Op::Launch, fb::CreateLaunchDirect(fbb, *number, &args, &scalars, optional(op.getFlops()),
                                                   optional(op.getBytes()), bounds));
  return success();
}

LogicalResult EntryWriter::writeAllToAll(prog::AllToAllOp op) {
  auto buffer = [&](Value bounds) { return bounds ? static_cast<int32_t>(bufferNumbers.lookup(bounds)) : -1; };
  int32_t number = -1;
  if (SymbolRefAttr symbol = op.getKernelAttr()) {
    std::vector<uint32_t> args, scalars;
    FailureOr<uint32_t> kernel = writeKernel(op, symbol, op.getOperands(), args, scalars);
    if (failed(kernel))
      return failure();
    number = static_cast<int32_t>(*kernel);
  }
  axis = op.getAxis().str();
  ranks = op.getRanks();
  readsBounds |= op.getSend() && number < 0;
  writeStep(fb::Op::AllToAll,
            fb::CreateAllToAll(fbb, bufferNumbers.lookup(op.getSource()), bufferNumbers.lookup(op.getTarget()),
                               buffer(op.getSend()), buffer(op.getReceive()), number));
  return success();
}

LogicalResult EntryWriter::write(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](prog::OutputOp output) {
        writeBuffer(output.getBuffer(), fb::BufferKind::Output, output.getIndex(),
                    exprs(output.getBuffer().getType(), output.getDims()));
        return success();
      })
      .Case([&](prog::BufferOp buffer) -> LogicalResult {
        if (!buffer.getOffset())
          return buffer.emitOpError("has no place in the arena; run prog-plan-arena first");
        writeBuffer(buffer.getBuffer(), buffer.getPeer() ? fb::BufferKind::Peer : fb::BufferKind::Arena, 0,
                    exprs(buffer.getBuffer().getType(), buffer.getDims()), expr(buffer.getOffset()));
        return success();
      })
      .Case([&](prog::ConstantOp constant) -> LogicalResult {
        FailureOr<std::vector<uint8_t>> data = getBytes(constant);
        if (failed(data))
          return failure();
        writeBuffer(constant.getBuffer(), fb::BufferKind::Constant, 0, exprs(constant.getBuffer().getType(), {}), 0,
                    *data);
        return success();
      })
      .Case([&](prog::RequireOp require) {
        // The sizes of a buffer that stands for an input are checked against the input's.
        auto dim = require.getSize().getDefiningOp<prog::DimOp>();
        auto input = cast<BlockArgument>(dim.getSource());
        SmallVector<uint32_t> dims = inputExprs(input);
        dims[dim.getDim()] = expr(require.getExpected());
        writeBuffer(input, fb::BufferKind::Input, input.getArgNumber(), dims);
        return success();
      })
      .Case([&](prog::LaunchOp launch) { return writeLaunch(launch); })
      .Case([&](prog::MemsetOp memset) {
        writeStep(fb::Op::Memset, fb::CreateMemset(fbb, bufferNumbers.lookup(memset.getBuffer()), memset.getValue()));
        return success();
      })
      .Case([&](prog::CopyOp copy) {
        writeStep(fb::Op::Copy,
                  fb::CreateCopy(fbb, bufferNumbers.lookup(copy.getSource()), bufferNumbers.lookup(copy.getTarget())));
        return success();
      })
      .Case([&](prog::AllToAllOp exchange) { return writeAllToAll(exchange); })
      .Case([&](prog::WaitOp) {
        writeStep(fb::Op::Wait, fb::CreateWait(fbb));
        return success();
      })
      .Case([](prog::ReturnOp) { return success(); })
      .Default([&](Operation *size) { return writeSize(size); });
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

/// -1 where a dimension is dynamic.
static std::vector<int64_t> getDims(Type type) {
  std::vector<int64_t> dims;
  for (int64_t size : cast<MemRefType>(type).getShape())
    dims.push_back(ShapedType::isDynamic(size) ? -1 : size);
  return dims;
}

std::vector<Offset<fb::Argument>> EntryWriter::writeInputs() {
  std::vector<Offset<fb::Argument>> result;
  for (BlockArgument input : program.getBody().getArguments()) {
    std::vector<int64_t> dims = getDims(input.getType());
    result.push_back(fb::CreateArgumentDirect(fbb, program.getInputName(input.getArgNumber()).c_str(),
                                              toDType(cast<MemRefType>(input.getType()).getElementType()), &dims));
  }
  return result;
}

/// Number of the input that the caller may pass as this output too, or -1: the output begins as its copy, and nothing
/// uses the input after that.
static int32_t findAlias(prog::OutputOp output) {
  auto isBefore = [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); };
  auto users = llvm::to_vector(output.getBuffer().getUsers());
  auto first = std::min_element(users.begin(), users.end(), isBefore);
  auto copy = first == users.end() ? prog::CopyOp() : dyn_cast<prog::CopyOp>(*first);
  auto input = copy ? dyn_cast<BlockArgument>(copy.getSource()) : BlockArgument();
  if (!input || llvm::any_of(input.getUsers(),
                             [&](Operation *user) { return !isa<prog::DimOp>(user) && copy->isBeforeInBlock(user); }))
    return -1;
  return static_cast<int32_t>(input.getArgNumber());
}

std::vector<Offset<fb::Argument>> EntryWriter::writeOutputs() {
  std::vector<Offset<fb::Argument>> result;
  for (prog::OutputOp output : program.getOutputs()) {
    Type type = output.getBuffer().getType();
    std::vector<int64_t> dims = getDims(type);
    SmallVector<uint32_t> sizes = exprs(type, output.getDims());
    std::vector<uint32_t> exprNumbers(sizes.begin(), sizes.end());
    result.push_back(fb::CreateArgumentDirect(fbb, program.getOutputName(output.getIndex()).c_str(),
                                              toDType(cast<MemRefType>(type).getElementType()), &dims, &exprNumbers,
                                              findAlias(output)));
  }
  return result;
}

FailureOr<Offset<fb::Entry>> EntryWriter::write(bool isCuda) {
  for (BlockArgument input : program.getBody().getArguments())
    writeBuffer(input, fb::BufferKind::Input, input.getArgNumber(), inputExprs(input));
  Block &body = program.getBody().front();
  for (Operation &op : body)
    if (failed(write(&op)))
      return failure();
  auto terminator = cast<prog::ReturnOp>(body.getTerminator());
  uint32_t arenaExpr = terminator.getArena() ? expr(terminator.getArena()) : expr(fb::ExprKind::Const, 0);
  std::optional<uint32_t> peerExpr;
  if (terminator.getPeer())
    peerExpr = expr(terminator.getPeer());
  auto inputs = writeInputs();
  auto outputs = writeOutputs();
  bool waits = isCuda && readsBounds;
  uint32_t flags = (ranks ? MOE_ENTRY_NEEDS_COMM : 0) | (waits ? MOE_ENTRY_HOST_SYNC : 0) |
                   (isCuda && !waits ? MOE_ENTRY_CAPTURABLE : 0);
  return fb::CreateEntryDirect(fbb, program.getSymName().str().c_str(), &inputs, &outputs, &expressions, &buffers,
                               &steps, arenaExpr, flags, ranks ? axis.c_str() : nullptr, ranks, peerExpr);
}

/// Refuses what would pass the format's limit, before the builder meets it.
static LogicalResult checkDataBytes(ModuleOp module, size_t objectBytes) {
  uint64_t bytes = objectBytes;
  module.walk([&](prog::ConstantOp op) {
    auto type = cast<MemRefType>(op.getBuffer().getType());
    bytes += type.getNumElements() * llvm::divideCeil(type.getElementTypeBitWidth(), 8);
  });
  if (bytes <= kMostDataBytes)
    return success();
  return module.emitError("the constants and the object have ")
         << bytes << " bytes, expected at most " << kMostDataBytes;
}

/// Kernels of the cuda target, with those that they fall back on behind them.
static FailureOr<std::vector<Offset<fb::Kernel>>> writeCudaKernels(ModuleOp module, flatbuffers::FlatBufferBuilder &fbb,
                                                                   Kernels &kernels, ArrayRef<CUDAKernelInfo> infos) {
  llvm::StringMap<const CUDAKernelInfo *> byName;
  for (const CUDAKernelInfo &info : infos)
    byName[info.name] = &info;
  std::vector<Offset<fb::Kernel>> result;
  // Grows as it is walked.
  for (size_t i = 0; i < kernels.size(); ++i) {
    auto &[name, kernel] = *(kernels.begin() + i);
    const CUDAKernelInfo *info = byName.lookup(name);
    if (!info)
      return module.emitError("kernel '") << name.getValue() << "' is launched, but there is no code for it";
    std::vector<uint8_t> access = kernel.access;
    uint32_t numArgs = kernel.numArgs, numScalars = kernel.numScalars;
    int32_t fallback = -1;
    if (!info->fallback.empty())
      fallback = kernels.insert({StringAttr::get(module.getContext(), info->fallback), kernel}).first - kernels.begin();
    auto cuda = writeCudaKernel(fbb, *info, fallback);
    result.push_back(fb::CreateKernelDirect(fbb, info->name.c_str(), numArgs, numScalars, &access, cuda));
  }
  return result;
}

FailureOr<SmallVector<char, 0>> mlir::moe::translateToProgram(ModuleOp module, ArrayRef<char> object,
                                                              const ProgramTarget &target,
                                                              ArrayRef<CUDAKernelInfo> cuda) {
  auto programs = llvm::to_vector(module.getOps<prog::ProgramOp>());
  if (programs.empty())
    return module.emitError("the module has no prog.program, expected one for each entry of the file");
  if (failed(checkDataBytes(module, object.size())))
    return failure();

  bool isCuda = target.kind == "cuda";
  flatbuffers::FlatBufferBuilder fbb;
  Kernels kernels;
  SymbolTableCollection symbols;
  std::vector<Offset<fb::Entry>> entries;
  for (prog::ProgramOp program : programs) {
    FailureOr<Offset<fb::Entry>> entry = EntryWriter(program, fbb, kernels, symbols).write(isCuda);
    if (failed(entry))
      return failure();
    entries.push_back(*entry);
  }
  std::vector<Offset<fb::Kernel>> kernelOffsets;
  if (isCuda) {
    FailureOr<std::vector<Offset<fb::Kernel>>> written = writeCudaKernels(module, fbb, kernels, cuda);
    if (failed(written))
      return failure();
    kernelOffsets = std::move(*written);
  } else {
    for (auto &[name, kernel] : kernels)
      kernelOffsets.push_back(
          fb::CreateKernelDirect(fbb, name.str().c_str(), kernel.numArgs, kernel.numScalars, &kernel.access));
  }
  fbb.ForceVectorAlignment(object.size(), 1, kDataAlignment);
  auto objectOffset = fbb.CreateVector(reinterpret_cast<const uint8_t *>(object.data()), object.size());
  auto targetOffset = fb::CreateTargetDirect(fbb, target.kind.c_str(), target.arch.c_str());
  auto producer = fbb.CreateString("moe-mlir " MOE_VERSION);
  auto kernelsOffset = fbb.CreateVector(kernelOffsets);
  auto entriesOffset = fbb.CreateVector(entries);
  fb::FinishProgramBuffer(fbb,
                          fb::CreateProgram(fbb, targetOffset, producer, kernelsOffset, entriesOffset, objectOffset));

  SmallVector<char, 0> bytes(moert::kHeaderBytes + fbb.GetSize());
  moert::writeHeader(fbb.GetBufferPointer(), fbb.GetSize(), reinterpret_cast<uint8_t *>(bytes.data()));
  std::memcpy(bytes.data() + moert::kHeaderBytes, fbb.GetBufferPointer(), fbb.GetSize());
  // The loader computes every size that is known, so it finds what the verifier cannot see, such as a negative one.
  if (std::string message = check(bytes); !message.empty())
    return module.emitError("cannot be a program: ") << message;
  return bytes;
}
