"""tile.offsets and tile.plan on sizes and ids of every kind, against loops in Python."""

import numpy as np
from harness import compile, equal, i32, i64, rng


def clamp_groups(sizes: np.ndarray, rows: int, align: int) -> tuple[list[list[int]], list[tuple[int, int, int]]]:
    start, bounds, bad = 0, [], []
    for group, size in enumerate(int(s) for s in sizes):
        left = rows - start
        if not 0 <= size <= left:
            bad.append((group, size, left))
        kept = min(max(size, 0), left)
        bounds.append([start, start + kept])
        start = min(rows, start - (-kept // align) * align)
    return bounds, bad


def case_sizes_of_every_kind() -> None:
    random = rng()
    for element, dtype in (("i32", i32), ("i64", i64)):
        for groups, align in ((1, 1), (6, 1), (33, 8), (5, 2**62)):
            s, b = f"tensor<{groups}x{element}>", f"tensor<{groups}x2xi64>"
            program = compile(f"""func.func @main(%s: {s}, %x: tensor<?x1xf32>) -> {b} {{
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x1xf32>
  %e = tensor.empty() : {b}
  %b = tile.offsets sizes(%s : {s}) rows(%m) outs(%e : {b}) {{align = {align} : i64}} -> {b}
  return %b : {b}
}}
""")
            limits = np.iinfo(dtype)
            for _ in range(20):
                rows = int(random.integers(0, 200))
                sizes = [
                    random.integers(0, 10, groups),
                    random.integers(-5, 20, groups),
                    random.integers(limits.min, limits.max, groups, i64, endpoint=True),
                    random.choice([0, 3, limits.min, limits.max], groups),
                ][random.integers(0, 4)].astype(dtype)
                bounds, bad = clamp_groups(sizes, rows, align)
                outs = program.run(sizes, np.zeros((rows, 1), np.float32))
                equal(outs[0], bounds, f"bounds of {sizes} in {rows} rows, align {align}")
                faults = {"BAD_SIZES": (len(bad), *bad[0])} if bad else {}
                assert program.faults == faults, f"{program.faults}, expected {faults}"


def plan(ids: np.ndarray, groups: int, rows: int, align: int) -> tuple[list[np.ndarray], dict]:
    """Outputs in order, and the faults."""
    flat = ids.reshape(-1)
    sizes, bounds = np.zeros(groups, i32), np.zeros((groups, 2), i64)
    permutation, token, inverse = np.full(rows, -1), np.full(rows, -1), np.full(flat.size, -1)
    start, dropped = 0, []
    for group in range(groups):
        slots = np.flatnonzero(flat == group)
        sizes[group] = slots.size
        begin = min(start, rows)
        kept = slots[: rows - begin]
        dropped.extend(slots[rows - begin :])
        bounds[group] = begin, begin + kept.size
        permutation[begin : begin + kept.size] = kept
        token[begin : begin + kept.size] = kept // ids.shape[1]
        inverse[kept] = np.arange(begin, begin + kept.size)
        start -= -slots.size // align * align
    faults = {}
    bad = np.flatnonzero((flat < -1) | (flat >= groups))
    if bad.size:
        faults["BAD_ID"] = (bad.size, bad[0], flat[bad[0]], groups)
    if dropped:
        faults["OVERFLOW"] = (1, min(dropped), len(dropped), rows)
    return [sizes, bounds, permutation, token, inverse.reshape(ids.shape), np.array([len(dropped)])], faults


def case_ids_of_every_kind() -> None:
    random = rng()
    for groups, k, align in ((1, 1, 1), (5, 3, 1), (5, 2, 4), (64, 2, 4)):
        ids, inverse = (f"tensor<?x{k}xi32>",) * 2
        types = [
            f"tensor<{groups}xi32>",
            f"tensor<{groups}x2xi64>",
            "tensor<?xi32>",
            "tensor<?xi32>",
            inverse,
            "tensor<1xi64>",
        ]
        program = compile(f"""func.func @main(%i: {ids}, %x: tensor<?x1xf32>) -> ({", ".join(types)}) {{
  %c0 = arith.constant 0 : index
  %t = tensor.dim %i, %c0 : {ids}
  %m = tensor.dim %x, %c0 : tensor<?x1xf32>
  %s = tensor.empty() : {types[0]}
  %b = tensor.empty() : {types[1]}
  %p = tensor.empty(%m) : {types[2]}
  %o = tensor.empty(%m) : {types[3]}
  %v = tensor.empty(%t) : {types[4]}
  %d = tensor.empty() : {types[5]}
  %r:6 = tile.plan ids(%i : {ids}) outs(%s, %b, %p, %o, %v, %d : {", ".join(types)}) {{align = {align} : i64}} -> {", ".join(types)}
  return {", ".join(f"%r#{i}" for i in range(6))} : {", ".join(types)}
}}
""")
        for _ in range(30):
            tokens = int(random.choice([0, 1, 2, 17, 50]))
            slots = tokens * k
            rows = int(random.choice([0, 1, slots // 2, slots, slots + groups * (align - 1), slots + 9]))
            chosen = [
                random.integers(0, groups, (tokens, k)),
                random.integers(-3, groups + 3, (tokens, k)),
                random.integers(-(2**31), 2**31, (tokens, k)),
                np.full((tokens, k), random.integers(-1, groups + 1)),
            ][random.integers(0, 4)].astype(i32)
            expected, faults = plan(chosen, groups, rows, align)
            outs = program.run(chosen, np.zeros((rows, 1), np.float32))
            for name, out, wanted in zip(
                ("sizes", "bounds", "permutation", "token", "inverse", "dropped"), outs, expected, strict=True
            ):
                equal(out, wanted, f"{name} of {tokens} x {k} ids in {rows} rows, align {align}")
            assert program.faults == faults, f"{program.faults}, expected {faults}"
