//===- SM90Dialect.cpp - registration, attributes and types of the sm90 dialect ---===//

#include "mlir/IR/DialectImplementation.h"
#include "moe/Dialect/SM90/IR/SM90.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::sm90;

#include "moe/Dialect/SM90/IR/SM90Dialect.cpp.inc"
#include "moe/Dialect/SM90/IR/SM90Enums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "moe/Dialect/SM90/IR/SM90Attrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "moe/Dialect/SM90/IR/SM90Types.cpp.inc"

void SM90Dialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "moe/Dialect/SM90/IR/SM90Ops.cpp.inc"
      >();
  addAttributes<
#define GET_ATTRDEF_LIST
#include "moe/Dialect/SM90/IR/SM90Attrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "moe/Dialect/SM90/IR/SM90Types.cpp.inc"
      >();
}

using EmitError = function_ref<InFlightDiagnostic()>;

LogicalResult TermAttr::verify(EmitError emitError, int64_t, Extent, int64_t dim, int64_t sign) {
  if (dim < 0)
    return emitError() << "dim is " << dim << ", expected 0 or more";
  if (sign == 0)
    return emitError() << "sign is 0, expected another number";
  return success();
}

static LogicalResult verifyWidth(EmitError emitError, int64_t width) {
  if (width == 32 || width == 64)
    return success();
  return emitError() << "width is " << width << ", expected 32 or 64";
}
LogicalResult SizeAttr::verify(EmitError emitError, int64_t, int64_t, int64_t width) {
  return verifyWidth(emitError, width);
}
LogicalResult StrideAttr::verify(EmitError emitError, int64_t, int64_t, int64_t width) {
  return verifyWidth(emitError, width);
}
LogicalResult ScalarAttr::verify(EmitError emitError, int64_t, int64_t width) { return verifyWidth(emitError, width); }

LogicalResult TensorMapAttr::verify(EmitError emitError, int64_t, Type element, ArrayRef<TermAttr> dims,
                                    ArrayRef<TermAttr> strides, ArrayRef<int64_t> box) {
  if (dims.empty() || static_cast<int64_t>(dims.size()) > kChip.boxRank) // (C1)
    return emitError() << "has " << dims.size() << " dims, expected 1 to " << kChip.boxRank;
  if (strides.size() + 1 != dims.size())
    return emitError() << "has " << strides.size() << " strides, expected " << dims.size() - 1;
  if (box.size() != dims.size())
    return emitError() << "has " << box.size() << " box sizes, expected " << dims.size();
  for (auto [i, size] : llvm::enumerate(box)) // (C2)
    if (size < 1 || size > kChip.boxSize)
      return emitError() << "box size #" << i << " is " << size << ", expected 1 to " << kChip.boxSize;
  if (!element.isIntOrFloat())
    return emitError() << "element type is " << element << ", expected an integer or float";
  int64_t bytes = box.front() * (element.isTF32() ? 32 : element.getIntOrFloatBitWidth()) / 8;
  if (bytes != kChip.swizzleBytes)
    return emitError() << "inner box has " << bytes << " bytes, expected " << kChip.swizzleBytes
                       << ", the width of the swizzle";
  return success();
}

LogicalResult PointerAttr::verify(EmitError emitError, int64_t /*arg*/, int64_t align) {
  if (align < 1 || align > 128 || !llvm::isPowerOf2_64(align)) // (C1)
    return emitError() << "align is " << align << ", expected a power of two up to 128";
  return success();
}

LogicalResult LaunchAttr::verify(EmitError emitError, int64_t threads, int64_t cluster, int64_t shared, int64_t perSm,
                                 int64_t blocks) {
  if (threads < 32 || threads > 1024 || threads % 32 != 0)
    return emitError() << "threads is " << threads << ", expected a multiple of 32 up to 1024";
  if (cluster != 1 && cluster != 2)
    return emitError() << "cluster is " << cluster << ", expected 1 or 2";
  if (shared < 0 || shared > kChip.sharedBytes)
    return emitError() << "shared is " << shared << " bytes, expected 0 to " << kChip.sharedBytes;
  if ((perSm > 0) == (blocks > 0) || perSm < 0 || blocks < 0)
    return emitError() << "per_sm is " << perSm << " and blocks is " << blocks
                       << ", expected one of them to be positive";
  return success();
}

LogicalResult ScheduleAttr::verify(EmitError emitError, Roles roles, int64_t m, int64_t n, int64_t stages,
                                   int64_t cluster, int64_t raster, Order order, int64_t buffers, int64_t, int64_t) {
  bool pingpong = roles == Roles::Pingpong;
  if (m != 128 && !(pingpong && m == 64)) // (C1)
    return emitError() << "m is " << m << ", expected " << (pingpong ? "64 or 128" : "128") << " for roles "
                       << stringifyRoles(roles);
  if (n < 64 || n > 256 || n % 64 != 0)
    return emitError() << "n is " << n << ", expected 64, 128, 192 or 256";
  if (int64_t registers = m * n / (pingpong ? 128 : 256); registers > kChip.accumulators)
    return emitError() << "tile takes " << registers << " accumulator registers a thread, expected at most "
                       << kChip.accumulators;
  if (cluster != 1 && cluster != 2) // (C3)
    return emitError() << "cluster is " << cluster << ", expected 1 or 2";
  if (cluster == 2 && n < 128) // each block loads half the columns, 64 at a time
    return emitError() << "cluster is 2 and n is " << n << ", expected n to be at least 128";
  if (raster < 1 || buffers < 1)
    return emitError() << "raster is " << raster << " and buffers is " << buffers << ", expected at least 1";
  int64_t bytes = 8 * 2048 * buffers; // (C2)
  auto add = [&](int64_t size) { bytes = llvm::alignTo(bytes, kChip.sharedAlignment) + size; };
  add(stages * ((m + n) * 128 + 16));
  if (pingpong)
    add(kTurnsBytes);
  if (order == Order::Dynamic)
    add(kQueueStages * (kQueueBytes + 16));
  if (stages < 2 || bytes > kChip.sharedBytes)
    return emitError() << stages << " stages and " << buffers << " buffers take " << bytes
                       << " bytes of shared memory, expected at least 2 stages and at most " << kChip.sharedBytes;
  return success();
}

LogicalResult RingType::verify(EmitError emitError, int64_t stages, int64_t bytes) {
  if (stages < 2)
    return emitError() << "ring has " << stages << " stages, expected at least 2";
  if (bytes <= 0 || bytes % 16 != 0)
    return emitError() << "stage has " << bytes << " bytes, expected a positive multiple of 16";
  return success();
}

LogicalResult RowsType::verify(EmitError emitError, int64_t count) {
  if (count < 8 || count > 256 || count % 8 != 0) // (C1)
    return emitError() << "count is " << count << ", expected a multiple of 8 from 8 to 256";
  return success();
}

LogicalResult AccType::verify(EmitError emitError, int64_t columns) {
  if (columns < kChip.wgmmaColumnStep || columns > kChip.wgmmaMaxColumns || columns % kChip.wgmmaColumnStep != 0)
    return emitError() << "accumulator has " << columns << " columns, expected a multiple of " << kChip.wgmmaColumnStep
                       << " from " << kChip.wgmmaColumnStep << " to " << kChip.wgmmaMaxColumns;
  return success();
}
