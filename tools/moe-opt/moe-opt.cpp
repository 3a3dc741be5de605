//===- moe-opt.cpp - every pass and pipeline, for tests and debugging ----===//

#include "moe/Conversion/Passes.h"
#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Dialect/Tile/IR/Tile.h"
#include "moe/Dialect/Tile/Transforms/BufferizableOpInterfaceImpl.h"
#include "moe/Dialect/Tile/Transforms/Passes.h"
#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  mlir::moe::registerConvertTileToCPUPass();
  mlir::moe::registerConvertKernelsToLLVMPass();
  mlir::moe::registerConvertMoEToTilePass();
  mlir::moe::registerConvertStablehloToMoEPass();
  registry.insert<mlir::moe::MoEDialect, mlir::tile::TileDialect, mlir::prog::ProgDialect>();
  mlir::tile::registerBufferizableOpInterfaceExternalModels(registry);
  mlir::tile::registerTileOutlineKernelsPass();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "MoE-MLIR optimizer\n", registry));
}
