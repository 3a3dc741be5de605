//===- moe-lsp-server.cpp - editor support for the dialects ----------------===//

#include "mlir/IR/DialectRegistry.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "moe/InitAll.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::moe::registerMoEDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}
