"""What the tests of compiled products share: run one on poisoned memory, work out what it must give, compare."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from arrays import ALIGN, DTYPES, Device, Host, Placed
from isolate import Broken
from moe_mlir._runtime import Call, Fault, MoeError, Program, Runtime, Session
from moe_mlir.products import Product


@dataclass
class Draw:
    """Inputs of one run. Rows of x (and dy) outside the groups are NaN; with `index` it picks the rows of x."""

    sizes: np.ndarray
    x: np.ndarray
    rhs: np.ndarray
    acc: np.ndarray | None = None
    bad: list[int] = field(default_factory=list)  # groups whose size is out of range
    index: np.ndarray | None = None

    @property
    def rows(self) -> int:
        return len(self.x if self.index is None else self.index)


def bounds(sizes: np.ndarray, rows: int) -> list[tuple[int, int]]:
    """Rows [begin, end) of each group, clamped into range."""
    found, at = [], 0
    for size in sizes:
        end = min(at + max(int(size), 0), rows)
        found.append((at, end))
        at = end
    return found


def expected(p: Product, d: Draw) -> tuple[np.ndarray, np.ndarray]:
    """The result in float64, and how far from it one rounding of a sum in f32 of exact products may be. Tensor cores cut the
    sum of some products off below its last bit at each step, CPUs round: a quarter of a unit a product covers both. TF32 has
    11 bits of both operands."""
    x, rhs = d.x.astype(np.float64), d.rhs.astype(np.float64)
    groups = bounds(d.sizes, d.rows)[p.offset : p.offset + p.computed]
    if d.index is not None:
        picked = np.zeros((d.rows, p.k))
        inside = np.zeros(d.rows, bool)
        for begin, end in groups:
            inside[begin:end] = d.index[begin:end] >= 0
        picked[inside] = x[d.index[inside]]
        x = picked
    each = 2.0**-10 if p.precision == "tf32" else 0.0
    shape = (p.computed, p.k, p.n) if p.mode == "contraction" else (d.rows, p.n)
    y, far = np.zeros(shape), np.zeros(shape)
    for g, (begin, end) in enumerate(groups):
        if p.mode == "rows":
            w = rhs[g] if p.layout == "kn" else rhs[g].T
            a, b, into = x[begin:end], w, slice(begin, end)
        else:
            a, b, into = x[begin:end].T, rhs[begin:end], g
        y[into] = a @ b
        far[into] = np.abs(a) @ np.abs(b) * ((a.shape[1] / 4 + 16) * 2.0**-23 + each)
    if p.gate:
        y, far = gated(p, y, far)
    if d.acc is not None:
        y += d.acc
        far += np.abs(y) * 2.0**-22 + np.abs(d.acc) * 2.0**-22
    rounding = {"f32": 2.0**-24, "bf16": 2.0**-8, "f16": 2.0**-11}[p.out] * 1.01
    far += np.abs(y) * rounding + {"f16": 2.0**-25, "bf16": 0, "f32": 0}[p.out]
    return y, far


def gated(p: Product, y: np.ndarray, far: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """silu(gate) * up and its bound: silu is nowhere steeper than 1.1, and a chip's approximation of it has 20 bits."""
    half = slice(0, p.n // 2), slice(p.n // 2, None)
    gate, up = half if p.gate == "concatenated" else (slice(0, None, 2), slice(1, None, 2))
    silu = y[:, gate] / (1 + np.exp(-y[:, gate]))
    result = silu * y[:, up]
    steep = 1.1 * far[:, gate]
    return result, steep * (np.abs(y[:, up]) + far[:, up]) + np.abs(silu) * far[:, up] + np.abs(result) * 2.0**-20


def compare(actual: np.ndarray, wanted: np.ndarray, far: np.ndarray, what: str) -> float:
    """Fails unless every element is within its bound, NaN where NaN is wanted. Returns the largest part of its bound that an
    error took."""
    a = actual.astype(np.float64)
    error = np.abs(a - wanted)
    good = np.where(np.isnan(wanted), np.isnan(a), error <= far)
    if not good.all():
        first = tuple(int(i) for i in np.argwhere(~good)[0])
        raise AssertionError(
            f"{what}: {np.count_nonzero(~good)} of {good.size} elements differ; the first at {first} is {a[first]:.9g}, "
            f"expected {wanted[first]:.9g} +- {far[first]:.3g}; largest error {np.nanmax(error):.3g}"
        )
    used = error[(far > 0) & ~np.isnan(wanted)] / far[(far > 0) & ~np.isnan(wanted)]
    return float(used.max(initial=0.0))


class Run:
    """A prepared run: tensors in place, workspace poisoned. Call it, then `result`."""

    def __init__(self, kit: Kit, product: Product, d: Draw, place: dict[str, dict[str, int]] | None = None):
        place = place or {}
        rows = d.rows
        self.kit, self.product = kit, product
        at = lambda name: place.get(name, {})  # noqa: E731
        self.x = Placed(kit.memory, product.dtype, d.x.shape, d.x, **at("x"))
        self.rhs = Placed(kit.memory, product.dtype, d.rhs.shape, d.rhs, **at("rhs"))
        self.sizes = Placed(kit.memory, product.sizes, d.sizes.shape, d.sizes)
        shape = tuple(rows if s is None else s for s in product.out_shape)
        self.out = Placed(kit.memory, product.out, shape, **at("out"))
        inputs = [self.x, self.rhs, self.sizes]
        if d.acc is not None:
            self.acc = Placed(kit.memory, product.out, shape, d.acc, **at("acc"))
            inputs.append(self.acc)
        if d.index is not None:
            inputs.append(Placed(kit.memory, "i32", d.index.shape, d.index))
        program, self.session = kit.loaded(product)
        entry, buffers = program.entry(), [p.buffer for p in inputs]
        assert program.output_shapes(entry, buffers) == [shape]
        self.space, align = program.workspace(entry, buffers)
        assert ALIGN % align == 0, f"workspace aligned to {align} bytes"
        self.base, self._owner = kit.memory.allocate(self.space + 2 * ALIGN)
        kit.memory.fill(self.base, 0xFF, self.space + 2 * ALIGN)
        self.call = Call(self.session, entry, buffers, [self.out.buffer], self.base + ALIGN, self.space)

    def __call__(self) -> None:
        self.kit.guarded(lambda: self.call(self.kit.memory.stream))

    def result(self) -> np.ndarray:
        """Waits; fails if anything but the output was written."""
        self.kit.memory.wait()
        for start in (self.base, self.base + ALIGN + self.space):
            assert (self.kit.memory.read(start, ALIGN) == 0xFF).all(), "bytes beside the workspace were written"
        return self.out.read()

    def faults(self) -> list[Fault]:
        self.kit.memory.wait()
        return self.session.poll(self.base + ALIGN)


class Kit:
    """A folder of compiled products, on the target that they were compiled for."""

    def __init__(self, folder: Path, draws: int | None = None):
        self.folder = folder
        self.manifest = json.loads((folder / "manifest.json").read_text())
        self.draws = draws or self.manifest["draws"]
        self.cuda = self.manifest["target"] == "cuda"
        self.runtime = Runtime(folder / "lib" / "libmoert.so")
        self.memory: Host | Device = Device() if self.cuda else Host()
        self._loaded: dict[str, tuple[Program, Session]] = {}

    def guarded(self, work: Callable[[], object]) -> object:
        """Runs `work`; an error of the driver ends this process, since nothing can be run after one."""
        try:
            return work()
        except MoeError as error:
            if self.cuda and error.code == "SYSTEM":
                raise Broken(f"{error} [{error.where}]") from error
            raise

    def loaded(self, product: Source) -> tuple[Program, Session]:
        if product.name not in self._loaded:
            failure = self.manifest["failed"].get(product.name)
            assert failure is None, f"{product.name} was not compiled:\n{failure}"
            program = Program.load(self.folder / "programs" / f"{product.name}.moe", self.runtime)
            self._loaded[product.name] = (program, self.guarded(lambda: Session(program)))
        return self._loaded[product.name]

    def run(self, product: Product, d: Draw, place: dict[str, dict[str, int]] | None = None) -> np.ndarray:
        """Runs once; no fault may be recorded unless the draw has bad sizes."""
        run = Run(self, product, d, place)
        run()
        found, result = run.faults(), run.result()
        if d.bad:
            assert [f.kind for f in found] == ["BAD_SIZES"], found
            first = d.bad[0]
            assert (found[0].count, found[0].row, found[0].value) == (len(d.bad), first, d.sizes[first]), (found, d.bad)
        else:
            assert not found, found
        return result

    def check(self, product: Product, d: Draw, what: str, place: dict[str, dict[str, int]] | None = None) -> float:
        return compare(self.run(product, d, place), *expected(product, d), what)


def ones(p: Product, sizes: list[int], values: list[float] | None = None, rows: int | None = None) -> Draw:
    """x = 1 (NaN past the last group); weights of group g all values[g] (1 by default), or dy = 1."""
    counts = np.array(sizes, DTYPES[p.sizes])
    used = max(sum(sizes), 0)
    x = np.ones((used if rows is None else rows, p.k), DTYPES[p.dtype])
    x[used:] = np.nan
    shape = tuple(len(x) if s is None else s for s in p.rhs_shape)
    rhs = np.ones(shape, DTYPES[p.dtype])
    if p.mode == "contraction":
        rhs[used:] = np.nan
    elif values is not None:
        rhs[...] = np.array(values).reshape(-1, 1, 1)
    return Draw(counts, x, rhs)


# --- tests by name -------------------------------------------------------------------------------------------------------------


class Source(Protocol):
    """What a test wants compiled."""

    @property
    def name(self) -> str: ...

    def text(self) -> str: ...


@dataclass(frozen=True)
class Test:
    name: str
    function: Callable[..., str | None]
    products: tuple[Source, ...]
    cuda: bool = False  # needs a GPU
    small: bool = False  # short enough to be run under compute-sanitizer
    races: bool = False  # with few enough launches for its racecheck, which takes long

    def run(self, kit: Kit, seed: int) -> str:
        return self.function(kit, *self.products, seed=seed) or ""


TESTS: list[Test] = []


def test(*products: Source, **options: bool) -> Callable:
    def register(function: Callable[..., None]) -> Callable[..., None]:
        def run(kit: Kit, *compiled: Source, seed: int) -> None:
            function(kit, *compiled)

        TESTS.append(Test(function.__name__, run, products, **options))
        return function

    return register
