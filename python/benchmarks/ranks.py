#!/usr/bin/env python3
"""Exchanges and layers over two GPUs that NCCL connects.

    scripts/gpu --pack DIR --only nccl              where the compiler is
    DIR/python/benchmarks/ranks.py DIR [--out FILE] on the machine with the GPUs

Exchanges: MiB are what leaves a rank for the others. `ours` is moe.all_to_all of equal blocks, `graph` replays 20 of it,
`torch` is torch.distributed.all_to_all_single. Calls are queued back to back (20 a sample); medians of 7 samples, of the slower rank.

Layers: DeepSeek-V3's widths (7168, 2048, 8 of 64 experts), 4096 tokens a rank, bf16, experts chosen at random; ids and weights are given.
`single` has all experts and the tokens of both ranks on one GPU. Medians of 7 samples of 3 calls. Variants run in turn.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [
    str(ROOT / p)
    for p in ("python", "python/benchmarks", "test/Execution/gpu", "test/Execution", "test/Execution/ranks")
]

from spawn import run_ranks  # noqa: E402

RANKS, SIZES = 2, (1, 4, 16, 64, 256)
TOKENS, WIDTH, INNER, EXPERTS, TOPK = 4096, 7168, 2048, 64, 8
# A quarter more slots than ranks have of each other on average.
PAIR = TOKENS * TOPK // RANKS * 5 // 4
LAYERS = {
    "exact": "",
    "exact sums": "partial-sums=true",
    "peer": "mesh=nvlink",
    "peer sums": "mesh=nvlink partial-sums=true",
    "capacity": f"pair-capacity={PAIR}",
    "capacity sums": f"pair-capacity={PAIR} partial-sums=true",
}


def blocks() -> str:
    t = "tensor<?xi64>"
    return f"""func.func @main(%x: {t}) -> {t} {{
  %y = moe.all_to_all %x {{axis = "ep", ranks = {RANKS}}} : {t} -> {t}
  return %y : {t}
}}
"""


def program_name(layer: str) -> str:
    return "bench-nccl-" + layer.replace(" ", "-")


def needed_programs() -> dict[str, tuple[str, tuple[str, ...]]]:
    import layers
    from harness import bf16

    def text(tokens: int) -> str:
        return layers.layer(EXPERTS, TOPK, WIDTH, INNER, bf16, tokens)

    found = {program_name("blocks"): (blocks(), ()), program_name("single"): (text(RANKS * TOKENS), ())}
    for name, options in LAYERS.items():
        found[program_name(name)] = (text(TOKENS), tuple(layers.partition(RANKS, TOKENS, options)))
    return found


class Rank:
    def __init__(self, folder: Path, number: int, port: int):
        import nccl
        import torch
        import torch.distributed as dist
        from moe_mlir._runtime import Comm, Runtime

        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(number), WORLD_SIZE=str(RANKS))
        nccl.find_nccl()
        torch.cuda.set_device(number)
        dist.init_process_group("nccl", device_id=torch.device("cuda", number))
        self.plain = dist.new_group(backend="gloo")
        self.folder, self.number, self.runtime = folder, number, Runtime(folder / "lib" / "libmoert.so")
        identity = [Comm.unique_id(self.runtime)]
        dist.broadcast_object_list(identity, 0, group=self.plain)
        self.comm = Comm.nccl(identity[0], number, RANKS, number, 20000, self.runtime)
        self.stream = torch.cuda.Stream()
        torch.cuda.set_stream(self.stream)

    def timed(self, calls: dict[str, tuple[Callable[[], object], int]], divide: int) -> dict[str, float]:
        """Microseconds of each, of the slower rank; `calls` have how often each is called for a sample."""
        import torch
        import torch.distributed as dist

        times: dict[str, list[float]] = {name: [] for name in calls}
        for sample in range(9):
            for name, (call, repeat) in calls.items():
                begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                torch.cuda.synchronize()
                dist.barrier(group=self.plain)
                begin.record(self.stream)
                for _ in range(repeat):
                    call()
                end.record(self.stream)
                torch.cuda.synchronize()
                if sample >= 2:
                    times[name].append(begin.elapsed_time(end) / divide * 1e3)
        slowest = torch.tensor([statistics.median(t) for t in times.values()], device="cuda")
        dist.all_reduce(slowest, dist.ReduceOp.MAX)
        return dict(zip(times, slowest.tolist(), strict=True))

    def bind(self, name: str, inputs: list, output: object, comm: object) -> Callable[[], None]:
        import torch
        from moe_mlir._runtime import Buffer, Call, Program, Session

        program = Program.load(self.folder / "programs" / f"{program_name(name)}.moe", self.runtime)
        session, entry = Session(program, self.number), program.entry()
        buffers = [Buffer.of(x) for x in inputs]
        size, _ = program.workspace(entry, buffers)
        workspace = torch.empty(size, dtype=torch.uint8, device="cuda")
        call = Call(session, entry, buffers, [Buffer.of(output)], workspace.data_ptr(), size, comm)

        def run() -> None:
            call(self.stream.cuda_stream)

        run.poll = lambda: session.poll(workspace.data_ptr())
        return run

    def exchanges(self, mib: int) -> dict[str, float]:
        import torch
        import torch.distributed as dist

        n = (mib << 20) // 8 * RANKS // (RANKS - 1)
        x = torch.randint(-(2**60), 2**60, (n,), device="cuda")
        y, z = torch.empty_like(x), torch.empty_like(x)
        ours = self.bind("blocks", [x], y, self.comm)
        ours()
        dist.all_to_all_single(z, x)
        torch.cuda.synchronize()
        assert torch.equal(y, z), f"{mib} MiB: other bytes than torch's"
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, stream=self.stream, capture_error_mode="thread_local"):  # NCCL has threads
            for _ in range(20):
                ours()
        calls = {"ours": (ours, 20), "graph": (graph.replay, 1), "torch": (lambda: dist.all_to_all_single(z, x), 20)}
        return self.timed(calls, 20)

    def layers(self) -> dict[str, float]:
        import torch
        import torch.distributed as dist

        torch.manual_seed(1)  # the same on both

        def draw(*shape: int) -> object:
            return torch.randn(*shape, device="cuda", dtype=torch.bfloat16)

        x, weights = draw(RANKS * TOKENS, WIDTH), torch.rand(RANKS * TOKENS, TOPK, device="cuda")
        ids = torch.rand(RANKS * TOKENS, EXPERTS, device="cuda").topk(TOPK).indices.int()
        up, down = draw(EXPERTS, WIDTH, 2 * INNER) * WIDTH**-0.5, draw(EXPERTS, INNER, WIDTH) * INNER**-0.5
        mine, part = slice(self.number * TOKENS, (self.number + 1) * TOKENS), EXPERTS // RANKS
        held = slice(self.number * part, (self.number + 1) * part)
        whole = torch.empty_like(x)
        runs = {"single": self.bind("single", [x, ids, weights, up, down], whole, None)}
        outs = {name: torch.empty_like(x[mine]) for name in LAYERS}
        for name, out in outs.items():
            runs[name] = self.bind(name, [x[mine], ids[mine], weights[mine], up[held], down[held]], out, self.comm)
        for name, run in runs.items():
            run()
            torch.cuda.synchronize()
            assert not run.poll(), (name, run.poll())
        for name, out in outs.items():
            error = ((out.float() - whole[mine].float()).abs().max() / whole[mine].float().abs().max()).item()
            assert error < 2**-6, f"{name}: off by {error} of the largest"
            print(f"rank {self.number}: layer {name}: off by {error:.2e} of the largest", flush=True)
        dist.barrier(group=self.plain)
        return self.timed({name: (run, 3) for name, run in runs.items()}, 3)


def rank_main(number: int, folder: Path, port: int, sizes: list[int], out: object) -> None:
    rank, results = Rank(folder, number, port), {"exchanges": [], "layers": {}}
    for mib in sizes:
        results["exchanges"].append({"mib": mib, **rank.exchanges(mib)})
        if number == 0:
            print(results["exchanges"][-1], flush=True)
    out.send(results)
    results["layers"] = rank.layers()
    out.send(results)
    os._exit(0)


def table(results: dict) -> str:
    lines = ["| MiB out of each rank | ours | ours, graph | torch |", "|---|---|---|---|"]
    for row in results["exchanges"]:
        cells = [f"{row['mib'] * 2**20 / row[n] / 1e3:.0f} GB/s ({row[n]:.1f} us)" for n in ("ours", "graph", "torch")]
        lines.append(f"| {row['mib']} | " + " | ".join(cells) + " |")
    if results["layers"]:
        single = results["layers"]["single"]
        lines += ["", "| layer | ms | tokens a second | times one GPU |", "|---|---|---|---|"]
        for name, time in results["layers"].items():
            lines.append(f"| {name} | {time / 1e3:.3f} | {RANKS * TOKENS / time * 1e6:.3g} | {single / time:.2f} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--port", type=int, default=29591)
    parser.add_argument("--limit", type=float, default=90, help="seconds")
    a = parser.parse_args()
    os.environ.update(
        MOE_BUILD_DIR=str(a.folder.resolve()), MOE_KEPT=str(a.folder.resolve() / "programs"), MOE_KEPT_TARGET="cuda"
    )
    results = run_ranks(rank_main, RANKS, a.limit, a.folder.resolve(), a.port, a.sizes)
    if results:
        print(table(results))
        if a.out:
            a.out.write_text(json.dumps(results, indent=1))
    if results and results["layers"]:
        return 0
    print("a rank has failed")
    return 1


if __name__ == "__main__":
    sys.exit(main())
