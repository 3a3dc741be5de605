"""Runs the program of runtime.mlir on a GPU: check_runtime.py libmoert.so runtime.moe

Every parameter kind, tensor maps and fallbacks, fills, copies and constants, faults, graphs, on tensors with padded rows in poisoned memory.
"""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / p) for p in ("python", "python/benchmarks", "test/Execution/gpu")]
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402
from arrays import Device, Placed  # noqa: E402
from moe_mlir._runtime import MoeError, Program, Runtime, Session  # noqa: E402

seed = int(np.random.SeedSequence().entropy % 2**32)
print(f"seed {seed}")
random = np.random.default_rng(seed)
device = Device(0)
runtime = Runtime(sys.argv[1])
program = Program.load(sys.argv[2], runtime)
session = Session(program)


def run(name: str, inputs: list[Placed], outputs: list[Placed], graph: bool = False) -> list:
    """Enqueues an entry, with `graph` by three replays of a graph, and returns its faults."""
    entry = program.entry(name)
    assert entry.capturable
    buffers = [t.buffer for t in inputs]
    size, _ = program.workspace(entry, buffers)
    workspace, owner = device.allocate(size)
    device.fill(workspace, 0xFF, size)

    def enqueue() -> None:
        session.enqueue(entry, buffers, [t.buffer for t in outputs], workspace, size, device.stream)

    if graph:
        replay = device.capture(enqueue)
        for _ in range(3):
            for t in outputs:
                t.poison()
            replay()
            device.wait()
    else:
        enqueue()
    device.wait()
    return session.poll(workspace)


def check_sum(graph: bool) -> None:
    for m, n, px, py, po in [(1, 1, 0, 0, 0), (37, 53, 3, 0, 11), (300, 70, 0, 2, 1), (0, 5, 0, 0, 0)]:
        x = random.standard_normal((m, n), np.float32)
        y = random.standard_normal((m, n), np.float32)
        out = Placed(device, "f32", (m, n), pitch=po)
        faults = run(
            "sum",
            [Placed(device, "f32", (m, n), x, pitch=px), Placed(device, "f32", (m, n), y, pitch=py)],
            [out],
            graph,
        )
        np.testing.assert_allclose(out.read(), x.astype(np.float64) + 3.0 * y, rtol=1e-6, atol=1e-6)
        negative = int((x < 0).sum())
        assert [(f.kind, f.count) for f in faults] == ([("BAD_SIZES", negative)] if negative else []), faults
    print(f"sum{' by a graph' if graph else ''}: good")


def check_boxes() -> None:
    # Rows, padding, shift and that of `who` in elements, and who runs: 1 the tensor maps, 2 the fallback.
    for m, px, po, shift, at, who in [
        (100, 0, 0, 0, 0, 1),
        (16, 8, 16, 0, 0, 1),
        (33, 0, 0, 8, 8, 1),
        (17, 4, 0, 0, 0, 2),
        (17, 0, 1, 0, 0, 2),
        (5, 0, 0, 1, 0, 2),
        (5, 0, 0, 0, 4, 2),
        (0, 0, 0, 0, 0, 1),
    ]:
        x = random.standard_normal((m, 64), np.float32).astype(ml_dtypes.bfloat16)
        out, ran = Placed(device, "bf16", (m, 64), pitch=po), Placed(device, "i32", (1,), shift=at)
        run("boxes", [Placed(device, "bf16", (m, 64), x, pitch=px, shift=shift)], [out, ran])
        assert ran.read()[0] == who, (m, px, po, shift, at, ran.read())
        assert (out.read().view(np.uint16) == x.view(np.uint16)).all()
    print("boxes: good")


def check_moves(graph: bool) -> None:
    for m, n, px, po in [(3, 5, 0, 0), (64, 33, 7, 0), (64, 33, 0, 5), (9, 1, 2, 2), (0, 4, 0, 0), (1, 100, 3, 4)]:
        x = random.standard_normal((m, n), np.float32)
        out, filled = Placed(device, "f32", (m, n), pitch=po), Placed(device, "f32", (m, n), pitch=po)
        constant = Placed(device, "f32", (2, 3), pitch=1)
        assert run("moves", [Placed(device, "f32", (m, n), x, pitch=px)], [out, filled, constant], graph) == []
        assert (out.read() == x).all()
        assert (filled.read().view(np.uint8) == 0x55).all()
        assert (constant.read() == [[1, 2, 3], [4, 5, 6]]).all()
    print(f"moves{' by a graph' if graph else ''}: good")


def check_errors() -> None:
    for number, message in [(99, "device is 99; there are"), (-1, "device is -1")]:
        try:
            Session(program, number)
            raise AssertionError(f"device {number} was taken")
        except MoeError as error:
            assert message in str(error) and error.code == "INVALID_ARGUMENT", error
    print("errors: good")


check_sum(False)
check_boxes()
check_moves(False)
check_sum(True)
check_moves(True)
check_errors()
