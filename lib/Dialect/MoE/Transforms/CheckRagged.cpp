//===- CheckRagged.cpp - moe-check-ragged ----------------------------------===//

#include "Ragged.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "moe/Dialect/MoE/IR/MoE.h"
#include "moe/Dialect/MoE/Transforms/Passes.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::moe {
#define GEN_PASS_DEF_MOECHECKRAGGEDPASS
#include "moe/Dialect/MoE/Transforms/Passes.h.inc"
} // namespace mlir::moe

using namespace mlir;
using namespace mlir::moe;

static bool isRagged(Value value) { return static_cast<bool>(getRagged(value.getType())); }

/// The value holds the same in every row, so any number of plans may share it; CSE merges such values.
static bool fitsAnyPlan(Value value) {
  while (auto cast = value.getDefiningOp<tensor::CastOp>())
    value = cast.getSource();
  return isa_and_present<arith::ConstantOp, tensor::EmptyOp, tensor::SplatOp, linalg::FillOp>(value.getDefiningOp());
}

namespace {
class Checker {
public:
  /// Visits ops in order; every error has been emitted when this returns false.
  bool run(Operation *root);

private:
  /// Values that are ragged in the same way, and the plan once it is known.
  struct Class {
    unsigned parent;
    Value plan;
    Operation *tiedBy = nullptr; ///< the op that named the plan
  };

  void visit(Operation *op);
  void checkPlans(Operation *op);
  void checkPlanSize(Operation *op, PlanType plan);
  void visitCast(tensor::CastOp op);
  void visitElementwise(Operation *op);
  void visitLinalg(linalg::LinalgOp op);

  unsigned getClass(Value value);
  void tieToPlan(Operation *op, Value value, Value plan);
  void tie(Operation *op, Value a, Value b);
  void reportPlans(Operation *op, const Class &a, Value plan);

  /// Refuses `from` and `to` with different groups or alignments.
  bool checkSameGroups(Operation *op, Value from, Value to);

  /// Where rows outside every group stopped being zero; null if they are zero.
  Value notZeroSince(Value value) {
    if (Value origin = notZero.lookup(value))
      return origin;
    return getRagged(value.getType()).getTail() == TailState::Undefined ? value : Value();
  }
  /// Refuses an operand that is not zero outside every group.
  void needZero(Operation *op, OpOperand &operand, StringRef use);

  InFlightDiagnostic error(Operation *op) {
    failed = true;
    return op->emitOpError();
  }

  DenseMap<Value, unsigned> classOf;
  SmallVector<Class> classes;
  DenseMap<Value, Value> notZero;
  bool failed = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Plans of values
//===----------------------------------------------------------------------===//

unsigned Checker::getClass(Value value) {
  auto [it, isNew] = classOf.try_emplace(value, classes.size());
  if (isNew)
    classes.push_back({static_cast<unsigned>(classes.size()), Value()});
  unsigned id = it->second;
  while (classes[id].parent != id)
    id = classes[id].parent;
  return id;
}

void Checker::reportPlans(Operation *op, const Class &a, Value plan) {
  InFlightDiagnostic diag = error(op) << "mixes two plans, expected its ragged operands and results to be of one";
  diag.attachNote(a.plan.getLoc()) << "one plan is made here";
  if (a.tiedBy != op)
    diag.attachNote(a.tiedBy->getLoc()) << "and is that of the operand by this op";
  diag.attachNote(plan.getLoc()) << "the other plan is made here";
}

void Checker::tieToPlan(Operation *op, Value value, Value plan) {
  if (fitsAnyPlan(value))
    return;
  Class &known = classes[getClass(value)];
  if (!known.plan) {
    known.plan = plan;
    known.tiedBy = op;
  } else if (known.plan != plan) {
    reportPlans(op, known, plan);
  }
}

void Checker::tie(Operation *op, Value a, Value b) {
  if (fitsAnyPlan(a) || fitsAnyPlan(b))
    return;
  unsigned left = getClass(a), right = getClass(b);
  if (left == right)
    return;
  if (classes[left].plan && classes[right].plan && classes[left].plan != classes[right].plan)
    return reportPlans(op, classes[left], classes[right].plan);
  if (!classes[left].plan) {
    classes[left].plan = classes[right].plan;
    classes[left].tiedBy = classes[right].tiedBy;
  }
  classes[right].parent = left;
}

//===----------------------------------------------------------------------===//
// Rows outside every group
//===----------------------------------------------------------------------===//

void Checker::needZero(Operation *op, OpOperand &operand, StringRef use) {
  Value origin = notZeroSince(operand.get());
  if (!origin)
    return;
  InFlightDiagnostic diag = error(op) << use << " operand #" << operand.getOperandNumber()
                                      << ", which may hold anything in rows outside every group, expected zeros";
  Operation *producer = origin.getDefiningOp();
  if (getRagged(origin.getType()).getTail() == TailState::Undefined)
    diag.attachNote(origin.getLoc()) << "its encoding says tail = undefined here";
  else if (isa_and_present<tensor::CastOp>(producer))
    diag.attachNote(origin.getLoc()) << "a plain tensor becomes ragged here";
  else
    diag.attachNote(origin.getLoc()) << "rows outside every group are not set to zero here";
}

bool Checker::checkSameGroups(Operation *op, Value from, Value to) {
  RaggedAttr a = getRagged(from.getType()), b = getRagged(to.getType());
  if (a.getGroups() == b.getGroups() && a.getAlign() == b.getAlign())
    return true;
  error(op) << "goes from groups = " << a.getGroups() << ", align = " << a.getAlign()
            << " to groups = " << b.getGroups() << ", align = " << b.getAlign() << ", expected the same";
  return false;
}

//===----------------------------------------------------------------------===//
// Ops
//===----------------------------------------------------------------------===//

/// Row and slot numbers are i32.
void Checker::checkPlanSize(Operation *op, PlanType plan) {
  int64_t slots;
  bool isStatic = !ShapedType::isDynamic(plan.getTokens());
  if (isStatic && llvm::MulOverflow(plan.getTokens(), plan.getTopk(), slots))
    slots = INT64_MAX;
  struct {
    StringRef what;
    int64_t size;
  } sizes[] = {{"slots (tokens * topk)", isStatic ? slots : 0},
               {"rows", ShapedType::isDynamic(plan.getRows()) ? 0 : plan.getRows()},
               {"groups", plan.getGroups()}};
  for (auto &[what, size] : sizes)
    if (size > INT32_MAX) {
      error(op) << "number of " << what << " of the plan is " << size << ", expected at most " << INT32_MAX
                << " (they are numbered in i32)";
      return;
    }
}

/// A plan is the result of one of the two ops that make one, and used only by this dialect, in the same function.
void Checker::checkPlans(Operation *op) {
  if (auto function = dyn_cast<FunctionOpInterface>(op)) {
    for (auto [index, type] : llvm::enumerate(function.getArgumentTypes()))
      if (isa<PlanType, RouteType>(type))
        error(op) << "argument #" << index << " is " << type << ", expected no plan to cross a function boundary";
    for (auto [index, type] : llvm::enumerate(function.getResultTypes()))
      if (isa<PlanType, RouteType>(type))
        error(op) << "result #" << index << " is " << type << ", expected no plan to cross a function boundary";
    return;
  }
  if (isa_and_present<MoEDialect>(op->getDialect()))
    return;
  auto notHere = [&](StringRef what, unsigned index, Type type) {
    error(op) << what << " #" << index << " is " << type
              << ", expected a plan to be made and used by moe ops of one function only";
  };
  for (auto [index, type] : llvm::enumerate(op->getOperandTypes()))
    if (isa<PlanType, RouteType>(type))
      return notHere("operand", index, type);
  for (auto [index, type] : llvm::enumerate(op->getResultTypes()))
    if (isa<PlanType, RouteType>(type))
      return notHere("result", index, type);
  for (Region &region : op->getRegions())
    for (BlockArgument argument : region.getArguments())
      if (isa<PlanType, RouteType>(argument.getType()))
        return notHere("region argument", argument.getArgNumber(), argument.getType());
}

void Checker::visitCast(tensor::CastOp op) {
  Value source = op.getSource(), result = op.getResult();
  if (!isRagged(result)) {
    if (isRagged(source))
      needZero(op, op.getSourceMutable(), "makes a plain tensor of");
    return;
  }
  if (!isRagged(source)) {
    notZero[result] = result;
    return;
  }
  if (!checkSameGroups(op, source, result))
    return;
  tie(op, source, result);
  if (Value origin = notZeroSince(source))
    notZero[result] = origin;
}

void Checker::visitElementwise(Operation *op) {
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isRagged(operand.get()))
      continue;
    for (Value result : op->getResults()) {
      if (!isRagged(result))
        needZero(op, operand, "makes a plain tensor of");
      else if (checkSameGroups(op, operand.get(), result))
        tie(op, result, operand.get());
    }
  }
}

void Checker::visitLinalg(linalg::LinalgOp op) {
  // The loop that walks the first dimension of an operand, if that is all it does.
  auto getRowLoop = [&](OpOperand &operand) -> std::optional<unsigned> {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (map.getNumResults() != 0)
      if (auto dim = dyn_cast<AffineDimExpr>(map.getResult(0)))
        return dim.getPosition();
    return std::nullopt;
  };
  SmallVector<utils::IteratorType> iterators = op.getIteratorTypesArray();
  for (OpOperand &operand : op->getOpOperands()) {
    if (!isRagged(operand.get()) || !op.payloadUsesValueFromOperand(&operand))
      continue;
    std::optional<unsigned> row = getRowLoop(operand);
    if (row && iterators[*row] == utils::IteratorType::reduction) {
      needZero(op, operand, "reduces over the rows of");
      continue;
    }
    for (OpOperand &init : op.getDpsInitsMutable()) {
      Value result = op.getTiedOpResult(&init);
      if (!row || !isRagged(result) || getRowLoop(init) != row)
        needZero(op, operand, "does not work row by row on");
      else if (checkSameGroups(op, operand.get(), result))
        tie(op, result, operand.get());
    }
  }
}

void Checker::visit(Operation *op) {
  checkPlans(op);
  if (isa<PlanOp, PlanFromSizesOp>(op))
    return checkPlanSize(op, cast<PlanType>(op->getResult(0).getType()));
  if (isa<GatedActivationOp>(op))
    return visitElementwise(op);
  if (auto exchange = dyn_cast<AllToAllOp>(op)) {
    if (!exchange.getFrom())
      return;
    tieToPlan(op, exchange.getX(), exchange.getFrom());
    return tieToPlan(op, exchange.getResult(), exchange.getTo());
  }
  if (isa_and_present<MoEDialect>(op->getDialect())) {
    auto plan = llvm::find_if(op->getOperands(), [](Value operand) { return isa<PlanType>(operand.getType()); });
    if (plan == op->operand_end())
      return;
    for (Value operand : op->getOperands())
      if (isRagged(operand))
        tieToPlan(op, operand, *plan);
    for (Value result : op->getResults())
      if (isRagged(result))
        tieToPlan(op, result, *plan);
    return;
  }
  if (auto cast = dyn_cast<tensor::CastOp>(op))
    return visitCast(cast);
  if (isa<tensor::DimOp>(op))
    return;
  if (isa<tensor::EmptyOp, arith::ConstantOp, tensor::SplatOp>(op)) {
    Value result = op->getResult(0);
    Value number = isa<tensor::SplatOp>(op) ? op->getOperand(0) : result;
    bool zero = matchPattern(number, m_AnyZeroFloat()) || matchPattern(number, m_Zero());
    if (isRagged(result) && !zero)
      notZero[result] = result;
    return;
  }
  // Checked before the trait: linalg ops on tensors are followed by their maps.
  if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op); linalgOp && linalgOp.hasPureTensorSemantics())
    return visitLinalg(linalgOp);
  if (OpTrait::hasElementwiseMappableTraits(op))
    return visitElementwise(op);
  for (OpOperand &operand : op->getOpOperands())
    if (isRagged(operand.get()))
      needZero(op, operand, op->hasTrait<OpTrait::ReturnLike>() ? "returns" : "does not work row by row on");
}

bool Checker::run(Operation *root) {
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    visit(op);
    return isa<linalg::LinalgOp>(op) ? WalkResult::skip() : WalkResult::advance(); // a body of scalars
  });
  return !failed;
}

namespace {
struct MoECheckRaggedPass : moe::impl::MoECheckRaggedPassBase<MoECheckRaggedPass> {
  void runOnOperation() override {
    if (!Checker().run(getOperation()))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
