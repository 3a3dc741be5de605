//===- Read.cpp - from a .moe file to the prog dialect ----------------------===//
//
// Only for people to read and for tests: nothing runs from what is made here. The runtime's loader has checked every
// index before.
//
//===----------------------------------------------------------------------===//

#include "CudaKernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Verifier.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Target/Program/Program.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::program;
using flatbuffers::Offset;

namespace {

class Reader {
public:
  Reader(const fb::Program &file, ModuleOp module)
      : file(file), builder(module.getBodyRegion()), loc(module.getLoc()),
        kernels(ModuleOp::create(builder, loc, StringRef("kernels"))) {}

  LogicalResult read();

private:
  LogicalResult readEntry(const fb::Entry &entry);
  void readSizes(const fb::Entry &entry);
  void readBuffer(const fb::Buffer &buffer);
  LogicalResult readStep(const fb::Entry &entry, const fb::Step &step);
  LogicalResult readLaunch(const fb::Launch &launch);
  SymbolRefAttr symbolOf(const fb::Kernel &kernel) {
    auto leaf = FlatSymbolRefAttr::get(builder.getContext(), kernel.name()->c_str());
    return SymbolRefAttr::get(builder.getContext(), "kernels", {leaf});
  }
  /// Makes the declaration of a kernel take these operands, and those it takes already.
  LogicalResult declareKernel(const fb::Kernel &kernel, ValueRange operands);

  /// The type of a buffer with these dimensions (expressions), static where they are constants.
  MemRefType getBufferType(const fb::Buffer &buffer, SmallVectorImpl<Value> &dynamic);
  ArrayAttr getNames(const flatbuffers::Vector<Offset<fb::Argument>> *arguments);

  const fb::Program &file;
  OpBuilder builder;
  Location loc;
  ModuleOp kernels;
  prog::ProgramOp program; ///< the one being read
  SmallVector<Value> sizes, buffers;
};

} // namespace

template <typename T> static ArrayRef<T> toArray(const flatbuffers::Vector<T> *vector) {
  return vector ? ArrayRef<T>(vector->data(), vector->size()) : ArrayRef<T>();
}

/// The narrowest type that accepts both, or null if there is none.
static MemRefType join(MemRefType a, MemRefType b) {
  if (!a || a == b)
    return b;
  if (a.getElementType() != b.getElementType() || a.getRank() != b.getRank())
    return {};
  SmallVector<int64_t> shape, strides, stridesA, stridesB;
  int64_t offset;
  (void)a.getStridesAndOffset(stridesA, offset);
  (void)b.getStridesAndOffset(stridesB, offset);
  for (auto [x, y] : llvm::zip(a.getShape(), b.getShape()))
    shape.push_back(x == y ? x : ShapedType::kDynamic);
  for (auto [x, y] : llvm::zip(stridesA, stridesB))
    strides.push_back(x == y ? x : ShapedType::kDynamic);
  return MemRefType::get(shape, a.getElementType(), StridedLayoutAttr::get(a.getContext(), 0, strides));
}

//===----------------------------------------------------------------------===//
// Sizes and buffers
//===----------------------------------------------------------------------===//

void Reader::readSizes(const fb::Entry &entry) {
  sizes.clear();
  for (uint32_t i = 0, e = entry.exprs() ? entry.exprs()->size() : 0; i < e; ++i) {
    // Not aligned in a file that a stranger wrote.
    fb::Expr expr;
    std::memcpy(&expr, entry.exprs()->Data() + i * sizeof(fb::Expr), sizeof(fb::Expr));
    auto binary = [&](auto op) -> Value {
      return decltype(op)::create(builder, loc, sizes[expr.a()], sizes[expr.b()]);
    };
    switch (expr.kind()) {
    case fb::ExprKind::Const:
      sizes.push_back(arith::ConstantOp::create(builder, loc, builder.getI64IntegerAttr(expr.a())));
      break;
    case fb::ExprKind::Dim:
      sizes.push_back(prog::DimOp::create(builder, loc, builder.getI64Type(), program.getBody().getArgument(expr.a()),
                                          static_cast<uint64_t>(expr.b())));
      break;
    case fb::ExprKind::Add:
      sizes.push_back(binary(arith::AddIOp()));
      break;
    case fb::ExprKind::Mul:
      sizes.push_back(binary(arith::MulIOp()));
      break;
    case fb::ExprKind::CeilDiv:
      sizes.push_back(binary(arith::CeilDivSIOp()));
      break;
    case fb::ExprKind::Max:
      sizes.push_back(binary(arith::MaxSIOp()));
      break;
    }
  }
}

MemRefType Reader::getBufferType(const fb::Buffer &buffer, SmallVectorImpl<Value> &dynamic) {
  SmallVector<int64_t> shape;
  for (uint32_t number : toArray(buffer.dims())) {
    auto constant = sizes[number].getDefiningOp<arith::ConstantOp>();
    shape.push_back(constant ? cast<IntegerAttr>(constant.getValue()).getInt() : ShapedType::kDynamic);
    if (!constant)
      dynamic.push_back(sizes[number]);
  }
  return MemRefType::get(shape, fromDType(builder.getContext(), buffer.dtype()));
}

void Reader::readBuffer(const fb::Buffer &buffer) {
  SmallVector<Value> dynamic;
  MemRefType type = getBufferType(buffer, dynamic);
  switch (buffer.kind()) {
  case fb::BufferKind::Input: {
    BlockArgument input = program.getBody().getArgument(buffer.index());
    for (auto [d, number] : llvm::enumerate(toArray(buffer.dims()))) {
      auto dim = sizes[number].getDefiningOp<prog::DimOp>();
      auto constant = sizes[number].getDefiningOp<arith::ConstantOp>();
      bool isOwn = dim ? dim.getSource() == input && dim.getDim() == d
                       : constant && cast<IntegerAttr>(constant.getValue()).getInt() ==
                                         cast<MemRefType>(input.getType()).getDimSize(d);
      if (isOwn)
        continue;
      auto own = prog::DimOp::create(builder, loc, builder.getI64Type(), input, static_cast<uint64_t>(d));
      prog::RequireOp::create(builder, loc, own, sizes[number]);
    }
    buffers.push_back(input);
    return;
  }
  case fb::BufferKind::Output:
    buffers.push_back(prog::OutputOp::create(
        builder, loc, prog::getCallerBufferType(type.getShape(), type.getElementType()), buffer.index(), dynamic));
    return;
  case fb::BufferKind::Arena:
  case fb::BufferKind::Peer:
    buffers.push_back(prog::BufferOp::create(builder, loc, type, dynamic, sizes[buffer.offset()],
                                             buffer.kind() == fb::BufferKind::Peer));
    return;
  case fb::BufferKind::Constant: {
    auto tensor = RankedTensorType::get(type.getShape(), type.getElementType());
    ArrayRef<uint8_t> data = toArray(buffer.data());
    ElementsAttr value;
    if (type.getElementType().isInteger(1)) {
      SmallVector<bool> bits(data.begin(), data.end());
      value = DenseElementsAttr::get(tensor, bits);
    } else {
      value = DenseElementsAttr::getFromRawBuffer(
          tensor, ArrayRef<char>(reinterpret_cast<const char *>(data.data()), data.size()));
    }
    buffers.push_back(prog::ConstantOp::create(builder, loc, type, value));
    return;
  }
  }
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

LogicalResult Reader::declareKernel(const fb::Kernel &kernel, ValueRange operands) {
  StringRef name(kernel.name()->c_str());
  auto function = kernels.lookupSymbol<func::FuncOp>(name);
  if (!function) {
    OpBuilder inside = OpBuilder::atBlockEnd(kernels.getBody());
    function = func::FuncOp::create(inside, loc, name, builder.getFunctionType(operands.getTypes(), {}));
    function.setPrivate();
    constexpr StringLiteral names[] = {"read", "write", "readwrite"};
    ArrayRef<uint8_t> access = toArray(kernel.access());
    for (unsigned i = 0; i < std::min<size_t>(access.size(), kernel.num_args()); ++i)
      function.setArgAttr(i, prog::kAccessAttr, builder.getStringAttr(names[std::min<uint8_t>(access[i], 2)]));
  }
  SmallVector<Type> types;
  for (auto [i, operand] : llvm::enumerate(operands)) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    Type joined = type ? join(cast<MemRefType>(function.getArgumentTypes()[i]), type) : operand.getType();
    if (!joined)
      return mlir::emitError(loc) << "kernel '" << name << "' is launched with argument " << i << " of "
                                  << function.getArgumentTypes()[i] << " and of " << type;
    types.push_back(joined);
  }
  function.setFunctionType(builder.getFunctionType(types, {}));
  return success();
}

LogicalResult Reader::readLaunch(const fb::Launch &launch) {
  SmallVector<Value> operands;
  for (uint32_t number : toArray(launch.args()))
    operands.push_back(buffers[number]);
  for (uint32_t number : toArray(launch.scalars()))
    operands.push_back(sizes[number]);
  const fb::Kernel &kernel = *file.kernels()->Get(launch.kernel());
  if (failed(declareKernel(kernel, operands)))
    return failure();
  auto cost = [&](std::optional<uint32_t> number) { return number ? sizes[*number] : Value(); };
  IntegerAttr bounds;
  if (launch.bounds())
    bounds = builder.getI64IntegerAttr(*launch.bounds());
  prog::LaunchOp::create(builder, loc, symbolOf(kernel), operands, cost(launch.flops()), cost(launch.bytes()), bounds);
  return success();
}

LogicalResult Reader::readStep(const fb::Entry &entry, const fb::Step &step) {
  switch (step.op_type()) {
  case fb::Op::Launch:
    return readLaunch(*step.op_as_Launch());
  case fb::Op::Memset: {
    const fb::Memset &memset = *step.op_as_Memset();
    prog::MemsetOp::create(builder, loc, buffers[memset.buffer()], static_cast<int8_t>(memset.value()));
    return success();
  }
  case fb::Op::Copy: {
    const fb::Copy &copy = *step.op_as_Copy();
    prog::CopyOp::create(builder, loc, buffers[copy.source()], buffers[copy.target()]);
    return success();
  }
  case fb::Op::AllToAll: {
    const fb::AllToAll &exchange = *step.op_as_AllToAll();
    auto bounds = [&](int32_t number) { return number < 0 ? Value() : buffers[number]; };
    auto op = prog::AllToAllOp::create(builder, loc, Type(), buffers[exchange.source()], bounds(exchange.send()),
                                       bounds(exchange.receive()), buffers[exchange.target()], entry.axis()->str(),
                                       entry.ranks());
    if (exchange.kernel() < 0)
      return success();
    const fb::Kernel &kernel = *file.kernels()->Get(static_cast<uint32_t>(exchange.kernel()));
    op.setTransport(prog::Transport::Peer);
    op.setKernelAttr(symbolOf(kernel));
    return declareKernel(kernel, op.getOperands());
  }
  default:
    prog::WaitOp::create(builder, loc);
    return success();
  }
}

//===----------------------------------------------------------------------===//
// Entries
//===----------------------------------------------------------------------===//

ArrayAttr Reader::getNames(const flatbuffers::Vector<Offset<fb::Argument>> *arguments) {
  SmallVector<Attribute> names;
  for (uint32_t i = 0, e = arguments ? arguments->size() : 0; i < e; ++i) {
    const flatbuffers::String *name = arguments->Get(i)->name();
    names.push_back(builder.getStringAttr(name ? name->c_str() : ""));
  }
  return names.empty() ? nullptr : builder.getArrayAttr(names);
}

LogicalResult Reader::readEntry(const fb::Entry &entry) {
  SmallVector<Type> inputs;
  for (uint32_t i = 0, e = entry.inputs() ? entry.inputs()->size() : 0; i < e; ++i) {
    const fb::Argument &input = *entry.inputs()->Get(i);
    SmallVector<int64_t> shape;
    for (int64_t size : toArray(input.dims()))
      shape.push_back(size < 0 ? ShapedType::kDynamic : size);
    inputs.push_back(prog::getCallerBufferType(shape, fromDType(builder.getContext(), input.dtype())));
  }
  OpBuilder::InsertionGuard guard(builder);
  program = prog::ProgramOp::create(builder, loc, entry.name()->c_str(), inputs);
  if (ArrayAttr names = getNames(entry.inputs()))
    program.setInputNamesAttr(names);
  if (ArrayAttr names = getNames(entry.outputs()))
    program.setOutputNamesAttr(names);

  builder.setInsertionPointToStart(&program.getBody().front());
  readSizes(entry);
  buffers.clear();
  for (uint32_t i = 0, e = entry.buffers() ? entry.buffers()->size() : 0; i < e; ++i)
    readBuffer(*entry.buffers()->Get(i));
  for (uint32_t i = 0, e = entry.steps() ? entry.steps()->size() : 0; i < e; ++i)
    if (failed(readStep(entry, *entry.steps()->Get(i))))
      return failure();
  prog::ReturnOp::create(builder, loc, sizes[entry.arena()], entry.peer() ? sizes[*entry.peer()] : Value());
  for (Value size : llvm::reverse(sizes)) // sizes that only types told of
    if (size.use_empty())
      size.getDefiningOp()->erase();
  return success();
}

LogicalResult Reader::read() {
  for (uint32_t i = 0, e = file.entries() ? file.entries()->size() : 0; i < e; ++i)
    if (failed(readEntry(*file.entries()->Get(i))))
      return failure();
  return success();
}

FailureOr<ReadProgram> mlir::moe::readProgram(ArrayRef<char> bytes, StringRef name, MLIRContext *context) {
  Location loc = FileLineColLoc::get(context, name, 0, 0);
  if (std::string message = check(bytes); !message.empty())
    return mlir::emitError(loc) << message;
  // Every access goes through FlatBuffers, which reads unaligned values; the loader has verified the same bytes.
  const fb::Program &file = *fb::GetProgram(bytes.data() + moert::kHeaderBytes);

  ReadProgram result;
  result.target = {file.target()->kind()->str(), file.target()->arch()->str()};
  result.producer = file.producer() ? file.producer()->str() : "";
  std::vector<std::string> names;
  for (uint32_t i = 0, e = file.kernels() ? file.kernels()->size() : 0; i < e; ++i) {
    const fb::Kernel &kernel = *file.kernels()->Get(i);
    result.kernels.push_back({kernel.name()->str(), kernel.num_args(), kernel.num_scalars(), {}});
    names.push_back(kernel.name()->str());
  }
  if (result.target.kind == "cuda")
    for (auto [i, kernel] : llvm::enumerate(result.kernels))
      kernel.launch = describeCudaKernel(*file.kernels()->Get(i)->cuda(), names);
  if (file.object())
    result.object = {reinterpret_cast<const char *>(file.object()->data()), file.object()->size()};
  result.module = ModuleOp::create(loc);
  if (failed(Reader(file, *result.module).read()) || failed(verify(*result.module)))
    return failure();
  return result;
}
