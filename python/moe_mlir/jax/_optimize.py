"""Whole functions: what moe can compute of their StableHLO becomes custom calls."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
from jax import export
from jax.extend.core import Primitive
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo

from .._compiler import replace_islands
from ..importer import VERSION, to_text
from ._program import PLATFORMS, TARGET

F = TypeVar("F", bound=Callable[..., Any])

_optimized = Primitive("moe_optimized")
_optimized.multiple_results = True


class _Source:
    """A function as JAX exports it. Ragged dots survive in exports for GPUs only; nothing else is theirs."""

    def __init__(self, fn: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        self.exported = export.export(jax.jit(fn), platforms=["cuda"])(*arguments)

    def text(self, platform: str) -> str:
        """Generic StableHLO with custom calls, for one of XLA's platforms."""
        return replace_islands(to_text(self.exported.mlir_module_serialized), PLATFORMS[platform])

    @functools.cache  # noqa: B019  a source lives as long as the function that it is made from
    def on(self, platform: str) -> export.Exported:
        """This text, exported again."""
        with mlir.make_ir_context():
            module = stablehlo.serialize_portable_artifact(ir.Module.parse(self.text(platform)), VERSION, True)
        return dataclasses.replace(
            self.exported,
            mlir_module_serialized=module,
            platforms=(platform.lower(),),
            disabled_safety_checks=(export.DisabledSafetyCheck.custom_call(TARGET),),
            _get_vjp=None,
        )


@_optimized.def_impl
def _implement(*operands: jax.Array, source: _Source) -> list[jax.Array]:
    return jax.jit(functools.partial(_optimized.bind, source=source))(*operands)


@_optimized.def_abstract_eval
def _evaluate(*avals: Any, source: _Source) -> list[Any]:
    return list(source.exported.out_avals)


def _lower(platform: str) -> Any:
    def rule(*operands: jax.Array, source: _Source) -> list[jax.Array]:
        arguments, keywords = jax.tree.unflatten(source.exported.in_tree, operands)
        return jax.tree.leaves(source.on(platform).call(*arguments, **keywords))

    return mlir.lower_fun(rule, multiple_results=True)


for _platform in PLATFORMS:
    mlir.register_lowering(_optimized, _lower(_platform), platform=_platform.lower())


def optimize(fn: F) -> F:
    """Compiles the Mixture-of-Experts parts of a function by MoE-MLIR, wherever it finds them: ragged dots, and what leads to
    and from them of routers, sorts by expert, gathers, gated activations and weighted sums. Everything else is XLA's as
    before, and the results are the function's own.

    A decorator, alone or below jax.jit. Arguments are arrays, or trees of them. Derivatives are those of `fn` itself:
    to compile a gradient, too, decorate the function that computes it."""

    @functools.cache
    def source(tree: Any, shapes: tuple[tuple[tuple[int, ...], Any], ...]) -> _Source:
        return _Source(fn, jax.tree.unflatten(tree, [jax.ShapeDtypeStruct(*shape) for shape in shapes]))

    @jax.custom_jvp
    def call(*arguments: Any) -> Any:
        leaves, tree = jax.tree.flatten(arguments)
        made = source(tree, tuple((jnp.shape(x), jnp.result_type(x)) for x in leaves))
        return jax.tree.unflatten(made.exported.out_tree, _optimized.bind(*map(jnp.asarray, leaves), source=made))

    @call.defjvp
    def derive(primals: tuple[Any, ...], tangents: tuple[Any, ...]) -> tuple[Any, Any]:
        return jax.jvp(fn, primals, tangents)

    return functools.wraps(fn)(call)  # type: ignore[return-value]
