"""What the execution tests share: compile moe text, run it through the C API, compare.

Every output and workspace lies between guard bytes and is filled with 0xFF (NaN, -1) before a run, so that what a
program leaves unwritten or writes out of range is seen. As a program: harness.py FILE FUNCTION runs one test function.

The same tests run on a GPU, where there is no compiler: with MOE_KEEP=FOLDER and MOE_KEEP_TARGET=TARGET every program is
compiled for that target too and kept; with MOE_KEPT=FOLDER the tests take their programs from there. Both need one MOE_SEED.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import ml_dtypes
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python"))
from moe_mlir import _runtime as _api
from moe_mlir._runtime import Buffer, Comm, MoeError, Runtime, Session  # noqa: F401  tests take MoeError from here

BUILD = Path(os.environ.get("MOE_BUILD_DIR", Path(__file__).resolve().parents[2] / "build"))
os.environ.setdefault("MOE_HOME", str(BUILD))
KEEP, KEPT = os.environ.get("MOE_KEEP"), os.environ.get("MOE_KEPT")
GUARD = 256
bf16 = np.dtype(ml_dtypes.bfloat16)
f16, f32, i32, i64 = np.dtype("f2"), np.dtype("f4"), np.dtype("i4"), np.dtype("i8")
DTYPES = [f32, bf16, f16, i32, i64, np.dtype("i1"), np.dtype("u1"), np.dtype("?")]  # in the order of moe_dtype
NAMES = {f32: "f32", bf16: "bf16", f16: "f16", i32: "i32", i64: "i64"}


_library = Runtime(BUILD / "lib" / ("libmoert.so" if KEPT else "libmoert.so.0"))
# Whether programs are for a GPU.
ON_GPU = os.environ.get("MOE_KEPT_TARGET") == "cuda"


class _Guarded:
    """Memory between guard bytes, filled with 0xFF."""

    def __init__(self, size: int):
        self.raw = np.full(size + 2 * GUARD + 64, 0xFF, np.uint8)
        start = GUARD + -(self.raw.ctypes.data + GUARD) % 64
        self.before, self.data, self.after = self.raw[:start], self.raw[start : start + size], self.raw[start + size :]
        self.before[:] = self.after[:] = 0xA5

    def check(self, what: str) -> None:
        for name, guard in (("before", self.before), ("after", self.after)):
            assert (guard == 0xA5).all(), f"bytes {name} {what} were written"


class _Copies:
    """Copies of arrays on a GPU for one run, between guard bytes and at the same distance from an aligned address."""

    memory = None  # a gpu.arrays.Device, made when it is first needed

    def __init__(self):
        if _Copies.memory is None:
            sys.path[:0] = [str(Path(__file__).parents[2] / p) for p in ("python/benchmarks", "test/Execution/gpu")]
            from arrays import Device

            _Copies.memory = Device()
        self.spans: list[tuple[int, int, int, int, object]] = []  # of the array: begin, end; of the copy: begin, base

    def address(self, begin: int, end: int) -> int:
        """Where the bytes of this process from begin to end are on the GPU."""
        for first, last, copy, *_ in self.spans:
            if first <= begin and end <= last:
                return copy + begin - first
        size = end - begin
        base, owner = self.memory.allocate(size + 2 * GUARD + 64)
        copy = base + GUARD + (begin - base - GUARD) % 64
        self.memory.fill(base, 0xA5, size + 2 * GUARD + 64)
        if size:
            self.memory.write(copy, np.frombuffer((ctypes.c_uint8 * size).from_address(begin), np.uint8))
        self.spans.append((begin, end, copy, base, owner))
        return copy

    def buffer(self, array: np.ndarray) -> Buffer:
        here = Buffer.of(array)
        copy = self.address(here.pointer, here.pointer + here.size_bytes)
        return Buffer(copy, here.dtype, here.shape, here.strides, self)

    def forth(self) -> None:
        """Takes what the arrays hold now to their copies."""
        for begin, end, copy, *_ in self.spans:
            if end > begin:
                self.memory.write(copy, np.frombuffer((ctypes.c_uint8 * (end - begin)).from_address(begin), np.uint8))

    def back(self) -> None:
        """Takes everything back; fails if a guard byte was written."""
        for begin, end, copy, base, _ in self.spans:
            size = end - begin
            raw = self.memory.read(base, size + 2 * GUARD + 64)
            at = copy - base
            for name, guard in (("before", raw[:at]), ("after", raw[at + size :])):
                assert (guard == 0xA5).all(), f"bytes {name} an array or the workspace were written"
            ctypes.memmove(begin, raw[at : at + size].ctypes.data, size)


class Program:
    """A compiled program with a session for each number of threads asked for. `kept` is its name among kept files."""

    def __init__(self, blob: bytes, kept: Path | None = None):
        self.blob, self.kept, self.number = blob, kept, 0
        self.program = _api.Program(blob, _library)
        self.sessions: dict[int, Session] = {}
        self.faults: dict[str, tuple[int, int, int, int]] = {}

    def _session(self, threads: int) -> Session:
        if ON_GPU:
            threads = 0
        if threads not in self.sessions:
            self.sessions[threads] = Session(self.program, threads=threads)
        return self.sessions[threads]

    def run(
        self,
        *inputs: np.ndarray,
        entry: str | None = None,
        outputs: Sequence[np.ndarray] | None = None,
        threads: int = 2,
        comm: Comm | None = None,
    ) -> list[np.ndarray]:
        """Runs an entry (the only one by default) on NumPy arrays and returns its outputs. `outputs` are the caller's own
        arrays, of any strides. Afterwards `faults` has (count, row, value, limit) for each kind that was recorded."""
        return next(self._runs([inputs], entry, outputs, threads, comm))

    def replay(self, *sets: Sequence[np.ndarray], entry: str | None = None) -> Iterator[list[np.ndarray]]:
        """Outputs of `run` for each set of inputs, all of the same shapes. They lie at the same places each time: on a GPU a
        graph captured from the first run is launched for the others."""
        return self._runs(sets, entry, None, 2, None)

    def _runs(
        self,
        sets: Sequence[Sequence[np.ndarray]],
        entry: str | None,
        outputs: Sequence[np.ndarray] | None,
        threads: int,
        comm: Comm | None,
    ) -> Iterator[list[np.ndarray]]:
        chosen = self.program.entry(entry)
        inputs = sets[0] if len(sets) == 1 else [array.copy() for array in sets[0]]
        ins = [Buffer.of(array) for array in inputs]
        guards, arrays = [], list(outputs or [])
        if outputs is None:
            for shape, argument in zip(self.program.output_shapes(chosen, ins), chosen.outputs, strict=True):
                dtype = DTYPES[argument.dtype]
                guards.append(_Guarded(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize))
                arrays.append(guards[-1].data.view(dtype).reshape(shape))
        outs = [Buffer.of(array) for array in arrays]
        size, _ = self.program.workspace(chosen, ins)
        workspace = _Guarded(size)
        pointer, stream = workspace.data.ctypes.data, 0
        session = self._session(threads)
        if ON_GPU:
            copies = _Copies()
            outs, ins = ([copies.buffer(array) for array in group] for group in (arrays, inputs))
            pointer, stream = copies.address(pointer, pointer + size), copies.memory.stream

        def enqueue() -> None:
            session.enqueue(chosen, ins, outs, pointer, size, stream, comm=comm)

        work = enqueue
        for number, given in enumerate(sets):
            if number:
                for array, values in zip(inputs, given, strict=True):
                    array[...] = values
                for guard in guards:
                    guard.data[:] = 0xFF
                if ON_GPU:
                    copies.forth()
                    work = copies.memory.capture(enqueue) if number == 1 else work
            work()
            if ON_GPU:
                copies.memory.wait()
            self.faults = {f.kind: (f.count, f.row, f.value, f.limit) for f in session.poll(pointer)}
            if ON_GPU:
                copies.back()
            for i, guard in enumerate(guards):
                guard.check(f"output {i}")
            workspace.check("the workspace")
            yield arrays if len(sets) == 1 else [array.copy() for array in arrays]

    def on_cpu(self, outputs: list[np.ndarray]) -> list[np.ndarray]:
        """What the CPU gave where a test took `outputs` when it was packed, call by call; elsewhere these."""
        if not KEEP and not KEPT:
            return outputs
        self.number += 1
        file = self.kept.with_suffix(f".{self.number}.npz")
        if KEEP:
            np.savez(file, *(array.view(f"u{array.itemsize}") for array in outputs))
            return outputs
        with np.load(file) as kept:
            return [kept[name].view(array.dtype) for name, array in zip(kept.files, outputs, strict=True)]


def comms(size: int, timeout_ms: int = 0) -> list[Comm]:
    """Communicators of ranks that are threads."""
    return Comm.local(size, timeout_ms, _library)


def tool(name: str, *arguments: str, text: str = "") -> subprocess.CompletedProcess:
    """Runs one of our tools; that it dies by a signal is a failure whatever the test."""
    done = subprocess.run([str(BUILD / "bin" / name), *arguments], input=text, capture_output=True, text=True)
    assert done.returncode in (0, 1), f"{name} {' '.join(arguments)}: exit code {done.returncode}\n{done.stderr}"
    return done


def _kept(folder: str, text: str, *options: str) -> Path:
    name = hashlib.sha256("\0".join((text, *options)).encode()).hexdigest()[:24]
    return Path(folder, name)


def compile(text: str, *options: str, cuda: Sequence[str] = ()) -> Program:
    """Compiles moe text for this machine's CPU; `cuda` are options of the cuda target alone."""
    kept = None
    if KEPT:
        kept = _kept(KEPT, text, *options, *cuda)
        refusal = kept.with_suffix(".txt")
        assert not refusal.exists(), f"moe-compile {' '.join(options)} failed:\n{refusal.read_text()}\n{text}"
        return Program(kept.with_suffix(".moe").read_bytes(), kept)
    if KEEP:
        kept, target = _kept(KEEP, text, *options, *cuda), os.environ["MOE_KEEP_TARGET"]
        own = cuda if target == "cuda" else ()
        done = tool("moe-compile", "-", f"--target={target}", "-o", f"{kept}.moe", *options, *own, text=text)
        if done.returncode:
            kept.with_suffix(".txt").write_text(done.stderr)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.mlir"), Path(folder, "out.moe")
        source.write_text(text)
        done = tool("moe-compile", str(source), "-o", str(target), *options)
        assert done.returncode == 0, f"moe-compile failed:\n{done.stderr}\n{text}"
        return Program(target.read_bytes(), kept)


def refused(text: str, *options: str) -> str:
    """What moe-compile says about text that it must refuse."""
    if KEPT:
        return _kept(KEPT, text, "refused", *options).read_text()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "in.mlir")
        source.write_text(text)
        done = tool("moe-compile", str(source), "-o", str(Path(folder, "out.moe")), *options)
        assert done.returncode == 1, f"moe-compile accepted:\n{text}"
        assert "error:" in done.stderr, f"no error was printed: {done.stderr}"
        assert not Path(folder, "out.moe").exists(), "a failed compile left a file behind"
        if KEEP:
            _kept(KEEP, text, "refused", *options).write_text(done.stderr)
        return done.stderr


def tensor(shape: Sequence[int | None], dtype: np.dtype, ragged: str = "") -> str:
    """An MLIR tensor type; None is a dynamic size, `ragged` the parameters of a ragged encoding."""
    sizes = "".join("?x" if s is None else f"{s}x" for s in shape)
    return f"tensor<{sizes}{NAMES[np.dtype(dtype)]}{f', #moe.ragged<{ragged}>' if ragged else ''}>"


def equal(actual: np.ndarray, expected: object, what: str = "output") -> None:
    """Fails unless every element is exactly the expected one."""
    close(actual, expected, 0, what)


def close(actual: np.ndarray, expected: object, of_max: float, what: str = "output") -> None:
    """Fails unless every element is within of_max times the largest expected magnitude."""
    expected = np.asarray(expected)
    e = expected.astype(np.float64)
    finite = np.abs(e[np.isfinite(e)])
    near(actual, expected, of_max * finite.max(initial=0), what)


def near(actual: np.ndarray, expected: np.ndarray, allowed: np.ndarray | float, what: str = "output") -> None:
    """Fails unless every element is as near as is allowed; NaN equals only NaN. Says what the largest error is and where the
    first bad element lies."""
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, expected {expected.shape}"
    if not actual.size:
        return
    a, e = actual.astype(np.float64), expected.astype(np.float64)
    with np.errstate(invalid="ignore"):
        good = (np.abs(a - e) <= allowed) | (np.isnan(a) & np.isnan(e)) | (a == e)
        error = np.nanmax(np.abs(a - e)) if np.isfinite(a).any() else np.nan
    if not good.all():
        first = tuple(int(i) for i in np.argwhere(~good)[0])
        bound = np.broadcast_to(allowed, a.shape)[first]
        raise AssertionError(
            f"{what}: {np.count_nonzero(~good)} of {good.size} elements differ; the first at {first} is {a[first]:.9g}, "
            f"expected {e[first]:.9g} +- {bound:.3g}; largest error {error:.3g}"
        )


def rng(name: str = "") -> np.random.Generator:
    """Random numbers from a fresh seed, which is printed; MOE_SEED repeats one. Tests of one seed differ by `name`."""
    seed = int(os.environ.get("MOE_SEED", random.SystemRandom().randrange(2**32)))
    print(f"MOE_SEED={seed}", flush=True)
    return np.random.default_rng([seed, *name.encode()])


def find(path: Path, function: str) -> Callable[[], None]:
    """A test function of a file."""
    sys.path[:0] = [str(Path(__file__).parent), str(path.parent)]
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return getattr(module, function)


def main() -> None:
    find(Path(sys.argv[1]), sys.argv[2])()


if __name__ == "__main__":
    sys.modules["harness"] = sys.modules["__main__"]
    main()
