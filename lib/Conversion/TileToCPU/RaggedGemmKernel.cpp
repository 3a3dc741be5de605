//===- RaggedGemmKernel.cpp - block sizes and the innermost loops ---------===//

#include "RaggedGemm.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::tile;
using namespace mlir::tile::cpu;

/// `extent` split into the fewest blocks of at most `most`, all about equal: the size of one, a multiple of `unit`.
static int64_t balanced(int64_t extent, int64_t most, int64_t unit) {
  int64_t blocks = std::max<int64_t>(1, llvm::divideCeil(extent, most));
  return std::max(unit, static_cast<int64_t>(llvm::alignTo(llvm::divideCeil(extent, blocks), unit)));
}

GemmTiling GemmTiling::get(RaggedGemmOp op, const Target &target) {
  GemmTiling tiling;
  tiling.lanes = target.lanes;
  // Two vectors of columns; as many rows as leave registers for two vectors of B and two broadcasts of A.
  tiling.nr = 2 * target.lanes;
  tiling.mr = (target.registers - 4) / 2;
  bool contraction = op.getMode() == GemmMode::Contraction;
  if (contraction)
    tiling.mr = std::max<int64_t>(1, std::min(tiling.mr, op.getK()));
  tiling.pitch = llvm::alignTo(tiling.mr, tiling.lanes);

  // A panel of B (kc * nr) stays in a first-level cache of 32 KiB or more while panels of A pass through; packed A,
  // packed B and C together stay in a second-level cache of 1 to 2 MiB.
  constexpr int64_t kRows = 252, kDepth = 256, kColumns = 512;
  int64_t rows = kRows / tiling.mr * tiling.mr;
  tiling.mc = contraction ? balanced(op.getK(), rows, tiling.mr) : rows;
  tiling.kc = contraction ? kDepth : balanced(op.getK(), kDepth, tiling.lanes);

  int64_t accumulators = op.getNumAccumulators();
  int64_t resultColumns = op.getN() / accumulators;
  tiling.columns = balanced(resultColumns, kColumns / accumulators, tiling.lanes);
  tiling.columnBlocks = llvm::divideCeil(resultColumns, tiling.columns);
  bool interleaved = op.getAccs() == Accumulators::Interleaved;
  tiling.segments = op.getAccs() == Accumulators::Concatenated ? 2 : 1;
  tiling.nc = llvm::alignTo(interleaved ? 2 * tiling.columns : tiling.columns, tiling.nr);
  return tiling;
}

GemmScratch GemmScratch::get(Emit &emit, const GemmTiling &tiling) {
  Type f32 = emit.getF32Type();
  GemmScratch scratch;
  scratch.a = emit.scratch({tiling.panelsOfA(), tiling.kc, tiling.pitch}, f32);
  scratch.b = emit.scratch({tiling.segments * tiling.panelsOfB(), tiling.kc, tiling.nr}, f32);
  scratch.c = emit.scratch({tiling.mc, tiling.segments * tiling.nc}, f32);
  // One vector more than a multiple of a page, lest all rows fall into the same sets of the first-level cache.
  int64_t width = std::max({tiling.kc, tiling.nc, tiling.mc + tiling.lanes});
  scratch.stage = emit.scratch({tiling.lanes, static_cast<int64_t>(llvm::alignTo(width, 256)) + 16}, f32);
  return scratch;
}

void cpu::multiplyPanels(Emit &emit, const GemmTiling &tiling, const GemmScratch &scratch, Value rows, Value columns,
                         Value depth) {
  auto vectorType = VectorType::get(tiling.lanes, emit.getF32Type());
  int64_t vectors = tiling.nr / tiling.lanes;
  Value panelsOfA = emit.ceilDiv(rows, tiling.mr), panelsOfB = emit.ceilDiv(columns, tiling.nr);
  emit.loop(0, emit.index(tiling.segments), 1, [&](Value segment) {
    Value first = emit.mul(segment, tiling.panelsOfB());
    emit.loop(first, emit.add(first, panelsOfB), 1, [&](Value b) {
      emit.loop(0, panelsOfA, 1, [&](Value a) {
        Value row = emit.mul(a, tiling.mr), column = emit.mul(b, tiling.nr);
        // One accumulator for each row and vector of columns; all stay in registers.
        SmallVector<Value> accumulators;
        SmallVector<std::pair<Value, Value>> places;
        for (int64_t i = 0; i < tiling.mr; ++i)
          for (int64_t v = 0; v < vectors; ++v) {
            auto [r, c] = places.emplace_back(emit.add(row, i), emit.add(column, v * tiling.lanes));
            accumulators.push_back(vector::LoadOp::create(emit, vectorType, scratch.c, ValueRange{r, c}));
          }
        accumulators = emit.loop(emit.index(0), depth, 1, accumulators, [&](Value k, ValueRange sums) {
          SmallVector<Value> ofB, next;
          for (int64_t v = 0; v < vectors; ++v)
            ofB.push_back(
                vector::LoadOp::create(emit, vectorType, scratch.b, ValueRange{b, k, emit.index(v * tiling.lanes)}));
          for (int64_t i = 0; i < tiling.mr; ++i) {
            Value ofA = emit.load(scratch.a, {a, k, emit.index(i)});
            ofA = vector::BroadcastOp::create(emit, vectorType, ofA);
            for (int64_t v = 0; v < vectors; ++v)
              next.push_back(vector::FMAOp::create(emit, ofA, ofB[v], sums[i * vectors + v]));
          }
          return next;
        });
        for (auto [value, place] : llvm::zip_equal(accumulators, places))
          vector::StoreOp::create(emit, value, scratch.c, ValueRange{place.first, place.second});
      });
    });
  });
}
