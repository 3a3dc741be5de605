//===- Lowering.h - from one tile op to sm90 kernels --------------------------===//
#ifndef MOE_LIB_CONVERSION_TILETOSM90_LOWERING_H
#define MOE_LIB_CONVERSION_TILETOSM90_LOWERING_H

#include "../Numbers.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Dialect/SM90/IR/SM90.h"
#include "moe/Dialect/Tile/IR/Tile.h"

namespace mlir::sm90 {

/// A kernel being built. Operands of the tile op are arguments of its function, and so of the launch: a parameter
/// that says something of operand x names argument number x. The builder stands in the kernel's block.
class KernelBuilder : public Numbers {
public:
  KernelBuilder(OpBuilder &builder, Location loc, StringRef name) : Numbers(builder, loc) {
    // Parameters and launch are set by `finish`.
    kernel = KernelOp::create(b, loc, name, LaunchAttr::get(b.getContext(), 128, 1, 0, 0, 1), b.getArrayAttr({}),
                              FlatSymbolRefAttr());
    b.setInsertionPointToStart(&kernel.getBody().emplaceBlock());
  }

  void finish(LaunchAttr launch, StringRef fallback = {}) {
    b.setInsertionPointToEnd(body());
    YieldOp::create(b, loc);
    kernel.setLaunchAttr(launch);
    kernel.setParamsAttr(b.getArrayAttr(params));
    if (!fallback.empty())
      kernel.setFallback(fallback);
    b.setInsertionPointAfter(kernel);
  }

  /// Number of the launch argument that an operand of the tile op is.
  static int64_t number(Value operand) { return cast<BlockArgument>(operand).getArgNumber(); }
  static MemRefType memref(Value operand) { return cast<MemRefType>(operand.getType()); }

  /// With `align` the kernel is for arguments whose address and outer strides are multiples of so many bytes.
  Value pointer(Value operand, int64_t align = 1) {
    return param(PointerAttr::get(b.getContext(), number(operand), align), global());
  }
  /// Bounds of the groups that a product computes; null without bounds.
  Value bounds(tile::RaggedGemmOp gemm) {
    if (!gemm.getBounds())
      return {};
    Value all = pointer(gemm.getBounds());
    int64_t offset = gemm.getGroupOffset();
    if (offset == 0)
      return all;
    return op<LLVM::GEPOp>(all.getType(), b.getI64Type(), all,
                           ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(2 * offset)});
  }
  Value size(Value operand, int64_t dim, int64_t width = 32) {
    return param(SizeAttr::get(b.getContext(), number(operand), dim, width), b.getIntegerType(width));
  }
  /// In elements.
  Value stride(Value operand, int64_t dim, int64_t width = 64) {
    return param(StrideAttr::get(b.getContext(), number(operand), dim, width), b.getIntegerType(width));
  }
  /// An index operand, as i64; scalars are numbered after the memrefs.
  Value scalar(Value operand) {
    auto argument = cast<BlockArgument>(operand);
    int64_t memrefs = llvm::count_if(argument.getOwner()->getArgumentTypes(), llvm::IsaPred<MemRefType>);
    return param(ScalarAttr::get(b.getContext(), argument.getArgNumber() - memrefs, 64), b.getI64Type());
  }
  Value counter() { return param(CounterAttr::get(b.getContext()), global()); }
  Value faults() { return param(FaultsAttr::get(b.getContext()), global()); }
  Value peers() { return param(PeersAttr::get(b.getContext()), global()); }

  TermAttr constant(int64_t value) { return TermAttr::get(b.getContext(), value, Extent::None, 0, 1); }
  TermAttr sizeTerm(int64_t dim) { return TermAttr::get(b.getContext(), 0, Extent::Size, dim, 1); }
  TermAttr strideTerm(int64_t dim, int64_t base = 0, int64_t sign = 1) {
    return TermAttr::get(b.getContext(), base, Extent::Stride, dim, sign);
  }
  /// `element` is the operand's, or tf32.
  Value tensorMap(Value operand, Type element, ArrayRef<TermAttr> dims, ArrayRef<TermAttr> strides,
                  ArrayRef<int64_t> box) {
    auto attr = sm90::TensorMapAttr::get(b.getContext(), number(operand), element, dims, strides, box);
    return param(attr, TensorMapType::get(b.getContext()));
  }
  /// A map of a matrix whose rows end where a group ends (kEndedRows), for boxes of `height` rows.
  Value endedMap(Value operand, Type element, int64_t width, int64_t height) {
    TermAttr any = constant(0x7fff0000); // coordinates within int32
    return tensorMap(operand, element, {sizeTerm(1), constant(kEndedRows), any, any},
                     {strideTerm(0), strideTerm(0), strideTerm(0, 1ll << 35, -1)}, {width, height, 1, 1});
  }

  /// Address of a table of constants beside the kernel, in global memory; i1 lies there as `memory`, i8.
  Value table(DenseElementsAttr elements, Type memory) {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPoint(kernel);
    auto values = llvm::map_to_vector(elements.getValues<Attribute>(), [&](Attribute value) -> Attribute {
      if (auto bit = dyn_cast<IntegerAttr>(value); bit && bit.getType() != memory)
        return IntegerAttr::get(memory, bit.getValue().zext(memory.getIntOrFloatBitWidth()));
      return value;
    });
    int64_t count = elements.getNumElements();
    std::string name = (kernel.getSymName() + "_table_" + Twine(numTables++)).str();
    auto global = LLVM::GlobalOp::create(b, loc, LLVM::LLVMArrayType::get(memory, count), /*isConstant=*/true,
                                         LLVM::Linkage::Internal, name,
                                         DenseElementsAttr::get(RankedTensorType::get(count, memory), values),
                                         /*alignment=*/16, /*addrSpace=*/1);
    b.setInsertionPointToStart(body());
    return LLVM::AddressOfOp::create(b, loc, global);
  }

  /// A loop that carries values; `body` takes the induction variable and the values, and returns the next ones.
  SmallVector<Value> loop(Value from, Value to, Value step, ValueRange inits,
                          function_ref<SmallVector<Value>(Value, ValueRange)> body) {
    auto loop = op<scf::ForOp>(from, to, step, inits);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    SmallVector<Value> yields = body(loop.getInductionVar(), loop.getRegionIterArgs());
    if (!inits.empty())
      op<scf::YieldOp>(yields);
    return SmallVector<Value>(loop.getResults());
  }

private:
  Block *body() { return &kernel.getBody().front(); }
  LLVM::LLVMPointerType global() { return LLVM::LLVMPointerType::get(b.getContext(), 1); }
  /// The argument of a parameter; the same one if it is asked for again.
  Value param(Attribute attr, Type type) {
    for (auto [i, known] : llvm::enumerate(params))
      if (known == attr)
        return body()->getArgument(i);
    params.push_back(attr);
    return body()->addArgument(type, loc);
  }

  KernelOp kernel;
  SmallVector<Attribute> params;
  int64_t numTables = 0;
};

/// Build the kernel `name` of an op that stands in its function. On failure an error was emitted at the op.
LogicalResult lower(prog::AllToAllOp op, OpBuilder &builder, StringRef name);
LogicalResult lower(tile::OffsetsOp op, OpBuilder &builder, StringRef name);
LogicalResult lower(tile::PlanOp op, OpBuilder &builder, StringRef name);
LogicalResult lower(tile::RaggedGemmOp op, OpBuilder &builder, StringRef name);
LogicalResult lower(tile::RowsOp op, OpBuilder &builder, StringRef name);

/// The kernel of a product that needs neither TMA nor wgmma: any product.
void lowerSimple(tile::RaggedGemmOp op, OpBuilder &builder, StringRef name);

} // namespace mlir::sm90

#endif
