//===- Patterns.h - the patterns of convert-sm90-to-nvvm ---------------------===//
#ifndef MOE_LIB_CONVERSION_SM90TONVVM_PATTERNS_H
#define MOE_LIB_CONVERSION_SM90TONVVM_PATTERNS_H

#include "mlir/Transforms/DialectConversion.h"
#include "moe/Dialect/SM90/IR/SM90.h"

namespace mlir::sm90 {

/// Where a ring or staging buffer begins in the kernel's shared memory, in bytes; set before the conversion.
constexpr llvm::StringLiteral kOffsetName = "sm90.offset";

/// specialize, elect and for_tiles become scf. Types stay.
void populateStructurePatterns(RewritePatternSet &patterns);

/// What is left becomes nvvm, llvm, arith and scf; the types become those of LLVM.
void populateKernelPatterns(const TypeConverter &converter, RewritePatternSet &patterns);
void populatePipelinePatterns(const TypeConverter &converter, RewritePatternSet &patterns);
void populateGatherPatterns(const TypeConverter &converter, RewritePatternSet &patterns);
void populateWgmmaPatterns(const TypeConverter &converter, RewritePatternSet &patterns);
void populateEpiloguePatterns(const TypeConverter &converter, RewritePatternSet &patterns);

/// Functions of f32 that an epilogue calls.
void populateMathPatterns(const TypeConverter &converter, RewritePatternSet &patterns);

} // namespace mlir::sm90

#endif
