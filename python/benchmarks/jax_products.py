"""Ragged products inside jit on a GPU: ours, the same program called from C, and JAX's own, in turns.

    test/Python/JAX/on_gpu.py --bench FILE.json [--shapes mixtral.up,qwen3.up] ...

or by itself where the package is installed.

For each shape of ragged_gemm.py: the forward product (data on the device, bf16, even groups), and the gradient of two products with a gated
activation between them. Times are medians over rounds, in which all variants run in turn, 10 calls each; `dispatch` is how long a call keeps
the host. It says how many copies XLA added around the custom call, and what memory 100 layers under scan leave behind.
"""

from __future__ import annotations

import argparse
import ctypes
import json
import os
import re
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.9")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import jax
import jax.numpy as jnp
import moe_mlir
from moe_mlir.jax import ragged_dot
from ragged_gemm import SHAPES, Shape

CALLS = 10


class Driver:
    """Waits for everything on the device, in whatever stream."""

    def __init__(self) -> None:
        self.cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        self.cuda.cuInit(0)
        self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        self.cuda.cuCtxSetCurrent(context)

    def wait(self) -> None:
        assert self.cuda.cuCtxSynchronize() == 0


def normal(key: int, *shape: int) -> jax.Array:
    return jax.jit(lambda k: jax.random.normal(k, shape, jnp.bfloat16) / 8)(jax.random.key(key))


def from_c(shape: Shape, x: jax.Array, w: jax.Array, sizes: jax.Array, y: jax.Array) -> Callable[[], None]:
    """The program that ragged_dot runs, on the same buffers, without XLA."""
    program = moe_mlir.compile(shape.product("fwd", "kn").text(), "cuda")
    session, entry = moe_mlir.Session(program), program.entry()

    def buffer(a: jax.Array) -> moe_mlir.Buffer:
        return moe_mlir.Buffer(a.unsafe_buffer_pointer(), moe_mlir.DType.named(a.dtype.name), a.shape, owner=a)

    inputs = [buffer(a) for a in (x, w, sizes)]
    size, _ = program.workspace(entry, inputs)
    workspace = jnp.zeros(size + 256, jnp.uint8)
    call = moe_mlir.Call(session, entry, inputs, [buffer(y)], -(-workspace.unsafe_buffer_pointer() // 64) * 64, size)
    call.workspace = workspace  # keeps it alive
    return call


def measure(
    variants: dict[str, Callable[[], Any]], wait: Callable[[], None], rounds: int
) -> dict[str, dict[str, float]]:
    """Milliseconds of a call, and how long it keeps the host."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in variants}
    for work in variants.values():
        work()
    wait()
    for r in range(rounds):
        for name in list(variants)[:: 1 if r % 2 == 0 else -1]:
            work = variants[name]
            work()
            wait()
            begin = time.perf_counter()
            kept = [work() for _ in range(CALLS)]
            dispatched = time.perf_counter()
            wait()
            taken[name].append(((time.perf_counter() - begin) / CALLS * 1e3, (dispatched - begin) / CALLS * 1e3))
            del kept
    return {
        n: {"ms": statistics.median(t for t, _ in v), "dispatch_ms": statistics.median(d for _, d in v)}
        for n, v in taken.items()
    }


def added_copies(compiled: Any) -> int:
    return len(re.findall(r"= \S+ (?:copy|transpose|copy-start)\(", compiled.as_text()))


def forward(name: str, wait: Callable[[], None], rounds: int) -> dict[str, Any]:
    shape = SHAPES[name]
    x, w = normal(0, shape.m, shape.k), normal(1, shape.e, shape.k, shape.n)
    sizes = jnp.full(shape.e, shape.m // shape.e, jnp.int32)
    ours, theirs = jax.jit(ragged_dot), jax.jit(jax.lax.ragged_dot)
    y = jax.block_until_ready(ours(x, w, sizes))
    rows = jnp.arange(0, shape.m, shape.m // 64)
    expected = jnp.einsum(
        "mk,mkn->mn",
        x[rows].astype(jnp.float32),
        w[rows // (shape.m // shape.e)].astype(jnp.float32),
        precision="highest",
    )
    error = float(jnp.abs(y[rows].astype(jnp.float32) - expected).max() / jnp.abs(expected).max())
    assert error < 1e-2, error
    c = from_c(shape, x, w, sizes, jnp.zeros_like(y))
    times = measure({"jit": lambda: ours(x, w, sizes), "c": c, "jax": lambda: theirs(x, w, sizes)}, wait, rounds)
    flops = 2 * shape.m * shape.k * shape.n
    found = {n: {**t, "tflops": flops / t["ms"] / 1e9} for n, t in times.items()}
    return {
        "shape": name,
        "what": "fwd",
        **found,
        "copies": added_copies(ours.lower(x, w, sizes).compile()),
        "error": error,
    }


def gradient(name: str, wait: Callable[[], None], rounds: int) -> dict[str, Any]:
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
    return {"shape": name, "what": "grad", **measure({"jit": ours, "jax": theirs}, wait, rounds), "error": error}


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
    parts += [
        f"{n} {row[n]['ms']:.3f} ms (dispatch {row[n]['dispatch_ms']:.3f})" for n in ("jit", "c", "jax") if n in row
    ]
    if "c" in row:
        parts.append(
            f"{row['jit']['tflops']:.0f} TFLOP/s, {row['c']['ms'] / row['jit']['ms']:.3f} of C, {row['copies']} copies"
        )
    if "jax" in row:
        parts.append(f"{row['jax']['ms'] / row['jit']['ms']:.1f} times JAX")
    return "  ".join([*parts, str(row.get("bytes_in_use", ""))])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--shapes", default="mixtral.up,dsv3.up,qwen3.up")
    parser.add_argument("--gradients", default="qwen3.up")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path)
    a = parser.parse_args()
    wait, rows = Driver().wait, []
    jobs = [(forward, s) for s in a.shapes.split(",") if s] + [(gradient, s) for s in a.gradients.split(",") if s]
    for measured, shape in [*jobs, (layers_under_scan, "")]:
        try:
            rows.append(measured(shape, wait, a.rounds) if shape else layers_under_scan())
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
