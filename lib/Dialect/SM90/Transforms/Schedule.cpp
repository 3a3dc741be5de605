//===- Schedule.cpp - which schedules a product can have ------------------------===//

#include "moe/Dialect/SM90/Transforms/Schedule.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/TypeUtilities.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::sm90;

/// A producer that issues TMA loads, or holds the numbers of gathered rows, and consumers with 128 accumulators.
static constexpr int64_t kProducerRegisters = 40, kConsumerRegisters = 232;
static constexpr int64_t kGatherRegisters = 56, kGatherConsumerRegisters = 224;

bool sm90::suitsWgmma(tile::RaggedGemmOp op, std::string &why) {
  auto refuse = [&](StringRef text) {
    why = text.str();
    return false;
  };
  Type element = getElementTypeOrSelf(op.getRhs());
  bool tf32 = element.isF32() && op.getPrecision() == tile::Precision::TF32;
  if (!element.isBF16() && !element.isF16() && !tf32)
    return refuse("operands are f32, exactly");
  if (tf32 && (op.getMode() != tile::GemmMode::Rows || op.getLayout() != tile::RhsLayout::NK))
    return refuse("tf32 is taken along k only, which needs mode rows and layout nk");
  if (op.getNumGroups() == 0)
    return refuse("there are no groups");
  if (op.getK() == 0)
    return refuse("there is nothing to sum over");
  if (!op.getLhs())
    return refuse("lhs is absent");
  if (cast<ShapedType>(op.getLhs().getType()).getRank() != 2)
    return refuse("lhs is a batch");
  if (tf32 && op.getGather())
    return refuse("lhs is gathered, and only TMA rounds to tf32");
  return true;
}

/// Instructions of the unit for functions that an epilogue takes for an element.
static int64_t countFunctions(Region &epilogue) {
  int64_t count = 0;
  epilogue.walk([&](Operation *op) {
    if (isa<math::TanhOp>(op)) // an exponential and a quotient
      count += 2;
    else if (op->getDialect()->getNamespace() == "math" || isa<arith::DivFOp>(op))
      ++count;
  });
  return count;
}

Problem::Problem(tile::RaggedGemmOp op, int64_t rows)
    : mode(op.getMode()), layout(op.getLayout()), parts(op.getNumAccumulators()), groups(op.getNumGroups()),
      k(op.getK()), columns(op.getN() / parts), in(getElementTypeOrSelf(op.getRhs())),
      out(getElementTypeOrSelf(op.getOuts().front())), outs(op.getOuts().size()),
      functions(countFunctions(op.getEpilogue())), gather(op.getGather() != nullptr), accumulate(op.getAccumulate()) {
  // Of all groups, of which some may be computed elsewhere.
  int64_t all = op.getBounds() ? cast<ShapedType>(op.getBounds().getType()).getDimSize(0) : groups;
  bool contraction = mode == tile::GemmMode::Contraction;
  int64_t known = cast<ShapedType>((contraction ? op.getRhs() : op.getOuts().front()).getType()).getDimSize(0);
  if (!ShapedType::isDynamic(known))
    rows = known;
  else if (rows == 0)
    rows = std::max(kLeastRows, kRowsPerGroup * all);
  this->rows = std::max<int64_t>(rows / all, 1) * groups;
}

bool sm90::splitsColumns(const Problem &problem, ScheduleAttr schedule) {
  // Strips of 64 result columns, in either half.
  return problem.mode != tile::GemmMode::Contraction && schedule.getRoles() == Roles::Cooperative &&
         schedule.getOrder() == Order::Dynamic && schedule.getN() % (2 * 64 * problem.parts) == 0;
}

bool sm90::suitsSchedule(const Problem &problem, ScheduleAttr schedule, std::string &why) {
  auto refuse = [&](const llvm::Twine &text) {
    why = text.str();
    return false;
  };
  // The epilogue takes strips of 64 result columns.
  if (schedule.getN() / problem.parts % 64 != 0)
    return refuse("expected n to be a multiple of " + llvm::Twine(64 * problem.parts) + " for " +
                  llvm::Twine(problem.parts) + " accumulators");
  // Boxes of 64 columns, half of them for each block.
  bool boxes = problem.mode == tile::GemmMode::Contraction || problem.layout == tile::RhsLayout::KN;
  if (schedule.getCluster() == 2 && boxes && schedule.getN() % 128 != 0)
    return refuse("expected n to be a multiple of 128 in a cluster");
  if (schedule.getCluster() == 2 && problem.mode == tile::GemmMode::Contraction && schedule.getM() % 128 != 0)
    return refuse("expected m to be a multiple of 128 in a cluster of mode contraction");
  return true;
}

std::string Problem::getName() const {
  std::string name;
  llvm::raw_string_ostream os(name);
  os << stringifyGemmMode(mode);
  if (mode == tile::GemmMode::Rows)
    os << "." << stringifyRhsLayout(layout);
  os << "." << in << "." << out;
  if (outs > 1)
    os << ".outs" << outs;
  os << ".k" << k << ".n" << columns * parts << ".g" << groups;
  if (parts > 1)
    os << ".parts" << parts;
  if (gather)
    os << ".gather";
  if (accumulate)
    os << ".acc";
  return name;
}

std::vector<Candidate> sm90::rankSchedules(MLIRContext *context, const Problem &problem) {
  // What is not legal is left out, silently.
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) { return success(); });
  auto emitError = [&] { return mlir::emitError(UnknownLoc::get(context)); };
  auto isFaster = [](const Candidate &a, const Candidate &b) { return a.seconds < b.seconds; };
  int64_t producer = problem.gather ? kGatherRegisters : kProducerRegisters;
  int64_t consumers = problem.gather ? kGatherConsumerRegisters : kConsumerRegisters;
  std::vector<Candidate> candidates;
  for (Roles roles : {Roles::Cooperative, Roles::Pingpong})
    for (int64_t m = kChip.wgmmaRows; m <= 4 * kChip.wgmmaRows; m += kChip.wgmmaRows)
      for (int64_t n = kChip.wgmmaMaxColumns; n >= 64; n -= 64)
        for (int64_t cluster = 1; cluster <= kChip.maxCluster; ++cluster)
          for (Order order : {Order::Static, Order::Dynamic})
            for (int64_t raster : {16, 8, 4, 2})
              for (int64_t buffers : {2, 4, 1}) {
                // As many stages as there is room for: more never take longer.
                for (int64_t stages = kChip.sharedBytes / (m * kChip.swizzleBytes); stages >= 2; --stages) {
                  auto schedule = ScheduleAttr::getChecked(emitError, context, roles, m, n, stages, cluster, raster,
                                                           order, buffers, producer, consumers);
                  if (!schedule)
                    continue;
                  if (std::string why; suitsSchedule(problem, schedule, why)) {
                    Candidate candidate{schedule, predictSeconds(problem, schedule)};
                    auto place = llvm::upper_bound(candidates, candidate, isFaster);
                    candidates.insert(place, candidate);
                  }
                  break;
                }
              }
  return candidates;
}
