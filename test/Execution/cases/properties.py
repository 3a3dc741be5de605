"""Random programs against the plain reference. The seed is printed; MOE_SEED repeats it."""

import numpy as np
import reference
import texts
from harness import ON_GPU, bf16, close, compile, equal, f16, f32, i32, i64, rng
from one_layer import dimension

ROUNDING = {f32: 1e-5, bf16: 2**-8, f16: 2**-11}


def sizes_for(generator: np.random.Generator, groups: int, rows: int) -> np.ndarray:
    """Group sizes of at most so many rows: even, skewed, mostly empty, or nothing at all."""
    used = int(generator.choice([0, rows, rows, generator.integers(0, rows + 1)]))
    if groups == 0:
        return np.zeros(0, i32)
    chances = generator.choice([1.0, 0.05, 20.0]) * np.ones(groups)
    return generator.multinomial(used, generator.dirichlet(chances)).astype(i32)


def poisoned(generator: np.random.Generator, shape: tuple[int, ...], dtype: np.dtype, sizes: np.ndarray) -> np.ndarray:
    """Normal numbers in the rows of the groups, NaN in the others."""
    x = generator.standard_normal(shape).astype(dtype)
    x[int(sizes.sum()) :] = np.nan
    return x


def padded(x: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """The same elements in memory whose rows are farther apart and off any alignment; 0xFF (NaN) lies between them."""
    if x.ndim == 0:
        return x
    widths = [int(generator.integers(0, 4)) for _ in x.shape]
    shape = [n + w for n, w in zip(x.shape, widths, strict=True)]
    start, size = int(generator.integers(0, 16)) * x.itemsize, int(np.prod(shape)) * x.itemsize
    whole = np.full(start + size, 0xFF, np.uint8)[start:].view(x.dtype).reshape(shape)
    view = whole[tuple(slice(0, n) for n in x.shape)]
    view[...] = x
    return view


def ragged_products(dtype: np.dtype) -> None:
    """Forward in both layouts, shards, bias, wgrad with and without accumulation, and group sums."""
    generator = rng()
    text, checks = "", []
    for number in range(10):
        name = f"f{number}"
        m = int(generator.choice([0, 1, 5, 64, 129, 300]))
        k, n, groups = dimension(generator), dimension(generator), int(generator.integers(1, 12))
        rows = m if generator.random() < 0.5 else None
        sizes = sizes_for(generator, groups, m)
        x, dy = poisoned(generator, (m, k), dtype, sizes), poisoned(generator, (m, n), dtype, sizes)
        bounds = reference.bounds(sizes, m)
        form = generator.choice(["kn", "nk", "shard", "bias", "wgrad", "accumulate", "group_sum"])
        what = f"{name}: {form} of {dtype}, M={m} K={k} N={n} sizes={sizes.tolist()} {'static' if rows else 'dynamic'}"
        print(what)
        if form in ("kn", "nk", "shard", "bias"):
            local = int(generator.integers(1, groups + 1)) if form == "shard" else groups
            offset = int(generator.integers(0, groups - local + 1))
            w = generator.standard_normal((local, k, n)).astype(dtype)
            bias = generator.standard_normal((local, n)).astype(dtype) if form == "bias" else None
            kind = i64 if generator.random() < 0.3 else i32
            out = f32 if generator.random() < 0.3 else dtype
            text += texts.forward(
                rows, k, n, groups, dtype, local=local, offset=offset if form == "shard" else None,
                layout="nk" if form == "nk" else "kn", out=out, sizes=kind, bias=form == "bias", name=name,
            )  # fmt: skip
            passed = np.ascontiguousarray(w.swapaxes(1, 2)) if form == "nk" else w
            inputs = [x, passed, sizes.astype(kind)] + ([bias] if bias is not None else [])
            expected = reference.ragged_matmul(x, w, bounds, offset, bias)
            checks.append((name, what, inputs, expected, ROUNDING[out]))
        elif form == "group_sum":
            text += texts.group_sum(rows, k, groups, dtype, name=name)
            checks.append((name, what, [x, sizes], reference.group_sum(x, bounds), 1e-5))
        else:
            text += texts.wgrad(rows, k, n, groups, dtype, accumulate=form == "accumulate", name=name)
            acc = generator.standard_normal((groups, k, n)).astype(f32)
            inputs = [x, dy, sizes] + ([acc] if form == "accumulate" else [])
            expected = reference.ragged_contraction(x, dy, bounds) + (acc if form == "accumulate" else 0)
            checks.append((name, what, inputs, expected, 1e-5))
    program = compile(text)
    for name, what, inputs, expected, tolerance in checks:
        (once,) = program.run(*inputs, entry=name, threads=1)
        close(once, expected, tolerance, what)
        (again,) = program.run(*inputs, entry=name, threads=3)
        assert once.tobytes() == again.tobytes(), f"{what}: bits depend on the number of threads"
        output = padded(np.zeros_like(once), generator)
        program.run(*(padded(x, generator) for x in inputs), entry=name, outputs=[output])
        if ON_GPU:  # what TMA cannot address is multiplied by another kernel
            close(output, expected, tolerance, what)
        else:
            assert once.tobytes() == output.tobytes(), f"{what}: bits depend on the strides"


def property_ragged_products_f32() -> None:
    ragged_products(f32)


def property_ragged_products_bf16() -> None:
    ragged_products(bf16)


def property_ragged_products_f16() -> None:
    ragged_products(f16)


def property_routers() -> None:
    generator = rng()
    text, checks = "", []
    for number in range(12):
        name = f"f{number}"
        groups = int(generator.choice([1, 1, 2, 4]))
        experts = groups * int(generator.integers(2, 33))
        width = experts // groups
        keep = int(generator.integers(1, groups + 1))
        top = int(generator.integers(1, min(width, 3) + 1))
        k = int(generator.integers(1, min(keep * width, 9) + 1))
        function, with_bias = str(generator.choice(["softmax", "sigmoid"])), bool(generator.random() < 0.5)
        renormalize, scale = bool(generator.random() < 0.5), float(generator.choice([1.0, 2.5]))
        select = f", groups = {groups}, keep_groups = {keep}, group_top = {top}" if groups > 1 else ""
        normalize = ", ".join((["renormalize"] if renormalize else []) + [f"scale = {scale} : f32"])
        text += texts.router(
            experts, k, function=function, bias=with_bias, select=select, normalize=normalize, name=name
        )
        tokens = int(generator.integers(0, 40))
        # Multiples of 1/4 make ties; they are exact before and after the softmax or sigmoid.
        logits = (generator.integers(-12, 13, (tokens, experts)) / 4).astype(f32)
        logits[generator.random(logits.shape) < 0.02] = generator.choice([np.nan, np.inf, -np.inf])
        bias = (generator.integers(-4, 5, experts) / 2).astype(f32)
        scores = reference.scores(logits, function)
        ids, values = reference.select(scores, k, bias if with_bias else None, groups, keep, top)
        what = f"{name}: {function} E={experts} k={k}{select} bias={with_bias} {normalize}, {tokens} tokens"
        print(what)
        inputs = [logits] + ([bias] if with_bias else [])
        margin = decided(scores, ids, bias if with_bias else None, groups)
        checks.append((name, what, inputs, ids, reference.normalize(values, renormalize, scale), margin))
    program = compile(text)
    for name, what, inputs, ids, weights, margin in checks:
        got_ids, got_weights = program.run(*inputs, entry=name)
        equal(got_ids[margin], ids[margin], f"{what}: ids")
        close(got_weights[margin], weights[margin], 1e-5, f"{what}: weights")
        for row in got_ids:
            assert len(set(row)) == len(row), f"{what}: an expert is chosen twice: {row}"


def decided(scores: np.ndarray, ids: np.ndarray, bias: np.ndarray | None, groups: int) -> np.ndarray:
    """Tokens whose choice does not hang on the last bits of a score: without bias and groups all (equal logits give equal
    scores), else those where no two experts are closer than a few units in the last place without being equal."""
    if bias is None and groups == 1:
        return np.ones(len(scores), bool)
    if groups > 1:
        # Sums over groups hang on the order of additions too: all totals are compared by the caller's own rounding.
        ranked = scores + (0 if bias is None else bias)
        gaps = np.abs(ranked[:, :, None] - ranked[:, None, :])
        far = (gaps > 1e-4) | (gaps == 0) | np.isnan(gaps)
        return far.all((1, 2)) & no_close_group_totals(ranked, groups)
    gaps = np.abs((scores + bias)[:, :, None] - (scores + bias)[:, None, :])
    return ((gaps > 1e-5) | (gaps == 0) | np.isnan(gaps)).all((1, 2))


def no_close_group_totals(ranked: np.ndarray, groups: int) -> np.ndarray:
    """Tokens of which no two sums of up to 3 best scores in a group are nearly equal."""
    good = np.ones(len(ranked), bool)
    parts = -np.sort(-np.nan_to_num(ranked, nan=-1e9).reshape(len(ranked), groups, ranked.shape[1] // groups), axis=2)
    for top in range(1, min(3, parts.shape[2]) + 1):
        totals = parts[:, :, :top].sum(2)
        gaps = np.abs(totals[:, :, None] - totals[:, None, :]) + np.eye(groups)
        good &= (gaps > 1e-4).all((1, 2))
    return good


def property_plans() -> None:
    generator = rng()
    for _ in range(6):
        experts, tokens, k = (int(generator.integers(1, n)) for n in (20, 200, 6))
        ids = generator.integers(-2, experts + 2, (tokens, k)).astype(i32)
        if generator.random() < 0.3:
            ids[:] = int(generator.integers(0, experts))
        capacity = int(generator.integers(0, tokens * k + 5)) if generator.random() < 0.5 else None
        what = f"E={experts} T={tokens} k={k} capacity={capacity}"
        print(what)
        program = compile(texts.plan_fields(experts, tokens, k, capacity))
        expected = reference.plan(ids, experts, capacity)
        results = program.run(ids)
        for name, got in zip(("sizes", "bounds", "permutation", "token", "inverse", "dropped"), results, strict=True):
            equal(got, expected[name], f"{what}: {name}")
        bad = np.count_nonzero((ids < -1) | (ids >= experts))
        assert program.faults.get("BAD_ID", (0,))[0] == bad, (what, program.faults)
        assert ("OVERFLOW" in program.faults) == bool(expected["dropped"][0]), (what, program.faults)
