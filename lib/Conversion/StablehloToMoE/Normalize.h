//===- Normalize.h - canonical forms of StableHLO -------------------------===//
#ifndef MOE_LIB_CONVERSION_STABLEHLOTOMOE_NORMALIZE_H
#define MOE_LIB_CONVERSION_STABLEHLOTOMOE_NORMALIZE_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::moe::stablehlo {

/// A pattern for one unregistered op of a function's body. Regions of other ops stay: they are matched as they are.
class NamedPattern : public RewritePattern {
public:
  using Rewrite = LogicalResult (*)(Operation *, PatternRewriter &);
  NamedPattern(MLIRContext *context, StringRef root, Rewrite rewrite)
      : RewritePattern(root, /*benefit=*/1, context), rewrite(rewrite) {}
  LogicalResult matchAndRewrite(Operation *op, PatternRewriter &rewriter) const override;

private:
  Rewrite rewrite;
};

/// Elementwise ops become ops of arith and math.
void populateElementwisePatterns(RewritePatternSet &patterns);

/// Reshapes and broadcasts have one form each, and integers whose range is known are simplified.
void populateShapePatterns(RewritePatternSet &patterns);

} // namespace mlir::moe::stablehlo

#endif
