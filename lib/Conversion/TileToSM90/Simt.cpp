//===- Simt.cpp - kernels of ordinary threads ----------------------------------===//

#include "Simt.h"

using namespace mlir;
using namespace mlir::sm90;

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void Simt::ifThen(Value condition, function_ref<void()> body) {
  auto branch = op<scf::IfOp>(condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPoint(branch.thenBlock()->getTerminator());
  body();
}

Value Simt::choose(Type type, Value condition, function_ref<Value()> yes, function_ref<Value()> no) {
  auto branch = op<scf::IfOp>(TypeRange{type}, condition, /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(k.b);
  k.b.setInsertionPointToStart(branch.thenBlock());
  op<scf::YieldOp>(yes());
  k.b.setInsertionPointToStart(branch.elseBlock());
  op<scf::YieldOp>(no());
  return branch.getResult(0);
}

void Simt::forEach(Value from, Value to, Value step, function_ref<void(Value)> body) {
  loop(from, to, step, {}, [&](Value i, ValueRange) {
    body(i);
    return SmallVector<Value>();
  });
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

Value Simt::shuffle(Value value, int64_t distance, NVVM::ShflKind kind) {
  Type type = value.getType();
  if (type.isIndex())
    return op<arith::IndexCastOp>(type, shuffle(op<arith::IndexCastOp>(i64(), value), distance, kind));
  int64_t bits = type.getIntOrFloatBitWidth();
  if (type.isF32() || type.isInteger(32)) {
    // Up clamps at lane 0, the others at the last one.
    Value clamp = c(kind == NVVM::ShflKind::up ? 0 : 31);
    return op<NVVM::ShflOp>(type, c(-1), value, c(distance), clamp, kind, UnitAttr());
  }
  if (isa<FloatType>(type))
    return op<arith::BitcastOp>(type, shuffle(op<arith::BitcastOp>(k.b.getIntegerType(bits), value), distance, kind));
  if (bits < 32)
    return op<arith::TruncIOp>(type, shuffle(op<arith::ExtUIOp>(i32(), value), distance, kind));
  Value low = shuffle(trunc32(value), distance, kind);
  Value high = shuffle(trunc32(op<arith::ShRUIOp>(value, c64(32))), distance, kind);
  high = op<arith::ShLIOp>(op<arith::ExtUIOp>(i64(), high), c64(32));
  return either(high, op<arith::ExtUIOp>(i64(), low));
}

std::pair<Value, Value> Simt::sumBefore(Value value, Value index, Value memory) {
  Value lane = both(index, 31), warp = k.shr(index, 5);
  auto inWarp = [&](Value own) {
    Value sum = own;
    for (int64_t distance = 1; distance < 32; distance *= 2) {
      Value other = shuffle(sum, distance, NVVM::ShflKind::up);
      sum = select(less(lane, c(distance)), sum, add(sum, other));
    }
    return sum;
  };
  auto entry = [&](Value i) { return at(memory, op<arith::ExtUIOp>(i64(), i), i64()); };
  Value sum = inWarp(value);
  barrier(); // the sums before these were read
  ifThen(equal(lane, 31), [&] { store(sum, entry(warp)); });
  barrier();
  ifThen(equal(warp, 0), [&] { store(inWarp(load(i64(), entry(lane))), entry(lane)); });
  barrier();
  Value isFirst = equal(warp, 0);
  Value earlier = load(i64(), entry(select(isFirst, c(0), sub(warp, c(1)))));
  earlier = select(isFirst, c64(0), earlier);
  return {add(earlier, sub(sum, value)), load(i64(), entry(c(kScanThreads / 32 - 1)))};
}

Value Simt::roundUp(Value size, int64_t align, Value rows) {
  if (align == 1)
    return min(size, rows);
  // A size of 0 stays 0: (0 - 1) / align is 0 then, and it is chosen before.
  Value units = add(div(sub(size, c64(1)), align), 1);
  return select(equal(size, 0), size, min(mul(units, align), rows));
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Value Simt::pinned(Value pointer) {
  // A move that may not be moved.
  return assembly(pointer.getType(), "mov.b64 $0, $1;", "=l,l", pointer, /*effects=*/true);
}

View Simt::view(Value memref) {
  View view{pinned(k.pointer(memref)), {}, KernelBuilder::memref(memref)};
  for (int64_t dim = 0; dim + 1 < view.type.getRank(); ++dim)
    view.strides.push_back(k.stride(memref, dim));
  return view;
}

Value Simt::at(Value base, Value index, Type element) {
  return op<LLVM::GEPOp>(base.getType(), element, base, ArrayRef<LLVM::GEPArg>{index});
}

Value Simt::address(const View &view, ArrayRef<Value> indices) {
  Value offset = c64(0);
  for (auto [i, index] : llvm::enumerate(indices))
    offset = add(offset, i < view.strides.size() ? mul(index, view.strides[i]) : index);
  return at(view.pointer, offset, view.element());
}

Value Simt::load(Type type, Value address, bool isVolatile) {
  return op<LLVM::LoadOp>(type, address, type.getIntOrFloatBitWidth() / 8, isVolatile);
}

void Simt::store(Value value, Value address, bool isVolatile) {
  op<LLVM::StoreOp>(value, address, value.getType().getIntOrFloatBitWidth() / 8, isVolatile);
}

Value Simt::assembly(Type result, StringRef code, StringRef constraints, ValueRange operands, bool effects) {
  return op<LLVM::InlineAsmOp>(result, operands, code, constraints, effects, /*is_align_stack=*/false,
                               LLVM::tailcallkind::TailCallKind::None,
                               LLVM::AsmDialectAttr::get(k.b.getContext(), LLVM::AsmDialect::AD_ATT), ArrayAttr())
      .getRes();
}

SmallVector<Value> Simt::loadConstant(Type element, Value address, int64_t count, Value valid) {
  int64_t elementBits = element.getIntOrFloatBitWidth(), bits = elementBits * count;
  // One instruction loads so many words; a byte comes in a register of 16 bits.
  int64_t width = elementBits == 64 ? 64 : std::min<int64_t>(bits, 32), words = bits / width;
  Type word = k.b.getIntegerType(std::max<int64_t>(width, 16));
  StringRef reg = width == 64 ? "l" : width == 32 ? "r" : "h";
  std::string names, zeros, constraints;
  for (int64_t i = 0; i < words; ++i) {
    std::string name = "$" + std::to_string(i);
    names += (i ? ", " : "") + name;
    zeros += "mov.b" + std::to_string(word.getIntOrFloatBitWidth()) + " " + name + ", 0; ";
    constraints += ("=&" + reg + ",").str();
  }
  std::string vector = words > 1 ? ".v" + std::to_string(words) : "";
  std::string from = "$" + std::to_string(words), predicate = "$" + std::to_string(words + 1);
  std::string code = "ld.global.nc" + vector + ".b" + std::to_string(width) +
                     (words > 1 ? " {" + names + "}" : " " + names) + ", [" + from + "];";
  SmallVector<Value> operands{address};
  constraints += "l";
  if (valid) {
    code = zeros + "@" + predicate + " " + code;
    constraints += ",b";
    operands.push_back(valid);
  }
  Type result =
      words == 1 ? word : Type(LLVM::LLVMStructType::getLiteral(k.b.getContext(), SmallVector<Type>(words, word)));
  Value loaded = assembly(result, code, constraints, operands, /*effects=*/false);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < words; ++i) {
    Value bitsOfWord = words == 1 ? loaded : op<LLVM::ExtractValueOp>(loaded, i).getResult();
    if (width < 16)
      bitsOfWord = op<arith::TruncIOp>(k.b.getIntegerType(width), bitsOfWord);
    int64_t inWord = width / elementBits;
    if (inWord == 1) {
      elements.push_back(op<LLVM::BitcastOp>(element, bitsOfWord));
      continue;
    }
    Value split = op<LLVM::BitcastOp>(VectorType::get(inWord, element), bitsOfWord);
    for (int64_t e = 0; e < inWord; ++e)
      elements.push_back(op<LLVM::ExtractElementOp>(split, c(e)));
  }
  return elements;
}

//===----------------------------------------------------------------------===//
// Faults
//===----------------------------------------------------------------------===//

void Simt::report(tile::FaultKind kind, Value row, Value value, Value limit) {
  // See FaultBlock of the runtime: four records of count, row, value, limit (i64), then the lock.
  constexpr int64_t kFaultKinds = 4;
  static_assert(tile::getMaxEnumValForFaultKind() + 1 == kFaultKinds, "the lock stands behind the records");
  Value block = k.faults();
  auto field = [&](int64_t i) { return at(block, c64(4 * static_cast<int64_t>(kind) + i), i64()); };
  Value lock = at(block, c64(4 * kFaultKinds), i64());

  // Most faults are not the first of their kind, and only count. A count other than 0 says that the record holds.
  Value count = assembly(i64(), "ld.acquire.gpu.global.b64 $0, [$1];", "=l,l,~{memory}", field(0), true);
  Value none = equal(count, 0);
  Value keeps = either(none, compare(arith::CmpIPredicate::sge, load(i64(), field(1), true), row));
  ifThen(keeps, [&] {
    // A thread that holds the lock gives it back before it waits for the others of its warp.
    auto attempt = [&](OpBuilder &, Location, ValueRange) {
      Value held = assembly(i32(), "atom.acquire.gpu.global.exch.b32 $0, [$1], 1;", "=r,l,~{memory}", lock, true);
      Value taken = equal(held, 0);
      ifThen(taken, [&] {
        Value empty = equal(load(i64(), field(0), true), 0);
        // The whole record decides.
        Value lower = integer(0, i1()), tied = integer(1, i1());
        for (auto [i, mine] : {std::pair<int64_t, Value>{1, row}, {2, value}, {3, limit}}) {
          Value kept = load(i64(), field(i), true);
          lower = either(lower, both(tied, less(mine, kept)));
          tied = both(tied, equal(mine, kept));
        }
        ifThen(either(empty, lower), [&] {
          for (auto [i, mine] : {std::pair<int64_t, Value>{1, row}, {2, value}, {3, limit}})
            store(mine, field(i), true);
        });
        assembly(i64(), "fence.acq_rel.gpu; atom.relaxed.gpu.global.add.u64 $0, [$1], 1;", "=l,l,~{memory}", field(0),
                 true);
        assembly(i32(), "atom.release.gpu.global.exch.b32 $0, [$1], 0;", "=r,l,~{memory}", lock, true);
      });
      op<scf::ConditionOp>(no(taken), ValueRange());
    };
    scf::WhileOp::create(k.b, k.loc, TypeRange(), ValueRange(), attempt,
                         [&](OpBuilder &, Location, ValueRange) { op<scf::YieldOp>(); });
  });
  ifThen(no(keeps), [&] { atomic(LLVM::AtomicBinOp::add, field(0), c64(1)); });
}
