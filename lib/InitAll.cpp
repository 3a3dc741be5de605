//===- InitAll.cpp - everything a tool of the compiler knows ----------------===//

#include "moe/InitAll.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "moe/Conversion/Passes.h"
#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/MoE/Transforms/Passes.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Dialect/Prog/Transforms/BufferizableOpInterfaceImpl.h"
#include "moe/Dialect/Prog/Transforms/Passes.h"
#include "moe/Dialect/SM90/IR/SM90.h"
#include "moe/Dialect/SM90/Transforms/Passes.h"
#include "moe/Dialect/Tile/IR/Tile.h"
#include "moe/Dialect/Tile/Transforms/BufferizableOpInterfaceImpl.h"
#include "moe/Dialect/Tile/Transforms/Passes.h"
#include "moe/Pipelines/Pipelines.h"

using namespace mlir;

void moe::registerMoEDialects(DialectRegistry &registry) {
  registerAllDialects(registry);
  registerAllExtensions(registry);
  registry.insert<moe::MoEDialect, tile::TileDialect, prog::ProgDialect, sm90::SM90Dialect>();
  prog::registerBufferizableOpInterfaceExternalModels(registry);
  tile::registerBufferizableOpInterfaceExternalModels(registry);
}

void moe::registerMoEPasses() {
  moe::registerMoETransformsPasses();
  tile::registerTilePasses();
  prog::registerProgPasses();
  sm90::registerSM90Passes();
  moe::registerConversionPasses();
  moe::registerPipelinesPasses();
  moe::registerPipelines();
}
