"""Reductions of rows of every width and kind, NaN and integer limits included."""

import numpy as np
from bodies import DTYPES, WIDTHS, levels, pitched, row, rows, runs, some
from harness import close, equal, rng


def case_float_reductions() -> None:
    random = rng()
    kinds = {
        "add": np.sum,
        "mul": np.prod,
        "minimumf": np.min,
        "maximumf": np.max,
        "minnumf": np.fmin.reduce,
        "maxnumf": np.fmax.reduce,
    }
    for element, width in [("f32", w) for w in some(random, WIDTHS)] + [("bf16", w) for w in some(random, WIDTHS, 1)]:
        t, v = f"?x{width}x{element}", f"vector<{width}x{element}>"
        lines = [f"%{kind} = vector.reduction <{kind}>, %x : {v} into {element}" for kind in kinds]
        names = ", ".join("%" + kind for kind in kinds) + ", %more"
        text = rows(
            {"x": t},
            [f"?x{element}"] * 7,
            "\n".join(
                [
                    f"%x = {row('x', t)}",
                    f"%two = arith.constant 2.0 : {element}",
                    *lines,
                    f"%more = vector.reduction <add>, %x, %two : {v} into {element}",
                    f"tile.yield {names} : {', '.join([element] * 7)}",
                ]
            ),
        )
        programs = levels(text)
        for share in (0, 0.1, 1):
            x = random.standard_normal((11, width)).astype(DTYPES[element])
            x[random.random((11, width)) < share] = np.nan
            exact = x.astype(np.float64)

            for outs, _ in runs(programs, pitched(x)):
                rounding = 1e-5 if element == "f32" else 2**-8
                with np.errstate(invalid="ignore"):
                    for out, (kind, function) in zip(outs, kinds.items(), strict=False):
                        expected = function(exact, axis=1)
                        if kind in ("add", "mul"):
                            # A sum is as exact as its largest terms, a product relative to itself.
                            scale = np.nansum(np.abs(exact), axis=1) if kind == "add" else np.abs(expected)
                            error = np.abs(out.astype(np.float64) - expected)
                            bad = ~(error <= rounding * 4 * scale + 1e-37) & ~(np.isnan(out) & np.isnan(expected))
                            assert not bad.any(), (
                                f"{kind} of {element}, width {width}: {out[bad]}, expected {expected[bad]}"
                            )
                        else:
                            equal(out, expected, f"{kind} of {element}, width {width}")
                    close(outs[6], outs[0].astype(np.float64) + 2, 2 * rounding, f"add to 2, width {width}")


def case_integer_reductions() -> None:
    random = rng()
    kinds = {
        "add": np.add,
        "mul": np.multiply,
        "minsi": np.minimum,
        "maxsi": np.maximum,
        "minui": np.minimum,
        "maxui": np.maximum,
        "and": np.bitwise_and,
        "or": np.bitwise_or,
        "xor": np.bitwise_xor,
    }
    for element, width in zip(("i32", "i64"), some(random, WIDTHS, 2), strict=True):
        t, v = f"?x{width}x{element}", f"vector<{width}x{element}>"
        bits = f"vector<{width}xi1>"
        lines = [f"%{kind} = vector.reduction <{kind}>, %x : {v} into {element}" for kind in kinds]
        text = rows(
            {"x": t},
            [f"?x{element}"] * 9 + ["?xi1", "?xi1", f"?x{width}xi1"],
            "\n".join(
                [
                    f"%x = {row('x', t)}",
                    *lines,
                    f"%zero = arith.constant dense<0> : {v}",
                    f"%positive = arith.cmpi sgt, %x, %zero : {v}",
                    f"%any = vector.reduction <or>, %positive : {bits} into i1",
                    f"%all = vector.reduction <and>, %positive : {bits} into i1",
                    f"tile.yield {', '.join('%' + k for k in kinds)}, %any, %all, %positive : "
                    f"{', '.join([element] * 9)}, i1, i1, {bits}",
                ]
            ),
        )
        dtype = np.dtype(DTYPES[element])
        limits = np.iinfo(dtype)
        x = random.integers(limits.min, limits.max, (13, width), dtype, endpoint=True)
        x[0] = np.abs(x[0] // 2) + 1
        x[1] = -np.abs(x[1] // 2)

        for outs, _ in runs(levels(text), x):
            for out, (kind, function) in zip(outs, kinds.items(), strict=False):
                operand = x.view(f"u{dtype.itemsize}") if kind.endswith("ui") else x
                with np.errstate(over="ignore"):
                    expected = function.reduce(operand, axis=1, dtype=operand.dtype)
                assert (out.view(operand.dtype) == expected).all(), f"{kind} of {element}, width {width}"
            equal(outs[9], (x > 0).any(1), "any")
            equal(outs[10], (x > 0).all(1), "all")
            equal(outs[11], x > 0, "positive")
