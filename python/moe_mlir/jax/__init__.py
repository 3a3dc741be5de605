"""Ragged products and Mixture-of-Experts layers for JAX: compiled by MoE-MLIR, run inside XLA's programs, on CPUs and NVIDIA's
GPUs."""

try:
    import jax as _jax  # noqa: F401
except ImportError as _error:
    raise ImportError("moe_mlir.jax needs JAX: pip install 'moe-mlir[jax]'") from _error

from . import _program
from ._layer import combine, moe_layer, permute, route
from ._optimize import optimize
from ._ragged import ragged_dot, ragged_dot_general

_program.register()

__all__ = ["combine", "moe_layer", "optimize", "permute", "ragged_dot", "ragged_dot_general", "route"]
