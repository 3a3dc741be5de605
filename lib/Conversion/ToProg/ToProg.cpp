//===- ToProg.cpp - convert-to-prog -----------------------------------------===//
//
// A walk over straight-line code with a map from old values to new ones. Only what this file names can run on the
// host; everything else is an error that names the op.
//
//===----------------------------------------------------------------------===//

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "moe/Conversion/Passes.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::moe {
#define GEN_PASS_DEF_CONVERTTOPROGPASS
#include "moe/Conversion/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;

/// Arguments and results may say what a caller calls them.
static constexpr StringLiteral kNameAttr = "moe.name";

/// The byte that, repeated, is the value; none if there is no such byte.
static std::optional<uint8_t> getByte(Attribute value) {
  APInt bits;
  if (auto integer = dyn_cast<IntegerAttr>(value))
    bits = integer.getValue();
  else if (auto real = dyn_cast<FloatAttr>(value))
    bits = real.getValue().bitcastToAPInt();
  else
    return std::nullopt;
  if (bits.getBitWidth() < 8)
    bits = bits.zext(8);
  if (bits.getBitWidth() % 8 != 0 || !bits.isSplat(8))
    return std::nullopt;
  return static_cast<uint8_t>(bits.extractBitsAsZExtValue(8, 0));
}

/// The type of an input of the program: its sizes are static where some cast of the argument says so.
static MemRefType getInputType(BlockArgument argument) {
  auto type = cast<MemRefType>(argument.getType());
  SmallVector<int64_t> shape(type.getShape());
  for (Operation *user : argument.getUsers()) {
    auto cast = dyn_cast<memref::CastOp>(user);
    auto result = cast ? dyn_cast<MemRefType>(cast.getType()) : MemRefType();
    for (int64_t d = 0; result && d < type.getRank(); ++d)
      if (ShapedType::isDynamic(shape[d]))
        shape[d] = result.getDimSize(d);
  }
  return prog::getCallerBufferType(shape, type.getElementType());
}

/// The names of n arguments or results, or null if none of them has one.
static ArrayAttr getNames(Builder &builder, unsigned n, StringRef prefix, function_ref<Attribute(unsigned)> getAttr) {
  SmallVector<Attribute> names;
  bool any = false;
  for (unsigned i = 0; i < n; ++i) {
    auto name = dyn_cast_if_present<StringAttr>(getAttr(i));
    any |= static_cast<bool>(name);
    names.push_back(name ? name : builder.getStringAttr(prefix + Twine(i)));
  }
  return any ? builder.getArrayAttr(names) : nullptr;
}

namespace {

/// Converts one function.
class Converter {
public:
  Converter(func::FuncOp function, SymbolTableCollection &symbols)
      : function(function), symbols(symbols), builder(function) {}

  /// Replaces the function by a program; an error has been emitted on failure.
  LogicalResult convert();

private:
  LogicalResult convert(Operation *op);
  LogicalResult convert(memref::AllocOp op);
  LogicalResult convert(memref::CastOp op);
  LogicalResult convert(memref::DimOp op);
  LogicalResult convert(memref::GetGlobalOp op);
  LogicalResult convert(memref::CopyOp op);
  LogicalResult convert(prog::LaunchOp op);
  LogicalResult convert(prog::AllToAllOp op);
  LogicalResult convertFill(Operation *op, Value value, Value buffer);
  LogicalResult convert(cf::AssertOp op);
  LogicalResult convert(arith::ConstantOp op);
  LogicalResult convertArith(Operation *op);

  /// The i64 of an integer of the function.
  Value get(Value value) { return map.lookup(value); }
  /// Size of dimension d of a buffer.
  Value getDim(Value buffer, int64_t d);
  Value constant(int64_t value) { return arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(value)); }
  Value add(Value a, Value b) { return arith::AddIOp::create(builder, loc, a, b); }
  Value ceilDiv(Value a, Value b) { return arith::CeilDivSIOp::create(builder, loc, a, b); }
  Value sub(Value a, Value b) { return arith::SubIOp::create(builder, loc, a, b); }

  func::FuncOp function;
  SymbolTableCollection &symbols;
  OpBuilder builder;
  Location loc = builder.getUnknownLoc();
  IRMapping map;
  llvm::SmallDenseMap<Value, unsigned> outputs; ///< number of each allocation that is returned
};

struct ConvertToProg : moe::impl::ConvertToProgPassBase<ConvertToProg> {
  void runOnOperation() override {
    SymbolTableCollection symbols;
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (function.isPublic() && !function.isExternal() && failed(Converter(function, symbols).convert()))
        return signalPassFailure();
    for (auto global : llvm::make_early_inc_range(getOperation().getOps<memref::GlobalOp>()))
      if (SymbolTable::symbolKnownUseEmpty(global, getOperation()))
        global.erase();
  }
};

} // namespace

LogicalResult Converter::convert() {
  if (!function.getBody().hasOneBlock())
    return function.emitError("function '") << function.getName() << "' has " << function.getBody().getBlocks().size()
                                            << " blocks, expected straight-line code";
  for (auto [i, type] : llvm::enumerate(function.getArgumentTypes())) {
    auto memref = dyn_cast<MemRefType>(type);
    if (!memref || memref != prog::getCallerBufferType(memref.getShape(), memref.getElementType())) {
      InFlightDiagnostic diagnostic = function.emitError("argument ")
                                      << i << " of function '" << function.getName() << "' is " << type;
      if (memref)
        diagnostic << ", expected " << prog::getCallerBufferType(memref.getShape(), memref.getElementType());
      else
        diagnostic << ", expected a tensor before bufferization and a ranked memref after it";
      return diagnostic;
    }
  }
  auto terminator = cast<func::ReturnOp>(function.front().getTerminator());
  for (OpOperand &operand : terminator->getOpOperands()) {
    Value value = operand.get();
    if (auto cast = value.getDefiningOp<memref::CastOp>())
      value = cast.getSource();
    auto type = dyn_cast<MemRefType>(operand.get().getType());
    if (!type || type != prog::getCallerBufferType(type.getShape(), type.getElementType()) ||
        !value.getDefiningOp<memref::AllocOp>() || !outputs.try_emplace(value, operand.getOperandNumber()).second)
      return terminator.emitError("result ")
             << operand.getOperandNumber() << " is not an allocation of its own; run prog-prepare-results first";
  }

  loc = function.getLoc();
  auto inputs = llvm::map_to_vector(function.getArguments(),
                                    [](BlockArgument argument) -> Type { return getInputType(argument); });
  auto program = prog::ProgramOp::create(builder, loc, function.getName(), inputs);
  if (ArrayAttr names = getNames(builder, function.getNumArguments(), "in",
                                 [&](unsigned i) { return function.getArgAttr(i, kNameAttr); }))
    program.setInputNamesAttr(names);
  if (ArrayAttr names = getNames(builder, function.getNumResults(), "out",
                                 [&](unsigned i) { return function.getResultAttr(i, kNameAttr); }))
    program.setOutputNamesAttr(names);
  map.map(function.getArguments(), program.getBody().getArguments());
  builder.setInsertionPointToStart(&program.getBody().front());
  for (Operation &op : function.front().without_terminator()) {
    loc = op.getLoc();
    if (failed(convert(&op)))
      return failure();
  }
  prog::ReturnOp::create(builder, terminator.getLoc());
  function.erase();
  return success();
}

LogicalResult Converter::convert(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<memref::AllocOp, memref::CastOp, memref::DimOp, memref::GetGlobalOp, memref::CopyOp, prog::LaunchOp,
            prog::AllToAllOp, cf::AssertOp, arith::ConstantOp>([&](auto typed) { return convert(typed); })
      .Case([&](linalg::FillOp fill) { return convertFill(fill, fill.value(), fill.output()); })
      .Case([&](linalg::MapOp fill) -> LogicalResult {
        if (!fill.getInputs().empty())
          return fill.emitOpError("with inputs cannot run on the host");
        return convertFill(fill, fill.getMapper().front().getTerminator()->getOperand(0), fill.getInit());
      })
      .Case([](memref::DeallocOp) { return success(); }) // the arena is planned from the uses
      .Default([&](Operation *other) { return convertArith(other); });
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

LogicalResult Converter::convert(memref::AllocOp op) {
  if (!op.getType().getLayout().isIdentity() || op.getType().getMemorySpace())
    return op.emitOpError("has type ") << op.getType() << ", expected the identity layout and no memory space";
  auto sizes = llvm::map_to_vector(op.getDynamicSizes(), [&](Value size) { return get(size); });
  auto output = outputs.find(op.getResult());
  if (output == outputs.end()) {
    map.map(op.getResult(), prog::BufferOp::create(builder, loc, op.getType(), sizes, Value()).getBuffer());
    return success();
  }
  MemRefType type = prog::getCallerBufferType(op.getType().getShape(), op.getType().getElementType());
  map.map(op.getResult(), prog::OutputOp::create(builder, loc, type, output->second, sizes).getBuffer());
  return success();
}

LogicalResult Converter::convert(memref::CastOp op) {
  // A buffer is passed to a kernel with its sizes and strides, so a type that says less of them changes nothing. Where
  // one says more of an input, the program's input says so, too.
  Value source = map.lookup(op.getSource());
  auto type = cast<MemRefType>(source.getType());
  auto result = dyn_cast<MemRefType>(op.getType());
  for (int64_t d = 0; result && d < type.getRank(); ++d)
    if (!result.isDynamicDim(d) && type.getDimSize(d) != result.getDimSize(d)) {
      InFlightDiagnostic diagnostic = op.emitOpError("says that dimension ") << d << " is " << result.getDimSize(d);
      if (type.isDynamicDim(d))
        return diagnostic << ", which a host program can check of an input only";
      return diagnostic << ", but it is " << type.getDimSize(d);
    }
  map.map(op.getResult(), source);
  return success();
}

Value Converter::getDim(Value buffer, int64_t d) {
  auto type = cast<MemRefType>(buffer.getType());
  if (!type.isDynamicDim(d))
    return constant(type.getDimSize(d));
  if (isa<BlockArgument>(buffer))
    return prog::DimOp::create(builder, loc, builder.getI64Type(), buffer, static_cast<uint64_t>(d));
  auto output = buffer.getDefiningOp<prog::OutputOp>();
  OperandRange sizes = output ? output.getDims() : buffer.getDefiningOp<prog::BufferOp>().getDims();
  return sizes[type.getDynamicDimIndex(d)];
}

LogicalResult Converter::convert(memref::DimOp op) {
  std::optional<int64_t> d = op.getConstantIndex();
  Value source = map.lookup(op.getSource());
  if (!d || *d < 0 || *d >= cast<MemRefType>(source.getType()).getRank())
    return op.emitOpError("index is not a constant within the rank of the source");
  map.map(op.getResult(), getDim(source, *d));
  return success();
}

LogicalResult Converter::convert(memref::GetGlobalOp op) {
  auto global = symbols.lookupNearestSymbolFrom<memref::GlobalOp>(op, op.getNameAttr());
  auto value = dyn_cast_if_present<ElementsAttr>(global.getInitialValueAttr());
  if (!value)
    return op.emitOpError("reads global '") << op.getName() << "', which has no initial value";
  map.map(op.getResult(), prog::ConstantOp::create(builder, loc, op.getType(), value).getBuffer());
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult Converter::convert(memref::CopyOp op) {
  Value source = map.lookup(op.getSource()), target = map.lookup(op.getTarget());
  if (source != target)
    prog::CopyOp::create(builder, loc, source, target);
  return success();
}

LogicalResult Converter::convert(prog::LaunchOp op) {
  builder.clone(*op, map);
  return success();
}

LogicalResult Converter::convert(prog::AllToAllOp op) {
  builder.clone(*op, map);
  return success();
}

LogicalResult Converter::convertFill(Operation *op, Value value, Value buffer) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return op->emitOpError("fills with a value that is not a constant");
  std::optional<uint8_t> byte = getByte(constant);
  if (!byte)
    return op->emitOpError("fills with ") << constant << ", expected a value whose bytes are all the same";
  prog::MemsetOp::create(builder, loc, map.lookup(buffer), builder.getI8IntegerAttr(static_cast<int8_t>(*byte)));
  return success();
}

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

LogicalResult Converter::convert(cf::AssertOp op) {
  auto equal = op.getArg().getDefiningOp<arith::CmpIOp>();
  if (matchPattern(op.getArg(), m_Zero()))
    return op.emitError("cannot hold: ") << op.getMsg();
  if (!equal || equal.getPredicate() != arith::CmpIPredicate::eq)
    return op.emitOpError("does not compare two sizes for equality, all that a host program can check: ")
           << op.getMsg();
  Value a = get(equal.getLhs()), b = get(equal.getRhs());
  APInt constantA, constantB;
  if (matchPattern(a, m_ConstantInt(&constantA)) && matchPattern(b, m_ConstantInt(&constantB))) {
    if (constantA != constantB)
      return op.emitError("cannot hold: ") << op.getMsg();
    return success();
  }
  if (!a.getDefiningOp<prog::DimOp>())
    std::swap(a, b);
  if (!a.getDefiningOp<prog::DimOp>())
    return op.emitOpError("compares two sizes of which none is that of an input: ") << op.getMsg();
  if (a != b)
    prog::RequireOp::create(builder, loc, a, b);
  return success();
}

LogicalResult Converter::convert(arith::ConstantOp op) {
  // Others are values of a fill, which asks for them itself.
  if (auto value = dyn_cast<IntegerAttr>(op.getValue());
      value && op.getType().isIntOrIndex() && !op.getType().isInteger(1))
    map.map(op.getResult(), constant(value.getValue().getSExtValue()));
  return success();
}

LogicalResult Converter::convertArith(Operation *op) {
  if (isa<arith::CmpIOp>(op) && llvm::all_of(op->getUsers(), llvm::IsaPred<cf::AssertOp>))
    return success(); // part of the assertion
  auto isSize = [](Type type) { return type.isIndex() || type.isInteger(64); };
  if (!llvm::all_of(op->getOperandTypes(), isSize) || !llvm::all_of(op->getResultTypes(), isSize))
    return op->emitOpError("cannot run on the host");
  auto operand = [&](unsigned i) { return get(op->getOperand(i)); };
  // Sizes are never negative, so that signed and unsigned forms agree.
  Value result =
      llvm::TypeSwitch<Operation *, Value>(op)
          .Case<arith::IndexCastOp, arith::IndexCastUIOp>([&](auto) { return operand(0); })
          .Case([&](arith::AddIOp) { return add(operand(0), operand(1)); })
          .Case([&](arith::SubIOp) { return sub(operand(0), operand(1)); })
          .Case([&](arith::MulIOp) { return arith::MulIOp::create(builder, loc, operand(0), operand(1)); })
          .Case<arith::CeilDivSIOp, arith::CeilDivUIOp>([&](auto) { return ceilDiv(operand(0), operand(1)); })
          .Case<arith::FloorDivSIOp, arith::DivUIOp>([&](auto) {
            // floor(a / b) = ceil((a - b + 1) / b) for b > 0
            return ceilDiv(add(sub(operand(0), operand(1)), constant(1)), operand(1));
          })
          .Case<arith::MaxSIOp, arith::MaxUIOp>(
              [&](auto) { return arith::MaxSIOp::create(builder, loc, operand(0), operand(1)); })
          .Case<arith::MinSIOp, arith::MinUIOp>(
              [&](auto) { return arith::MinSIOp::create(builder, loc, operand(0), operand(1)); })
          .Default([](Operation *) { return Value(); });
  if (!result)
    return op->emitOpError("cannot run on the host");
  map.map(op->getResult(0), result);
  return success();
}
