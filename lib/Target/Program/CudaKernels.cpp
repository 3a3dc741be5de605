//===- CudaKernels.cpp - CUDA kernels in a .moe file -------------------------===//

#include "CudaKernels.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "moe/Dialect/SM90/IR/SM90.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace mlir::moe;
using namespace mlir::moe::program;
using flatbuffers::Offset;

FailureOr<std::vector<CUDAKernelInfo>> mlir::moe::getCUDAKernels(ModuleOp kernels) {
  std::vector<CUDAKernelInfo> result;
  WalkResult walked = kernels.walk([&](LLVM::LLVMFuncOp function) {
    auto params = function->getAttrOfType<ArrayAttr>(sm90::kParamsName);
    auto launch = function->getAttrOfType<sm90::LaunchAttr>(sm90::kLaunchName);
    if (!params && !launch)
      return WalkResult::advance();
    if (!params || !launch || params.size() != function.getNumArguments()) {
      function.emitError("kernel '") << function.getName() << "' has " << function.getNumArguments()
                                     << " parameters, of which it says how the host makes "
                                     << (params ? params.size() : 0);
      return WalkResult::interrupt();
    }
    auto fallback = function->getAttrOfType<FlatSymbolRefAttr>(sm90::kFallbackName);
    result.push_back({function.getName().str(), params, launch, fallback ? fallback.getValue().str() : ""});
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  return result;
}

static std::vector<fb::Term> toTerms(ArrayRef<sm90::TermAttr> terms) {
  std::vector<fb::Term> result;
  for (sm90::TermAttr term : terms) {
    fb::Extent of = term.getOf() == sm90::Extent::None   ? fb::Extent::None
                    : term.getOf() == sm90::Extent::Size ? fb::Extent::Size
                                                         : fb::Extent::Stride;
    result.emplace_back(term.getConstant(), term.getSign(), of, static_cast<uint16_t>(term.getDim()));
  }
  return result;
}

static Offset<fb::Param> writeParam(flatbuffers::FlatBufferBuilder &fbb, Attribute param) {
  auto simple = [&](fb::ParamKind kind, int64_t arg = 0, int64_t dim = 0, int64_t width = 64) {
    return fb::CreateParam(fbb, kind, static_cast<uint32_t>(arg), static_cast<uint32_t>(dim),
                           static_cast<uint32_t>(width));
  };
  return llvm::TypeSwitch<Attribute, Offset<fb::Param>>(param)
      .Case([&](sm90::PointerAttr p) {
        return fb::CreateParam(fbb, fb::ParamKind::Pointer, static_cast<uint32_t>(p.getArg()), 0, 64, fb::DType::F32, 0,
                               0, 0, static_cast<uint32_t>(p.getAlign()));
      })
      .Case([&](sm90::SizeAttr p) { return simple(fb::ParamKind::Size, p.getArg(), p.getDim(), p.getWidth()); })
      .Case([&](sm90::StrideAttr p) { return simple(fb::ParamKind::Stride, p.getArg(), p.getDim(), p.getWidth()); })
      .Case([&](sm90::ScalarAttr p) { return simple(fb::ParamKind::Scalar, p.getIndex(), 0, p.getWidth()); })
      .Case([&](sm90::CounterAttr) { return simple(fb::ParamKind::Counter); })
      .Case([&](sm90::PeersAttr) { return simple(fb::ParamKind::Peers); })
      .Case([&](sm90::TensorMapAttr p) {
        std::vector<fb::Term> dims = toTerms(p.getDims()), strides = toTerms(p.getStrides());
        std::vector<uint32_t> box(p.getBox().begin(), p.getBox().end());
        bool tf32 = p.getElement().isTF32();
        return fb::CreateParamDirect(fbb, fb::ParamKind::TensorMap, static_cast<uint32_t>(p.getArg()), 0, 64,
                                     tf32 ? fb::DType::F32 : toDType(p.getElement()), &dims, &strides, &box,
                                     /*align=*/1, tf32);
      })
      .Default([&](Attribute) { return simple(fb::ParamKind::Faults); }); // the kernel's verifier lets nothing else in
}

Offset<fb::CudaKernel> program::writeCudaKernel(flatbuffers::FlatBufferBuilder &fbb, const CUDAKernelInfo &kernel,
                                                int32_t fallback) {
  std::vector<Offset<fb::Param>> params;
  for (Attribute param : kernel.params)
    params.push_back(writeParam(fbb, param));
  auto launch = cast<sm90::LaunchAttr>(kernel.launch);
  return fb::CreateCudaKernelDirect(fbb, &params, launch.getThreads(), launch.getCluster(), launch.getShared(),
                                    launch.getPerSm(), launch.getBlocks(), fallback, kernel.registers, kernel.stack);
}

//===----------------------------------------------------------------------===//
// For people to read
//===----------------------------------------------------------------------===//

static void print(llvm::raw_ostream &os, uint32_t arg, const flatbuffers::Vector<const fb::Term *> *terms) {
  os << "[";
  for (uint32_t i = 0, e = terms ? terms->size() : 0; i < e; ++i) {
    fb::Term term; // not aligned in a file that a stranger wrote
    std::memcpy(&term, terms->Data() + i * sizeof(fb::Term), sizeof(fb::Term));
    os << (i ? ", " : "");
    if (term.constant() || term.of() == fb::Extent::None)
      os << term.constant() << (term.of() == fb::Extent::None ? "" : " + ");
    if (term.of() != fb::Extent::None && term.factor() != 1)
      os << term.factor() << " * ";
    if (term.of() != fb::Extent::None)
      os << (term.of() == fb::Extent::Size ? "size" : "stride") << "(" << arg << ", " << term.dim() << ")";
  }
  os << "]";
}

static std::string describe(const fb::Param &param) {
  static constexpr StringLiteral names[] = {"pointer", "size",    "stride",     "scalar",
                                            "faults",  "counter", "tensor map", "peers"};
  std::string text;
  llvm::raw_string_ostream os(text);
  os << names[static_cast<unsigned>(param.kind())];
  switch (param.kind()) {
  case fb::ParamKind::Faults:
  case fb::ParamKind::Counter:
  case fb::ParamKind::Peers:
    break;
  case fb::ParamKind::Size:
  case fb::ParamKind::Stride:
    os << "(" << param.arg() << ", " << param.dim() << ") i" << param.width();
    break;
  case fb::ParamKind::Scalar:
    os << "(" << param.arg() << ") i" << param.width();
    break;
  case fb::ParamKind::Pointer:
    os << "(" << param.arg() << ")";
    if (param.align() > 1)
      os << " aligned to " << param.align() << " bytes";
    break;
  case fb::ParamKind::TensorMap:
    os << "(" << param.arg() << ") " << fb::EnumNameDType(param.element()) << (param.tf32() ? " rounded to TF32" : "")
       << " dims ";
    print(os, param.arg(), param.dims());
    os << " strides ";
    print(os, param.arg(), param.strides());
    os << " box [";
    for (uint32_t i = 0, e = param.box() ? param.box()->size() : 0; i < e; ++i)
      os << (i ? ", " : "") << param.box()->Get(i);
    os << "]";
    break;
  }
  return text;
}

std::vector<std::string> program::describeCudaKernel(const fb::CudaKernel &kernel, ArrayRef<std::string> names) {
  std::vector<std::string> result;
  std::string text;
  llvm::raw_string_ostream os(text);
  os << kernel.threads() << " threads, " << kernel.registers() << " registers, " << kernel.stack()
     << " bytes of stack, " << kernel.shared() << " bytes of shared memory, ";
  if (kernel.per_sm())
    os << kernel.per_sm() << " blocks an SM";
  else
    os << kernel.blocks() << " blocks";
  if (kernel.cluster() > 1)
    os << " in clusters of " << kernel.cluster();
  if (kernel.fallback() >= 0)
    os << ", falls back on " << names[kernel.fallback()];
  result.push_back(text);
  for (uint32_t i = 0, e = kernel.params() ? kernel.params()->size() : 0; i < e; ++i)
    result.push_back(describe(*kernel.params()->Get(i)));
  return result;
}
