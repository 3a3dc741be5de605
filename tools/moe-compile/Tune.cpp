//===- Tune.cpp - measures the schedules of a program's products ------------------===//
//
// Each schedule of a product is a program of its own, whose inputs and outputs are the operands of the kernel. All are
// compiled at once and then run in turns, since a GPU that is limited by power is not the same from one second to the
// next.
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "Measure.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"
#include "mlir/Parser/Parser.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Dialect/SM90/Transforms/ScheduleTable.h"
#include "moe/Dialect/Tile/IR/Tile.h"
#include "moe/InitAll.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Parallel.h"
#include "llvm/Support/ToolOutputFile.h"

#include <chrono>
#include <cmath>
#include <deque>
#include <thread>

using namespace mlir;
using namespace mlir::moe;
using sm90::Candidate;
using sm90::Problem;
using sm90::ScheduleAttr;

namespace {

constexpr unsigned kMostTiles = 24, kMostVariants = 24; ///< schedules of a product that are compiled
constexpr double kHopeless = 1.35;                      ///< times the fastest prediction: not compiled
constexpr unsigned kWarmUps = 1, kRuns = 3;             ///< of a trial, each time it is measured,
constexpr double kRest = 4;                             ///< and times those the rest before them, in seconds
constexpr double kLeastRest = 0.01;                     ///< at least
constexpr unsigned kFastTiles = 3, kFinalists = 6;

/// A schedule of a product, compiled.
struct Trial {
  ScheduleAttr schedule;
  double predicted;             ///< microseconds
  SmallVector<char, 0> program; ///< empty if it was refused
  std::string refusal;
  unsigned number = 0;          ///< of the program in Measure
  std::vector<double> times[2]; ///< microseconds, by GroupSizes

  double median(GroupSizes sizes) const {
    std::vector<double> sorted = times[static_cast<unsigned>(sizes)];
    llvm::sort(sorted);
    return sorted[sorted.size() / 2];
  }
  double score() const { return std::sqrt(median(GroupSizes::Even) * median(GroupSizes::Skewed)); }
};

/// One product of a program.
class Product {
public:
  Product(func::FuncOp kernel, tile::RaggedGemmOp op, const CompilerOptions &options, const TuneOptions &tuning)
      : kernel(kernel), op(op), options(options), tuning(tuning), problem(op, options.schedules.rows) {}

  std::string getName() const { return problem.getName(); }
  /// The fastest schedule as a line of a table. What was measured is said to `log`.
  FailureOr<sm90::ScheduleTable::Line> tune(llvm::raw_ostream &log);

private:
  /// Rows of all groups, of which the product may compute some.
  int64_t getRows() {
    int64_t groups = op.getBounds() ? cast<MemRefType>(op.getBounds().getType()).getDimSize(0) : problem.groups;
    return problem.getRowsPerGroup() * groups;
  }
  std::vector<MeasureBuffer> getBuffers();
  std::string getProgram();
  /// Adds candidates, compiled, loaded and checked.
  LogicalResult addTrials(ArrayRef<Candidate> candidates);
  void compile(MutableArrayRef<Trial> fresh);
  LogicalResult load(Trial &trial);
  LogicalResult time(ArrayRef<Trial *> which, unsigned rounds);
  /// Those that were timed, the fastest first.
  SmallVector<Trial *> getFastest();
  LogicalResult check(moe_status *status);

  func::FuncOp kernel;
  tile::RaggedGemmOp op;
  const CompilerOptions &options;
  const TuneOptions &tuning;
  Problem problem;
  std::deque<Trial> trials;
  std::unique_ptr<Measure> measure;
  unsigned programs = 0;
  uint64_t expected = 0; ///< hash of what the first program wrote
};

} // namespace

/// What a schedule has in common with those that differ in raster, buffers and what follows from these.
static auto getTile(ScheduleAttr s) {
  return std::make_tuple(s.getRoles(), s.getM(), s.getN(), s.getCluster(), s.getOrder());
}

static moe_dtype toDType(Type type) {
  return type.isF32()         ? MOE_F32
         : type.isBF16()      ? MOE_BF16
         : type.isF16()       ? MOE_F16
         : type.isInteger(64) ? MOE_I64
                              : MOE_I32;
}

std::vector<MeasureBuffer> Product::getBuffers() {
  using Content = MeasureBuffer::Content;
  std::vector<MeasureBuffer> buffers;
  // Rows that a gather reads: each is read by several.
  int64_t sources = std::max<int64_t>(getRows() / 8, 1);
  for (BlockArgument argument : kernel.getArguments()) {
    auto type = cast<MemRefType>(argument.getType());
    MeasureBuffer buffer{Content::Random, toDType(type.getElementType()), type.getShape().vec()};
    int64_t rows = getRows();
    if (argument == op.getBounds()) {
      buffer.content = Content::Bounds;
    } else if (argument == op.getGather()) {
      buffer.content = Content::Index;
      buffer.limit = sources;
    } else if (argument == op.getSlots()) {
      buffer.content = Content::Count;
    } else if (llvm::is_contained(op.getOuts(), Value(argument))) {
      buffer.content = op.getAccumulate() ? Content::Sum : Content::Out;
    } else if (argument == op.getLhs() && op.getGather()) {
      rows = sources;
    }
    for (int64_t &size : buffer.shape)
      if (ShapedType::isDynamic(size))
        size = rows;
    buffers.push_back(std::move(buffer));
  }
  return buffers;
}

/// The kernel in a program that passes it what the caller gives, as text. Operands have no dynamic sizes here.
std::string Product::getProgram() {
  OpBuilder b(op.getContext());
  Location loc = op.getLoc();
  OwningOpRef<ModuleOp> module = ModuleOp::create(loc);
  b.setInsertionPointToStart(module->getBody());
  auto kernels = ModuleOp::create(b, loc, StringRef("kernels"));
  func::FuncOp copy = kernel.clone();
  kernels.push_back(copy);
  SmallVector<Type> types, inputs;
  for (auto [argument, buffer] : llvm::zip(copy.getArguments(), getBuffers())) {
    Type element = cast<MemRefType>(argument.getType()).getElementType();
    argument.setType(prog::getCallerBufferType(buffer.shape, element));
    types.push_back(argument.getType());
    if (!buffer.isOutput())
      inputs.push_back(argument.getType());
  }
  copy.setFunctionType(b.getFunctionType(types, {}));
  b.setInsertionPointToStart(module->getBody());
  auto program = prog::ProgramOp::create(b, loc, "main", inputs);
  b.setInsertionPointToStart(&program.getBody().front());
  SmallVector<Value> operands;
  unsigned input = 0, output = 0;
  for (auto [type, buffer] : llvm::zip(types, getBuffers()))
    operands.push_back(buffer.isOutput() ? prog::OutputOp::create(b, loc, type, output++, ValueRange()).getResult()
                                         : Value(program.getBody().getArgument(input++)));
  auto symbol = SymbolRefAttr::get(b.getStringAttr("kernels"), {FlatSymbolRefAttr::get(copy.getSymNameAttr())});
  prog::LaunchOp::create(b, loc, symbol, operands);
  prog::ReturnOp::create(b, loc, Value(), Value());
  std::string text;
  llvm::raw_string_ostream(text) << *module;
  return text;
}

LogicalResult Product::check(moe_status *status) {
  if (!status)
    return success();
  InFlightDiagnostic diagnostic = op.emitError() << "cannot measure: " << moe_status_message(status);
  moe_status_free(status);
  return diagnostic;
}

void Product::compile(MutableArrayRef<Trial> fresh) {
  std::string text = getProgram();
  SmallVector<std::string> schedules;
  for (const Trial &trial : fresh)
    llvm::raw_string_ostream(schedules.emplace_back()) << trial.schedule;
  // A context for each: several threads must not change one.
  llvm::parallelFor(0, fresh.size(), [&](size_t i) {
    DialectRegistry registry;
    registerCompilerDialects(registry);
    MLIRContext context(registry, MLIRContext::Threading::DISABLED);
    ScopedDiagnosticHandler keep(&context, [&](Diagnostic &diagnostic) {
      if (diagnostic.getSeverity() == DiagnosticSeverity::Error && fresh[i].refusal.empty())
        fresh[i].refusal = diagnostic.str();
      return success();
    });
    CompilerOptions own = options;
    own.last = Phase::Program;
    own.dumpDir.clear();
    own.schedules.schedule = schedules[i];
    OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(text, ParserConfig(&context));
    if (!module)
      return;
    FailureOr<SmallVector<char, 0>> program = compileFromProg(*module, own);
    if (succeeded(program))
      fresh[i].program = std::move(*program);
  });
}

/// Every schedule adds up k in the same order: all must write the same bits.
LogicalResult Product::load(Trial &trial) {
  if (failed(check(measure->add(trial.program.data(), trial.program.size()))))
    return failure();
  trial.number = programs++;
  uint64_t hash = 0;
  if (failed(check(measure->use(GroupSizes::Skewed))) || failed(check(measure->run(trial.number, hash))))
    return failure();
  if (trial.number == 0)
    expected = hash;
  if (hash != expected)
    return op.emitError() << trial.schedule << " writes other numbers than " << trials.front().schedule;
  return success();
}

LogicalResult Product::addTrials(ArrayRef<Candidate> candidates) {
  std::vector<Trial> fresh;
  for (const Candidate &candidate : candidates) {
    Trial &trial = fresh.emplace_back();
    trial.schedule = candidate.schedule;
    trial.predicted = candidate.seconds * 1e6;
  }
  compile(fresh);
  for (Trial &trial : fresh) {
    if (trial.program.empty()) {
      op.emitWarning() << trial.schedule << " is left out: " << trial.refusal;
      continue;
    }
    trials.push_back(std::move(trial));
    if (failed(load(trials.back())))
      return failure();
  }
  return success();
}

/// After a rest each time: under the card's power limit a schedule's time would be that of what ran before it.
LogicalResult Product::time(ArrayRef<Trial *> which, unsigned rounds) {
  SmallVector<Trial *> order(which);
  for (unsigned round = 0; round < rounds; ++round) {
    for (GroupSizes sizes : {GroupSizes::Even, GroupSizes::Skewed}) {
      if (failed(check(measure->use(sizes))))
        return failure();
      for (Trial *trial : order) {
        double busy = (kWarmUps + kRuns) * trial->predicted / 1e6;
        std::this_thread::sleep_for(std::chrono::duration<double>(std::max(kLeastRest, kRest * busy)));
        if (failed(check(measure->time(trial->number, kWarmUps, kRuns, trial->times[static_cast<unsigned>(sizes)]))))
          return failure();
      }
    }
    std::reverse(order.begin(), order.end());
  }
  return success();
}

SmallVector<Trial *> Product::getFastest() {
  SmallVector<Trial *> order;
  for (Trial &trial : trials)
    if (!trial.times[0].empty())
      order.push_back(&trial);
  llvm::sort(order, [](const Trial *a, const Trial *b) { return a->score() < b->score(); });
  return order;
}

FailureOr<sm90::ScheduleTable::Line> Product::tune(llvm::raw_ostream &log) {
  std::vector<Candidate> candidates = sm90::rankSchedules(op.getContext(), problem);
  // First the best of each tile, then all variants of the tiles that are fast.
  std::vector<Candidate> tiles, variants;
  auto contains = [](ArrayRef<Candidate> list, ScheduleAttr schedule) {
    return llvm::any_of(list, [&](const Candidate &other) { return getTile(other.schedule) == getTile(schedule); });
  };
  for (const Candidate &candidate : candidates)
    if (tiles.size() < kMostTiles && candidate.seconds < kHopeless * candidates.front().seconds &&
        !contains(tiles, candidate.schedule))
      tiles.push_back(candidate);
  if (failed(check(Measure::create(getBuffers(), getRows(), tuning.seed, measure))) || failed(addTrials(tiles)))
    return failure();
  if (trials.empty())
    return op.emitError("no schedule can be compiled");
  Trial *predicted = &trials.front();
  SmallVector<Trial *> all;
  for (Trial &trial : trials)
    all.push_back(&trial);
  if (failed(time(all, /*rounds=*/2)))
    return failure();

  SmallVector<Trial *> fast = getFastest();
  fast.truncate(std::min<size_t>(fast.size(), kFastTiles));
  for (const Candidate &candidate : candidates) {
    auto isTile = [&](const Trial *trial) { return getTile(trial->schedule) == getTile(candidate.schedule); };
    auto isTried = [&](const Trial &trial) { return trial.schedule == candidate.schedule; };
    if (variants.size() < kMostVariants && llvm::any_of(fast, isTile) && llvm::none_of(trials, isTried))
      variants.push_back(candidate);
  }
  size_t known = trials.size();
  if (failed(addTrials(variants)))
    return failure();
  all = fast;
  for (size_t i = known; i < trials.size(); ++i)
    all.push_back(&trials[i]);
  if (failed(time(all, /*rounds=*/2)))
    return failure();

  // The last word is of rounds that only the fastest take part in, and what the cost model says.
  SmallVector<Trial *> finalists = getFastest();
  finalists.truncate(std::min<size_t>(finalists.size(), kFinalists));
  if (!llvm::is_contained(finalists, predicted))
    finalists.push_back(predicted);
  for (Trial *trial : getFastest())
    log << llvm::formatv("{0} {1} rows {2}: {3:f1} us even, {4:f1} us skewed, {5:f1} us predicted: ", sm90::kChip.arch,
                         problem.getName(), problem.rows, trial->median(GroupSizes::Even),
                         trial->median(GroupSizes::Skewed), trial->predicted)
        << trial->schedule << "\n";
  for (Trial *trial : finalists)
    trial->times[0].clear(), trial->times[1].clear();
  if (failed(time(finalists, /*rounds=*/4)))
    return failure();
  Trial *best = *llvm::min_element(finalists, [](const Trial *a, const Trial *b) { return a->score() < b->score(); });
  sm90::ScheduleTable::Line line{sm90::kChip.arch.str(), problem.getName(), sm90::roundRowsPerGroup(problem),
                                 best->score(), ""};
  llvm::raw_string_ostream(line.schedule) << best->schedule;
  double flops = 2.0 * problem.rows * problem.k * problem.columns * problem.parts;
  log << llvm::formatv("{0} rows {1}, seed {2}: {3} schedules; fastest {4:f1} us ({5:f0} TFLOP/s) ", problem.getName(),
                       problem.rows, tuning.seed, trials.size(), best->score(), flops / best->score() / 1e6)
      << best->schedule
      << llvm::formatv("; the cost model's choice {0:f1} us, {1:f3} of the fastest ", predicted->score(),
                       predicted->score() / best->score())
      << predicted->schedule << "\n";
  return line;
}

LogicalResult mlir::moe::tune(ModuleOp module, const CompilerOptions &options, const TuneOptions &tuning) {
  Location loc = module.getLoc();
  module.getContext()->loadDialect<sm90::SM90Dialect>();
  sm90::ScheduleTable table;
  if (llvm::sys::fs::exists(tuning.table)) {
    llvm::Expected<sm90::ScheduleTable> read = sm90::ScheduleTable::read(tuning.table);
    if (!read)
      return emitError(loc) << llvm::toString(read.takeError());
    table = std::move(*read);
  }
  CompilerOptions toProg = options;
  toProg.last = Phase::Prog;
  toProg.dumpDir.clear();
  OwningOpRef<ModuleOp> copy = module.clone();
  FailureOr<SmallVector<char, 0>> text = compile(std::move(copy), toProg);
  if (failed(text))
    return failure();
  OwningOpRef<ModuleOp> program =
      parseSourceString<ModuleOp>(StringRef(text->data(), text->size()), ParserConfig(module.getContext()));
  auto kernels = program ? program->lookupSymbol<ModuleOp>("kernels") : ModuleOp();
  if (!kernels)
    return emitError(loc) << "the program has no products to tune";

  llvm::StringSet<> known;
  for (auto kernel : kernels.getOps<func::FuncOp>())
    for (auto op : kernel.getOps<tile::RaggedGemmOp>()) {
      std::string why;
      if (!sm90::suitsWgmma(op, why) || op->hasAttr(sm90::kScheduleName))
        continue;
      Product product(kernel, op, options, tuning);
      if (!known.insert(product.getName()).second)
        continue;
      FailureOr<sm90::ScheduleTable::Line> line = product.tune(llvm::outs());
      if (failed(line))
        return failure();
      table.set(*line);
    }
  std::error_code error;
  llvm::ToolOutputFile file(tuning.table, error, llvm::sys::fs::OF_Text);
  if (!error) {
    table.print(file.os());
    file.os().flush();
    error = file.os().error();
    file.os().clear_error();
  }
  if (error)
    return emitError(loc) << "cannot write '" << tuning.table << "': " << error.message();
  file.keep();
  return success();
}
