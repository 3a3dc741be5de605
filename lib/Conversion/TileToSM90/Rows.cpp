//===- Rows.cpp - the rows of a block ------------------------------------------===//

#include "Rows.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::sm90;
using tile::LoadOp;

static int64_t widthOf(Type vector) { return cast<VectorType>(vector).getNumElements(); }

//===----------------------------------------------------------------------===//
// Shape
//===----------------------------------------------------------------------===//

/// Columns of a thread at a time in a row of `width`: a power of two.
static int64_t columnsOf(int64_t width, int64_t most) {
  return std::min(most, static_cast<int64_t>(llvm::bit_floor(static_cast<uint64_t>(width))));
}

RowShape RowShape::choose(tile::RowsOp op) {
  // 16 bytes of the narrowest elements that move in rows.
  int64_t narrowest = 16;
  auto moves = [&](Type type) {
    if (auto vector = dyn_cast<VectorType>(type))
      narrowest = std::min<int64_t>(narrowest, llvm::divideCeil(vector.getElementTypeBitWidth(), 8));
  };
  Block &body = op.getBody().front();
  for (auto load : body.getOps<LoadOp>())
    moves(load.getType());
  for (Value value : body.getTerminator()->getOperands())
    moves(value.getType());
  int64_t columns = std::min<int64_t>(16 / narrowest, 8), loads = 0;
  for (auto load : body.getOps<LoadOp>())
    if (auto vector = dyn_cast<VectorType>(load.getType()))
      loads += llvm::divideCeil(columns * vector.getElementTypeBitWidth(), 128);

  int64_t most = 1;
  for (Operation &inner : body)
    for (Type type : inner.getResultTypes())
      if (isa<VectorType>(type))
        most = std::max<int64_t>(most, llvm::divideCeil(widthOf(type), columnsOf(widthOf(type), columns)));
  if (most <= 128) {
    // A selection exchanges keys between all lanes of the row, once for each id: fewer lanes do that with less work.
    bool selects = most >= 32 && !body.getOps<tile::SelectOp>().empty();
    int64_t lanes = llvm::PowerOf2Ceil(selects ? llvm::divideCeil(most, 2) : most);
    return {128, std::min<int64_t>(lanes, 32), columns, loads};
  }
  // The fewest threads without work in the last step, of those that need few steps. More loads than 8 need more
  // registers than 512 threads have.
  int64_t widest = loads > 8 ? 256 : 512;
  RowShape best{widest, widest, columns, loads};
  for (int64_t threads : {256, 128}) {
    RowShape shape{threads, threads, columns, loads};
    if (int64_t steps = llvm::divideCeil(most, threads);
        steps <= 8 && shape.fits(steps) &&
        steps * threads <= static_cast<int64_t>(llvm::divideCeil(most, best.threads)) * best.threads)
      best = shape;
  }
  return best;
}

bool RowShape::fits(int64_t turns) const {
  // A load takes 4 registers, and ptxas may put all of them before their uses.
  int64_t registers = std::min<int64_t>(255, kChip.registers / threads);
  return turns == 1 || turns * loads <= (registers - 31) / 4;
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// Whether rows of an operand move as vectors.
bool RowKernel::isWide(Value operand) {
  if (llvm::is_contained(rowsOp.getOuts(), operand) && KernelBuilder::memref(operand).getRank() == 2)
    return true;
  for (auto [argument, in] : llvm::zip(rowsOp.getInArguments(), rowsOp.getIns()))
    if (in == operand && llvm::any_of(argument.getUsers(),
                                      [](Operation *user) { return isa<VectorType>(user->getResult(0).getType()); }))
      return true;
  return false;
}

/// Buffers of the program's own begin on 64 bytes and have no padding; a caller's may be anything, unless `isAligned`
/// was asked.
int64_t RowKernel::alignmentOf(Value operand) {
  MemRefType type = KernelBuilder::memref(operand);
  if (type.getRank() < 2 || !type.getLayout().isIdentity())
    return assumesAligned ? 16 : views[operand].bytes();
  uint64_t row = type.getShape().back() * views[operand].bytes();
  return std::min<int64_t>(16, row & -row);
}

/// Whether every caller's buffer that moves in rows is aligned to 16 bytes, as all its rows are; null if there is none.
Value RowKernel::isAligned() {
  Value bits;
  for (Value operand : rowsOp->getOperands()) {
    const View &view = views[operand];
    if ((view.type.getRank() >= 2 && view.type.getLayout().isIdentity()) || !isWide(operand))
      continue;
    Value address = op<LLVM::PtrToIntOp>(i64(), view.pointer);
    bits = bits ? either(bits, address) : address;
    for (Value stride : view.strides)
      bits = either(bits, mul(stride, view.bytes()));
  }
  return bits ? equal(both(bits, 15), 0) : Value();
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

RowKernel::RowKernel(tile::RowsOp op, RowShape shape, KernelBuilder &kernel) : Simt(kernel), rowsOp(op), shape(shape) {}

Value RowKernel::allocate(int64_t count, Type element) {
  int64_t bytes = count * element.getIntOrFloatBitWidth() / 8;
  Value base = op<AllocOp>(LLVM::LLVMPointerType::get(k.b.getContext(), 3), bytes * shape.rows());
  if (shape.rows() == 1)
    return base;
  return at(base, op<arith::ExtUIOp>(i64(), mul(unit, count)), element);
}

void RowKernel::build() {
  Value index = thread();
  lane = shape.lanes == 1 ? c(0) : shape.rows() == 1 ? index : both(index, shape.lanes - 1);
  unit = shape.rows() == 1 ? c(0) : k.shr(index, llvm::Log2_64(shape.lanes));
  for (Value operand : rowsOp->getOperands())
    views[operand] = view(operand);
  total = k.size(rowsOp.getOuts()[0], 0, 64);
  if (shape.lanes > 32)
    exchange = op<AllocOp>(LLVM::LLVMPointerType::get(k.b.getContext(), 3), shape.lanes / 32 * 8);
  for (Operation &inner : rowsOp.getBody().front()) {
    if (auto select = dyn_cast<tile::SelectOp>(inner)) {
      selectMemory[&inner] = {allocate(widthOf(select.getScores().getType()), i64()),
                              allocate(widthOf(select.getType()), i32())};
      if (select.getKeepGroups() < select.getGroups())
        selectMemory[&inner].push_back(allocate(select.getGroups(), i64()));
    } else if (auto lookup = dyn_cast<tile::LookupOp>(inner)) {
      Value source = lookup.getRow();
      if (!source.getDefiningOp<LoadOp>() && !source.getDefiningOp<tile::SelectOp>() && !lookupMemory.count(source))
        lookupMemory[source] = allocate(widthOf(source.getType()), cast<VectorType>(source.getType()).getElementType());
    }
  }
  Value aligned = shape.columns > 1 ? isAligned() : Value();
  if (!aligned)
    return buildRows();
  auto branch = op<scf::IfOp>(aligned, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  buildRows();
  k.b.setInsertionPoint(branch.elseBlock()->getTerminator());
  assumesAligned = false;
  buildRows();
}

/// The row's group, and whether it has one: the last group that begins at the row or before it.
void RowKernel::findGroup() {
  View &bounds = views[rowsOp.getBounds()];
  int64_t groups = bounds.type.getDimSize(0);
  auto bound = [&](Value index, int64_t which) { return load(i64(), address(bounds, {index, c64(which)})); };
  group = c64(0);
  live = integer(0, i1());
  if (groups == 0)
    return;
  for (int64_t step = llvm::PowerOf2Ceil(groups) / 2; step > 0; step /= 2) {
    Value next = add(group, step), known = min(next, c64(groups - 1));
    Value begun = compare(arith::CmpIPredicate::sle, bound(known, 0), row);
    group = select(both(begun, less(next, c64(groups))), next, group);
  }
  live = both(compare(arith::CmpIPredicate::sle, bound(group, 0), row), less(row, bound(group, 1)));
}

void RowKernel::buildRows() {
  Value order = rowsOp.getOrder(), perBlock = c64(shape.rows()), count = total;
  int64_t width = 1; // of the order
  if (order) {
    count = k.size(order, 0, 64);
    if (KernelBuilder::memref(order).getRank() == 2)
      count = mul(count, width = KernelBuilder::memref(order).getDimSize(1));
  }
  Value first = mul(op<arith::ExtUIOp>(i64(), block()), perBlock);
  Value step = mul(op<arith::ExtUIOp>(i64(), blocks()), perBlock);
  forEach(first, count, step, [&](Value base) {
    inside = group = live = Value();
    row = base;
    if (shape.rows() > 1) {
      Value own = add(base, op<arith::ExtUIOp>(i64(), unit));
      inside = less(own, count);
      row = select(inside, own, sub(count, c64(1)));
    }
    if (order) {
      SmallVector<Value> at{row};
      if (KernelBuilder::memref(order).getRank() == 2)
        at = {div(row, width), rem(row, width)};
      Value named = ext64(load(i32(), address(views[order], at)));
      Value exists = below(named, total); // or it is -1
      inside = inside ? both(inside, exists) : exists;
      row = select(exists, named, c64(0));
    }
    if (rowsOp.getBounds())
      findGroup();
    emitRow();
  });
}

LogicalResult sm90::lower(tile::RowsOp op, OpBuilder &builder, StringRef name) {
  for (auto constant : op.getBody().front().getOps<arith::ConstantOp>())
    if (isa<VectorType>(constant.getType()) && !isa<DenseElementsAttr>(constant.getValue()))
      return constant.emitOpError("holds ") << constant.getValue() << ", expected dense elements on target sm_90a";
  RowShape shape = RowShape::choose(op);
  KernelBuilder kernel(builder, op.getLoc(), name);
  RowKernel(op, shape, kernel).build();
  kernel.finish(LaunchAttr::get(builder.getContext(), shape.threads, 1, 0, /*per_sm=*/2048 / shape.threads, 0));
  return success();
}
