//===- ProgOps.cpp - operations of the prog dialect -------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace mlir::prog;

#define GET_OP_CLASSES
#include "moe/Dialect/Prog/IR/ProgOps.cpp.inc"

//===----------------------------------------------------------------------===//
// What buffers may be
//===----------------------------------------------------------------------===//

bool prog::isBufferElementType(Type type) {
  if (type.isF32() || type.isBF16() || type.isF16())
    return true;
  return type.isSignlessInteger(1) || type.isSignlessInteger(8) || type.isUnsignedInteger(8) ||
         type.isSignlessInteger(32) || type.isSignlessInteger(64);
}

MemRefType prog::getCallerBufferType(ArrayRef<int64_t> shape, Type elementType) {
  if (shape.size() < 2)
    return MemRefType::get(shape, elementType);
  SmallVector<int64_t> strides(shape.size(), ShapedType::kDynamic);
  strides.back() = 1;
  return MemRefType::get(shape, elementType, StridedLayoutAttr::get(elementType.getContext(), /*offset=*/0, strides));
}

Access prog::getAccess(FunctionOpInterface kernel, unsigned i) {
  auto access = kernel.getArgAttrOfType<StringAttr>(i, kAccessAttr);
  if (access && access.getValue() == "read")
    return Access::Read;
  if (access && access.getValue() == "write")
    return Access::Write;
  return Access::ReadWrite;
}

/// `what` names the buffer in the diagnostic.
static LogicalResult verifyElementAndRank(Operation *op, MemRefType type, const Twine &what) {
  if (!isBufferElementType(type.getElementType()))
    return op->emitOpError() << what << " has element type " << type.getElementType()
                             << ", expected one of f32, bf16, f16, i64, i32, i8, ui8, i1";
  if (type.getRank() > kMaxRank)
    return op->emitOpError() << what << " has rank " << type.getRank() << ", expected at most " << kMaxRank;
  return success();
}

static LogicalResult verifyCallerBuffer(Operation *op, Type type, const Twine &what) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return op->emitOpError() << what << " has type " << type << ", expected a ranked memref";
  if (failed(verifyElementAndRank(op, memref, what)))
    return failure();
  MemRefType expected = getCallerBufferType(memref.getShape(), memref.getElementType());
  if (memref != expected)
    return op->emitOpError() << what << " has type " << type << ", expected " << expected;
  return success();
}

static LogicalResult verifyRowMajorBuffer(Operation *op, Type type) {
  auto memref = dyn_cast<MemRefType>(type);
  if (!memref)
    return op->emitOpError() << "buffer has type " << type << ", expected a ranked memref";
  if (!memref.getLayout().isIdentity())
    return op->emitOpError() << "buffer has layout " << memref.getLayout() << ", expected the identity";
  return verifyElementAndRank(op, memref, "buffer");
}

static LogicalResult verifySizes(Operation *op, MemRefType type, size_t found) {
  size_t expected = type.getNumDynamicDims();
  if (found != expected)
    return op->emitOpError() << "has " << found << " sizes, expected " << expected
                             << ", one for each dynamic dimension of " << type;
  return success();
}

/// Launches also stand in functions, before these become programs; there, buffers are what they are.
static LogicalResult verifyWritable(Operation *op, Value buffer, StringRef operand) {
  auto argument = dyn_cast<BlockArgument>(buffer);
  if (!buffer.getDefiningOp<ConstantOp>() && !(argument && isa<ProgramOp>(argument.getOwner()->getParentOp())))
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError() << operand << " is " << (argument ? "an input" : "a constant")
                                                    << ", expected an output or a buffer of the arena";
  diagnostic.attachNote(buffer.getLoc()) << "defined here";
  return diagnostic;
}

//===----------------------------------------------------------------------===//
// ProgramOp
//===----------------------------------------------------------------------===//

void ProgramOp::build(OpBuilder &builder, OperationState &state, StringRef name, TypeRange inputs) {
  OpBuilder::InsertionGuard guard(builder);
  state.addAttribute(getSymNameAttrName(state.name), builder.getStringAttr(name));
  builder.createBlock(state.addRegion(), {}, inputs, SmallVector<Location>(inputs.size(), state.location));
}

ParseResult ProgramOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  SmallVector<OpAsmParser::Argument> inputs;
  if (parser.parseSymbolName(name, getSymNameAttrName(result.name), result.attributes) ||
      parser.parseArgumentList(inputs, AsmParser::Delimiter::Paren, /*allowType=*/true) ||
      parser.parseOptionalAttrDictWithKeyword(result.attributes))
    return failure();
  return parser.parseRegion(*result.addRegion(), inputs);
}

void ProgramOp::print(OpAsmPrinter &printer) {
  printer << ' ';
  printer.printSymbolName(getSymName());
  printer << '(';
  llvm::interleaveComma(getBody().getArguments(), printer,
                        [&](BlockArgument input) { printer.printRegionArgument(input); });
  printer << ')';
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {getSymNameAttrName()});
  printer << ' ';
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

SmallVector<OutputOp> ProgramOp::getOutputs() {
  SmallVector<OutputOp> outputs(getBody().getOps<OutputOp>());
  llvm::sort(outputs, [](OutputOp a, OutputOp b) { return a.getIndex() < b.getIndex(); });
  return outputs;
}

std::string ProgramOp::getInputName(unsigned i) {
  return getInputNames() ? cast<StringAttr>((*getInputNames())[i]).str() : "in" + std::to_string(i);
}

std::string ProgramOp::getOutputName(unsigned i) {
  return getOutputNames() ? cast<StringAttr>((*getOutputNames())[i]).str() : "out" + std::to_string(i);
}

LogicalResult ProgramOp::verify() {
  for (BlockArgument input : getBody().getArguments()) // (C4)
    if (failed(verifyCallerBuffer(*this, input.getType(), "input " + Twine(input.getArgNumber()))))
      return failure();
  return success();
}

LogicalResult ProgramOp::verifyRegions() {
  Block &body = getBody().front();
  for (Operation &op : body) { // (C1)
    if (isa_and_present<ProgDialect>(op.getDialect()) && !isa<ProgramOp>(op))
      continue;
    if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::CeilDivSIOp, arith::MaxSIOp, arith::MinSIOp,
             arith::ConstantOp>(op))
      return op.emitOpError("is not allowed in a prog.program, expected prog ops and arith.addi, subi, muli, "
                            "ceildivsi, maxsi, minsi, constant");
    if (!op.getResult(0).getType().isSignlessInteger(64))
      return op.emitOpError() << "in a prog.program has type " << op.getResult(0).getType() << ", expected i64";
  }

  SmallVector<OutputOp> outputs = getOutputs(); // (C2)
  for (auto [i, output] : llvm::enumerate(outputs))
    if (output.getIndex() != i) {
      InFlightDiagnostic diagnostic = output.emitOpError() << "has number " << output.getIndex() << ", expected " << i;
      diagnostic.attachNote(getLoc()) << "outputs are numbered 0, 1, ... without gap";
      return diagnostic;
    }

  AllToAllOp first; // (C6) of prog.all_to_all
  for (auto exchange : body.getOps<AllToAllOp>()) {
    if (!first)
      first = exchange;
    if (exchange.getAxis() == first.getAxis() && exchange.getRanks() == first.getRanks())
      continue;
    InFlightDiagnostic diagnostic = exchange.emitOpError()
                                    << "is over " << exchange.getRanks() << " ranks of axis '" << exchange.getAxis()
                                    << "', expected " << first.getRanks() << " ranks of axis '" << first.getAxis()
                                    << "', as in the exchange before it";
    diagnostic.attachNote(first.getLoc()) << "which is here";
    return diagnostic;
  }

  auto verifyNames = [&](std::optional<ArrayAttr> names, size_t expected, StringRef what) -> LogicalResult { // (C3)
    if (!names)
      return success();
    if (names->size() != expected)
      return emitOpError() << "has " << names->size() << " names of " << what << ", expected " << expected;
    llvm::StringSet<> seen;
    for (StringRef name : names->getAsValueRange<StringAttr>())
      if (name.empty() || !seen.insert(name).second)
        return emitOpError() << "has the name '" << name << "' of " << what
                             << (name.empty() ? ", expected one that is not empty" : " twice");
    return success();
  };
  if (failed(verifyNames(getInputNames(), body.getNumArguments(), "inputs")))
    return failure();
  return verifyNames(getOutputNames(), outputs.size(), "outputs");
}

//===----------------------------------------------------------------------===//
// Buffers and sizes
//===----------------------------------------------------------------------===//

LogicalResult DimOp::verify() {
  if (!isa<BlockArgument>(getSource()))
    return emitOpError("source is not an input of the program");
  int64_t rank = cast<ShapedType>(getSource().getType()).getRank();
  if (getDim() >= static_cast<uint64_t>(rank))
    return emitOpError() << "dim is " << static_cast<int64_t>(getDim()) << ", expected 0 <= dim < " << rank
                         << ", the rank of source";
  return success();
}

OpFoldResult DimOp::fold(FoldAdaptor) {
  auto type = cast<MemRefType>(getSource().getType());
  if (type.isDynamicDim(getDim()))
    return {};
  return IntegerAttr::get(IntegerType::get(getContext(), 64), type.getDimSize(getDim()));
}

LogicalResult RequireOp::verify() {
  if (!getSize().getDefiningOp<DimOp>())
    return emitOpError("size is not the result of prog.dim");
  return success();
}

LogicalResult OutputOp::verify() {
  if (failed(verifyCallerBuffer(*this, getBuffer().getType(), "buffer"))) // (C2)
    return failure();
  return verifySizes(*this, cast<MemRefType>(getBuffer().getType()), getDims().size()); // (C1)
}

LogicalResult BufferOp::verify() {
  if (failed(verifyRowMajorBuffer(*this, getBuffer().getType()))) // (C2)
    return failure();
  return verifySizes(*this, cast<MemRefType>(getBuffer().getType()), getDims().size()); // (C1)
}

LogicalResult ConstantOp::verify() {
  if (failed(verifyRowMajorBuffer(*this, getBuffer().getType()))) // (C2)
    return failure();
  auto type = cast<MemRefType>(getBuffer().getType());
  ShapedType value = getValue().getShapedType();
  if (value.getShape() != type.getShape() || value.getElementType() != type.getElementType()) // (C1)
    return emitOpError() << "value has type " << value << ", expected the shape and element type of " << type;
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  bool scalars = false;
  for (auto [i, operand] : llvm::enumerate(getArguments())) { // (C2)
    if (scalars && isa<MemRefType>(operand.getType()))
      return emitOpError() << "operand " << i << " is a buffer after a scalar, expected buffers first";
    scalars |= operand.getType().isInteger();
  }
  if (!getBounds()) // (C4)
    return success();
  auto number = static_cast<int64_t>(*getBounds()), count = static_cast<int64_t>(getArguments().size());
  if (number < 0 || number >= count)
    return emitOpError() << "bounds is " << number << ", expected the number of one of " << count << " operands";
  auto type = dyn_cast<MemRefType>(getArguments()[number].getType());
  if (!type || !type.getElementType().isInteger(64) || type.getRank() != 2 || type.getDimSize(1) != 2)
    return emitOpError() << "bounds is operand " << number << " of type " << getArguments()[number].getType()
                         << ", expected [G, 2] of i64";
  return success();
}

/// Whether a kernel that takes `expected` may be given `found`: the sizes and strides that it relies on are the same.
static bool isAccepted(MemRefType found, MemRefType expected) {
  SmallVector<int64_t> foundStrides, expectedStrides;
  int64_t foundOffset, expectedOffset;
  if (found.getElementType() != expected.getElementType() || found.getRank() != expected.getRank() ||
      found.getMemorySpace() != expected.getMemorySpace() ||
      failed(found.getStridesAndOffset(foundStrides, foundOffset)) ||
      failed(expected.getStridesAndOffset(expectedStrides, expectedOffset)))
    return false;
  auto accepts = [](int64_t expected, int64_t found) { return ShapedType::isDynamic(expected) || expected == found; };
  return accepts(expectedOffset, foundOffset) && llvm::all_of_zip(expected.getShape(), found.getShape(), accepts) &&
         llvm::all_of_zip(expectedStrides, foundStrides, accepts);
}

LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  auto callee = symbolTable.lookupNearestSymbolFrom<FunctionOpInterface>(*this, getKernelAttr());
  if (!callee) // (C1)
    return emitOpError() << "kernel " << getKernelAttr() << " is not a function";
  // Before convert-to-prog a launch stands in a function, whose memrefs are not yet told apart.
  bool inProgram = isa<ProgramOp>((*this)->getParentOp());
  ArrayRef<Type> expected = callee.getArgumentTypes();
  if (expected.size() != getArguments().size())
    return emitOpError() << "has " << getArguments().size() << " operands, expected " << expected.size()
                         << " for kernel " << getKernelAttr();
  for (auto [i, operand] : llvm::enumerate(getArguments())) {
    bool scalar = operand.getType().isInteger(64) && expected[i].isIndex();
    auto buffer = dyn_cast<MemRefType>(operand.getType()), parameter = dyn_cast<MemRefType>(expected[i]);
    if (operand.getType() != expected[i] && !scalar && !(buffer && parameter && isAccepted(buffer, parameter)))
      return emitOpError() << "operand " << i << " has type " << operand.getType() << ", expected " << expected[i]
                           << " for kernel " << getKernelAttr();
    if (!inProgram || !isa<MemRefType>(operand.getType()) || getAccess(callee, i) == Access::Read)
      continue;
    if (failed(verifyWritable(*this, operand, "operand " + std::to_string(i) + ", which the kernel writes,"))) // (C3)
      return failure();
  }
  return success();
}

LogicalResult MemsetOp::verify() { return verifyWritable(*this, getBuffer(), "buffer"); }

LogicalResult CopyOp::verify() {
  auto source = cast<ShapedType>(getSource().getType()), target = cast<ShapedType>(getTarget().getType());
  if (source.getElementType() != target.getElementType() || failed(verifyCompatibleShape(source, target)))
    return emitOpError() << "target has type " << target << ", expected the shape and element type of " << source;
  return verifyWritable(*this, getTarget(), "target");
}

void AllToAllOp::getEffects(SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>> &effects) {
  if (getResult()) // on tensors
    return;
  for (OpOperand &operand : getOperation()->getOpOperands()) {
    if (&operand == &getTargetMutable())
      effects.emplace_back(MemoryEffects::Write::get(), &operand);
    else
      effects.emplace_back(MemoryEffects::Read::get(), &operand);
  }
}

LogicalResult AllToAllOp::verify() {
  auto source = cast<ShapedType>(getSource().getType()), target = cast<ShapedType>(getTarget().getType());
  bool onTensors = isa<TensorType>(target); // (C1)
  for (Value operand : getOperands())
    if (isa<TensorType>(operand.getType()) != onTensors)
      return emitOpError("mixes tensors and memrefs, expected one of them");
  if (onTensors != static_cast<bool>(getResult()) || (onTensors && getResult().getType() != target))
    return emitOpError() << "has " << (getResult() ? "" : "no ") << "result, expected "
                         << (onTensors ? "one of the target's type" : "none (the target is a memref)");
  if (source.getElementType() != target.getElementType() || source.getRank() < 1 ||
      source.getRank() != target.getRank() ||
      failed(verifyCompatibleShape(source.getShape().drop_front(), target.getShape().drop_front())))
    return emitOpError() << "source is " << source << " and target is " << target
                         << ", expected rows of one shape and element type";
  for (Type type : {Type(source), Type(target)}) // (C2)
    if (auto memref = dyn_cast<MemRefType>(type); memref && !memref.getLayout().isIdentity())
      return emitOpError() << "exchanges rows of " << memref << ", expected the identity layout";
  int64_t ranks = getRanks();
  if (ranks < 1 || ranks > INT32_MAX) // (C4)
    return emitOpError() << "ranks is " << ranks << ", expected at least 1";
  if (getAxis().empty())
    return emitOpError("axis is empty, expected the name of a mesh axis");
  if (static_cast<bool>(getSend()) != static_cast<bool>(getReceive())) // (C3)
    return emitOpError() << "has only bounds of the rows it " << (getSend() ? "sends" : "receives")
                         << ", expected both";
  for (Value bounds : {getSend(), getReceive()}) {
    if (!bounds)
      continue;
    auto type = cast<ShapedType>(bounds.getType());
    if (!type.getElementType().isInteger(64) || type.getShape() != ArrayRef<int64_t>{ranks, 2})
      return emitOpError() << "has bounds of type " << type << ", expected " << ranks << "x2 i64";
  }
  int64_t rows[] = {source.getDimSize(0), target.getDimSize(0)};
  for (int64_t number : rows)
    if (!getSend() && !ShapedType::isDynamic(number) &&
        (number % ranks || failed(verifyCompatibleShape(rows[0], rows[1]))))
      return emitOpError() << "exchanges blocks of " << rows[0] << " and " << rows[1]
                           << " rows, expected equal numbers, divisible by " << ranks << " ranks";
  if (getKernel() && getTransport() != Transport::Peer) // (C7)
    return emitOpError("has a kernel for transport 'exact', expected one for 'peer' only");
  if (getTransport() == Transport::Peer && getTarget().getDefiningOp<OutputOp>())
    return emitOpError("target is an output, expected a buffer of the arena for transport 'peer'");
  return verifyWritable(*this, getTarget(), "target"); // (C5)
}

LogicalResult AllToAllOp::verifySymbolUses(SymbolTableCollection &symbolTable) {
  if (!getKernel()) // (C7)
    return success();
  auto callee = symbolTable.lookupNearestSymbolFrom<FunctionOpInterface>(*this, *getKernel());
  if (!callee)
    return emitOpError() << "kernel " << *getKernel() << " is not a function";
  auto accepts = [](Type found, Type expected) {
    auto buffer = dyn_cast<MemRefType>(found), parameter = dyn_cast<MemRefType>(expected);
    return buffer && parameter && isAccepted(buffer, parameter);
  };
  if (callee.getNumArguments() != getNumOperands() ||
      !llvm::all_of_zip(getOperandTypes(), callee.getArgumentTypes(), accepts))
    return emitOpError() << "kernel " << *getKernel() << " takes " << callee.getFunctionType()
                         << ", expected the operands' types";
  return success();
}
