//===- Islands.cpp - StableHLO with custom calls for what moe can compute -===//

#include "Islands.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/Pass/PassManager.h"
#include "moe/Conversion/Passes.h"
#include "moert/moert.h"
#include "moert/xla.h"

#include <memory>

using namespace mlir;
using namespace mlir::moe;

static constexpr StringLiteral kIsland = "moe.island";

/// The island as a module of one entry, which is what a custom call carries.
static std::string printProgram(func::FuncOp island) {
  OwningOpRef<ModuleOp> module = ModuleOp::create(UnknownLoc::get(island.getContext()));
  auto entry = cast<func::FuncOp>(OpBuilder::atBlockEnd(module->getBody()).clone(*island));
  entry->removeAttr(kIsland);
  entry.setName("main");
  entry.setPublic();
  std::string text;
  llvm::raw_string_ostream(text) << **module << "\n";
  return text;
}

static LogicalResult check(moe_status *status, Location loc) {
  if (!status)
    return success();
  InFlightDiagnostic error = emitError(loc) << moe_status_message(status);
  moe_status_free(status);
  return error;
}

/// Bytes of workspace of the program's only entry, whose inputs have static shapes.
static FailureOr<int64_t> queryWorkspace(ArrayRef<char> file, Location loc) {
  moe_program *loaded = nullptr;
  if (failed(check(moe_program_load(file.data(), file.size(), &loaded), loc)))
    return failure();
  std::unique_ptr<moe_program, decltype(&moe_program_release)> program(loaded, moe_program_release);
  moe_entry_info entry = {};
  entry.struct_size = sizeof(entry);
  if (failed(check(moe_program_entry(loaded, 0, &entry), loc)))
    return failure();
  SmallVector<moe_argument_info> infos(entry.num_inputs);
  SmallVector<moe_buffer> buffers;
  for (auto [i, info] : llvm::enumerate(infos)) {
    if (failed(check(moe_program_input(loaded, 0, static_cast<uint32_t>(i), &info), loc)))
      return failure();
    moe_buffer buffer = {};
    buffer.dtype = info.dtype;
    buffer.rank = info.rank;
    buffer.shape = info.dims;
    buffers.push_back(buffer);
  }
  size_t bytes = 0, align = 0;
  if (failed(check(moe_workspace_query(loaded, 0, buffers.data(), buffers.size(), &bytes, &align), loc)))
    return failure();
  return static_cast<int64_t>(bytes);
}

/// Row-major, for each of the types.
static ArrayAttr getLayouts(Builder &builder, TypeRange types) {
  SmallVector<Attribute> layouts;
  for (Type type : types) {
    int64_t rank = cast<RankedTensorType>(type).getRank();
    SmallVector<int64_t> order = llvm::to_vector(llvm::reverse(llvm::seq<int64_t>(0, rank)));
    auto layout = RankedTensorType::get({rank}, builder.getIndexType());
    layouts.push_back(DenseIntElementsAttr::get(layout, order));
  }
  return builder.getArrayAttr(layouts);
}

static void replaceCall(func::CallOp call, StringRef program, int64_t workspace) {
  OpBuilder builder(call);
  SmallVector<Type> types = llvm::to_vector(call.getResultTypes());
  types.push_back(RankedTensorType::get({workspace + MOE_XLA_WORKSPACE_SLACK}, builder.getIntegerType(8, false)));
  OperationState state(call.getLoc(), "stablehlo.custom_call", call.getOperands(), types);
  auto attr = [&](StringRef name, Attribute value) { return builder.getNamedAttr(name, value); };
  state.propertiesAttr = builder.getDictionaryAttr(
      {attr("api_version", builder.getI32IntegerAttr(4)),
       attr("call_target_name", builder.getStringAttr(MOE_XLA_TARGET)),
       attr("has_side_effect", builder.getBoolAttr(false)),
       attr("backend_config", builder.getDictionaryAttr({attr("program", builder.getStringAttr(program)),
                                                         attr("version", builder.getStringAttr(moe_version()))})),
       attr("operand_layouts", getLayouts(builder, call.getOperandTypes())),
       attr("result_layouts", getLayouts(builder, types))});
  Operation *customCall = builder.create(state);
  call.replaceAllUsesWith(customCall->getResults().drop_back());
  call.erase();
}

LogicalResult moe::replaceIslands(ModuleOp module, CompileText compileText) {
  PassManager pm(module.getContext());
  pm.addPass(createMoEOutlineIslandsPass());
  if (failed(pm.run(module)))
    return failure();
  SymbolTable symbols(module);
  SmallVector<func::CallOp> calls;
  module.walk([&](func::CallOp call) {
    auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
    if (callee && callee->hasAttr(kIsland))
      calls.push_back(call);
  });
  SetVector<Operation *> islands;
  for (func::CallOp call : calls) {
    auto island = symbols.lookup<func::FuncOp>(call.getCallee());
    std::string program = printProgram(island);
    FailureOr<SmallVector<char, 0>> file = compileText(program);
    if (failed(file))
      return failure();
    FailureOr<int64_t> workspace = queryWorkspace(*file, island.getLoc());
    if (failed(workspace))
      return failure();
    replaceCall(call, program, *workspace);
    islands.insert(island);
  }
  for (Operation *island : islands)
    symbols.erase(island);
  return success();
}
