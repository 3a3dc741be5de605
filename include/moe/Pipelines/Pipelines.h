//===- Pipelines.h - the phases of the compiler -----------------------------===//
//
// docs/architecture.md says what each phase leaves behind.
//
//===----------------------------------------------------------------------===//
#ifndef MOE_PIPELINES_PIPELINES_H
#define MOE_PIPELINES_PIPELINES_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassOptions.h"
#include "moe/Dialect/SM90/Transforms/Passes.h"
#include "moe/Target/CPU/CPU.h"

namespace mlir::moe {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "moe/Pipelines/Passes.h.inc"

struct PipelineOptions {
  /// Fusions to leave out: "epilogue" (elementwise work in a product's epilogue), "gather" (gathered rows as a
  /// product's source), "weights" (routing weights in the product before a combine). tile-fuse refuses other names.
  SmallVector<std::string> disabledFusions;
  /// Options of moe-partition, which that pass has accepted; empty for programs of one device.
  std::string partition;
};

/// `moe`: imports StableHLO, checks what is known of ragged values, canonicalises.
void buildMoEPipeline(OpPassManager &pm, const PipelineOptions &options);
/// `tile`: structured ops on tensors, fused.
void buildTilePipeline(OpPassManager &pm, const PipelineOptions &options);
/// The same for the cuda target, which copies gathered rows where that is faster.
void buildCUDATilePipeline(OpPassManager &pm, const PipelineOptions &options,
                           const sm90::SM90ChooseGathersPassOptions &gathers);
/// `bufferized`: the same ops on memrefs.
void buildBufferizePipeline(OpPassManager &pm);
/// `prog`: kernels in module @kernels and host programs with planned arenas. With `peerStores` exchanges that are to
/// travel so have kernels.
void buildProgPipeline(OpPassManager &pm, bool peerStores = false);
/// `kernels` for the cpu target: module @kernels (the pass manager's module) in the LLVM dialect.
void buildKernelsPipeline(OpPassManager &pm, const CPULevel &level);

/// `kernels` for the cuda target: module @kernels with a gpu.module of llvm.funcs, which say in sm90 attributes how
/// they are launched.
void buildCUDAKernelsPipeline(OpPassManager &pm, const sm90::SM90ChooseSchedulesPassOptions &schedules);

/// Registers, for moe-opt: moe-to-moe-pipeline, moe-to-tile-pipeline, moe-to-bufferized-pipeline and
/// moe-to-prog-pipeline, each from the input to the end of that phase.
void registerPipelines();

} // namespace mlir::moe

#endif
