"""tile.offsets and tile.plan on sizes and ids of every kind, against loops in Python."""

import numpy as np
from harness import Program, compile, equal, i32, i64, rng


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


def plan(ids: np.ndarray, groups: int, rows: int, align: int, block: int = 0) -> tuple[list[np.ndarray], dict]:
    """Outputs in order, and the faults. Each group has `block` rows of its own, or with 0 as many as it needs."""
    flat = ids.reshape(-1)
    sizes, bounds = np.zeros(groups, i32), np.zeros((groups, 2), i64)
    permutation, token, inverse = np.full(rows, -1), np.full(rows, -1), np.full(flat.size, -1)
    start, dropped = 0, []
    for group in range(groups):
        slots = np.flatnonzero(flat == group)
        sizes[group] = slots.size
        begin = min(start, rows)
        room = block or rows - begin
        kept = slots[:room]
        dropped.extend(slots[room:])
        bounds[group] = begin, begin + kept.size
        permutation[begin : begin + kept.size] = kept
        token[begin : begin + kept.size] = kept // ids.shape[1]
        inverse[kept] = np.arange(begin, begin + kept.size)
        start += block or -(-slots.size // align * align)
    faults = {}
    bad = np.flatnonzero((flat < -1) | (flat >= groups))
    if bad.size:
        faults["BAD_ID"] = (bad.size, bad[0], flat[bad[0]], groups)
    if dropped:
        faults["OVERFLOW"] = (1, min(dropped), len(dropped), block or rows)
    return [sizes, bounds, permutation, token, inverse.reshape(ids.shape), np.array([len(dropped)])], faults


def plan_text(groups: int, k: int, rows: int | None, attribute: str) -> str:
    """The number of rows is a second argument's unless it is given."""
    ids = f"tensor<?x{k}xi32>"
    row, m = ("tensor<?xi32>", "%m") if rows is None else (f"tensor<{rows}xi32>", "")
    types = [f"tensor<{groups}xi32>", f"tensor<{groups}x2xi64>", row, row, ids, "tensor<1xi64>"]
    return f"""func.func @main(%i: {ids}, %x: tensor<?x1xf32>) -> ({", ".join(types)}) {{
  %c0 = arith.constant 0 : index
  %t = tensor.dim %i, %c0 : {ids}
  %m = tensor.dim %x, %c0 : tensor<?x1xf32>
  %s = tensor.empty() : {types[0]}
  %b = tensor.empty() : {types[1]}
  %p = tensor.empty({m}) : {types[2]}
  %o = tensor.empty({m}) : {types[3]}
  %v = tensor.empty(%t) : {types[4]}
  %d = tensor.empty() : {types[5]}
  %r:6 = tile.plan ids(%i : {ids}) outs(%s, %b, %p, %o, %v, %d : {", ".join(types)}) {{{attribute}}} -> {", ".join(types)}
  return {", ".join(f"%r#{i}" for i in range(6))} : {", ".join(types)}
}}
"""


def some_ids(random: np.random.Generator, tokens: int, k: int, groups: int) -> np.ndarray:
    return [
        random.integers(0, groups, (tokens, k)),
        random.integers(-3, groups + 3, (tokens, k)),
        random.integers(-(2**31), 2**31, (tokens, k)),
        np.full((tokens, k), random.integers(-1, groups + 1)),
    ][random.integers(0, 4)].astype(i32)


def check_plan(program: Program, ids: np.ndarray, groups: int, rows: int, align: int, block: int) -> None:
    expected, faults = plan(ids, groups, rows, align, block)
    outs = program.run(ids, np.zeros((rows, 1), np.float32))
    names = ("sizes", "bounds", "permutation", "token", "inverse", "dropped")
    for name, out, wanted in zip(names, outs, expected, strict=True):
        equal(out, wanted, f"{name} of {ids.shape} ids in {rows} rows, align {align}, block {block}")
    assert program.faults == faults, f"{program.faults}, expected {faults}"


def case_ids_of_every_kind() -> None:
    random = rng()
    for groups, k, align in ((1, 1, 1), (5, 3, 1), (5, 2, 4), (64, 2, 4)):
        program = compile(plan_text(groups, k, None, f"align = {align} : i64"))
        for _ in range(30):
            tokens = int(random.choice([0, 1, 2, 17, 50]))
            slots = tokens * k
            rows = int(random.choice([0, 1, slots // 2, slots, slots + groups * (align - 1), slots + 9]))
            check_plan(program, some_ids(random, tokens, k, groups), groups, rows, align, 0)


def case_groups_of_equal_blocks() -> None:
    random = rng()
    for groups, k, block in ((1, 1, 3), (2, 3, 1), (5, 2, 8), (64, 2, 3)):
        program = compile(plan_text(groups, k, groups * block, "equal_blocks"))
        for tokens in (0, 1, 2, 17, 50, 1500):
            check_plan(program, some_ids(random, tokens, k, groups), groups, groups * block, 1, block)
