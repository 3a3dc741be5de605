//===- ChooseSchedules.cpp - the schedules of ragged products -------------------===//

#include "mlir/AsmParser/AsmParser.h"
#include "moe/Dialect/Prog/IR/Kernels.h"
#include "moe/Dialect/SM90/Transforms/Passes.h"
#include "moe/Dialect/SM90/Transforms/ScheduleTable.h"
#include "llvm/Support/FormatVariadic.h"

namespace mlir::sm90 {
#define GEN_PASS_DEF_SM90CHOOSESCHEDULESPASS
#include "moe/Dialect/SM90/Transforms/Passes.h.inc"
} // namespace mlir::sm90

using namespace mlir;
using namespace mlir::sm90;

namespace {

struct ChooseSchedules : sm90::impl::SM90ChooseSchedulesPassBase<ChooseSchedules> {
  using Base::Base;

  void runOnOperation() override {
    auto kernels = prog::findKernels(getOperation());
    if (!kernels)
      return;
    if (!schedule.empty()) {
      forced = dyn_cast_if_present<ScheduleAttr>(parseAttribute(schedule, &getContext()));
      if (!forced) {
        kernels.emitError("schedule is '") << schedule << "', expected an attribute #sm90.schedule<...>";
        return signalPassFailure();
      }
    } else {
      llvm::Expected<ScheduleTable> chosen = ScheduleTable::choose(table);
      if (!chosen) {
        kernels.emitError() << llvm::toString(chosen.takeError());
        return signalPassFailure();
      }
      measured = std::move(*chosen);
    }
    WalkResult walked = kernels.walk([&](tile::RaggedGemmOp op) { return WalkResult(visit(op)); });
    if (walked.wasInterrupted())
      signalPassFailure();
  }

private:
  LogicalResult visit(tile::RaggedGemmOp op) {
    std::string why;
    bool suits = suitsWgmma(op, why);
    if (Attribute given = op->getAttr(kScheduleName)) {
      if (suits && isa<ScheduleAttr>(given))
        return success();
      return op.emitOpError() << "has " << kScheduleName << " = " << given << ", but "
                              << (suits ? "that is no schedule" : why.c_str());
    }
    if (!suits) {
      op.emitRemark("runs on ordinary loads: ") << why;
      return success();
    }
    ScheduleAttr chosen = forced ? forced : choose(op);
    if (!chosen)
      return failure();
    op->setAttr(kScheduleName, chosen);
    return success();
  }

  /// The fastest schedule, as measured or as expected; a remark says which. Null after an error.
  ScheduleAttr choose(tile::RaggedGemmOp op) {
    Problem problem(op, rows);
    auto say = [&](ScheduleAttr schedule, StringRef how, double seconds) {
      op.emitRemark() << problem.getName() << " of " << problem.rows << " rows: " << schedule << ", " << how << " "
                      << llvm::formatv("{0:f1}", seconds * 1e6).str() << " us";
      return schedule;
    };
    if (const ScheduleTable::Line *line = measured.find(problem)) {
      auto known = dyn_cast_if_present<ScheduleAttr>(parseAttribute(line->schedule, &getContext()));
      std::string why = "expected an attribute #sm90.schedule<...>";
      if (known && suitsSchedule(problem, known, why))
        return say(known, "measured", line->microseconds / 1e6);
      op.emitOpError() << "has schedule " << line->schedule << " in the table of schedules, " << why;
      return {};
    }
    std::vector<Candidate> candidates = rankSchedules(&getContext(), problem);
    for (const Candidate &candidate : ArrayRef(candidates).take_front(report))
      say(candidate.schedule, "could take", candidate.seconds);
    return say(candidates.front().schedule, "predicted", candidates.front().seconds);
  }

  ScheduleAttr forced;
  ScheduleTable measured;
};

} // namespace
