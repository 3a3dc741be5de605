//===- Pipelines.cpp - the phases of the compiler ---------------------------===//

#include "moe/Pipelines/Pipelines.h"
#include "mlir/Conversion/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "moe/Conversion/Passes.h"
#include "moe/Dialect/MoE/Transforms/Passes.h"
#include "moe/Dialect/Prog/Transforms/Passes.h"
#include "moe/Dialect/Tile/Transforms/Passes.h"

using namespace mlir;

/// The fusion that is not tile-fuse's.
static constexpr StringLiteral kWeights = "weights";

static void addCleanup(OpPassManager &pm) {
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

void moe::buildMoEPipeline(OpPassManager &pm, const PipelineOptions &options) {
  pm.addPass(createMoENormalizeStablehloPass());
  pm.addPass(createConvertStablehloToMoEPass());
  pm.addPass(createMoERaiseStablehloPass());
  pm.addPass(createMoERaiseRestPass());
  pm.addPass(createMoEPrepareInputPass());
  // Nothing is folded before the check: what is refused should not depend on what could be simplified.
  pm.addPass(createInlinerPass({}, [](OpPassManager &) {}));
  pm.addPass(createSymbolDCEPass());
  pm.addPass(createMoECheckRaggedPass());
  if (!options.partition.empty()) {
    std::unique_ptr<Pass> partition = createMoEPartitionPass();
    (void)partition->initializeOptions(options.partition, [](const Twine &) { return failure(); });
    pm.addPass(std::move(partition));
  }
  addCleanup(pm);
  if (!llvm::is_contained(options.disabledFusions, kWeights))
    pm.addPass(createMoEFuseWeightsPass());
}

void moe::buildTilePipeline(OpPassManager &pm, const PipelineOptions &options) {
  pm.addNestedPass<func::FuncOp>(createMoERequireSizesPass());
  pm.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
  addCleanup(pm);
  pm.addNestedPass<func::FuncOp>(createConvertMoEToTilePass());
  addCleanup(pm);
  tile::TileFusePassOptions fuse;
  for (const std::string &fusion : options.disabledFusions)
    if (fusion != kWeights)
      fuse.disable.push_back(fusion);
  pm.addNestedPass<func::FuncOp>(tile::createTileFusePass(fuse));
  addCleanup(pm);
}

void moe::buildCUDATilePipeline(OpPassManager &pm, const PipelineOptions &options,
                                const sm90::SM90ChooseGathersPassOptions &gathers) {
  buildTilePipeline(pm, options);
  pm.addNestedPass<func::FuncOp>(sm90::createSM90ChooseGathersPass(gathers));
  addCleanup(pm);
}

void moe::buildBufferizePipeline(OpPassManager &pm) {
  pm.addPass(createMoEBufferizePass());
  addCleanup(pm);
  pm.addPass(prog::createProgPrepareResultsPass());
}

void moe::buildProgPipeline(OpPassManager &pm, bool peerStores) {
  pm.addPass(tile::createTileOutlineKernelsPass());
  pm.addPass(createConvertToProgPass());
  if (peerStores)
    pm.addPass(prog::createProgOutlineExchangesPass());
  pm.addNestedPass<prog::ProgramOp>(prog::createProgPlanArenaPass());
  pm.addNestedPass<prog::ProgramOp>(createCanonicalizerPass());
}

void moe::buildKernelsPipeline(OpPassManager &pm, const CPULevel &level) {
  ConvertTileToCPUPassOptions options;
  options.lanes = level.lanes();
  options.registers = level.registers;
  pm.addPass(createConvertTileToCPUPass(options));
  pm.addPass(createConvertKernelsToLLVMPass());
}

void moe::buildCUDAKernelsPipeline(OpPassManager &pm, const sm90::SM90ChooseSchedulesPassOptions &schedules) {
  pm.addPass(sm90::createSM90ChooseSchedulesPass(schedules));
  pm.addPass(createConvertTileToSM90Pass());
  addCleanup(pm);
  pm.addPass(createConvertSM90ToNVVMPass());
  addCleanup(pm);
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createConvertNVVMToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  addCleanup(pm);
}

namespace {

struct CommandLineOptions : PassPipelineOptions<CommandLineOptions> {
  ListOption<std::string> disabledFusions{*this, "disable-fusion",
                                          llvm::cl::desc("fusions to leave out: epilogue, gather, rows, weights")};

  moe::PipelineOptions get() const {
    moe::PipelineOptions options;
    options.disabledFusions.assign(disabledFusions.begin(), disabledFusions.end());
    return options;
  }
};

} // namespace

void moe::registerPipelines() {
  static const std::pair<StringRef, StringRef> phases[] = {
      {"moe-to-moe-pipeline", "imported, checked and canonicalised"},
      {"moe-to-tile-pipeline", "structured ops on tensors, fused"},
      {"moe-to-bufferized-pipeline", "structured ops on memrefs"},
      {"moe-to-prog-pipeline", "kernels in module @kernels and host programs"},
  };
  for (auto [i, phase] : llvm::enumerate(phases))
    PassPipelineRegistration<CommandLineOptions>(phase.first, phase.second,
                                                 [last = i](OpPassManager &pm, const CommandLineOptions &options) {
                                                   buildMoEPipeline(pm, options.get());
                                                   if (last >= 1)
                                                     buildTilePipeline(pm, options.get());
                                                   if (last >= 2)
                                                     buildBufferizePipeline(pm);
                                                   if (last >= 3)
                                                     buildProgPipeline(pm);
                                                 });
}
