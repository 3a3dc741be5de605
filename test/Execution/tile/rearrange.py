"""Row vectors cut, joined, split into pairs and merged, at every width: whole, partial and odd chunks."""

import numpy as np
from bodies import ROWS, WIDTHS, levels, pitched, row, rows, runs, some
from harness import equal, f32, i32, rng


def merge(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.stack([a, b], 2).reshape(len(a), 2 * a.shape[1])


def case_inserted_ranges_at_any_column() -> None:
    random = rng()
    for width in some(random, WIDTHS[1:]):
        begin = int(random.integers(0, width))
        part = int(random.integers(1, width - begin + 1))
        a, b, v, v2, v4 = f"?x{width}xf32", f"?x{part}xf32", *(f"vector<{n * width}xf32>" for n in (1, 2, 4))
        text = rows(
            {"a": a, "b": b},
            [f"?x{2 * width}xf32", f"?x{width}xf32", f"?x{4 * width}xf32", f"?x{width}xi64"],
            f"""
    %a = {row("a", a)}
    %b = {row("b", b)}
    %i = vector.insert_strided_slice %b, %a {{offsets = [{begin}], strides = [1]}} : vector<{part}xf32> into {v}
    %j = vector.interleave %i, %a : {v} -> {v2}
    %k = vector.insert_strided_slice %a, %j {{offsets = [{begin}], strides = [1]}} : {v} into {v2}
    %e, %d = vector.deinterleave %k : {v2} -> {v}
    %s = arith.addf %e, %d : {v}
    %q = vector.interleave %k, %j : {v2} -> {v4}
    %n = vector.step : vector<{width}xindex>
    %c = arith.index_cast %n : vector<{width}xindex> to vector<{width}xi64>
    tile.yield %j, %s, %q, %c : {v2}, {v}, {v4}, vector<{width}xi64>""",
        )
        programs = levels(text)
        for m in ROWS:
            x, y = random.standard_normal((m, width)).astype(f32), random.standard_normal((m, part)).astype(f32)
            inserted = x.copy()
            inserted[:, begin : begin + part] = y
            pairs = merge(inserted, x)
            mixed = pairs.copy()
            mixed[:, begin : begin + width] = x

            for outs, _ in runs(programs, pitched(x), pitched(y)):
                equal(outs[0], pairs, f"pairs of width {width}, {part} columns at {begin}")
                equal(outs[1], mixed[:, 0::2] + mixed[:, 1::2], f"sums of width {width}")
                equal(outs[2], merge(mixed, pairs), f"pairs of pairs of width {width}")
                equal(outs[3], np.broadcast_to(np.arange(width), (m, width)), "columns")


def case_pairs_split_and_merged_three_deep() -> None:
    random = rng()
    for width in some(random, WIDTHS[:7], 2):
        t = f"?x{8 * width}xi32"
        body, names, n = [f"    %x = {row('x', t)}"], ["%x"], 8 * width
        for level in range(3):
            for name in names:
                body.append(
                    f"    {name}e{level}, {name}o{level} = vector.deinterleave {name} : vector<{n}xi32> -> vector<{n // 2}xi32>"
                )
            names = [name + half for name in names for half in (f"e{level}", f"o{level}")]
            n //= 2
        names.reverse()
        for level in range(3):
            merged = []
            for i in range(0, len(names), 2):
                merged.append(f"%m{level}_{i}")
                body.append(
                    f"    {merged[-1]} = vector.interleave {names[i]}, {names[i + 1]} : vector<{n}xi32> -> vector<{2 * n}xi32>"
                )
            names, n = merged, 2 * n
        body.append(f"    tile.yield {names[0]} : vector<{8 * width}xi32>")
        programs = levels(rows({"x": t}, [t], "\n".join(body)))
        x = random.integers(0, 1000, (9, 8 * width)).astype(i32)
        # Columns j * 8 + i come from the residue i in reversed order of the bits' complement.
        parts = [x]
        for _ in range(3):
            parts = [half for part in parts for half in (part[:, 0::2], part[:, 1::2])]
        parts.reverse()
        for _ in range(3):
            parts = [merge(parts[i], parts[i + 1]) for i in range(0, len(parts), 2)]
        for outs, _ in runs(programs, pitched(x)):
            equal(outs[0], parts[0], f"width {width}")


def case_rows_in_an_order() -> None:
    """Every row that is named is as without an order, at any width; what the others hold is not said."""
    random = rng()
    for width, places in ((1, "?"), (7, "?x3"), (31, "?x2"), (100, "?"), (1000, "?x8"), (5000, "?x4")):
        x, t, columns = f"?x{width}xf32", "?xi32", int(places[2:] or 1)
        text = rows(
            {"t": t, "x": x},
            [x, "?xi32"],
            f"""
    %n = tile.load %ts[%r] : tensor<{t}> -> i32
    %i = arith.index_cast %n : i32 to index
    %v = {row("x", x, "%i")}
    %w = arith.negf %v : vector<{width}xf32>
    tile.yield %w, %n : vector<{width}xf32>, i32""",
            order=f"{places}xi32",
        )
        programs = levels(text)
        for m in (0, 1, 61):
            source = random.standard_normal((5, width)).astype(f32)
            index = random.integers(-1, 5, m).astype(i32)
            slots = -(-(m + 4) // columns) * columns
            order = np.full(slots, -1, i32)
            named = random.permutation(m)[: int(random.integers(0, m + 1))]
            order[random.permutation(slots)[: len(named)]] = named
            wanted = -np.vstack([source, np.zeros((1, width), f32)])[index]
            for outs, _ in runs(
                programs, index, pitched(source), order.reshape(-1, columns) if "x" in places else order
            ):
                equal(outs[0][named], wanted[named], f"{len(named)} of {m} rows of width {width}")
                equal(outs[1][named], index[named], f"numbers of {len(named)} of {m} rows")
