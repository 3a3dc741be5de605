"""Ragged products and layers inside jit on a GPU beside the same programs called from C, and JAX's own.

    test/Python/JAX/on_gpu.py --bench FILE.json [--shapes mixtral.up,qwen3.up] [--gradients qwen3.up] [--layers mixtral,qwen3]

or by itself where the package is installed.

For each shape of ragged_gemm.py: the forward product (data on the device, bf16, even groups), and the gradient of two products with a gated
activation between them; whole layers are those of jax_layers.py. Variants of the forward product:

  jit   one product in a jit
  jit8  eight in one jit; the time is that of one
  c     the program of jit's custom call, called through the C runtime on the same buffers
  jax   jax.lax.ragged_dot

jit, jit8 and c run in turns, each for a tenth of a second; JAX's own, which is slow, once and before them. `dispatch` is how long a call
keeps the host. It says how many copies XLA added around the custom call, and what memory 100 layers under scan leave behind.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import jax
import jax.numpy as jnp
import jax_layers
from jax_calls import Driver, Wait, added_copies, custom_call, from_c, measure, timed
from moe_mlir.jax import ragged_dot
from ragged_gemm import SHAPES


def normal(key: int, *shape: int) -> jax.Array:
    return jax.jit(lambda k: jax.random.normal(k, shape, jnp.bfloat16) / 8)(jax.random.key(key))


def forward(name: str, wait: Wait, rounds: int) -> dict[str, Any]:
    shape, together = SHAPES[name], 8
    x, w = normal(0, shape.m, shape.k), normal(1, shape.e, shape.k, shape.n)
    sizes = jnp.full(shape.e, shape.m // shape.e, jnp.int32)
    # As many arrays of sizes, or XLA would compute one product.
    many = [jnp.array(sizes) for _ in range(together)]
    ours, theirs = jax.jit(ragged_dot), jax.jit(jax.lax.ragged_dot)
    eight = jax.jit(lambda x, w, many: [ragged_dot(x, w, s) for s in many])
    y = jax.block_until_ready(ours(x, w, sizes))
    rows = jnp.arange(0, shape.m, shape.m // 64)
    expected = jnp.einsum(
        "mk,mkn->mn",
        x[rows].astype(jnp.float32),
        w[rows // (shape.m // shape.e)].astype(jnp.float32),
        precision="highest",
    )
    flops = 2 * shape.m * shape.k * shape.n
    out = jnp.full_like(y, jnp.nan)
    c = from_c(custom_call(ours.lower(x, w, sizes)), {"x": x, "rhs": w, "sizes": sizes}, [out])
    c()
    wait()
    errors = [float(jnp.abs(a[rows] - expected).max() / jnp.abs(expected).max()) for a in (y, out)]
    assert max(errors) < 1e-2, errors
    times = {"jax": timed(lambda: theirs(x, w, sizes), wait)}
    times |= measure({"jit": lambda: ours(x, w, sizes), "jit8": lambda: eight(x, w, many), "c": c}, wait, rounds)
    for key in ("ms", "dispatch_ms"):
        times["jit8"][key] /= together
    times["jit8"]["to_c"] *= together
    found = {n: {**t, "tflops": flops / t["ms"] / 1e9} for n, t in times.items()}
    return {
        "shape": name,
        "what": "fwd",
        **found,
        "copies": added_copies(ours.lower(x, w, sizes).compile()),
        "error": max(errors),
    }


def gradient(name: str, wait: Wait) -> dict[str, Any]:
    shape = SHAPES[name]
    inner = shape.n // 2
    x, up, down = normal(0, shape.m, shape.k), normal(1, shape.e, shape.k, shape.n), normal(2, shape.e, inner, shape.k)
    sizes = jnp.full(shape.e, shape.m // shape.e, jnp.int32)

    def grad(dot: Any) -> Any:
        def loss(x: jax.Array, up: jax.Array, down: jax.Array) -> jax.Array:
            gate, value = jnp.split(dot(x, up, sizes), 2, -1)
            return dot(jax.nn.silu(gate) * value, down, sizes).astype(jnp.float32).sum()

        f = jax.jit(jax.grad(loss, (0, 1, 2)))
        return lambda: f(x, up, down)

    ours, theirs = grad(ragged_dot), grad(jax.lax.ragged_dot)
    pairs = zip(ours(), theirs(), strict=True)
    error = max(
        float(jnp.abs(a.astype(jnp.float32) - b.astype(jnp.float32)).max() / jnp.abs(b.astype(jnp.float32)).max())
        for a, b in pairs
    )
    assert error < 3e-2, error
    return {"shape": name, "what": "grad", "jit": timed(ours, wait), "jax": timed(theirs, wait), "error": error}


def layers_under_scan() -> dict[str, Any]:
    """Memory in use before and after runs of 100 layers."""
    x, ws = normal(0, 4096, 512), normal(1, 100, 8, 512, 512)
    sizes = jnp.full(8, 512, jnp.int32)
    f = jax.jit(
        jax.grad(
            lambda x, ws: (
                jax.lax.scan(jax.checkpoint(lambda x, w: (ragged_dot(x, w, sizes), None)), x, ws)[0]
                .astype(jnp.float32)
                .sum()
            )
        )
    )
    used = []
    for _ in range(4):
        jax.block_until_ready(f(x, ws))
        used.append(jax.devices()[0].memory_stats()["bytes_in_use"])
    return {"what": "scan", "bytes_in_use": used}


def line_of(row: dict[str, Any]) -> str:
    parts = [f"{row.get('shape', ''):12} {row['what']:5}"]
    for name in ("jit", "jit8", "c", "run", "jax"):
        if name in row:
            t = row[name]
            parts.append(f"{name} {t['ms']:.3f} ms (dispatch {t['dispatch_ms']:.3f})")
            parts += [f"{t['tflops']:.0f} TFLOP/s"] if "tflops" in t else []
            parts += [f"{t[to]:.3f} of {to[3:]}" for to in ("to_c", "to_run") if to in t and name.startswith("jit")]
    if "jax" in row:
        parts.append(f"{row['jax']['ms'] / row['jit']['ms']:.1f} times JAX")
    parts += [f"{row['copies']} copies"] if "copies" in row else []
    return "  ".join([*parts, str(row.get("bytes_in_use", ""))])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)

    def names(text: str) -> list[str]:
        return [name for name in text.split(",") if name]

    parser.add_argument("--shapes", type=names, default=["mixtral.up", "dsv3.up", "qwen3.up"])
    parser.add_argument("--gradients", type=names, default=["qwen3.up"])
    parser.add_argument("--layers", type=names, default=["mixtral", "qwen3"])
    parser.add_argument("--rounds", type=int, default=6)
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave JAX's own layer out")
    parser.add_argument("--out", type=Path)
    a = parser.parse_args()
    wait, rows = Driver().wait, []
    jobs = [lambda s=s: forward(s, wait, a.rounds) for s in a.shapes]
    jobs += [lambda s=s: gradient(s, wait) for s in a.gradients]
    jobs += [lambda s=s: jax_layers.layer(s, wait, a.rounds, a.peers) for s in a.layers]
    for job in [*jobs, layers_under_scan]:
        try:
            rows.append(job())
            print(line_of(rows[-1]), flush=True)
        except Exception as error:
            print(f"FAILED: {type(error).__name__}: {error}"[:1500], flush=True)
    if a.out:
        a.out.write_text(
            json.dumps({"jax": jax.__version__, "device": jax.devices()[0].device_kind, "rows": rows}, indent=1)
        )
    return 0 if len(rows) == len(jobs) + 1 else 1


if __name__ == "__main__":
    sys.exit(main())
