"""On a GPU: no call of ours waits for the device. Run by on_gpu.py."""

import re
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from harness import rng
from kit import jax, jnp, normal
from moe_mlir.jax import moe_layer, ragged_dot

TOKENS, WIDTH, INNER, EXPERTS = 2048, 1024, 512, 8
# 50 layers. XLA lets at most 32 executions wait for the device, and CUDA about a thousand launches.
CALLS, LAYERS = 5, 10


def works() -> dict[str, Callable[[], Any]]:
    """Computations of ours in jit, their operands bound."""
    r = rng()
    x, router = normal(r, (TOKENS, WIDTH), jnp.bfloat16), normal(r, (WIDTH, EXPERTS), jnp.bfloat16)
    up = normal(r, (EXPERTS, WIDTH, 2 * INNER), jnp.bfloat16) / 32
    down = normal(r, (EXPERTS, INNER, WIDTH), jnp.bfloat16) / 32
    sizes = jnp.full(EXPERTS, TOKENS // EXPERTS, jnp.int32)

    def layer(x: jax.Array, down: jax.Array) -> jax.Array:
        return x + moe_layer(x, router, up, down, top_k=2)

    def layers(x: jax.Array, down: jax.Array) -> jax.Array:
        for _ in range(LAYERS):
            x = layer(x, down)
        return x

    def scanned(x: jax.Array, down: jax.Array) -> jax.Array:
        return jax.lax.scan(lambda x, _: (layer(x, down), None), x, None, length=LAYERS)[0]

    functions = {
        "ragged_dot": lambda x, down: ragged_dot(x[:, :INNER], down, sizes),
        "layers": layers,
        "scan": scanned,
        "gradient": jax.grad(lambda x, down: layer(x, down).astype(jnp.float32).sum(), (0, 1)),
    }
    bound = {}
    for name, function in functions.items():
        compiled = jax.jit(function).lower(x, down).compile()
        bound[name] = lambda compiled=compiled: compiled(x, down)
    return bound


def case_calls_return_while_the_device_is_busy() -> None:
    """With work on the device that takes far longer than it takes to enqueue ours behind it: whatever waited would see that end."""
    a = jnp.ones((16384, 16384), jnp.float32)
    busy = jax.jit(lambda a: (a @ a) @ (a @ a)).lower(a).compile()

    def enqueue(work: Callable[[], Any]) -> tuple[bool, float, float]:
        begin = time.perf_counter()
        held = busy(a)
        kept = [work() for _ in range(CALLS)]
        taken = time.perf_counter() - begin
        waited = held.is_ready()
        jax.block_until_ready((held, kept))
        return waited, taken, time.perf_counter() - begin

    for name, work in works().items():
        enqueue(work)  # the first one takes memory from the device
        waited, taken, whole = enqueue(work)
        print(f"{name}: {CALLS} calls kept the host for {taken * 1e3:.1f} ms, the device for {whole * 1e3:.1f} ms")
        assert not waited and taken < whole / 2, name


def calls_of_the_driver(folder: str, label: str) -> list[str]:
    """What a trace says that the threads which launch kernels called of the driver between the begin and the end of the annotation."""
    (file,) = Path(folder).glob("**/*.xplane.pb")
    planes = [p for p in jax.profiler.ProfileData.from_file(str(file)).planes if not p.name.startswith("/device")]
    threads = [[(e.name, e.start_ns, e.end_ns) for e in line.events] for p in planes for line in p.lines]
    begin, end = next((b, e) for events in threads for name, b, e in events if name == label)
    calls: list[str] = []
    for events in threads:
        found = [name for name, b, _ in events if begin <= b <= end and re.match(r"cu(da)?[A-Z]", name)]
        calls += found if any("Launch" in name for name in found) else []
    return calls


def case_a_trace_shows_no_synchronisation() -> None:
    for name, work in works().items():
        jax.block_until_ready([work() for _ in range(CALLS)])
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder):
                with jax.profiler.TraceAnnotation("enqueue"):
                    kept = [work() for _ in range(CALLS)]
                jax.block_until_ready(kept)
            calls = calls_of_the_driver(folder, "enqueue")
        print(f"{name}: { ({c: calls.count(c) for c in sorted(set(calls))}) }")
        assert calls, f"{name}: the profiler saw no launch"
        waits = [c for c in calls if re.search(r"Synchronize|cu(da)?Memcpy(DtoH|HtoD)?(_v2)?$", c)]
        assert not waits, (name, waits)
