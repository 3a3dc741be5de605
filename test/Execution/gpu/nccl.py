"""Layers over GPUs that NCCL connects: nccl.py FOLDER [--only NAME...]

Each test has a process for each GPU and a time-out. Layers over ranks are compared with the same layer on one GPU, for rows that
travel in exact numbers, in equal blocks and by stores into the other GPU's memory. Also what must fail: a rank that is killed, one
that never calls; then a new communicator works. FOLDER is one that scripts/gpu has packed.
"""

from __future__ import annotations

import argparse
import importlib.util
import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / p) for p in ("python", "python/benchmarks", "test/Execution", "test/Execution/gpu")]
sys.path.append(str(ROOT / "test" / "Execution" / "ranks"))
sys.dont_write_bytecode = True

RANKS, MOST_TOKENS = 2, 300
# Experts, slots of a token, width, inner width, type.
LAYERS = {"bf16": (8, 2, 64, 64, "bf16"), "f32": (6, 5, 12, 8, "f32")}
EXACT, PAIR = "", 40
TRANSPORTS = {
    "exact": EXACT,
    "exact-sums": "partial-sums=true",
    "capacity": "transport=capacity",
    "capacity-sums": "transport=capacity partial-sums=true",
    "peer": "transport=peer",
    "peer-sums": "transport=peer partial-sums=true",
    "overflow": f"pair-capacity={PAIR}",
    "overflow-sums": f"pair-capacity={PAIR} partial-sums=true",
}


def blocks(ranks: int = RANKS) -> str:
    """Equal blocks of rows, as many as the argument has."""
    return f"""func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {{
  %y = moe.all_to_all %x {{axis = "ep", ranks = {ranks}}} : tensor<?x4xf32> -> tensor<?x4xf32>
  return %y : tensor<?x4xf32>
}}
"""


def programs() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Texts and options of moe-compile by name, for packing."""
    import harness
    import layers

    found = {"nccl-blocks": (blocks(), ())}
    for name, (experts, k, width, inner, dtype) in LAYERS.items():
        text, fixed = layers.layer(experts, k, width, inner, getattr(harness, dtype)), "--disable-fusion=weights"
        found[f"nccl-{name}-single"] = (text, (fixed,))
        for transport, options in TRANSPORTS.items():
            (partition,) = layers.partition(RANKS, MOST_TOKENS, options)
            found[f"nccl-{name}-{transport}"] = (text, (fixed, partition))
    return found


# --- one rank -------------------------------------------------------------------------------------------------------------------


class Run:
    """A program bound to inputs, outputs and a workspace on a GPU, all poisoned."""

    def __init__(self, rank: Rank, name: str, inputs: Sequence[object]):
        from arrays import DTYPES, Placed
        from moe_mlir._runtime import Program, Session

        self.rank = rank
        self.program = Program.load(rank.folder / "programs" / f"{name}.moe", rank.runtime)
        self.session, self.entry = Session(self.program, rank.number), self.program.entry()
        names = {dtype: name for name, dtype in DTYPES.items()}
        self.ins = [Placed(rank.device, names[x.dtype], x.shape, x) for x in inputs]
        buffers = [x.buffer for x in self.ins]
        shapes = self.program.output_shapes(self.entry, buffers)
        self.outs = [
            Placed(rank.device, argument.dtype.name, shape)
            for argument, shape in zip(self.entry.outputs, shapes, strict=True)
        ]
        self.size, _ = self.program.workspace(self.entry, buffers)
        self.address, self.owner = rank.device.allocate(self.size)
        rank.device.fill(self.address, 0xFF, self.size)

    def enqueue(self, comm: object = None) -> None:
        ins, outs = [x.buffer for x in self.ins], [x.buffer for x in self.outs]
        self.session.enqueue(self.entry, ins, outs, self.address, self.size, self.rank.device.stream, comm)

    def finish(self, comm: object = None) -> tuple[list, dict]:
        """Outputs, once they are written, and faults."""
        self.rank.device.wait()
        if comm:
            comm.check()
        faults = {f.kind: (f.count, f.row, f.value, f.limit) for f in self.session.poll(self.address)}
        return [out.read() for out in self.outs], faults

    def __call__(self, comm: object = None) -> tuple[list, dict]:
        self.enqueue(comm)
        return self.finish(comm)


class Rank:
    """What a test has: its GPU, and communicators with the others."""

    def __init__(self, folder: Path, number: int, pipe: multiprocessing.connection.Connection, seed: int):
        import numpy as np
        from arrays import Device
        from moe_mlir._runtime import Runtime

        self.folder, self.number, self.pipe = folder, number, pipe
        self.random = np.random.default_rng(seed)  # all ranks draw the same
        self.runtime, self.device = Runtime(folder / "lib" / "libmoert.so"), Device(number)

    def comm(self, timeout_ms: int = 20000) -> object:
        """A new communicator; all ranks make it."""
        from moe_mlir._runtime import Comm

        if self.number == 0:
            identity = Comm.unique_id(self.runtime)
            self.pipe.send(("id", identity))
        else:
            identity = self.pipe.recv()
        return Comm.nccl(identity, self.number, RANKS, self.number, timeout_ms, self.runtime)


def equal(found: object, expected: object, what: str) -> None:
    import numpy as np

    assert found.shape == expected.shape, f"{what}: shape {found.shape}, expected {expected.shape}"
    kind = f"u{found.dtype.itemsize}"
    wrong = np.argwhere(found.view(kind) != expected.view(kind))
    assert not len(wrong), (
        f"{what}: {len(wrong)} of {found.size} elements are wrong, first {wrong[0].tolist()}: "
        f"{found[tuple(wrong[0])]}, expected {expected[tuple(wrong[0])]}"
    )


def check_blocks(rank: Rank, comm: object) -> None:
    import numpy as np

    x = [np.arange(40, dtype="f4").reshape(10, 4) + 100 * r for r in range(RANKS)]
    (y,), _ = Run(rank, "nccl-blocks", [x[rank.number]])(comm)
    half = slice(5 * rank.number, 5 * rank.number + 5)
    equal(y, np.concatenate([part[half] for part in x]), "blocks")


class Layer:
    """Weights of a layer, and its tokens on all ranks."""

    def __init__(self, rank: Rank, name: str):
        import harness
        import layers

        self.rank, self.name = rank, name
        self.experts, self.k, self.width, inner, dtype = LAYERS[name]
        self.dtype = getattr(harness, dtype)
        draw = rank.random.standard_normal
        self.up = draw((self.experts, self.width, 2 * inner)).astype(self.dtype)
        self.down = draw((self.experts, inner, self.width)).astype(self.dtype)
        self.owners = layers.consecutive(self.experts, RANKS)
        self.mine = [layers.shards(w, self.owners, RANKS)[rank.number] for w in (self.up, self.down)]

    def tokens(self, ids: object) -> list:
        x = self.rank.random.standard_normal((len(ids), self.width)).astype(self.dtype)
        return [x, ids.astype("i4"), self.rank.random.random(ids.shape).astype("f4")]

    def expected(self, tokens: list) -> object:
        (out,), _ = Run(self.rank, f"nccl-{self.name}-single", [*tokens, self.up, self.down])()
        return out

    def workloads(self) -> dict[str, list]:
        """A name, and ids of each rank, of few tokens and of as many as there may be."""
        import layers

        found = layers.workloads(self.rank.random, self.experts, self.k, RANKS)
        draw = self.rank.random.integers
        found["many tokens"] = [draw(0, self.experts, (MOST_TOKENS, self.k)) for _ in range(RANKS)]
        found["many of one rank"] = [draw(0, self.experts, (n, self.k)) for n in (0, MOST_TOKENS)]
        return found


def check_layer(rank: Rank, name: str, transport: str) -> str:
    import numpy as np
    from harness import close

    comm, layer, exact = rank.comm(), Layer(rank, name), 0
    capacity = PAIR if transport.startswith("overflow") else MOST_TOKENS * layer.k
    tolerance = (2**-6 if name == "bf16" else 1e-5) if transport.endswith("sums") else 2**-8
    workloads = layer.workloads()
    for what, ids in workloads.items():
        x, chosen, weights = [layer.tokens(part) for part in ids][rank.number]
        (out,), faults = Run(rank, f"nccl-{name}-{transport}", [x, chosen, weights, *layer.mine])(comm)
        ranks = np.where(chosen < 0, -1, np.array(layer.owners)[chosen]).reshape(-1)
        dropped = np.sort(np.concatenate([np.flatnonzero(ranks == r)[capacity:] for r in range(RANKS)]))
        kept = chosen.copy()
        kept.reshape(-1)[dropped] = -1
        expected = layer.expected([x, kept, weights])
        close(out, expected, tolerance, f"{what}, rank {rank.number}")
        exact += bool((out == expected).all())
        count = {"OVERFLOW": (1, dropped[0], len(dropped), capacity)} if len(dropped) else {}
        assert faults == count, (what, faults, count)
    return f"{exact} of {len(workloads)} workloads bit for bit; bytes sent {comm.sent()}"


def check_graph(rank: Rank) -> str:
    """Captured once and replayed on other tokens."""
    comm, layer = rank.comm(), Layer(rank, "bf16")
    draw, replays = rank.random.integers, 5
    batches = [[layer.tokens(draw(0, 8, (50, 2))) for _ in range(RANKS)][rank.number] for _ in range(replays)]
    run = Run(rank, "nccl-bf16-capacity", [*batches[0], *layer.mine])
    assert run.entry.capturable and not run.entry.host_sync, run.entry
    run(comm)
    launch = rank.device.capture(lambda: run.enqueue(comm))
    from harness import close

    for batch in batches:
        for placed, values in zip(run.ins, batch, strict=False):
            placed.write(values)
        for out in run.outs:
            out.poison()
        launch()
        (out,), faults = run.finish(comm)
        close(out, layer.expected(batch), 2**-8, "replay")
        assert not faults, faults
    return f"{replays} replays"


def check_interleaved(rank: Rank) -> str:
    """Two layers over two communicators, in turn."""
    from harness import close

    comms, layers = [rank.comm(), rank.comm()], [Layer(rank, name) for name in LAYERS]
    runs, expected = [], []
    for layer, transport in zip(layers, ("exact", "capacity"), strict=True):
        draw = rank.random.integers
        tokens = [layer.tokens(draw(0, layer.experts, (n, layer.k))) for n in (70, 33)][rank.number]
        runs.append(Run(rank, f"nccl-{layer.name}-{transport}", [*tokens, *layer.mine]))
        expected.append(layer.expected(tokens))
    for _ in range(4):
        for run, comm in zip(runs, comms, strict=True):
            run.enqueue(comm)
    for run, comm, wanted in zip(runs, comms, expected, strict=True):
        (out,), _ = run.finish(comm)
        close(out, wanted, 2**-8, "interleaved")
    return "4 times in turn"


def fails(call: Callable[[], object], limit: float) -> str:
    from moe_mlir._runtime import MoeError

    begin = time.perf_counter()
    try:
        call()
    except MoeError as error:
        seconds = time.perf_counter() - begin
        assert error.code == "COMM_FAILED" and seconds < limit, f"after {seconds:.1f} s: {error.code}: {error}"
        return f"after {seconds:.1f} s: {error}"
    raise AssertionError("succeeded, but had to fail")


def check_disagreement(rank: Rank) -> str:
    """Blocks of other sizes are found where ranks compare them, before any run; then all go on with another communicator."""
    import numpy as np

    def connect(comm: object, rows: int) -> None:
        run = Run(rank, "nccl-blocks", [np.zeros((rows, 4), "f4")])
        run.session.connect(run.entry, [x.buffer for x in run.ins], comm, rank.device.stream)

    comm = rank.comm(5000)
    message = fails(lambda: connect(comm, 10 + 2 * rank.number), 20)
    said = (
        "rank 1 would exchange rows of 16 bytes in blocks of 6 where rank 0 exchanges rows of 16 bytes in blocks of 5"
    )
    assert said in message, message
    comm = rank.comm()
    connect(comm, 10)
    check_blocks(rank, comm)
    return message


def repeat_blocks(rank: Rank, comm: object) -> None:
    for _ in range(100):
        check_blocks(rank, comm)


def check_killed(rank: Rank) -> str:
    """One rank is killed between exchanges; another process takes its place in a new communicator."""
    comm = rank.comm(3000)
    check_blocks(rank, comm)
    if rank.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    message = fails(lambda: repeat_blocks(rank, comm), 20)
    comm = None  # leaves
    rank.pipe.send(("replace", 1))
    check_blocks(rank, rank.comm())
    return message


def replacement(rank: Rank) -> str:
    check_blocks(rank, rank.comm())
    return "took the place of one that was killed"


def check_late(rank: Rank) -> str:
    """One rank never calls."""
    comm, message = rank.comm(2000), "slept"
    check_blocks(rank, comm)
    if rank.number == 1:
        time.sleep(6)
    else:
        message = fails(lambda: check_blocks(rank, comm), 20)
    comm = None  # leaves
    check_blocks(rank, rank.comm())
    return message


def check_start(rank: Rank) -> str:
    comm = rank.comm()
    check_blocks(rank, comm)
    return f"bytes sent {comm.sent()}"


def tests() -> dict[str, Callable[[Rank], str]]:
    found = {"start": check_start}
    for name in LAYERS:
        for transport in TRANSPORTS:
            found[f"{name}-{transport}"] = lambda rank, n=name, t=transport: check_layer(rank, n, t)
    found |= {"graph": check_graph, "interleaved": check_interleaved, "disagreement": check_disagreement}
    return found | {"late": check_late, "killed": check_killed}


# --- processes ------------------------------------------------------------------------------------------------------------------


def find_nccl() -> None:
    """PyTorch's library, if it is not where the loader looks."""
    found = importlib.util.find_spec("nvidia.nccl") if importlib.util.find_spec("nvidia") else None
    for folder in found.submodule_search_locations if found else []:
        library = Path(folder, "lib", "libnccl.so.2")
        if library.exists():
            os.environ.setdefault("MOE_NCCL", str(library))


def work(folder: Path, number: int, names: list[str], pipe: multiprocessing.connection.Connection, seed: int) -> None:
    # harness takes its library and programs from the folder.
    os.environ.update(MOE_BUILD_DIR=str(folder), MOE_KEPT=str(folder / "programs"), MOE_KEPT_TARGET="cuda")
    find_nccl()
    name = names[0]
    try:
        rank = Rank(folder, number, pipe, seed)
        for name in names:
            begin = time.perf_counter()
            note = (replacement if name == "replacement" else tests()[name])(rank)
            pipe.send(("done", name, f"{time.perf_counter() - begin:.2f} s: {note}"))
        pipe.send(("end",))
    except Exception:
        pipe.send(("failed", name, traceback.format_exc()[-2500:]))
    pipe.close()
    os._exit(0)  # an aborted communicator may keep threads


def run_group(folder: Path, names: list[str], seed: int, limit: float) -> list[tuple[int, str, str, bool]]:
    """Rank, test, note and success of each test of the group; stops at the first failure."""
    spawn, results = multiprocessing.get_context("spawn"), []
    workers: dict[int, tuple] = {}

    def start(number: int, what: list[str]) -> None:
        here, there = spawn.Pipe()
        process = spawn.Process(target=work, args=(folder, number, what, there, seed))
        process.start()
        there.close()
        workers[number] = (process, here)

    for number in range(RANKS):
        start(number, names)
    while workers:
        pipes = {pipe: number for number, (_, pipe) in workers.items()}
        ready = multiprocessing.connection.wait(list(pipes), limit)
        if not ready:
            results += [(number, names[-1], f"nothing for {limit:g} s", False) for number in workers]
            break
        for pipe in ready:
            number = pipes[pipe]
            if workers.get(number, (None, None))[1] is not pipe:
                continue  # replaced
            try:
                kind, *values = pipe.recv()
            except EOFError:
                kind, values = "lost", []
            if kind == "id":
                for other, (_, others) in workers.items():
                    if other != number:
                        others.send(values[0])
            elif kind == "replace":
                process, _ = workers.pop(1, (None, None))
                if process:
                    process.join()
                start(1, ["replacement"])
            elif kind == "done":
                results.append((number, *values, True))
            elif kind == "failed":
                results.append((number, *values, False))
            elif kind == "lost" and names != ["killed"]:
                results.append((number, names[-1], "died", False))
            if kind in ("end", "failed", "lost"):
                workers.pop(number)
    for process, _ in workers.values():
        process.kill()
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", choices=list(tests()), default=list(tests()))
    parser.add_argument("--limit", type=float, default=60, help="seconds for a test")
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    a = parser.parse_args()
    print(f"seed {a.seed}", flush=True)
    good = True
    # Tests of what fails have processes of their own.
    alone = [[name] for name in ("late", "killed") if name in a.only]
    together = [name for name in a.only if [name] not in alone]
    for group in [[name] for name in together[:1]] + [together[1:]] + alone:
        for rank, name, note, ok in run_group(a.folder.resolve(), group, a.seed, a.limit) if group else []:
            good &= ok
            print(f"{'passed' if ok else 'FAILED'}  nccl {name}, rank {rank}: {note}", flush=True)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
