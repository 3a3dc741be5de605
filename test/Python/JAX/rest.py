"""What stands between the products of a backward pass, compiled from JAX's exports, beside JAX's own results."""

from collections.abc import Callable
from typing import Any

from harness import close, compile, rng
from kit import jax, jnp, normal, np
from moe_mlir.importer import to_text


def check(fn: Callable[..., Any], *arguments: jax.Array, of_max: float = 1e-5) -> None:
    """Nothing of fn is left to XLA."""
    exported = jax.export.export(jax.jit(fn), platforms=["cuda"])(*arguments)
    program = compile(to_text(exported.mlir_module_serialized))
    found = program.run(*[np.asarray(a) for a in arguments])
    expected = jax.tree.leaves(fn(*arguments))
    for i, (a, e) in enumerate(zip(found, expected, strict=True)):
        close(a, np.asarray(e), of_max, f"result {i}")


def property_columns_and_sums() -> None:
    r = rng()
    rows, width = (int(n) for n in r.integers(2, (9, 40)))
    cut = int(r.integers(1, width))

    def fn(x: jax.Array, column: jax.Array, row: jax.Array) -> Any:
        left, right = x[:, :cut], x[:, cut:]
        turned = jnp.concatenate([right, left, x[:, :1]], 1)
        return turned, turned.sum(1) + column, x.max(1)[:, None] * row, x.reshape(-1), x.reshape(-1, 1)

    for dtype, of_max in ((jnp.float32, 1e-6), (jnp.bfloat16, 2e-2)):
        check(fn, *(normal(r, s, dtype) for s in ((rows, width), (rows,), (width,))), of_max=of_max)


def property_gradients_of_a_softmax_and_of_a_gate() -> None:
    r = rng()
    rows, width = (int(n) for n in r.integers(2, (9, 40)))

    def fn(x: jax.Array, ct: jax.Array) -> Any:
        def gated(h: jax.Array) -> jax.Array:
            gate, up = jnp.split(h, 2, 1)
            return jax.nn.silu(gate) * up

        softmax = jax.vjp(lambda v: jax.nn.softmax(v, -1), x)[1](ct)
        return softmax, jax.vjp(gated, jnp.concatenate([x, ct], 1))[1](ct)

    check(fn, normal(r, (rows, width), jnp.float32), normal(r, (rows, width), jnp.float32))


def property_gradients_of_a_router() -> None:
    """The values that it chose go back to their columns; its weights' gradient is a product over all tokens."""
    r = rng()
    tokens, width, experts = (int(n) for n in r.integers(2, (20, 24, 12)))
    k = int(r.integers(1, experts + 1))

    def fn(x: jax.Array, router: jax.Array, ct: jax.Array) -> Any:
        def route(x: jax.Array, router: jax.Array) -> tuple[jax.Array, jax.Array]:
            values, ids = jax.lax.top_k(jax.nn.softmax(x @ router, -1), k)
            # The normalised value of one expert is 1, whose gradient is noise.
            return (values / values.sum(-1, keepdims=True) if k > 1 else values), ids

        _, pull, ids = jax.vjp(route, x, router, has_aux=True)
        order = jnp.argsort(ids.reshape(-1), stable=True)
        by_row = ct.reshape(-1)[order]
        return *pull(ct), by_row, jnp.zeros_like(by_row).at[order].add(by_row).reshape(ct.shape)

    check(fn, *(normal(r, s, jnp.float32) for s in ((tokens, width), (width, experts), (tokens, k))))
