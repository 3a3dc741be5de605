"""Mixture-of-Experts layers compiled by MoE-MLIR.

`compile` makes a `Program` of text, a `Session` loads it onto a device and runs it on `Buffer`s. `moe_mlir.jax` brings the
layers to JAX; nothing here needs it.
"""

from ._compiler import CompileError, compile, tool
from ._runtime import Argument, Buffer, Call, Comm, DType, Entry, Fault, MoeError, Program, Runtime, Session, home

__all__ = [
    "Argument",
    "Buffer",
    "Call",
    "Comm",
    "CompileError",
    "DType",
    "Entry",
    "Fault",
    "MoeError",
    "Program",
    "Runtime",
    "Session",
    "compile",
    "home",
    "tool",
]
