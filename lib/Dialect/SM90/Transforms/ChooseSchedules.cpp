//===- ChooseSchedules.cpp - the schedules of ragged products -------------------===//

#include "mlir/AsmParser/AsmParser.h"
#include "moe/Dialect/SM90/Transforms/Passes.h"
#include "moe/Dialect/SM90/Transforms/Schedule.h"

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
    auto kernels =
        getOperation().getSymName() == "kernels" ? getOperation() : getOperation().lookupSymbol<ModuleOp>("kernels");
    if (!kernels)
      return;
    ScheduleAttr forced;
    if (!schedule.empty()) {
      forced = dyn_cast_if_present<ScheduleAttr>(parseAttribute(schedule, &getContext()));
      if (!forced) {
        getOperation().emitError("schedule is '") << schedule << "', expected an attribute #sm90.schedule<...>";
        return signalPassFailure();
      }
    }
    WalkResult walked = kernels.walk([&](tile::RaggedGemmOp op) {
      std::string why;
      bool suits = suitsWgmma(op, why);
      if (Attribute given = op->getAttr(kScheduleName)) {
        if (suits && isa<ScheduleAttr>(given))
          return WalkResult::advance();
        op.emitOpError() << "has " << kScheduleName << " = " << given << ", but "
                         << (suits ? "that is no schedule" : why.c_str());
        return WalkResult::interrupt();
      }
      if (suits)
        op->setAttr(kScheduleName, forced ? forced : chooseSchedule(op));
      else
        op.emitRemark("runs on ordinary loads: ") << why;
      return WalkResult::advance();
    });
    if (walked.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
