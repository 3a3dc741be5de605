"""What a body reads and computes: rows that are not there, narrow floats, constants, lookups, groups, faults."""

import numpy as np
from bodies import DTYPES, ROWS, WIDTHS, levels, pitched, row, rows, runs, some
from harness import close, equal, f32, i32, i64, rng


def case_a_row_that_is_not_there_reads_as_zero() -> None:
    random = rng()
    for element, width in zip(("f32", "bf16", "f16"), some(random, WIDTHS), strict=True):
        k = int(random.integers(1, 5))
        y, ids, weights = f"?x{width}x{element}", f"?x{k}xi32", f"?x{k}xf32"
        v, narrow = f"vector<{width}xf32>", f"vector<{width}x{element}>"
        body = [f"%s0 = arith.constant dense<0.0> : {v}", "%zero = arith.constant 0.0 : f32"]
        for j in range(k):
            load = f"%y{j} = {row('y', y, f'%r{j}')}"
            body += [
                f"%j{j} = arith.constant {j} : index",
                f"%i{j} = tile.load %is[%r, %j{j}] : tensor<{ids}> -> i32",
                f"%r{j} = arith.index_cast %i{j} : i32 to index",
                f"%w{j} = tile.load %ws[%r, %j{j}] : tensor<{weights}> -> f32",
                load,
                f"%f{j} = arith.extf %y{j} : {narrow} to {v}"
                if element != "f32"
                else f"%f{j} = arith.addf %y{j}, %s0 : {v}",
                f"%b{j} = vector.broadcast %w{j} : f32 to {v}",
                f"%p{j} = arith.mulf %b{j}, %f{j} : {v}",
                f"%a{j} = arith.addf %s{j}, %p{j} : {v}",
                f"%skip{j} = arith.cmpf oeq, %w{j}, %zero : f32",
                f"%s{j + 1} = arith.select %skip{j}, %s{j}, %a{j} : {v}",
            ]
        if element != "f32":
            body += [f"%t = arith.truncf %s{k} : {v} to {narrow}", f"tile.yield %t : {narrow}"]
        else:
            body += [f"tile.yield %s{k} : {v}"]
        programs = levels(rows({"i": ids, "w": weights, "y": y}, [y], "\n".join(body)))
        for m in ROWS:
            for n in (0, 20):
                source = random.standard_normal((n, width)).astype(DTYPES[element])
                index = random.integers(-1, max(n, 1), (m, k)).astype(i32)
                index[random.random((m, k)) < 0.1] = random.choice([-(2**31), 2**31 - 1, n])
                if n == 0:
                    index[:] = -1
                weight = random.standard_normal((m, k)).astype(f32)
                weight[random.random((m, k)) < 0.2] = 0
                if n:
                    source[0] = np.nan  # read, but nowhere used
                    weight[index == 0] = 0
                total = np.zeros((m, width), f32)
                for j in range(k):
                    there = (index[:, j] >= 0) & (index[:, j] < n)
                    term = np.zeros((m, width), f32)
                    term[there] = source[index[there, j]].astype(f32)
                    w = weight[:, j : j + 1]
                    with np.errstate(invalid="ignore"):
                        total = np.where(w == 0, total, total + w * term)
                expected = total.astype(DTYPES[element])
                # A fused multiply-add rounds once where NumPy rounds twice.
                for outs, _ in runs(programs, pitched(index), pitched(weight), pitched(source)):
                    close(outs[0], expected, 1e-6 if element == "f32" else 2**-8, f"{element}, width {width}")


def case_narrow_floats_round_once_an_op() -> None:
    random = rng()
    for element, width in zip(("bf16", "f16"), some(random, WIDTHS, 2), strict=True):
        t, v = f"?x{width}x{element}", f"vector<{width}x{element}>"
        text = rows(
            {"x": t, "y": t, "s": f"?x{element}"},
            [t, f"?x{width}xi1", f"?x{element}", f"?x{width}xf32", f"?x{width}xi32"],
            f"""
    %x = {row("x", t)}
    %y = {row("y", t)}
    %s = tile.load %ss[%r] : tensor<?x{element}> -> {element}
    %b = vector.broadcast %s : {element} to {v}
    %p = arith.mulf %x, %y : {v}
    %a = arith.addf %p, %b : {v}
    %c = arith.cmpf olt, %x, %y : {v}
    %k = arith.select %c, %a, %x : vector<{width}xi1>, {v}
    %q = arith.mulf %s, %s : {element}
    %f = arith.extf %k : {v} to vector<{width}xf32>
    %n = arith.fptosi %y : {v} to vector<{width}xi32>
    tile.yield %k, %c, %q, %f, %n : {v}, vector<{width}xi1>, {element}, vector<{width}xf32>, vector<{width}xi32>""",
        )
        programs = levels(text)
        for m in ROWS:
            x, y = ((random.standard_normal((m, width)) * 5).astype(DTYPES[element]) for _ in range(2))
            s = random.standard_normal(m).astype(DTYPES[element])
            chosen = np.where(x < y, x * y + s[:, None], x)

            for outs, _ in runs(programs, pitched(x), pitched(y), s):
                for out, expected in zip(outs, (chosen, x < y, s * s, chosen, y.astype(i32)), strict=True):
                    equal(out, expected, f"{element}, width {width}")


def dense(array: np.ndarray) -> str:
    def number(value: object) -> str:
        return f"{value:.9e}" if array.dtype.kind == "f" else str(value).lower()

    return f"dense<[{', '.join(number(value) for value in array.tolist())}]>"


def case_constants_and_lookups() -> None:
    random = rng()
    for width in some(random, WIDTHS):
        factor = random.standard_normal(width).astype(f32)
        order = random.integers(0, width, width).astype(i32)
        flip = random.random(width) < 0.5
        t, v, bits = f"?x{width}xf32", f"vector<{width}xf32>", f"vector<{width}xi1>"
        text = rows(
            {"x": t, "b": f"{width}xf32", "m": f"?x{width}xi1"},
            [t, t, "?xf32", f"?x{width}xi1"],
            f"""
    %x = {row("x", t)}
    %m = {row("m", f"?x{width}xi1")}
    %b = tile.load %bs[] : tensor<{width}xf32> -> {v}
    %c = arith.constant {dense(factor)} : {v}
    %o = arith.constant {dense(order)} : vector<{width}xi32>
    %f = arith.constant {dense(flip)} : {bits}
    %n = arith.xori %m, %f : {bits}
    %y = math.fma %x, %c, %b : {v}
    %z = arith.select %n, %y, %x : {bits}, {v}
    %l = tile.lookup %z[%o] : {v}, vector<{width}xi32> -> {v}
    %e = vector.extract %l[{width // 2}] : f32 from {v}
    tile.yield %z, %l, %e, %n : {v}, {v}, f32, {bits}""",
        )
        programs = levels(text)
        for m in ROWS:
            x, bias = random.standard_normal((m, width)).astype(f32), random.standard_normal(width).astype(f32)
            mask = random.random((m, width)) < 0.5
            fused = (x.astype(np.float64) * factor + bias).astype(f32)
            z = np.where(mask ^ flip, fused, x)

            for outs, _ in runs(programs, pitched(x), bias, pitched(mask)):
                for out, expected in zip(outs, (z, z[:, order], z[:, order[width // 2]], mask ^ flip), strict=True):
                    close(out, expected, 1e-7, f"width {width}")


def case_groups_and_faults() -> None:
    random = rng()
    for width in some(random, WIDTHS, 2):
        t, v = f"?x{width}xf32", f"vector<{width}xf32>"
        text = rows(
            {"x": t},
            ["?xi64", "?xf32", t],
            f"""
    %x = {row("x", t)}
    %s = vector.reduction <add>, %x : {v} into f32
    %zero = arith.constant 0.0 : f32
    %bad = arith.cmpf olt, %s, %zero : f32
    %i = arith.fptosi %s : f32 to i64
    %l = arith.constant {width} : i64
    tile.fault nan_router if %bad row %r value %i limit %l
    %n = arith.index_cast %g : index to i64
    tile.yield %n, %s, %x : i64, f32, {v}""",
            groups=4,
        )
        programs = levels(text)
        # Groups without rows may stand anywhere in order; the body must not run for rows outside, which hold NaN.
        for m, bounds in [
            (0, [[0, 0]] * 4),
            (5, [[0, 5], [5, 5], [5, 5], [5, 5]]),
            (5000, [[0, 0], [7, 1200], [1200, 1200], [1201, 4999]]),
            (900, [[0, 0], [3, 3], [3, 450], [900, 900]]),
        ]:
            x = random.integers(-3, 4, (m, width)).astype(f32)
            group, inside = np.zeros(m, i64), np.zeros(m, bool)
            for g, (begin, end) in enumerate(bounds):
                group[begin:end] = g
                inside[begin:end] = True
            sums = np.where(inside, x.sum(1), 0)
            expected = np.where(inside[:, None], x, 0)
            x[~inside] = np.nan
            bad = np.flatnonzero(sums < 0)

            for outs, program in runs(programs, pitched(x), np.array(bounds, i64)):
                for out, wanted in zip(outs, (group, sums, expected), strict=True):
                    equal(out, wanted, f"width {width}, {m} rows")
                faults = {"NAN_ROUTER": (len(bad), bad[0], int(sums[bad[0]]), width)} if len(bad) else {}
                assert program.faults == faults, f"{program.faults}, expected {faults}"
