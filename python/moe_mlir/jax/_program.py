"""A compiled program as a primitive of JAX: it is compiled when a computation is lowered for a platform, and runs as a custom
call there."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.core import Primitive
from jax.interpreters import batching, mlir
from jax.sharding import NamedSharding, PartitionSpec

from .._compiler import compile
from .._runtime import Buffer, DType, Program, Runtime, home

TARGET = "moe_execute"
RANKS_TARGET = "moe_execute_ranks"
SLACK = 64  # MOE_XLA_WORKSPACE_SLACK
PLATFORMS = {"cpu": "cpu", "CUDA": "cuda"}  # XLA's names and the compiler's


@dataclass(frozen=True)
class Result:
    """Shape and type of an output."""

    shape: tuple[int, ...]
    dtype: Any


class _Handler(ctypes.Structure):
    _fields_ = [
        ("target", ctypes.c_char_p),
        ("platform", ctypes.c_char_p),
        ("instantiate", ctypes.c_void_p),
        ("prepare", ctypes.c_void_p),
        ("initialize", ctypes.c_void_p),
        ("execute", ctypes.c_void_p),
    ]


@functools.cache
def _runtime() -> Runtime:
    return Runtime()


@functools.cache
def register() -> ctypes.CDLL:
    """libmoe_xla.so, its handlers registered with JAX."""
    _runtime()  # the library that it needs
    library = ctypes.CDLL(str(home() / "lib" / "libmoe_xla.so"))
    library.moe_xla_handlers.restype = ctypes.POINTER(_Handler)
    library.moe_xla_handlers.argtypes = [ctypes.POINTER(ctypes.c_size_t)]
    library.moe_xla_add_program.restype = None
    library.moe_xla_add_program.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_size_t]
    count = ctypes.c_size_t()
    table = library.moe_xla_handlers(ctypes.byref(count))
    for handler in table[: count.value]:
        stages = {name: getattr(handler, name) for name in ("instantiate", "prepare", "initialize", "execute")}
        capsules = {name: jax.ffi.pycapsule(pointer) for name, pointer in stages.items() if pointer}
        jax.ffi.register_ffi_target(handler.target.decode(), capsules, platform=handler.platform.decode())
    return library


@functools.cache
def _compiled(platform: str, text: str) -> Program:
    """The program, which the handlers know, too."""
    program = compile(text, PLATFORMS[platform])
    encoded = text.encode()
    register().moe_xla_add_program(program._handle, platform.encode(), encoded, len(encoded))
    return program


def dtype_name(dtype: Any) -> str:
    """As the moe dialect has it: "bf16"."""
    return DType.named(jnp.dtype(dtype).name).name


def run(
    platform: str, text: str, results: Sequence[Result], *operands: jax.Array, place: jax.Array | None = None
) -> list[jax.Array]:
    """The custom call of a text with one function. Its attributes suffice to compile it again elsewhere. `place`, of a program
    over ranks, is the device's row and rank (moert/xla.h)."""
    program = _compiled(platform, text)
    buffers = [Buffer(0, DType.named(x.dtype.name), x.shape) for x in operands]
    size, _ = program.workspace(program.entry(), buffers)
    outs = [jax.ShapeDtypeStruct(r.shape, r.dtype) for r in results]
    outs.append(jax.ShapeDtypeStruct((size + SLACK,), jnp.uint8))
    attributes = {"program": text, "version": _runtime().version}
    if place is None:
        return list(jax.ffi.ffi_call(TARGET, outs)(*operands, **attributes))[:-1]
    return list(jax.ffi.ffi_call(RANKS_TARGET, outs, has_side_effect=True)(place, *operands, **attributes))[:-1]


def _varying(aval: Any) -> frozenset[str]:
    """Axes of a shard_map over which a value differs."""
    manual = getattr(aval, "mat", None)
    return frozenset(manual.varying if manual is not None else getattr(aval, "vma", ()))


def _typed(name: str, avals: Sequence[Any], result: Result) -> Any:
    """The type of a result, which varies over the axes of a shard_map as the operands do (vary_alike)."""
    for aval in avals:
        if any(aval.sharding.spec):
            raise NotImplementedError(
                f"{name} of an operand that is sharded in its type, {aval}: use it inside jax.shard_map"
            )
    like = avals[0]
    whole = NamedSharding(like.sharding.mesh, PartitionSpec(*[None] * len(result.shape)))
    return like.update(shape=result.shape, dtype=jnp.dtype(result.dtype), weak_type=False, sharding=whole)


def define(name: str, text: Callable[..., tuple[str, Sequence[Result]]], *, ranks: bool = False) -> Primitive:
    """A primitive whose parameters and operands' types say the text and the results. vmap runs it once an element. With
    `ranks` the last operand is the device's place, of which the text knows nothing."""
    primitive = Primitive(name)
    primitive.multiple_results = True

    def evaluate(*avals: Any, **params: Any) -> list[Any]:
        _, results = text(*(avals[:-1] if ranks else avals), **params)
        return [_typed(name, avals, r) for r in results]

    def implement(*operands: jax.Array, **params: Any) -> list[jax.Array]:
        return jax.jit(functools.partial(primitive.bind, **params))(*operands)

    def lower(platform: str) -> Any:
        def rule(*operands: jax.Array, **params: Any) -> list[jax.Array]:
            *given, place = operands if ranks else (*operands, None)
            return run(platform, *text(*(jax.typeof(x) for x in given), **params), *given, place=place)

        return mlir.lower_fun(rule, multiple_results=True)

    def batch(operands: Sequence[Any], dims: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        batched = [jnp.moveaxis(x, d, 0) for x, d in zip(operands, dims, strict=True) if d is not None]

        def once(slices: Sequence[jax.Array]) -> list[jax.Array]:
            given = iter(slices)
            every = (x if d is None else next(given) for x, d in zip(operands, dims, strict=True))
            return primitive.bind(*every, **params)

        outs = jax.lax.map(once, batched)
        return outs, [0] * len(outs)

    primitive.def_impl(implement)
    primitive.def_abstract_eval(evaluate)
    batching.primitive_batchers[primitive] = batch
    for platform in PLATFORMS:
        mlir.register_lowering(primitive, lower(platform), platform=platform.lower())
    return primitive


def vary_alike(*operands: jax.Array) -> list[jax.Array]:
    """Under shard_map: what is the same on all devices counts as different where another operand is, so that its gradient is
    summed over them."""
    axes = frozenset().union(*(_varying(jax.typeof(x)) for x in operands))

    def vary(x: jax.Array) -> jax.Array:
        missing = tuple(sorted(axes - _varying(jax.typeof(x))))
        return jax.lax.pcast(x, missing, to="varying") if missing else x

    return [vary(x) for x in operands]
