"""The steps of docs/jax.md, each beside the one before: a Mixture-of-Experts block inside jit, forward and its gradient.

    jax_block.py [--tokens N --width H --inner F --experts E --top-k K] [--dtype float32|bfloat16] [--rounds N]

On JAX's default device, in the environment where the package is installed. All steps run in turn, in one process; times are medians over
rounds, and the largest difference from the first step is printed with them.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import jax
import jax.numpy as jnp
from moe_mlir.jax import combine, moe_layer, permute, ragged_dot, route

Block = Callable[..., jax.Array]


def sorted_block(dot: Callable[..., jax.Array]) -> Block:
    """As one writes it in JAX, with any ragged product."""

    def block(x: jax.Array, router: jax.Array, w_gate_up: jax.Array, w_down: jax.Array, top_k: int) -> jax.Array:
        probs = jax.nn.softmax((x @ router).astype(jnp.float32), -1)
        weights, ids = jax.lax.top_k(probs, top_k)
        weights = (weights / weights.sum(-1, keepdims=True)).astype(x.dtype)
        order = jnp.argsort(ids.reshape(-1), stable=True)
        token = order // top_k
        sizes = jnp.bincount(ids.reshape(-1), length=router.shape[1]).astype(jnp.int32)
        gate, up = jnp.split(dot(x[token], w_gate_up, sizes), 2, -1)
        y = dot(jax.nn.silu(gate) * up, w_down, sizes) * weights.reshape(-1)[order][:, None]
        return jnp.zeros_like(x).at[token].add(y)

    return block


def parts(x: jax.Array, router: jax.Array, w_gate_up: jax.Array, w_down: jax.Array, top_k: int) -> jax.Array:
    ids, weights = route(x, router, top_k=top_k)
    rows, sizes = permute(x, ids, router.shape[1])
    gate, up = jnp.split(ragged_dot(rows, w_gate_up, sizes), 2, -1)
    return combine(ragged_dot(jax.nn.silu(gate) * up, w_down, sizes), ids, weights, router.shape[1])


def layer(x: jax.Array, router: jax.Array, w_gate_up: jax.Array, w_down: jax.Array, top_k: int) -> jax.Array:
    return moe_layer(x, router, w_gate_up, w_down, top_k=top_k)


STEPS: dict[str, Block] = {
    "plain": sorted_block(jax.lax.ragged_dot),
    "1 products": sorted_block(ragged_dot),
    "2 parts": parts,
    "3 layer": layer,
}


def difference(found: Any, expected: Any) -> float:
    """The largest, of the largest magnitude."""
    pairs = zip(jax.tree.leaves(found), jax.tree.leaves(expected), strict=True)
    wide = [(a.astype(jnp.float32), e.astype(jnp.float32)) for a, e in pairs]
    return max(float(jnp.abs(a - e).max() / jnp.abs(e).max()) for a, e in wide)


def measure(work: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Milliseconds of a call."""
    taken: dict[str, list[float]] = {name: [] for name in work}
    for r in range(rounds):
        for name in list(work)[:: 1 if r % 2 == 0 else -1]:
            begin = time.perf_counter()
            jax.block_until_ready(work[name]())
            taken[name].append((time.perf_counter() - begin) * 1e3)
    return {name: statistics.median(times) for name, times in taken.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, value in (("tokens", 512), ("width", 256), ("inner", 512), ("experts", 8), ("top-k", 2), ("rounds", 9)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    a = parser.parse_args()
    shapes = (
        (a.tokens, a.width),
        (a.width, a.experts),
        (a.experts, a.width, 2 * a.inner),
        (a.experts, a.inner, a.width),
    )
    keys = jax.random.split(jax.random.key(0), 4)
    args = [jax.random.normal(k, s, a.dtype) / s[-2] ** 0.5 for k, s in zip(keys, shapes, strict=True)]
    print(f"{jax.devices()[0].device_kind}, JAX {jax.__version__}, {a}")
    for what in ("forward", "gradient"):
        work: dict[str, Callable[[], Any]] = {}
        results = {}
        for name, block in STEPS.items():

            def loss(*arguments: jax.Array, block: Block = block) -> jax.Array:
                return (block(*arguments, a.top_k).astype(jnp.float32) ** 2).sum()

            f = jax.jit(jax.grad(loss, (0, 1, 2, 3)) if what == "gradient" else lambda *v, b=block: b(*v, a.top_k))
            work[name] = lambda f=f: f(*args)
            results[name] = jax.block_until_ready(f(*args))
        for name, ms in (times := measure(work, a.rounds)).items():
            error = difference(results[name], results["plain"])
            print(
                f"{what:9} {name:11} {ms:9.2f} ms  {times['plain'] / ms:6.1f} times plain  off by {error:.1e}",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
