"""Ragged products compiled ahead: the cases of public bug reports by number, random properties, graphs, repeated bits.

Everything runs on both targets but what is marked `cuda`. As a program this is the worker of scripts/gpu: it reads the names of
tests (see isolate.py) and runs them from a packed folder.
"""

from __future__ import annotations

import argparse
import sys
import zlib
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python"))
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python" / "benchmarks"))
import large  # noqa: F401  registers its tests
import numpy as np
from arrays import DTYPES
from isolate import serve
from kit import TESTS, Draw, Kit, Run, Test, bounds, compare, expected, ones, test
from moe_mlir._runtime import Call
from moe_mlir.products import SCHEDULES, Product

# --- the cases of public bug reports -------------------------------------------------------------------------------------


def wgrad(k: int, n: int, groups: int, **options: object) -> Product:
    return Product(k, n, groups, mode="contraction", **{"out": "f32", **options})


@test(wgrad(64, 32, 6), wgrad(64, 32, 6, out="bf16"), small=True, races=True)
def case_01_wgrad_of_an_empty_expert_is_zero(kit: Kit, *products: Product) -> None:
    for p in products:
        kit.check(p, ones(p, [5, 0, 7, 3, 0, 1]), p.name)


@test(Product(64, 32, 4), Product(32, 64, 4, layout="nk"), wgrad(64, 32, 4))
def case_02_no_tokens_at_all(kit: Kit, *products: Product) -> None:
    for p in products:
        kit.check(p, ones(p, [0, 0, 0, 0]), p.name)
        kit.check(p, ones(p, [0, 0, 0, 0], rows=9), f"{p.name}, 9 rows in no group")


@test(Product(16, 8, 2), small=True)
def case_03_rows_past_the_last_group_are_zero(kit: Kit, p: Product) -> None:
    y = kit.run(p, ones(p, [2, 3], [1, 2], rows=8))
    assert y[:, 0].tolist() == [16, 16, 32, 32, 32, 0, 0, 0] and (y == y[:, :1]).all(), y


@test(Product(32, 16, 8))
def case_12_all_tokens_to_one_expert(kit: Kit, p: Product) -> None:
    y = kit.run(p, ones(p, [0, 0, 0, 8, 0, 0, 0, 0], list(range(1, 9))))
    assert (y == 128).all(), y


@test(Product(64, 128, 160), small=True, races=True)
def case_13_skewed_groups_more_than_multiprocessors(kit: Kit, p: Product) -> None:
    sizes = [1 - e % 2 for e in range(160)]
    sizes[159] = 97
    run = Run(kit, p, ones(p, sizes, [e % 4 + 1 for e in range(160)]))
    wanted = np.repeat([64 * (e % 4 + 1) for e in range(160)], sizes)[:, None]
    for i in range(100):
        run.out.poison()
        run()
        assert (run.result() == wanted).all(), f"run {i}"


@test(Product(33, 16, 2, layout="nk"), Product(33, 16, 2), Product(16, 12, 2))
def case_15_pitches_that_are_no_multiple_of_16_bytes(kit: Kit, nk: Product, kn: Product, narrow: Product) -> None:
    for p in (nk, kn, narrow):
        kit.check(p, ones(p, [1, 3], [1, 2]), p.name)


@test(Product(64, 64, 2), Product(64, 64, 2, layout="nk"), wgrad(64, 64, 2), small=True)
def case_15_addresses_that_are_not_aligned(kit: Kit, *products: Product) -> None:
    for p in products:
        for place in ({"shift": 1}, {"shift": 8}, {"pitch": 1}, {"pitch": 8}, {"pitch": 5, "shift": 3}):
            for which in ("x", "rhs", "out"):
                kit.check(p, ones(p, [70, 131], [1, 2], rows=210), f"{p.name}, {which} {place}", {which: place})


@test(Product(16, 8, 2), cuda=True)
def case_16_a_captured_graph_reads_new_sizes(kit: Kit, p: Product) -> None:
    d = ones(p, [4, 4], [1, 2])
    run = Run(kit, p, d)
    run()  # kernels are loaded
    graph = kit.memory.capture(run)
    for sizes in ([4, 4], [1, 7], [0, 8], [8, 0], [3, 2]):
        d.sizes[:] = sizes
        run.sizes.write(d.sizes)
        run.out.poison()
        graph()
        wanted = [16] * sizes[0] + [32] * sizes[1] + [0] * (8 - sum(sizes))
        assert run.result()[:, 0].tolist() == wanted, sizes


@test(wgrad(16, 16, 2), wgrad(16, 16, 2, accumulate=True))
def case_17_overwrite_or_accumulate_on_empty_work(kit: Kit, over: Product, accumulate: Product) -> None:
    y = kit.run(over, ones(over, [2, 0]))
    assert (y[0] == 2).all() and (y[1] == 0).all(), y
    d = ones(accumulate, [2, 0])
    d.acc = np.full((2, 16, 16), 7, np.float32)
    y = kit.run(accumulate, d)
    assert (y[0] == 9).all() and (y[1] == 7).all(), y


@test(wgrad(72, 40, 3, accumulate=True))
def case_17_accumulate_in_place(kit: Kit, p: Product) -> None:
    """The output is the very buffer that is added to: nothing is copied."""
    (output,) = kit.loaded(p)[0].entry().outputs
    assert output.alias == 3, output
    d = random_draw(np.random.default_rng(17), p, [40, 0, 99])
    wanted, far = expected(p, d)
    run = Run(kit, p, d)
    inputs = [t.buffer for t in (run.x, run.rhs, run.sizes, run.acc)]
    entry = kit.loaded(p)[0].entry()
    call = Call(run.session, entry, inputs, [run.acc.buffer], run.base + 256, run.space)
    kit.guarded(lambda: call(kit.memory.stream))
    kit.memory.wait()
    compare(run.acc.read(), wanted, far, p.name)


@test(wgrad(72, 136, 3), wgrad(72, 136, 3, accumulate=True), small=True, races=True)
def case_17_what_is_added_is_what_would_be_written(kit: Kit, over: Product, accumulate: Product) -> None:
    """One addition of two f32s an element."""
    d = random_draw(np.random.default_rng(71), accumulate, [40, 0, 99])
    old, d.acc = d.acc, None
    written = kit.run(over, d)
    d.acc = old
    assert np.array_equal(kit.run(accumulate, d), old + written)


@test(Product(16, 8, 4, local=2, offset=2))
def case_24_a_local_shard_computes_only_its_groups(kit: Kit, p: Product) -> None:
    y = kit.run(p, ones(p, [1, 2, 3, 2], [1, 2]))
    assert y[:, 0].tolist() == [0, 0, 0, 16, 16, 16, 32, 32], y


@test(Product(16, 8, 3, sizes="i64"))
def case_28_sizes_may_be_i64(kit: Kit, p: Product) -> None:
    y = kit.run(p, ones(p, [2, 2, 4], [1, 2, 3]))
    assert y[:, 0].tolist() == [16] * 2 + [32] * 2 + [48] * 4, y


@test(Product(16, 8, 4), Product(16, 8, 4, sizes="i64"), small=True)
def case_bad_sizes_are_clamped_and_reported(kit: Kit, *products: Product) -> None:
    for p in products:
        d = ones(p, [2, 2, 2, 2], [1, 2, 3, 4])
        d.sizes[:] = [2, -5, 3, np.iinfo(d.sizes.dtype).max]
        d.bad = [1, 3]
        y = kit.run(p, d)
        assert y[:, 0].tolist() == [16] * 2 + [48] * 3 + [64] * 3, y


@test(Product(16, 8, 3))
def case_an_empty_last_group(kit: Kit, p: Product) -> None:
    y = kit.run(p, ones(p, [3, 5, 0], [1, 2, 3]))
    assert y[:, 0].tolist() == [16] * 3 + [32] * 5, y


@test(wgrad(256, 768, 2, out="bf16"), wgrad(256, 768, 2))
def case_wgrad_of_two_full_groups(kit: Kit, *products: Product) -> None:
    for p in products:
        assert (kit.run(p, ones(p, [128, 128])) == 128).all(), p.name


@test(Product(64, 64, 3), Product(64, 64, 3, layout="nk"), wgrad(64, 64, 3))
def case_an_expert_without_tokens_between_two(kit: Kit, *products: Product) -> None:
    for p in products:
        kit.check(p, ones(p, [8, 0, 8], [1, 2, 3]), p.name)


@test(Product(16, 8, 3, layout="nk"))
def case_weights_that_are_a_view_of_packed_ones(kit: Kit, p: Product) -> None:
    """Gate and up in one array: the step from expert to expert is twice the view."""
    d = ones(p, [2, 3, 1], [1, 2, 3])
    kit.check(p, d, p.name, {"rhs": {"gap": 8}})


@test(
    Product(136, 264, 5, gate="interleaved"),
    Product(136, 264, 5, gate="interleaved", layout="nk", out="f32"),
    Product(136, 272, 5, gate="concatenated"),
    small=True,
    races=True,
)
def gate_and_up_meet_in_the_epilogue(kit: Kit, *products: Product) -> None:
    for p in products:
        d = random_draw(np.random.default_rng(15), p, [1, 70, 0, 131, 16], tail=3)
        kit.check(p, d, p.name)
        kit.check(p, d, f"{p.name}, not aligned", {"rhs": {"shift": 1}})


@test(
    Product(200, 264, 5, gather=True),
    Product(200, 264, 5, gather=True, layout="nk", gate="interleaved"),
    Product(33, 40, 5, gather=True, dtype="f16", out="f32", layout="nk"),
    small=True,
)
def rows_are_gathered(kit: Kit, *products: Product) -> None:
    for p in products:
        d = random_draw(np.random.default_rng(3), p, [1, 70, 0, 131, 16], tail=3)
        for place in ({}, {"pitch": 8}, {"pitch": 1}, {"shift": 1}, {"shift": 8}):
            kit.check(p, d, f"{p.name}, x {place}", {"x": place})
        d.index[:] = -1
        kit.check(p, d, f"{p.name}, no row")
        d.index = d.index[:0]
        d.sizes[:] = 0
        kit.check(p, d, f"{p.name}, no rows at all")


@test(
    *(
        Product(520, 264, 60, gather=True, layout=layout, gate=gate, schedule=schedule)
        for schedule in SCHEDULES
        for layout, gate in (("nk", "concatenated"), ("kn", None))
    ),
    cuda=True,
)
def rows_are_gathered_by_every_schedule(kit: Kit, *products: Product) -> None:
    sizes = np.random.default_rng(31).multinomial(6000, [1 / 60] * 60).tolist()
    sizes[7:10] = [0, 257, 1]
    outs: dict[tuple[str, str | None], np.ndarray] = {}
    for p in products:
        d = random_draw(np.random.default_rng(4), p, sizes, tail=5)
        kit.check(p, d, p.name)
        out = kit.run(p, d)
        # All add up k in the same order.
        first = outs.setdefault((p.layout, p.gate), out)
        assert (first.view(np.uint8) == out.view(np.uint8)).all(), f"{p.name} writes other bits than another schedule"


@test(
    Product(200, 264, 5, dtype="f32", out="f32", layout="nk", precision="tf32"),
    Product(200, 264, 5, dtype="f32", out="f32", precision="tf32"),
    small=True,
)
def tf32_has_11_bits(kit: Kit, *products: Product) -> None:
    for p in products:
        d = random_draw(np.random.default_rng(2), p, [1, 70, 0, 131, 16], tail=3)
        kit.check(p, d, p.name)
        # Numbers of 11 bits are multiplied exactly, and what is not one of them is rounded to the nearest.
        near = Draw(d.sizes, np.full_like(d.x, 1 + 2.0**-10), np.ones_like(d.rhs))
        assert (kit.run(p, near)[:218] == 200 * (1 + 2.0**-10)).all(), p.name
        near.x[:] = 1 + 2.0**-11 + 2.0**-12
        found = set(np.unique(kit.run(p, near)[:218]).tolist())
        assert found <= {200 * (1 + 2.0**-10), 200 * (1 + 2.0**-11 + 2.0**-12)}, (p.name, found)


@test(Product(64, 136, 5), wgrad(64, 32, 5), wgrad(64, 32, 5, accumulate=True), Product(64, 136, 40), small=True)
def a_trace_says_what_each_step_cost(kit: Kit, *products: Product) -> None:
    for p in products:
        sizes = [1, 70, 0, 131, 16] if p.groups == 5 else [0] * 37 + [2, 0, 4]
        d = random_draw(np.random.default_rng(23), p, sizes, tail=3)
        run = Run(kit, p, d)
        steps = kit.guarded(lambda run=run: run.call.trace(kit.memory.stream))
        compare(run.result(), *expected(p, d), p.name)
        assert [s.rows for s in steps if s.rows] == [tuple(sizes)], p.name
        product = max(steps, key=lambda s: s.flops)
        assert product.flops == 2 * d.rows * p.k * p.n and "ragged_gemm" in product.name, (p.name, product)
        size, out = DTYPES[p.dtype].itemsize, DTYPES[p.out].itemsize
        if p.mode == "rows":
            read, written = d.rows * p.k + min(p.groups, d.rows) * p.k * p.n, d.rows * p.n
        else:
            read, written = d.rows * (p.k + p.n), p.groups * p.k * p.n * (2 if p.accumulate else 1)
        assert product.bytes == read * size + written * out + 16 * p.groups, (p.name, product)
        copies = [s.bytes for s in steps if s.name == "copy"]
        assert copies == ([2 * p.groups * p.k * p.n * out] if p.accumulate else []), (p.name, steps)
        times = [(s.host_begin, s.host_end) for s in steps] + [(s.begin, s.end) for s in steps] * kit.cuda
        assert all(a <= b for a, b in times) and times == sorted(times), (p.name, times)


# --- random properties -------------------------------------------------------------------------------------------------------

EXTENTS = [1, 3, 8, 16, 33, 40, 64, 72, 100, 128, 136, 192, 200, 256, 264, 320, 513, 520, 1024]


def draw_products(seed: int, count: int) -> list[Product]:
    """Products of all kinds; at least two of three are fit for the fast path, whose pitches are multiples of 16 bytes."""
    rng, found = np.random.default_rng(seed), {}
    while len(found) < count:
        fast = rng.random() < 0.67
        extents = [e for e in EXTENTS if not fast or e % 8 == 0]
        dtype = str(rng.choice(["bf16", "bf16", "bf16", "f16", "f32"]))
        groups = int(rng.choice([1, 2, 5, 8, 16, 33, 128, 150, 300]))
        widest = 264 if groups > 33 else 1024
        k, n = (int(e) for e in rng.choice([e for e in extents if e <= widest], 2))
        if k * n * groups > 1 << 22:  # the reference takes its time
            continue
        mode = str(rng.choice(["rows", "rows", "contraction"]))
        out = str(rng.choice([dtype, "f32"]))
        options = {"dtype": dtype, "out": out, "mode": mode, "sizes": str(rng.choice(["i32", "i32", "i64"]))}
        if mode == "rows":
            options["layout"] = str(rng.choice(["kn", "nk"]))
            options["gather"] = bool(rng.random() < 0.3)
            if n % 2 == 0 and rng.random() < 0.3:
                options["gate"] = str(rng.choice(["concatenated", "interleaved"]))
        elif out == "f32":
            options["accumulate"] = bool(rng.random() < 0.5)
        if dtype == "f32":
            options["precision"] = str(rng.choice(["exact", "tf32"]))
        if groups > 1 and rng.random() < 0.25:
            options.pop("gate", None)  # it is not fused into a part of the groups, and alone it has no kernel on cuda
            options["local"] = int(rng.integers(1, groups))
            options["offset"] = int(rng.integers(0, groups - options["local"] + 1))
        p = Product(k, n, groups, **options)
        found[p.name] = p
    return list(found.values())


def draw_schedule(seed: int, p: Product) -> str | None:
    """One that the product can have, if wgmma computes it; None leaves the choice to the compiler."""
    rng = np.random.default_rng([seed, zlib.crc32(p.name.encode())])
    pingpong = not p.gather and bool(rng.random() < 0.4)
    cluster = 2 if rng.random() < 0.4 else 1
    order = "static" if p.gather else str(rng.choice(["static", "dynamic"]))
    m = 64 if pingpong and rng.random() < 0.5 and not (cluster == 2 and p.mode == "contraction") else 128
    halves = p.gate or (cluster == 2 and (p.mode == "contraction" or p.layout == "kn"))
    widest = 128 if pingpong and m == 128 else 256
    n = int(
        rng.choice(
            [n for n in ((128, 256) if halves else (64, 128, 192, 256)) if n <= widest and (n > 64 or cluster == 1)]
        )
    )
    stages, buffers, raster = (int(rng.choice(c)) for c in ((2, 3), (1, 2), (1, 2, 5, 16)))
    if rng.random() < 0.2:
        return None
    return (
        f"#sm90.schedule<roles = {'pingpong' if pingpong else 'cooperative'}, m = {m}, n = {n}, stages = {stages}, "
        f"cluster = {cluster}, raster = {raster}, order = {order}, buffers = {buffers}"
        + (", producer_registers = 56, consumer_registers = 224>" if p.gather else ">")
    )


def draw_sizes(rng: np.random.Generator, groups: int) -> list[int]:
    """Even, skewed, mostly empty, one group alone, at the edges of tiles, nothing."""
    kind = rng.choice(
        ["even", "skew", "sparse", "one", "edges", "single", "none"], p=[0.15, 0.25, 0.1, 0.1, 0.25, 0.1, 0.05]
    )
    most = max(1, 2000 // groups)
    if kind == "even":
        return [int(rng.integers(1, most + 1))] * groups
    if kind in ("skew", "sparse"):
        chances = rng.dirichlet(np.full(groups, 1.0 if kind == "skew" else 0.02))
        return rng.multinomial(int(rng.integers(1, 2000)), chances).tolist()
    if kind == "edges":
        edges = [e for e in (0, 1, 5, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257) if e <= 4 * most]
        return rng.choice(edges, groups).tolist()
    sizes = [1 if kind == "single" else 0] * groups
    if kind == "one":
        sizes[int(rng.integers(groups))] = int(rng.integers(1, 1500))
    return sizes


def random_draw(rng: np.random.Generator, p: Product, sizes: list[int], tail: int = 0) -> Draw:
    rows = sum(sizes) + tail
    dtype = DTYPES[p.dtype]
    normal = lambda *shape: rng.standard_normal(shape, np.float32).astype(dtype)  # noqa: E731
    used = sum(sizes)
    if p.gather:
        return gathered_draw(rng, p, sizes, rows, normal)
    x, rhs = normal(rows, p.k), normal(*(rows if s is None else s for s in p.rhs_shape))
    x[used:] = np.nan
    if p.mode == "contraction":
        rhs[used:] = np.nan
    acc = rng.standard_normal(p.out_shape, np.float32) if p.accumulate else None
    return Draw(np.array(sizes, DTYPES[p.sizes]), x, rhs, acc)


def gathered_draw(
    rng: np.random.Generator, p: Product, sizes: list[int], rows: int, normal: Callable[..., np.ndarray]
) -> Draw:
    """Rows of x that no group takes are NaN, and so is the tail of the index out of range; some of it is -1."""
    tokens = int(rng.integers(1, rows + 2))
    x, rhs = normal(tokens, p.k), normal(*p.rhs_shape)
    index = rng.integers(-1, tokens, rows).astype(np.int32)
    index[rng.random(rows) < 0.05] = -1
    unused = np.setdiff1d(np.arange(tokens), index)
    x[unused] = np.nan
    index[sum(sizes) :] = np.iinfo(np.int32).max
    return Draw(np.array(sizes, DTYPES[p.sizes]), x, rhs, index=index)


def draw_place(rng: np.random.Generator) -> dict[str, dict[str, int]]:
    """Where the tensors lie: mostly packed, at times with padding, rarely unaligned."""
    place = {}
    for name in ("x", "rhs", "out", "acc"):
        kind = rng.choice(["packed", "padded", "odd"], p=[0.7, 0.2, 0.1])
        if kind != "packed":
            unit = 8 if kind == "padded" else 1
            place[name] = {key: unit * int(rng.integers(0, 4)) for key in ("pitch", "gap", "shift")}
    return place


def disturb(rng: np.random.Generator, p: Product, d: Draw) -> str:
    """At times: NaN in all rows of a group, which no other may see; sizes out of range."""
    chance = rng.random()
    if d.index is not None:
        return ""
    filled = [g for g, (b, e) in enumerate(bounds(d.sizes, d.rows)) if e > b]
    if chance < 0.15 and filled:
        begin, end = bounds(d.sizes, d.rows)[int(rng.choice(filled))]
        d.x[begin:end] = np.nan
        return ", a group of NaN"
    if chance < 0.25:
        g = int(rng.integers(p.groups))
        d.sizes[g] = rng.choice([-1, np.iinfo(d.sizes.dtype).min])
        d.bad = [g]
        # Later groups move up: what was the tail is still NaN, and no group reaches it.
        return f", size {d.sizes[g]} of group {g}"
    if chance < 0.35 and d.rows:
        g = int(rng.integers(p.groups))
        before = int(d.sizes[:g].sum())
        d.sizes[g:] = 0
        d.sizes[g] = d.rows - before + int(rng.integers(1, 1000))
        d.bad = [g]
        return f", size {d.sizes[g]} of group {g} past the last row"
    return ""


def property_of(kit: Kit, p: Product, seed: int) -> str:
    used = 0.0
    for i in range(kit.draws):
        rng = np.random.default_rng([seed, zlib.crc32(p.name.encode()), i])
        d = random_draw(rng, p, draw_sizes(rng, p.groups), int(rng.choice([0, 0, 1, 77])))
        note = disturb(rng, p, d)
        place = draw_place(rng)
        what = f"seed {seed}, draw {i}: rows {d.rows}, sizes {d.sizes.tolist()[:40]}{note}, {place}"
        used = max(used, kit.check(p, d, what, place))
    return f"{kit.draws} draws from seed {seed}, errors up to {used:.2f} of the bound"


def property_bits(kit: Kit, p: Product, seed: int) -> str:
    """100 runs give the same bits."""
    rng = np.random.default_rng(seed)
    run = Run(kit, p, random_draw(rng, p, draw_sizes(rng, p.groups), 5))
    first = None
    for i in range(100):
        run.out.poison()
        run()
        bits = run.result().tobytes()
        first = first or bits
        assert bits == first, f"seed {seed}: run {i} differs from the first"
    return f"100 runs, seed {seed}"


def property_short_tiles(kit: Kit, p: Product, seed: int) -> str:
    """Tiles that take no longer than it takes to hand on their numbers: the last of many launches gives the bits of the first."""
    rng = np.random.default_rng(seed)
    run = Run(kit, p, random_draw(rng, p, rng.integers(0, 64, p.groups).tolist()))
    run()
    first = run.result().tobytes()
    for i in range(8):
        for _ in range(1000):
            run()
        assert run.result().tobytes() == first, f"seed {seed}: launch {1000 * (i + 1)} differs from the first"
    return f"8000 launches, seed {seed}"


def property_graph(kit: Kit, p: Product, seed: int) -> str:
    """A captured graph, launched with other sizes and other rows."""
    rng = np.random.default_rng(seed)
    rows = 1500
    d = random_draw(rng, p, [rows] + [0] * (p.groups - 1))
    run = Run(kit, p, d)
    run()
    run.result()
    graph = kit.memory.capture(run)
    for i in range(10):
        sizes = rng.multinomial(int(rng.integers(0, rows + 1)), rng.dirichlet(np.full(p.groups, 0.3)))
        d.sizes[:] = sizes
        run.sizes.write(d.sizes)
        run.out.poison()
        graph()
        compare(run.result(), *expected(p, d), f"seed {seed}, launch {i}: sizes {sizes.tolist()[:40]}")
    return f"10 launches, seed {seed}"


STEADY = (
    Product(256, 264, 16),
    Product(136, 512, 150, layout="nk"),
    Product(264, 200, 8, mode="contraction"),
    Product(128, 256, 33, mode="contraction", out="f32"),
)


SHORT = Product(768, 2048, 128, mode="contraction")  # a cluster, in a dynamic order


def all_tests(manifest: dict) -> list[Test]:
    """Every test of a packed folder."""
    found = [*TESTS, Test("short_tiles", property_short_tiles, (SHORT,), cuda=True)]
    for p in STEADY:
        found.append(Test(f"bits[{p.name}]", property_bits, (p,)))
        found.append(Test(f"graph[{p.name}]", property_graph, (p,), cuda=True))
    for number, fields in enumerate(manifest["drawn"]):
        p = Product(**fields)
        found.append(Test(f"random[{p.name}]", property_of, (p,), small=number < 6))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="the worker of scripts/gpu; reads a JSON list of test names")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--draws", type=int)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    kit = Kit(arguments.folder, arguments.draws)
    tests = {t.name: t for t in all_tests(kit.manifest)}
    serve(lambda name: tests[name].run(kit, arguments.seed))


if __name__ == "__main__":
    main()
