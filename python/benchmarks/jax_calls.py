"""What the benchmarks of JAX share: calls from jit and from C beside each other, in turns."""

from __future__ import annotations

import ctypes
import re
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import moe_mlir
from moe_mlir.jax._program import TARGET

Work = Callable[[], Any]
Wait = Callable[[], None]
Times = dict[str, dict[str, float]]
SECONDS = 0.1  # how long a variant runs without a pause


class Driver:
    """Waits for everything on the device, in whatever stream."""

    def __init__(self) -> None:
        self.cuda, context = ctypes.CDLL("libcuda.so.1"), ctypes.c_void_p()
        self.cuda.cuInit(0)
        self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
        self.cuda.cuCtxSetCurrent(context)

    def wait(self) -> None:
        assert self.cuda.cuCtxSynchronize() == 0


def custom_call(lowered: Any) -> str:
    """The program of the only custom call of ours, as text."""
    found: list[str] = []

    def visit(op: Any) -> Any:
        from jaxlib.mlir import ir

        if op.name == "stablehlo.custom_call" and ir.StringAttr(op.attributes["call_target_name"]).value == TARGET:
            attributes = ir.DictAttr(op.attributes["mhlo.backend_config"])
            found.append(ir.StringAttr(attributes["program"]).value)
        return ir.WalkResult.ADVANCE

    lowered.compiler_ir("stablehlo").operation.walk(visit)
    (text,) = found
    return text


def from_c(text: str, inputs: dict[str, jax.Array], outputs: Sequence[jax.Array], target: str = "cuda") -> Work:
    """A call of this program by the C runtime, without XLA. Inputs are by the names of its arguments."""
    program = moe_mlir.compile(text, target)
    session, entry = moe_mlir.Session(program), program.entry()

    def buffers(arrays: Sequence[jax.Array]) -> list[moe_mlir.Buffer]:
        return [
            moe_mlir.Buffer(a.unsafe_buffer_pointer(), moe_mlir.DType.named(a.dtype.name), a.shape, owner=a)
            for a in arrays
        ]

    given = buffers([inputs[name] for name in re.findall(r"%(\w+): ", text[: text.index("->")])])
    size, _ = program.workspace(entry, given)
    workspace = jnp.zeros(size + 64, jnp.uint8)
    call = moe_mlir.Call(
        session, entry, given, buffers(outputs), -(-workspace.unsafe_buffer_pointer() // 64) * 64, size
    )
    call.workspace = workspace  # keeps it alive
    return call


def timed(work: Work, wait: Wait) -> dict[str, float]:
    """Milliseconds of one call after another, without a pause."""
    work()
    wait()
    begin = time.perf_counter()
    work()
    wait()
    calls = max(2, round(SECONDS / (time.perf_counter() - begin)))
    return _run(work, wait, calls)


def _run(work: Work, wait: Wait, calls: int) -> dict[str, float]:
    begin = time.perf_counter()
    for _ in range(calls):
        work()
    dispatched = time.perf_counter()
    wait()
    return {"ms": (time.perf_counter() - begin) / calls * 1e3, "dispatch_ms": (dispatched - begin) / calls * 1e3}


def measure(variants: dict[str, Work], wait: Wait, rounds: int) -> Times:
    """Medians over rounds in which all run in turn, every other one in opposite order: milliseconds of a call, how long it keeps
    the host, and how fast it is, times the others: the median of that in each round. The card is power-limited: nothing that
    is slow may run between variants that are compared."""
    taken: dict[str, list[dict[str, float]]] = {name: [] for name in variants}
    calls = {name: max(2, round(SECONDS * 1e3 / timed(work, wait)["ms"])) for name, work in variants.items()}
    for r in range(rounds):
        for name in list(variants)[:: 1 if r % 2 == 0 else -1]:
            taken[name].append(_run(variants[name], wait, calls[name]))
    found: Times = {}
    for name, runs in taken.items():
        found[name] = {key: statistics.median(run[key] for run in runs) for key in runs[0]}
        for other in variants:
            if other != name:
                ratios = [b["ms"] / a["ms"] for a, b in zip(runs, taken[other], strict=True)]
                found[name][f"to_{other}"] = statistics.median(ratios)
    return found


def added_copies(compiled: Any) -> int:
    return len(re.findall(r"= \S+ (?:copy|transpose|copy-start)\(", compiled.as_text()))
