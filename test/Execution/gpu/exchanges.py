"""Exchanges by stores into the memory of other GPUs: exchanges.py FOLDER [--ranks 2] [--same-device]

Real exchanges between ranks that are threads of one process, and between ranks that are processes; each rank checks what it got
against NumPy. With --same-device all ranks are on one GPU. Also what must fail: a rank that never
comes, numbers of rows that differ, a graph captured too early. FOLDER is one that scripts/gpu has packed.
"""

from __future__ import annotations

import argparse
import ctypes
import multiprocessing
import multiprocessing.connection
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / p) for p in ("python", "python/benchmarks", "test/Execution/gpu")]
import numpy as np  # noqa: E402
from arrays import DTYPES, Device, Placed  # noqa: E402
from moe_mlir._runtime import Call, Comm, MoeError, Program, Runtime, Session  # noqa: E402

ROWS = 6000
# Rows of 256 bytes, and of numbers of bytes that share no more than 8, 4 and 2 with 16.
WIDTHS = {"f32x64": ("f32", 64), "f32x6": ("f32", 6), "f32x3": ("f32", 3), "bf16x33": ("bf16", 33)}
ALIGNS = (1, 8)


def text(dtype: str, width: int, align: int, ranks: int = 2) -> str:
    """Rows of x to ranks by their sizes, and what comes by theirs, each rank's from a multiple of `align` on."""
    n = f"?x{width}x{dtype}"
    y, bounds, sizes = f"tensor<{ROWS}x{width}x{dtype}>", f"tensor<{ranks}x2xi64>", f"tensor<{ranks}xi32>"
    return f"""func.func @main(%x: tensor<{n}>, %send: {sizes}, %receive: {sizes}) -> {y} {{
  %c0 = arith.constant 0 : index
  %rows = arith.constant {ROWS} : index
  %m = tensor.dim %x, %c0 : tensor<{n}>
  %e0 = tensor.empty(%m) : tensor<{n}>
  %own = tile.rows ins(%x : tensor<{n}>) outs(%e0 : tensor<{n}>) {{
  ^bb0(%r: index, %xs: tensor<{n}>):
    %row = tile.load %xs[%r] : tensor<{n}> -> vector<{width}x{dtype}>
    tile.yield %row : vector<{width}x{dtype}>
  }} -> tensor<{n}>
  %e1 = tensor.empty() : {bounds}
  %sb = tile.offsets sizes(%send : {sizes}) rows(%m) outs(%e1 : {bounds}) -> {bounds}
  %e2 = tensor.empty() : {bounds}
  %rb = tile.offsets sizes(%receive : {sizes}) rows(%rows) outs(%e2 : {bounds}) {{align = {align} : i64}} -> {bounds}
  %e3 = tensor.empty() : {y}
  %y = prog.all_to_all %own send %sb receive %rb into %e3 {{axis = "ep", ranks = {ranks}, transport = #prog.transport<peer>}}
      : tensor<{n}>, {bounds}, {bounds}, {y} -> {y}
  return %y : {y}
}}
"""


def blocks(ranks: int = 2) -> str:
    """Equal blocks of i64, twice: block d of block s of the result is what rank s was given for this rank, and by whom."""
    t = "tensor<?xi64>"
    attributes = f'{{axis = "ep", ranks = {ranks}, transport = #prog.transport<peer>}}'
    return f"""func.func @main(%x: {t}) -> ({t}, {t}) {{
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : {t}
  %e0 = tensor.empty(%m) : {t}
  %y = prog.all_to_all %x into %e0 {attributes} : {t}, {t} -> {t}
  %e1 = tensor.empty(%m) : {t}
  %z = prog.all_to_all %y into %e1 {attributes} : {t}, {t} -> {t}
  return %y, %z : {t}, {t}
}}
"""


def programs(ranks: int = 2) -> dict[str, str]:
    """Texts by name, for packing."""
    found = {f"exchange-{name}-{a}": text(*w, a, ranks) for name, w in WIDTHS.items() for a in ALIGNS}
    return {**found, "exchange-blocks": blocks(ranks)}


# --- one rank -------------------------------------------------------------------------------------------------------------------


@dataclass
class Draw:
    """Rows from each rank to each, and all rows of each rank, of which the last few are for nobody."""

    sizes: np.ndarray
    x: list[np.ndarray]

    def expected(self, rank: int, align: int) -> np.ndarray:
        y, at = np.zeros((ROWS, *self.x[0].shape[1:]), self.x[0].dtype), 0
        for s, x in enumerate(self.x):
            first, n = int(self.sizes[s, :rank].sum()), int(self.sizes[s, rank])
            y[at : at + n] = x[first : first + n]
            at += -(-n // align) * align
        return y


def draw(random: np.random.Generator, ranks: int, dtype: str, width: int, sizes: np.ndarray) -> Draw:
    xs = [
        random.standard_normal((int(row.sum()) + int(random.integers(0, 4)), width), np.float32).astype(DTYPES[dtype])
        for row in sizes
    ]
    return Draw(sizes.astype(np.int32), xs)


def all_sizes(random: np.random.Generator, ranks: int) -> Iterator[np.ndarray]:
    most = ROWS // ranks - 8
    yield np.zeros((ranks, ranks), int)
    yield np.ones((ranks, ranks), int)
    one = np.zeros((ranks, ranks), int)
    one[:, 0] = most  # all to one rank
    yield one
    empty = random.integers(0, most, (ranks, ranks))
    empty[-1] = 0  # a rank that has nothing
    yield empty
    for _ in range(3):
        yield random.integers(0, most, (ranks, ranks))
    yield random.integers(0, 9, (ranks, ranks))


class Rank:
    def __init__(self, folder: Path, number: int, ranks: int, same: bool, comm: Callable[[int], Comm], meet: Callable):
        self.number, self.ranks, self.meet, self.same = number, ranks, meet, same
        self.folder, self.make = folder, comm
        self.ordinal = 0 if same else number
        self.device = Device(self.ordinal)
        self.runtime = Runtime(folder / "lib" / "libmoert.so")
        self.sessions: dict[str, Session] = {}

    def session(self, name: str) -> Session:
        if name not in self.sessions:
            program = Program.load(self.folder / "programs" / f"{name}.moe", self.runtime)
            self.sessions[name] = Session(program, self.ordinal)
        return self.sessions[name]

    def bound(self, name: str, inputs: list[Placed], outputs: list[Placed], comm: Comm, stream: int | None = None):
        """A function that enqueues, and the address of its workspace."""
        session = self.session(name)
        entry = session.program.entry()
        assert entry.needs_comm and entry.capturable and not entry.host_sync, entry
        buffers = [t.buffer for t in inputs]
        size, _ = session.program.workspace(entry, buffers)
        workspace, owner = self.device.allocate(size)
        self.device.fill(workspace, 0xFF, size)

        def enqueue(_: object = owner) -> None:  # which it keeps
            at = self.device.stream if stream is None else stream
            session.enqueue(entry, buffers, [t.buffer for t in outputs], workspace, size, at, comm)

        return enqueue, workspace

    def ready(self) -> None:
        """To be called before a wait for other ranks: on one device none may synchronise it while another waits there."""
        if self.same:
            self.meet()

    def captured(self, work: Callable[[], None]) -> Callable[[], None]:
        self.ready()
        replay = self.device.capture(work)
        self.ready()
        return replay

    def poll(self, name: str, workspace: int) -> None:
        faults = self.session(name).poll(workspace)
        assert faults == [], faults

    def place(self, d: Draw, dtype: str, width: int) -> tuple[list[Placed], Placed]:
        n = self.number
        ins = [
            Placed(self.device, dtype, d.x[n].shape, d.x[n]),
            Placed(self.device, "i32", (self.ranks,), d.sizes[n]),
            Placed(self.device, "i32", (self.ranks,), d.sizes[:, n]),
        ]
        return ins, Placed(self.device, dtype, (ROWS, width))

    # --- tests; every rank draws the same numbers

    def check_sizes(self, random: np.random.Generator) -> str:
        comm, count = self.make(10000), 0
        for kind, (dtype, width) in WIDTHS.items():
            for align in ALIGNS:
                for sizes in all_sizes(random, self.ranks):
                    d = draw(random, self.ranks, dtype, width, sizes)
                    ins, out = self.place(d, dtype, width)
                    name = f"exchange-{kind}-{align}"
                    enqueue, workspace = self.bound(name, ins, [out], comm)
                    self.ready()
                    enqueue()
                    self.device.wait()
                    self.poll(name, workspace)
                    compare(out.read(), d.expected(self.number, align), f"{name} of sizes {sizes.tolist()}")
                    count += 1
        return f"{count} exchanges"

    def check_blocks(self, random: np.random.Generator) -> str:
        comm, ranks = self.make(10000), self.ranks
        for n in (0, ranks, 6 * ranks, 4097 * ranks, 100000 * ranks):
            x = random.integers(-(2**62), 2**62, (ranks, ranks, n // ranks))
            shift = int(random.integers(0, 2))
            given = Placed(self.device, "i64", (n,), x[self.number].reshape(-1), shift=shift)
            y, z = Placed(self.device, "i64", (n,)), Placed(self.device, "i64", (n,))
            enqueue, workspace = self.bound("exchange-blocks", [given], [y, z], comm)
            self.ready()
            enqueue()
            self.device.wait()
            self.poll("exchange-blocks", workspace)
            compare(y.read(), x[:, self.number].reshape(-1), f"blocks of {n}")
            compare(z.read(), x[self.number].reshape(-1), f"blocks of {n} and back")
            self.meet()
            self.sessions.pop("exchange-blocks")  # the next one needs more memory
        return "blocks to and fro"

    def check_growth(self, random: np.random.Generator) -> str:
        """Memory in common is for the inputs that it was made for, and for smaller ones."""
        name, ranks = "exchange-blocks", self.ranks
        self.sessions.pop(name, None)
        comm, session = self.make(2000), self.session(name)
        small, large = (Placed(self.device, "i64", (n * ranks,)) for n in (1, 4096))
        session.connect(session.program.entry(), [small.buffer], comm, self.device.stream)
        y, z = Placed(self.device, "i64", large.shape), Placed(self.device, "i64", large.shape)
        enqueue, _ = self.bound(name, [large], [y, z], comm)
        self.meet()  # an error of one rank is one of all that have not connected yet
        message = fails(enqueue)
        assert "call moe_session_connect with the largest ones first" in message, message
        self.meet()
        self.sessions.pop(name)
        return message

    def check_graph(self, random: np.random.Generator) -> str:
        comm, name, (dtype, width) = self.make(10000), "exchange-f32x64-8", WIDTHS["f32x64"]
        most = ROWS // self.ranks - 8
        d = draw(random, self.ranks, dtype, width, np.full((self.ranks, self.ranks), most))
        ins, out = self.place(d, dtype, width)
        enqueue, workspace = self.bound(name, ins, [out], comm)
        self.ready()
        enqueue()
        self.device.wait()
        replay = self.captured(enqueue)
        for i in range(50):
            # The graph knows neither the rows nor how many they are.
            sizes = random.integers(0, most, (self.ranks, self.ranks)).astype(np.int32)
            d.sizes = sizes
            ins[1].write(sizes[self.number])
            ins[2].write(sizes[:, self.number])
            out.poison()
            self.ready()
            replay()
            self.device.wait()
            compare(out.read(), d.expected(self.number, 8), f"replay {i}")
        self.ready()
        for _ in range(50):
            replay()
        self.device.wait()
        self.poll(name, workspace)
        compare(out.read(), d.expected(self.number, 8), "50 replays in a row")
        return "50 replays with new sizes, 50 in a row"

    def check_trace(self, random: np.random.Generator) -> str:
        """A trace knows the bytes that kernels send, and the communicator counts them then."""
        name, (dtype, width), comm = "exchange-bf16x33-8", WIDTHS["bf16x33"], self.make(10000)
        d = draw(random, self.ranks, dtype, width, random.integers(0, 99, (self.ranks, self.ranks)))
        ins, out = self.place(d, dtype, width)
        session = self.session(name)
        buffers, entry = [t.buffer for t in ins], session.program.entry()
        size, _ = session.program.workspace(entry, buffers)
        workspace, _owner = self.device.allocate(size)
        self.ready()
        steps = Call(session, entry, buffers, [out.buffer], workspace, size, comm).trace(self.device.stream)
        self.poll(name, workspace)
        compare(out.read(), d.expected(self.number, 8), "traced")
        sent = [int(n) * width * 2 for n in d.sizes[self.number]]
        found = [s.bytes for s in steps if s.name == "exchange"]
        assert found == [sum(sent) - sent[self.number]], (found, sent)
        assert comm.sent() == sent, (comm.sent(), sent)
        return f"{found[0]} bytes to others"

    def check_interleaved(self, random: np.random.Generator) -> str:
        """Two sessions at once, each on a stream of its own."""
        comm, work = self.make(10000), []
        other = ctypes.c_void_p()
        self.device.call("cuStreamCreate", ctypes.byref(other), 1)
        for name, kind, stream in [
            ("exchange-f32x64-1", "f32x64", self.device.stream),
            ("exchange-bf16x33-8", "bf16x33", other.value),
        ]:
            dtype, width = WIDTHS[kind]
            d = draw(random, self.ranks, dtype, width, random.integers(0, ROWS // self.ranks - 8, (self.ranks,) * 2))
            ins, out = self.place(d, dtype, width)
            work.append((name, d, out, *self.bound(name, ins, [out], comm, stream), ins))
        self.ready()
        for _ in range(20):
            for _, _, _, enqueue, _, _ in work:
                enqueue()
        self.device.call("cuCtxSynchronize")
        for name, d, out, _, workspace, _ in work:
            self.poll(name, workspace)
            compare(out.read(), d.expected(self.number, int(name[-1])), f"{name}, interleaved")
        return "2 sessions, 20 exchanges each"

    def check_early_capture(self, random: np.random.Generator) -> str:
        name = "exchange-f32x3-1"
        self.sessions.pop(name, None)
        comm = self.make(2000)
        d = draw(random, self.ranks, "f32", 3, np.ones((self.ranks, self.ranks), int))
        ins, out = self.place(d, "f32", 3)
        enqueue, workspace = self.bound(name, ins, [out], comm)
        self.ready()
        message = fails(lambda: self.device.capture(enqueue))
        assert "call moe_session_connect before its stream captures" in message, message
        stream, graph = ctypes.c_void_p(self.device.stream), ctypes.c_void_p()
        self.device.cuda.cuStreamEndCapture(stream, ctypes.byref(graph))
        self.meet()
        comm = self.make(10000)
        session = self.session(name)
        session.connect(session.program.entry(), [t.buffer for t in ins], comm, self.device.stream)
        enqueue, workspace = self.bound(name, ins, [out], comm)
        replay = self.captured(enqueue)
        replay()
        self.device.wait()
        self.poll(name, workspace)
        compare(out.read(), d.expected(self.number, 1), "captured after connecting")
        return message

    def check_late(self, random: np.random.Generator) -> str:
        """The last rank does not come; then it does, and hears of it; then all go on with another communicator."""
        name, last = "exchange-f32x6-1", self.ranks - 1
        d = draw(random, self.ranks, "f32", 6, random.integers(1, 99, (self.ranks, self.ranks)))
        ins, out = self.place(d, "f32", 6)
        comm = self.make(400)
        session = self.session(name)
        session.connect(session.program.entry(), [t.buffer for t in ins], comm, self.device.stream)
        enqueue, workspace = self.bound(name, ins, [out], comm)
        self.meet()
        begin = time.perf_counter()
        if self.number != last:
            enqueue()
            self.device.wait()
            message = fails(lambda: self.poll(name, workspace))
            took = time.perf_counter() - begin
            if self.ranks == 2:
                assert f"rank {last} did not take part in an exchange within 400 ms of rank {self.number}" in message, (
                    message
                )
            assert 0.35 < took < 2, took
            assert "did not take part" in fails(enqueue)
        self.meet()
        if self.number == last:
            begin = time.perf_counter()
            enqueue()
            self.device.wait()
            message = fails(lambda: self.poll(name, workspace))
            assert "has failed in an exchange with" in message, message
            assert time.perf_counter() - begin < 0.4
        self.meet()
        self.check_again(name, d, ins, out)
        return message

    def check_disagreement(self, random: np.random.Generator) -> str:
        """Rank 0 sends the last rank three rows more than that expects."""
        name, last = "exchange-f32x6-1", self.ranks - 1
        d = draw(random, self.ranks, "f32", 6, random.integers(10, 99, (self.ranks, self.ranks)))
        ins, out = self.place(d, "f32", 6)
        if self.number == last:
            wrong = d.sizes[:, last].copy()
            wrong[0] -= 3
            ins[2].write(wrong)
        enqueue, workspace = self.bound(name, ins, [out], self.make(2000))
        self.ready()
        enqueue()
        self.device.wait()
        message = fails(lambda: self.poll(name, workspace))
        if self.number == 0:
            n = int(d.sizes[0, last])
            assert f"rank 0 sends {n} rows to rank {last}, which expects {n - 3}" in message, message
        elif self.ranks == 2:
            assert "rank 0 has failed in an exchange with rank 1" in message, message
        self.meet()
        ins[2].write(d.sizes[:, self.number])
        self.check_again(name, d, ins, out)
        return message

    def check_again(self, name: str, d: Draw, ins: list[Placed], out: Placed) -> None:
        enqueue, workspace = self.bound(name, ins, [out], self.make(10000))
        self.ready()
        enqueue()
        self.device.wait()
        self.poll(name, workspace)
        compare(out.read(), d.expected(self.number, 1), f"{name}, with a new communicator")

    TESTS = ("sizes", "blocks", "growth", "graph", "trace", "interleaved", "early_capture", "late", "disagreement")

    def run(self, names: list[str], seed: int) -> list[tuple[str, str, str]]:
        """Name, what went wrong if anything, and a note, for each; stops at the first failure, for ranks would part ways."""
        results = []
        for i, name in enumerate(names):
            try:
                self.meet()
                note = getattr(self, f"check_{name}")(np.random.default_rng([seed, i]))
                results.append((name, "", note))
            except Exception:
                results.append((name, traceback.format_exc()[-1500:], ""))
                break
        self.sessions.clear()
        return results


def compare(found: np.ndarray, expected: np.ndarray, what: str) -> None:
    kind = f"u{found.dtype.itemsize}"
    wrong = np.argwhere(found.view(kind) != expected.view(kind))
    assert not len(wrong), (
        f"{what}: {len(wrong)} of {found.size} elements are wrong, first {wrong[0].tolist()}: "
        f"{found[tuple(wrong[0])]}, expected {expected[tuple(wrong[0])]}; last {wrong[-1].tolist()}"
    )


def fails(call: Callable[[], object]) -> str:
    try:
        call()
    except MoeError as error:
        return str(error)
    raise AssertionError("succeeded, but had to fail")


# --- ranks that are threads -----------------------------------------------------------------------------------------------------


def run_threads(folder: Path, ranks: int, same: bool, names: list[str], seed: int) -> list[list[tuple[str, str, str]]]:
    runtime = Runtime(folder / "lib" / "libmoert.so")
    barrier, made = threading.Barrier(ranks), {}
    results: list = [None] * ranks

    def comm_of(number: int) -> Callable[[int], Comm]:
        def make(timeout_ms: int) -> Comm:
            if barrier.wait(20) == 0:
                made["comms"] = Comm.local(ranks, timeout_ms, runtime)
            barrier.wait(20)
            mine = made["comms"][number]
            barrier.wait(20)
            return mine

        return make

    def work(number: int) -> None:
        try:
            rank = Rank(folder, number, ranks, same, comm_of(number), lambda: barrier.wait(20))
            results[number] = rank.run(names, seed)
        except Exception:
            results[number] = [("start", traceback.format_exc()[-1500:], "")]

    threads = [threading.Thread(target=work, args=(n,)) for n in range(ranks)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


# --- ranks that are processes ---------------------------------------------------------------------------------------------------


class _Piece(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]


_pieces = ctypes.POINTER(_Piece)
_Exchange = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, _pieces, _pieces, ctypes.c_uint32, ctypes.c_void_p, ctypes.c_size_t
)


class _Transport(ctypes.Structure):
    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("context", ctypes.c_void_p),
        ("exchange", _Exchange),
        ("fail", ctypes.c_void_p),
        ("destroy", ctypes.c_void_p),
    ]


class _Options(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("timeout_ms", ctypes.c_uint32)]


def custom_comm(
    runtime: Runtime, rank: int, ranks: int, timeout_ms: int, exchange: Callable[[list[bytes]], list[bytes]]
) -> Comm:
    """A communicator over a function that sends a piece to each rank and returns one from each."""

    @_Exchange
    def call(_: object, send: object, receive: object, timeout: int, error: int, size: int) -> int:
        try:
            got = exchange([ctypes.string_at(send[r].data, send[r].bytes) for r in range(ranks)])
            for r, piece in enumerate(got):
                ctypes.memmove(receive[r].data, piece, receive[r].bytes)
            return 0
        except Exception as problem:
            text = str(problem).encode()[: size - 1] + b"\0"
            ctypes.memmove(error, text, len(text))
            return 1

    transport = _Transport(ctypes.sizeof(_Transport), None, call, None, None)
    handle, options = ctypes.c_void_p(), _Options(ctypes.sizeof(_Options), timeout_ms)
    create = runtime.moe_comm_create_custom
    create.restype = ctypes.c_void_p
    status = create(ctypes.byref(transport), rank, ranks, ctypes.byref(options), ctypes.byref(handle))
    runtime.check(status)
    comm = Comm(handle, rank, ranks, runtime)
    comm.transport = transport  # the callback must not go before
    return comm


def work_process(
    folder: Path, number: int, ranks: int, same: bool, pipes: list, names: list[str], seed: int, out: object
) -> None:
    def exchange(pieces: list[bytes]) -> list[bytes]:
        got = list(pieces)
        for r, pipe in enumerate(pipes):
            if r != number:
                pipe.send_bytes(pieces[r])
        for r, pipe in enumerate(pipes):
            if r != number:
                if not pipe.poll(20):
                    raise TimeoutError(f"nothing from rank {r}")
                got[r] = pipe.recv_bytes()
        return got

    try:
        runtime = Runtime(folder / "lib" / "libmoert.so")
        kept = []

        def make(timeout_ms: int) -> Comm:
            kept.append(custom_comm(runtime, number, ranks, timeout_ms, exchange))
            return kept[-1]

        rank = Rank(folder, number, ranks, same, make, lambda: exchange([b"here"] * ranks))
        out.send(rank.run(names, seed))
    except Exception:
        out.send([("start", traceback.format_exc()[-1500:], "")])


def run_processes(
    folder: Path, ranks: int, same: bool, names: list[str], seed: int
) -> list[list[tuple[str, str, str]]]:
    spawn = multiprocessing.get_context("spawn")
    ends: list[list] = [[None] * ranks for _ in range(ranks)]
    for a in range(ranks):
        for b in range(a):
            ends[a][b], ends[b][a] = spawn.Pipe()
    results, workers = [], []
    for n in range(ranks):
        receive, send = spawn.Pipe(duplex=False)
        worker = spawn.Process(target=work_process, args=(folder, n, ranks, same, ends[n], names, seed, send))
        worker.start()
        workers.append((worker, receive))
    for worker, receive in workers:
        results.append(receive.recv() if receive.poll(60) else [("process", "no answer within 60 s", "")])
        worker.join(10)
        if worker.is_alive():
            worker.kill()
            results[-1].append(("end", "did not end", ""))
    return results


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--same-device", action="store_true")
    parser.add_argument("--kinds", nargs="+", default=["threads", "processes"])
    parser.add_argument("--only", nargs="+", default=list(Rank.TESTS), choices=Rank.TESTS)
    parser.add_argument("--seed", type=int, default=int(np.random.SeedSequence().entropy % 2**32))
    a = parser.parse_args()
    print(f"seed {a.seed}", flush=True)
    failed = False
    for kind in a.kinds:
        begin = time.perf_counter()
        run = run_threads if kind == "threads" else run_processes
        results = run(a.folder, a.ranks, a.same_device, a.only, a.seed)
        for rank, tests in enumerate(results):
            for name, problem, note in tests:
                failed |= bool(problem)
                print(f"{kind} rank {rank} {name}: {'FAILED' if problem else 'good'}: {note}", flush=True)
                if problem:
                    print("    " + problem.replace("\n", "\n    "), flush=True)
        print(f"{kind}: {time.perf_counter() - begin:.1f} s", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
