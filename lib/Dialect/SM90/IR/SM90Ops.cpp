//===- SM90Ops.cpp - verifiers of the sm90 dialect --------------------------===//

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "moe/Dialect/SM90/IR/SM90.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::sm90;

#define GET_OP_CLASSES
#include "moe/Dialect/SM90/IR/SM90Ops.cpp.inc"

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

int64_t sm90::getSharedBytes(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case([](AllocOp alloc) { return alloc.getBytes(); })
      .Case([](RingOp ring) { return ring.getType().getSharedBytes(); })
      .Case([](TurnsOp) { return kTurnsBytes; })
      .Default([](Operation *) { return 0; });
}

int64_t KernelOp::getSharedBytes() {
  int64_t bytes = 0;
  for (Operation &op : getBody().front())
    if (int64_t size = sm90::getSharedBytes(&op))
      bytes = llvm::alignTo(bytes, kChip.sharedAlignment) + size;
  return bytes;
}

/// Type of the block argument of a parameter, or null if the attribute is no parameter.
static Type getParameterType(Attribute param) {
  MLIRContext *context = param.getContext();
  auto integer = [&](int64_t width) -> Type { return IntegerType::get(context, width); };
  return llvm::TypeSwitch<Attribute, Type>(param)
      .Case<sm90::TensorMapAttr>([&](auto) { return TensorMapType::get(context); })
      .Case<PointerAttr, FaultsAttr, CounterAttr, PeersAttr>(
          [&](auto) { return LLVM::LLVMPointerType::get(context, 1); })
      .Case<SizeAttr, StrideAttr, ScalarAttr>([&](auto attr) { return integer(attr.getWidth()); })
      .Default(Type());
}

LogicalResult KernelOp::verify() {
  if (getLaunch().getThreads() % 128 != 0) // (C3)
    return emitOpError() << "threads is " << getLaunch().getThreads() << ", expected a multiple of 128";
  ArrayRef<BlockArgument> arguments = getBody().front().getArguments();
  if (arguments.size() != getParams().size()) // (C1)
    return emitOpError() << "has " << arguments.size() << " block arguments, expected " << getParams().size()
                         << ", one for each parameter";
  for (auto [i, param, argument] : llvm::enumerate(getParams(), arguments)) {
    Type expected = getParameterType(param);
    if (!expected)
      return emitOpError() << "parameter #" << i << " is " << param << ", expected an attribute that is a parameter";
    if (argument.getType() != expected)
      return emitOpError() << "argument #" << i << " is " << argument.getType() << ", expected " << expected;
  }
  if (auto fallback = getFallbackAttr()) // (C4)
    if (!isa_and_nonnull<KernelOp>(SymbolTable::lookupNearestSymbolFrom(getOperation()->getParentOp(), fallback)))
      return emitOpError() << "fallback " << fallback << " is no kernel beside it";
  return success();
}

LogicalResult KernelOp::verifyRegions() {
  int64_t bytes = getSharedBytes();
  if (bytes > kChip.sharedBytes) // (C2)
    return emitOpError() << "needs " << bytes << " bytes of shared memory, expected at most " << kChip.sharedBytes;
  return success();
}

static LogicalResult verifyInKernelBlock(Operation *op) {
  if (isa_and_nonnull<KernelOp>(op->getParentOp()))
    return success();
  return op->emitOpError("stands in a nested region, expected the block of a sm90.kernel");
}

LogicalResult AllocOp::verify() {
  if (getBytes() == 0 || static_cast<int64_t>(getBytes()) < 0)
    return emitOpError() << "bytes is " << static_cast<int64_t>(getBytes()) << ", expected a positive number";
  return verifyInKernelBlock(*this);
}

LogicalResult SpecializeOp::verify() {
  int64_t budgets[] = {static_cast<int64_t>(getProducerRegisters()), static_cast<int64_t>(getConsumerRegisters())};
  for (auto [name, budget] : llvm::zip(ArrayRef<StringRef>{"producer", "consumers"}, budgets)) // (C1)
    if (budget < kChip.minRegisters || budget > kChip.maxRegisters || budget % kChip.registerStep != 0)
      return emitOpError() << "budget of " << name << " is " << budget << " registers, expected a multiple of "
                           << kChip.registerStep << " from " << kChip.minRegisters << " to " << kChip.maxRegisters;
  if (failed(verifyInKernelBlock(*this))) // (C2)
    return failure();
  int64_t threads = cast<KernelOp>((*this)->getParentOp()).getLaunch().getThreads();
  if (threads < 256)
    return emitOpError() << "stands in a kernel of " << threads << " threads, expected at least 256";
  int64_t total = 128 * budgets[0] + (threads - 128) * budgets[1];
  if (total > kChip.registers)
    return emitOpError() << "budgets come to " << total << " registers for " << threads << " threads, expected at most "
                         << kChip.registers;
  return success();
}

//===----------------------------------------------------------------------===//
// Ring, loads
//===----------------------------------------------------------------------===//

LogicalResult RingOp::verify() {
  for (auto [name, count] : {std::pair<StringRef, int64_t>{"arrivals", getArrivals()}, {"releases", getReleases()}})
    if (count < 1)
      return emitOpError() << name << " is " << count << ", expected at least 1";
  return verifyInKernelBlock(*this);
}

LogicalResult TurnsOp::verify() { return verifyInKernelBlock(*this); }

/// Bytes that the TMA loads of a block bring to a stage on `cursor`; nullopt if the arms of an scf.if bring
/// different numbers, which is then reported. A multicast box arrives once from each block of the cluster.
static std::optional<int64_t> countBytes(Block &block, Value cursor, Operation *acquire) {
  int64_t bytes = 0;
  for (Operation &op : block) {
    if (auto load = dyn_cast<TmaLoadOp>(op)) {
      if (load.getCursor() == cursor)
        bytes += load.getBytes() * (load.getMulticast() ? 2 : 1);
    } else if (auto branch = dyn_cast<scf::IfOp>(op)) {
      std::optional<int64_t> yes = countBytes(*branch.thenBlock(), cursor, acquire), no = 0;
      if (branch.elseBlock())
        no = countBytes(*branch.elseBlock(), cursor, acquire);
      if (!yes || !no)
        return std::nullopt;
      if (*yes != *no) {
        acquire->emitOpError() << "is followed by a branch that loads " << *yes << " bytes in one arm and " << *no
                               << " in the other, expected equal numbers";
        return std::nullopt;
      }
      bytes += *yes;
    }
  }
  return bytes;
}

LogicalResult AcquireOp::verify() {
  std::optional<int64_t> bytes = countBytes(*(*this)->getBlock(), getCursor(), *this);
  if (!bytes)
    return failure();
  if (*bytes != static_cast<int64_t>(getBytes()))
    return emitOpError() << "expects " << getBytes() << " bytes, but its block loads " << *bytes;
  return success();
}

LogicalResult TmaLoadOp::verify() {
  if (getCoordinates().empty() || getCoordinates().size() > 5) // (C1)
    return emitOpError() << "has " << getCoordinates().size() << " coordinates, expected 1 to 5";
  int64_t bytes = getBytes(), stage = getRing().getType().getBytes();
  if (bytes <= 0 || bytes > stage)
    return emitOpError() << "loads " << bytes << " bytes into a stage of " << stage << ", expected 1 to " << stage;
  if (stage % kChip.sharedAlignment != 0) // (C3)
    return emitOpError() << "loads into stages of " << stage << " bytes, expected a multiple of "
                         << kChip.sharedAlignment;
  if (getMulticast()) // (C2)
    if (auto kernel = (*this)->getParentOfType<KernelOp>(); kernel && kernel.getLaunch().getCluster() != 2)
      return emitOpError() << "is multicast in a cluster of " << kernel.getLaunch().getCluster() << ", expected 2";
  return success();
}

LogicalResult GatherLoadOp::verify() {
  int64_t bytes = 128 * getRows().getType().getCount(), stage = getRing().getType().getBytes();
  if (bytes > stage) // (C1)
    return emitOpError() << "loads " << bytes << " bytes into a stage of " << stage;
  if (auto ring = getRing().getDefiningOp<RingOp>(); ring && ring.getArrivals() != 1 + kGatherThreads) // (C2)
    return emitOpError() << "gathers into a ring of " << ring.getArrivals() << " arrivals, expected "
                         << 1 + kGatherThreads;
  return success();
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

static LogicalResult verifyAccumulators(Operation *op, OperandRange accs, TypeRange results) {
  if (accs.empty())
    return op->emitOpError("has no accumulators, expected at least 1");
  for (Type type : accs.getTypes())
    if (type != accs.front().getType())
      return op->emitOpError() << "has accumulators " << accs.front().getType() << " and " << type
                               << ", expected one type";
  if (TypeRange(accs.getTypes()) != results)
    return op->emitOpError() << "has " << accs.size() << " accumulators and " << results.size()
                             << " results, expected the same types";
  return success();
}

LogicalResult WgmmaOp::verify() {
  if (!getElement().isBF16() && !getElement().isF16() && !getElement().isTF32()) // (C1)
    return emitOpError() << "element is " << getElement() << ", expected bf16, f16 or tf32";
  if (getElement().isTF32()) // (C2)
    for (auto [name, operand] : {std::pair<StringRef, OperandType>{"a", getA().getType()}, {"b", getB().getType()}})
      if (operand.getMajor() != Major::K)
        return emitOpError() << "operand " << name << " of tf32 is " << operand << ", expected K-major";
  if (failed(verifyAccumulators(*this, getAccs(), getResultTypes())))
    return failure();
  int64_t columns = cast<AccType>(getAccs().front().getType()).getColumns();
  if (getApart() && columns % 128 != 0) // (C3)
    return emitOpError() << "has halves apart of " << columns << " columns, expected a multiple of 128";
  return success();
}

LogicalResult WgmmaWaitOp::verify() { return verifyAccumulators(*this, getAccs(), getResultTypes()); }

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

LogicalResult ForTilesOp::verify() {
  if (static_cast<int64_t>(getGroups()) < 0) // (C1)
    return emitOpError() << "groups is " << static_cast<int64_t>(getGroups()) << ", expected at least 0";
  for (auto [name, value] : {std::pair<StringRef, int64_t>{"columns", getColumns()},
                             {"tile_m", getTileM()},
                             {"tile_n", getTileN()},
                             {"raster", getRaster()}})
    if (value < 1) // (C1)
      return emitOpError() << name << " is " << value << ", expected at least 1";
  if (getCounter() && !getQueue()) // (C3)
    return emitOpError("takes tiles without a queue, expected one to hand them on");
  if (TypeRange(getInits().getTypes()) != TypeRange(getResultTypes()))
    return emitOpError() << "has " << getInits().size() << " values in init and " << getNumResults()
                         << " results, expected the same types";
  return success();
}

LogicalResult ForTilesOp::verifyRegions() { // (C2)
  auto kernel = (*this)->getParentOfType<KernelOp>();
  bool cluster = kernel && kernel.getLaunch().getCluster() == 2;
  Builder builder(getContext());
  SmallVector<Type> expected(5, builder.getI32Type());
  expected.append(cluster ? 2 : 1, builder.getI1Type());
  llvm::append_range(expected, getInits().getTypes());
  if (TypeRange(getBody().getArgumentTypes()) != TypeRange(expected))
    return emitOpError() << "region has " << getBody().getNumArguments() << " arguments, expected " << expected.size()
                         << ": row, column, group, begin, end (i32), live" << (cluster ? ", pair" : "")
                         << " (i1), then the values of init";
  if (TypeRange(getBody().front().getTerminator()->getOperandTypes()) != TypeRange(getInits().getTypes()))
    return getBody().front().getTerminator()->emitOpError()
           << "yields " << getBody().front().getTerminator()->getNumOperands() << " values, expected "
           << getInits().size() << " of the types of init";
  return success();
}

LogicalResult EpilogueOp::verify() {
  if (getAccs().empty() || getOuts().size() != getTypes().size() || getMaps().size() != getOuts().size() ||
      getPitches().size() != getOuts().size()) // (C1)
    return emitOpError() << "has " << getAccs().size() << " accumulators, " << getMaps().size() << " maps, "
                         << getOuts().size() << " outs, " << getPitches().size() << " pitches and " << getTypes().size()
                         << " types, expected at least one accumulator and one of each for an out";
  int64_t columns = cast<AccType>(getAccs().front().getType()).getColumns() / getParts();
  if (columns % 64 != 0) // (C2)
    return emitOpError() << "has " << columns << " result columns, expected a multiple of 64";
  size_t extras = getExtras().size(); // (C3)
  if (getExtraPitches().size() != extras || getExtraTypes().size() != extras || getExtraKinds().size() != extras)
    return emitOpError() << "has " << extras << " extras, " << getExtraPitches().size() << " pitches, "
                         << getExtraTypes().size() << " types and " << getExtraKinds().size()
                         << " kinds of them, expected equal numbers";
  if (!getReduce()) // (C4)
    return success();
  if (!getPlane() || getAccumulate())
    return emitOpError() << "has reduce " << (getPlane() ? "and accumulate" : "but not plane")
                         << ", expected plane without accumulate";
  for (Attribute type : getTypes())
    if (!cast<TypeAttr>(type).getValue().isF32())
      return emitOpError() << "has reduce into an out of " << type << ", expected f32";
  return success();
}
