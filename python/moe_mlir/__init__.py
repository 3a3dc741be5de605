"""Mixture-of-Experts layers compiled by MoE-MLIR."""
