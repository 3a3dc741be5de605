//===- moe-opt.cpp - every pass and pipeline, for tests and debugging ----===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "moe/InitAll.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::moe::registerMoEDialects(registry);
  mlir::registerAllPasses();
  mlir::moe::registerMoEPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(argc, argv, "MoE-MLIR optimizer\n", registry));
}
