//===- moe-objdump.cpp - what is in a .moe file ----------------------------===//

#include "Object.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/Support/FileUtilities.h"
#include "moe/Dialect/Prog/IR/Prog.h"
#include "moe/Target/CUDA/CUDA.h"
#include "moe/Target/Program/Program.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace mlir;
using namespace mlir::moe;
namespace cl = llvm::cl;

static cl::OptionCategory category("moe-objdump options");
static cl::opt<std::string> inputPath(cl::Positional, cl::desc("<file.moe>"), cl::Required, cl::cat(category));
static cl::opt<bool> onlyProgram("program", cl::desc("print only the host programs, complete, as moe-opt reads them"),
                                 cl::cat(category));
static cl::opt<std::string> kernel("disassemble", cl::desc("print the machine code of a kernel"),
                                   cl::value_desc("kernel"), cl::cat(category));
static cl::opt<std::string> objectPath("object", cl::desc("write the shared object of the kernels to a file"),
                                       cl::value_desc("file"), cl::cat(category));

static int fail(const llvm::Twine &message) {
  llvm::errs() << "moe-objdump: error: " << message << "\n";
  return 1;
}

/// Prints an i64 of a program as a formula over the sizes of the inputs. Values are shared, so a formula is cut off at
/// a depth.
static void printSize(Value size, prog::ProgramOp program, llvm::raw_ostream &os, unsigned depth = 12) {
  if (auto constant = size.getDefiningOp<arith::ConstantOp>()) {
    os << cast<IntegerAttr>(constant.getValue()).getInt();
  } else if (auto dim = size.getDefiningOp<prog::DimOp>()) {
    os << program.getInputName(cast<BlockArgument>(dim.getSource()).getArgNumber()) << "[" << dim.getDim() << "]";
  } else if (depth == 0) {
    os << "...";
  } else {
    Operation *op = size.getDefiningOp();
    bool add = isa<arith::AddIOp>(op), mul = isa<arith::MulIOp>(op);
    os << (add ? "(" : mul ? "" : isa<arith::MaxSIOp>(op) ? "max(" : "ceil(");
    printSize(op->getOperand(0), program, os, depth - 1);
    os << (add ? " + " : mul ? " * " : isa<arith::MaxSIOp>(op) ? ", " : " / ");
    printSize(op->getOperand(1), program, os, depth - 1);
    os << (mul ? "" : ")");
  }
}

/// Such as `bf16[x[0], 64]`. The sizes of the dynamic dimensions are printed where they are given.
static void printType(Type type, ValueRange dynamic, prog::ProgramOp program, llvm::raw_ostream &os) {
  auto memref = cast<MemRefType>(type);
  os << memref.getElementType() << "[";
  llvm::interleaveComma(memref.getShape(), os, [&](int64_t size) {
    if (!ShapedType::isDynamic(size)) {
      os << size;
    } else if (dynamic.empty()) {
      os << "?";
    } else {
      printSize(dynamic.front(), program, os);
      dynamic = dynamic.drop_front();
    }
  });
  os << "]";
}

static void printEntry(prog::ProgramOp program, llvm::raw_ostream &os) {
  os << "\nentry " << program.getSymName() << "\n";
  for (BlockArgument input : program.getBody().getArguments()) {
    os << "  input " << input.getArgNumber() << " " << program.getInputName(input.getArgNumber()) << ": ";
    printType(input.getType(), {}, program, os);
    os << "\n";
  }
  for (prog::OutputOp output : program.getOutputs()) {
    os << "  output " << output.getIndex() << " " << program.getOutputName(output.getIndex()) << ": ";
    printType(output.getBuffer().getType(), output.getDims(), program, os);
    os << "\n";
  }
  auto launches = llvm::to_vector(program.getOps<prog::LaunchOp>());
  auto copies = llvm::count_if(program.getOps(), llvm::IsaPred<prog::CopyOp, prog::MemsetOp>);
  auto exchanges = llvm::to_vector(program.getOps<prog::AllToAllOp>());
  auto terminator = cast<prog::ReturnOp>(program.getBody().front().getTerminator());
  os << "  arena: ";
  printSize(terminator.getArena(), program, os);
  if (terminator.getPeer()) {
    os << " bytes\n  peer arena: ";
    printSize(terminator.getPeer(), program, os);
  }
  os << " bytes\n  steps: " << launches.size() << " launches, " << copies << " copies and fills";
  if (!exchanges.empty())
    os << ", " << exchanges.size() << " exchanges over " << exchanges.front().getRanks() << " ranks of axis '"
       << exchanges.front().getAxis() << "'";
  os << "\n";
  for (prog::LaunchOp launch : launches) {
    os << "    " << launch.getKernelAttr().getLeafReference().getValue();
    StringRef separator = ": at most ";
    for (auto [cost, unit] : {std::pair(launch.getFlops(), " flops"), std::pair(launch.getBytes(), " bytes")}) {
      if (!cost)
        continue;
      os << separator;
      printSize(cost, program, os);
      os << unit;
      separator = ", ";
    }
    os << "\n";
  }
}

/// Everything a reader wants to know at first.
static void printSummary(const ReadProgram &program, const llvm::StringMap<ArrayRef<uint8_t>> &functions,
                         ArrayRef<SassCounts> counts, llvm::raw_ostream &os) {
  os << "target: " << program.target.kind << " " << program.target.arch << "\nproducer: " << program.producer
     << "\nobject: " << program.object.size() << " bytes\n";
  ModuleOp module = *program.module;
  for (auto entry : module.getOps<prog::ProgramOp>())
    printEntry(entry, os);
  os << "\nkernels\n";
  for (const ProgramKernel &kernel : program.kernels) {
    os << "  " << kernel.name << ": " << kernel.numArgs << " buffers, " << kernel.numScalars << " scalars, ";
    if (!kernel.launch.empty()) {
      os << kernel.launch.front() << "\n";
      for (const SassCounts &count : counts)
        if (count.kernel == kernel.name)
          os << "    " << describe(count) << "\n";
      for (const std::string &param : ArrayRef<std::string>(kernel.launch).drop_front())
        os << "    " << param << "\n";
      continue;
    }
    auto code = functions.find(kernel.name);
    if (code == functions.end())
      os << "no code\n";
    else
      os << code->second.size() << " bytes of code\n";
  }
  os << "\n";
  module->print(os, OpPrintingFlags().elideLargeElementsAttrs(16));
  os << "\n";
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  cl::HideUnrelatedOptions(category);
  cl::ParseCommandLineOptions(argc, argv, "Shows what is in a .moe file\n");
  if (onlyProgram && !kernel.empty())
    return fail("--program and --disassemble exclude each other");
  std::string message;
  std::unique_ptr<llvm::MemoryBuffer> file = openInputFile(inputPath, &message);
  if (!file)
    return fail(message);

  MLIRContext context(MLIRContext::Threading::DISABLED);
  context.loadDialect<prog::ProgDialect, arith::ArithDialect, func::FuncDialect>();
  context.printOpOnDiagnostic(false);
  ScopedDiagnosticHandler printDiagnostics(&context, [&](Diagnostic &diagnostic) {
    llvm::errs() << "moe-objdump: " << (diagnostic.getSeverity() == DiagnosticSeverity::Error ? "error: " : "")
                 << inputPath << ": " << diagnostic << "\n";
  });
  FailureOr<ReadProgram> program = readProgram({file->getBufferStart(), file->getBufferSize()}, inputPath, &context);
  if (failed(program))
    return 1;

  if (!objectPath.empty())
    if (llvm::Error error = writeFile(objectPath, program->object))
      return fail("cannot write '" + objectPath + "': " + llvm::toString(std::move(error)));
  if (onlyProgram) {
    program->module.get()->print(llvm::outs());
    llvm::outs() << "\n";
    return 0;
  }

  llvm::StringMap<ArrayRef<uint8_t>> functions;
  bool isCuda = program->target.kind == "cuda";
  std::vector<SassCounts> counts;
  if (isCuda && !program->object.empty()) {
    llvm::Expected<std::vector<SassCounts>> found = countSass(program->object);
    if (!found)
      return fail("the cubin cannot be read: " + llvm::toString(found.takeError()));
    counts = std::move(*found);
  }
  if (isCuda && !kernel.empty()) {
    if (llvm::none_of(counts, [](const SassCounts &count) { return count.kernel == kernel; }))
      return fail("there is no kernel '" + kernel + "' in the object");
    return failed(disassembleCubin(program->object, kernel, UnknownLoc::get(&context), llvm::outs()));
  }
  if (!program->object.empty() && !isCuda) {
    auto found = getFunctions(program->object);
    if (!found)
      return fail("the object cannot be read: " + llvm::toString(found.takeError()));
    functions = std::move(*found);
  }
  if (!kernel.empty()) {
    auto code = functions.find(kernel);
    if (code == functions.end())
      return fail("there is no kernel '" + kernel + "' in the object");
    FailureOr<CPULevel> level = resolveCPULevel(program->target.arch, UnknownLoc::get(&context));
    if (failed(level))
      return 1;
    if (llvm::Error error = disassemble(code->second, *level, llvm::outs()))
      return fail(llvm::toString(std::move(error)));
    return 0;
  }
  if (objectPath.empty())
    printSummary(*program, functions, counts, llvm::outs());
  return 0;
}
