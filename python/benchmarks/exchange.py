#!/usr/bin/env python3
"""All-to-all between GPUs of one host: stores by our kernels beside NCCL and beside stores without any protocol.

    scripts/gpu --pack DIR --only exchanges              where the compiler is
    DIR/python/benchmarks/exchange.py DIR [--out FILE]   on the machine with the GPUs

MiB are what leaves a rank for the others; as much per rank stays. `ours` is one exchange a call, with its sizes on the device, which the
ranks tell each other with places and arrival; `chain` is the mean of eight in one program, each of what the one before it brought;
`counts` lets the sizes travel first, by an exchange of their own; `graph` replays `ours`. Calls are queued back to back (20 a
sample); medians of 7 samples, of the slower rank. Each variant runs in turn for one size, in the same processes. `nccl` is
all_to_all_single, `stores` a Triton kernel that only copies, 16 blocks on each GPU, both directions at once.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / p) for p in ("python", "test/Execution/gpu", "python/benchmarks")]

from spawn import run_ranks  # noqa: E402

SIZES = (1, 4, 16, 64, 256)
CHAIN = 8


def text(steps: int = 1, counts: bool = False, ranks: int = 2) -> str:
    """`steps` exchanges of i64 rows by the sizes, one after the other; the result is one number, so that nothing is copied."""
    t, bounds, sizes = "tensor<?xi64>", f"tensor<{ranks}x2xi64>", f"tensor<{ranks}xi32>"
    attributes = f'{{axis = "ep", ranks = {ranks}, transport = #prog.transport<peer>}}'
    lines = [
        f"func.func @main(%x0: {t}, %send: {sizes}) -> tensor<1xi64> {{",
        "  %c0 = arith.constant 0 : index",
        f"  %m = tensor.dim %x0, %c0 : {t}",
        f"  %es = tensor.empty() : {bounds}",
        f"  %sb = tile.offsets sizes(%send : {sizes}) rows(%m) outs(%es : {bounds}) -> {bounds}",
    ]
    receive = "%sb"
    if counts:
        lines += [
            f"  %ec = tensor.empty() : {sizes}",
            f"  %c = prog.all_to_all %send into %ec {attributes} : {sizes}, {sizes} -> {sizes}",
            f"  %er = tensor.empty() : {bounds}",
            f"  %rb = tile.offsets sizes(%c : {sizes}) rows(%m) outs(%er : {bounds}) -> {bounds}",
        ]
        receive = "%rb"
    for i in range(steps):
        lines += [
            f"  %e{i} = tensor.empty(%m) : {t}",
            f"  %x{i + 1} = prog.all_to_all %x{i} send %sb receive {receive} into %e{i} {attributes}",
            f"      : {t}, {bounds}, {bounds}, {t} -> {t}",
        ]
    lines += [
        "  %eo = tensor.empty() : tensor<1xi64>",
        f"  %o = tile.rows ins(%x{steps} : {t}) outs(%eo : tensor<1xi64>) {{",
        f"  ^bb0(%r: index, %xs: {t}):",
        f"    %first = tile.load %xs[%r] : {t} -> i64",
        "    tile.yield %first : i64",
        "  } -> tensor<1xi64>",
        "  return %o : tensor<1xi64>",
        "}",
    ]
    return "\n".join(lines)


def needed_programs() -> dict[str, tuple[str, tuple[str, ...]]]:
    return {
        "bench-exchange": (text(), ()),
        "bench-exchange-chain": (text(CHAIN), ()),
        "bench-exchange-counts": (text(counts=True), ()),
    }


def time_stores(mib: int, blocks: int) -> float:
    """Microseconds of plain 16-byte stores into the other GPU, both at once, by one process."""
    import torch
    import triton
    import triton.language as tl

    @triton.jit
    def push(source, target, n, STRIDE: tl.constexpr):
        first = tl.program_id(0) * 4096
        for at in range(first, n, STRIDE):
            place = at + tl.arange(0, 4096)
            tl.store(target + place, tl.load(source + place, mask=place < n), mask=place < n)

    n = (mib << 20) // 8
    x = [torch.ones(n, dtype=torch.int64, device=f"cuda:{g}") for g in range(2)]
    y = [torch.empty(n, dtype=torch.int64, device=f"cuda:{1 - g}") for g in range(2)]
    for g in range(2):
        y[g].copy_(x[g])  # lets them reach each other
    streams = [torch.cuda.Stream(g) for g in range(2)]

    def go() -> None:
        for g in range(2):
            with torch.cuda.device(g), torch.cuda.stream(streams[g]):
                push[(blocks,)](x[g], y[g], n, STRIDE=4096 * blocks, num_warps=32)

    samples = []
    for sample in range(9):
        events = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(2)]
        for g in range(2):
            torch.cuda.synchronize(g)
        for g in range(2):
            events[g][0].record(streams[g])
        for _ in range(20):
            go()
        for g in range(2):
            events[g][1].record(streams[g])
        for g in range(2):
            torch.cuda.synchronize(g)
        if sample >= 2:
            samples.append(max(a.elapsed_time(b) for a, b in events) / 20 * 1e3)
    assert all(bool((t == 1).all()) for t in y)
    return statistics.median(samples)


def rank_main(rank: int, folder: Path, ranks: int, port: int, sizes: list[int], out: object) -> None:
    import torch
    import torch.distributed as dist
    from exchanges import custom_comm
    from moe_mlir._runtime import Buffer, Call, Program, Runtime, Session

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(ranks))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    plain = dist.new_group(backend="gloo")

    def tell(pieces: list[bytes]) -> list[bytes]:
        found: list = [None] * ranks
        dist.all_gather_object(found, pieces, group=plain)
        return [given[rank] for given in found]

    runtime = Runtime(folder / "lib" / "libmoert.so")
    programs = {name: Program.load(folder / "programs" / f"{name}.moe", runtime) for name in needed_programs()}
    comm = custom_comm(runtime, rank, ranks, 20000, tell)
    stream = torch.cuda.Stream()
    torch.cuda.set_stream(stream)

    def timed(call: Callable[[], object], reps: int = 20) -> float:
        """Microseconds of a call on this rank, queued back to back."""
        samples = []
        for sample in range(9):
            begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
            torch.cuda.synchronize()
            dist.barrier(group=plain)
            begin.record(stream)
            for _ in range(reps):
                call()
            end.record(stream)
            torch.cuda.synchronize()
            if sample >= 2:
                samples.append(begin.elapsed_time(end) / reps * 1e3)
        return statistics.median(samples)

    results = []
    for mib in sizes:
        rows = (mib << 20) // 8 // (ranks - 1)
        x = torch.randint(-(2**60), 2**60, (rows * ranks,), device="cuda")
        send = torch.full((ranks,), rows, dtype=torch.int32, device="cuda")
        first = torch.empty(1, dtype=torch.int64, device="cuda")
        calls, kept = {}, []
        heads = torch.empty(ranks, ranks, dtype=torch.int64, device="cuda")
        dist.all_gather_into_tensor(heads, x.view(ranks, rows)[:, 0].contiguous())
        for name, program in programs.items():
            session, entry = Session(program, rank), program.entry()
            inputs = [Buffer.of(x), Buffer.of(send)]
            size, _ = program.workspace(entry, inputs)
            workspace = torch.empty(size, dtype=torch.uint8, device="cuda")
            session.connect(entry, inputs, comm, stream.cuda_stream)
            call = Call(session, entry, inputs, [Buffer.of(first)], workspace.data_ptr(), size, comm)
            kept.append((session, workspace))
            kind = name.removeprefix("bench-exchange").lstrip("-") or "ours"
            calls[kind] = functools.partial(call, stream.cuda_stream)
            calls[kind]()
            torch.cuda.synchronize()
            faults = session.poll(workspace.data_ptr())
            assert not faults, faults
            # The first number is from rank 0; an even number of exchanges brings back one's own.
            expected = heads[rank, 0] if kind == "chain" else heads[0, rank]
            assert int(first) == int(expected), (name, mib, int(first), int(expected))
        calls["nccl"] = functools.partial(dist.all_to_all_single, torch.empty_like(x), x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):  # NCCL has threads
            for _ in range(20):
                calls["ours"]()
        row = {"mib": mib}
        for name, call in calls.items():
            row[name] = timed(call) / (CHAIN if name == "chain" else 1)
        row["graph"] = timed(graph.replay, 1) / 20
        for session, workspace in kept:
            session.poll(workspace.data_ptr())
        # The slowest rank counts.
        names = [n for n in row if n != "mib"]
        slowest = torch.tensor([row[n] for n in names], device="cuda")
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        results.append({"mib": mib, **dict(zip(names, slowest.tolist(), strict=True))})
        if rank == 0:
            print(describe(results[-1]), flush=True)
        dist.barrier(group=plain)
        del graph, calls, kept
    out.send(results)
    dist.barrier(group=plain)
    os._exit(0)  # NCCL's own end may hang where a peer is gone


def describe(row: dict) -> str:
    mib = row["mib"]
    cells = [f"{n} {t:.1f} us {mib * 2**20 / t / 1e3:.0f} GB/s" for n, t in row.items() if n != "mib"]
    return f"{mib:4} MiB: " + "; ".join(cells)


def table(results: list[dict]) -> str:
    names = [n for n in results[0] if n != "mib"]
    lines = ["| MiB out of each rank | " + " | ".join(names) + " |", "|---" * (len(names) + 1) + "|"]
    for row in results:
        cells = [f"{row['mib'] * 2**20 / row[n] / 1e3:.0f} ({row[n]:.1f})" for n in names]
        lines.append(f"| {row['mib']} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--port", type=int, default=29581)
    parser.add_argument("--no-stores", action="store_true")
    a = parser.parse_args()
    results = run_ranks(rank_main, 2, 150, a.folder, 2, a.port, a.sizes)
    if not results:
        print("a rank has failed")
        return 1
    if not a.no_stores:
        for row in results:
            row["stores"] = time_stores(row["mib"], 16)
    print(table(results))
    if a.out:
        a.out.write_text(json.dumps(results, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
