//===- RaggedGemmPack.cpp - operands into panels of f32 -------------------===//
//
// Every element passes through `copyRow`, which widens it, follows `gather`, and reads nothing that is not there. From
// the stage on everything is f32 and whole vectors.
//
//===----------------------------------------------------------------------===//

#include "RaggedGemm.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

/// Fills stage[stageRow][0, width) with zeros; width is a multiple of lanes.
static void clearRow(Emit &emit, const GemmTiling &tiling, Value stage, Value stageRow, Value width) {
  auto vectorType = VectorType::get(tiling.lanes, emit.getF32Type());
  Value zero = emit.zero(vectorType);
  emit.loop(0, width, tiling.lanes,
            [&](Value j) { vector::StoreOp::create(emit, zero, stage, ValueRange{stageRow, j}); });
}

/// stage[stageRow][0, columns) = row `row` of the source, which is one that counts.
static void copyRow(Emit &emit, const GemmTiling &tiling, const GemmSource &source, Value row, Value stage,
                    Value stageRow) {
  Type element = getElementTypeOrSelf(source.memref.getType()), f32 = emit.getF32Type();
  auto vectorType = VectorType::get(tiling.lanes, element);
  row = emit.add(source.firstRow, row);
  auto copy = [&](Value from) {
    auto indices = [&](Value j) {
      SmallVector<Value> all(source.prefix);
      all.append({from, emit.add(source.firstColumn, j)});
      return all;
    };
    Value whole = emit.sub(source.columns, emit.rem(source.columns, emit.index(tiling.lanes)));
    emit.loop(0, whole, tiling.lanes, [&](Value j) {
      Value value = vector::LoadOp::create(emit, vectorType, source.memref, indices(j));
      vector::StoreOp::create(emit, emit.castFloat(value, f32), stage, ValueRange{stageRow, j});
    });
    emit.loop(whole, source.columns, 1, [&](Value j) {
      Value value = emit.castFloat(emit.load(source.memref, indices(j)), f32);
      memref::StoreOp::create(emit, value, stage, ValueRange{stageRow, j});
    });
  };
  if (!source.gather)
    return copy(row);
  Value from = emit.toIndex(emit.load(source.gather, row));
  emit.branch(
      emit.less(from, emit.index(0)),
      [&] { clearRow(emit, tiling, stage, stageRow, emit.roundUp(source.columns, tiling.lanes)); },
      [&] { copy(from); });
}

void cpu::packColumns(Emit &emit, const GemmTiling &tiling, const GemmScratch &scratch, const GemmSource &source,
                      Value panels, int64_t firstPanel, int64_t width, int64_t pitch) {
  auto vectorType = VectorType::get(tiling.lanes, emit.getF32Type());
  Value zero = emit.index(0);
  Value panelCount = emit.ceilDiv(source.columns, width);
  // Rows end at the same column, so what is zero behind the first row's end stays zero. The last panel may read a part
  // of a vector more than its width.
  Value end = emit.add(emit.mul(emit.sub(panelCount, emit.index(1)), width), pitch);
  clearRow(emit, tiling, scratch.stage, zero, emit.roundUp(end, tiling.lanes));
  emit.loop(0, source.rows, 1, [&](Value k) {
    copyRow(emit, tiling, source, k, scratch.stage, zero);
    emit.loop(0, panelCount, 1, [&](Value panel) {
      for (int64_t v = 0; v < pitch; v += tiling.lanes) {
        Value from = emit.add(emit.mul(panel, width), v);
        Value value = vector::LoadOp::create(emit, vectorType, scratch.stage, ValueRange{zero, from});
        vector::StoreOp::create(emit, value, panels, ValueRange{emit.add(panel, firstPanel), k, emit.index(v)});
      }
    });
  });
}

/// Transposes a square of vectors: log2(lanes) rounds, each of which interleaves the first half with the second.
static void transpose(Emit &emit, SmallVectorImpl<Value> &rows) {
  int64_t lanes = rows.size();
  SmallVector<int64_t> low, high;
  for (int64_t i = 0; i < lanes; ++i) {
    low.push_back(i / 2 + (i % 2) * lanes);
    high.push_back(lanes / 2 + low.back());
  }
  for (int64_t round = 1; round < lanes; round *= 2) {
    SmallVector<Value> next;
    for (int64_t i = 0; i < lanes / 2; ++i) {
      next.push_back(vector::ShuffleOp::create(emit, rows[i], rows[i + lanes / 2], low));
      next.push_back(vector::ShuffleOp::create(emit, rows[i], rows[i + lanes / 2], high));
    }
    rows.assign(next);
  }
}

void cpu::packRows(Emit &emit, const GemmTiling &tiling, const GemmScratch &scratch, const GemmSource &source,
                   Value panels, int64_t firstPanel, int64_t width) {
  auto vectorType = VectorType::get(tiling.lanes, emit.getF32Type());
  Value depth = emit.roundUp(source.columns, tiling.lanes);
  emit.loop(0, emit.ceilDiv(source.rows, width), 1, [&](Value panel) {
    Value target = emit.add(panel, firstPanel);
    for (int64_t offset = 0; offset < width; offset += tiling.lanes) {
      Value first = emit.add(emit.mul(panel, width), offset);
      emit.loop(0, emit.index(std::min(tiling.lanes, width - offset)), 1, [&](Value i) {
        Value row = emit.add(first, i);
        emit.branch(
            emit.less(row, source.rows), [&] { copyRow(emit, tiling, source, row, scratch.stage, i); },
            [&] { clearRow(emit, tiling, scratch.stage, i, depth); });
      });
      // What the stage holds behind the end of the columns lands at a k that nobody reads.
      emit.loop(0, depth, tiling.lanes, [&](Value k) {
        SmallVector<Value> rows;
        for (int64_t i = 0; i < tiling.lanes; ++i)
          rows.push_back(vector::LoadOp::create(emit, vectorType, scratch.stage, ValueRange{emit.index(i), k}));
        transpose(emit, rows);
        for (int64_t i = 0; i < tiling.lanes; ++i)
          vector::StoreOp::create(emit, rows[i], panels, ValueRange{target, emit.add(k, i), emit.index(offset)});
      });
    }
  });
}
