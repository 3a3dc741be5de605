//===- Chip.h - what is known of the chip -----------------------------------===//
//
// The only place for numbers of the hardware. Verifiers and lowerings use its limits, which all chips of sm_90a share;
// the cost model of schedules uses the rates, which are an H200's.
//
//===----------------------------------------------------------------------===//
#ifndef MOE_DIALECT_SM90_IR_CHIP_H
#define MOE_DIALECT_SM90_IR_CHIP_H

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace mlir::sm90 {

struct Chip {
  llvm::StringLiteral arch; ///< as ptxas calls it

  // Limits of a block and of a multiprocessor (SM).
  int64_t sharedBytes;     ///< most dynamic shared memory of a block
  int64_t sharedAlignment; ///< the pattern of the 128-byte swizzle repeats after so many bytes
  int64_t swizzleBytes;    ///< width of a row of a stage: a TMA box, and what wgmma reads of k
  int64_t registers;       ///< of an SM
  int64_t registerStep;    ///< budgets of registers are multiples of this,
  int64_t minRegisters;    ///< from this
  int64_t maxRegisters;    ///< to this, of a thread
  int64_t maxCluster;      ///< blocks of a cluster that kernels know
  int64_t boxSize;         ///< most elements of a TMA box in a dimension
  int64_t boxRank;         ///< most dimensions of a TMA box

  // Shapes of wgmma: a warpgroup multiplies `wgmmaRows` rows by a multiple of `wgmmaColumnStep` columns.
  int64_t wgmmaRows, wgmmaColumnStep, wgmmaMaxColumns;
  /// f32 accumulators of a thread that leave room for everything else.
  int64_t accumulators;

  // Rates.
  int64_t sms;
  int64_t flopsPerCycle;     ///< of an SM, on dense bf16 or f16
  int64_t functionsPerCycle; ///< of an SM: exponentials, reciprocals and the like
  double clock;              ///< in Hz, while an SM multiplies
  int64_t l2Bytes;
  double hbmBytesPerSecond;
};

constexpr Chip kChip = {
    /*arch=*/"sm_90a",
    /*sharedBytes=*/232448,
    /*sharedAlignment=*/1024,
    /*swizzleBytes=*/128,
    /*registers=*/65536,
    /*registerStep=*/8,
    /*minRegisters=*/24,
    /*maxRegisters=*/256,
    /*maxCluster=*/2,
    /*boxSize=*/256,
    /*boxRank=*/5,
    /*wgmmaRows=*/64,
    /*wgmmaColumnStep=*/8,
    /*wgmmaMaxColumns=*/256,
    /*accumulators=*/128,
    /*sms=*/132,
    /*flopsPerCycle=*/4096,
    /*functionsPerCycle=*/16,
    /*clock=*/1.56e9,
    /*l2Bytes=*/50 << 20,
    /*hbmBytesPerSecond=*/3.4e12,
};

} // namespace mlir::sm90

#endif
