"""Upstream elementwise ops between moe ops, against NumPy: element types, broadcasts, constants, ragged rows."""

import math

import numpy as np
from harness import NAMES, bf16, close, compile, equal, f16, f32, i32, refused, rng, tensor


def unary(op: str, x: np.ndarray, to: np.dtype | None = None, attributes: str = "") -> np.ndarray:
    """One op on a tensor, with a conversion if `to` is given."""
    before, after = tensor(x.shape, x.dtype), tensor(x.shape, to or x.dtype)
    types = f"{before} to {after}" if to else before
    (y,) = compile(f"""func.func @main(%x: {before}) -> {after} {{
  %y = {op} %x {attributes} : {types}
  return %y : {after}
}}
""").run(x)
    return y


def binary(op: str, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    kind = tensor(a.shape, a.dtype)
    (y,) = compile(f"""func.func @main(%a: {kind}, %b: {kind}) -> {kind} {{
  %y = {op} %a, %b : {kind}
  return %y : {kind}
}}
""").run(a, b)
    return y


def property_arithmetic_follows_numpy() -> None:
    generator = rng()
    ops = {
        "arith.addf": np.add,
        "arith.subf": np.subtract,
        "arith.mulf": np.multiply,
        "arith.divf": np.divide,
        "arith.maximumf": np.maximum,
        "arith.minimumf": np.minimum,
    }
    for dtype in (f32, bf16, f16):
        for shape in ((7, 33), (37,), (5, 1)):
            a, b = (generator.standard_normal(shape).astype(dtype) for _ in range(2))
            for op, reference in ops.items():
                wide = reference(a.astype(f32), b.astype(f32))  # in f32, rounded once
                equal(binary(op, a, b), wide.astype(dtype), f"{op} {NAMES[dtype]} {shape}")


def property_functions_follow_numpy() -> None:
    x = np.clip(rng().standard_normal((5, 47)) * 3, -8, 8)  # exp of it is finite in f16
    ops = {
        **{
            f"math.{name}": getattr(np, name)
            for name in ("exp", "exp2", "expm1", "log", "log2", "log1p", "tanh", "sqrt")
        },
        **{f"math.{name}": getattr(np, name) for name in ("cosh", "ceil", "floor", "trunc")},
        "math.absf": np.abs,
        "math.roundeven": np.round,
        "math.rsqrt": lambda v: 1 / np.sqrt(v),
        "math.erf": np.vectorize(math.erf),
        "arith.negf": np.negative,
    }
    for dtype, tolerance in ((f32, 1e-6), (bf16, 2**-8), (f16, 2**-11)):
        domain = np.abs(x).astype(dtype)
        for op, reference in ops.items():
            close(unary(op, domain), reference(domain.astype(np.float64)), tolerance, f"{op} {NAMES[dtype]}")
    for name in ("asin", "acos", "atan"):
        domain = (x / np.abs(x).max()).astype(f32)
        close(unary(f"math.{name}", domain), getattr(np, f"arc{name[1:]}")(domain.astype(np.float64)), 5e-6, name)


def case_functions_without_an_accurate_form_are_refused() -> None:
    for name in ("sin", "cos", "tan", "sinh", "asinh", "atanh", "cbrt", "log10"):
        message = refused(f"""func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {{
  %y = math.{name} %x : tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}}
""")
        assert f"'math.{name}' op has no accurate form without a math library" in message, message


def case_conversions() -> None:
    x = np.array([[1.5, -2.25, 3.0e5, 1 + 2.0**-9, -0.0]], f32)
    equal(unary("arith.truncf", x, bf16), x.astype(bf16))
    equal(unary("arith.extf", x.astype(bf16), f32), x.astype(bf16).astype(f32))
    equal(unary("arith.fptosi", x, i32), x.astype(i32))
    n = np.array([[0, -7, 2**24 + 1, 12345]], i32)
    equal(unary("arith.sitofp", n, f32), n.astype(f32))
    equal(unary("arith.sitofp", n, bf16), n.astype(f32).astype(bf16))


def case_integer_division_never_ends_the_process() -> None:
    """By 0 and of the least number by -1 no result is promised, but it would trap; all others are as in NumPy."""
    a = np.array([[7, -7, 7, -(2**31), 2**31 - 1, 0, -9, 5]], i32)
    b = np.array([[2, 2, 0, -1, -1, 0, -4, -2]], i32)
    good = (b != 0) & ((a != -(2**31)) | (b != -1))
    quotient = a.astype("i8") / np.where(b == 0, 1, b)
    for op, expected in (
        ("divsi", np.trunc(quotient)),
        ("floordivsi", np.floor(quotient)),
        ("ceildivsi", np.ceil(quotient)),
        ("remsi", a - np.trunc(quotient) * b),
    ):
        equal(binary(f"arith.{op}", a, b)[good], expected[good], op)
    for op, function in (("divui", np.floor_divide), ("remui", np.remainder)):
        expected = function(a.astype("u4"), np.where(b == 0, 1, b).astype("u4")).astype(i32)
        equal(binary(f"arith.{op}", a, b)[b != 0], expected[b != 0], op)


def case_compare_and_select() -> None:
    x = np.array([[1, -2, np.nan, 0], [5, -6, 7, -8]], f32)
    kind = tensor(x.shape, f32)
    (y,) = compile(f"""func.func @main(%x: {kind}) -> {kind} {{
  %zero = arith.constant dense<0.0> : {kind}
  %c = arith.cmpf ogt, %x, %zero : {kind}
  %y = arith.select %c, %x, %zero : tensor<2x4xi1>, {kind}
  return %y : {kind}
}}
""").run(x)
    equal(y, np.where(x > 0, x, 0))


def property_a_generic_op_with_broadcasts() -> None:
    generator = rng()
    x, row, column = (generator.standard_normal(s).astype(f32) for s in ((9, 21), (9,), (21,)))
    scalar = np.array(0.25, f32)
    (y,) = compile("""
#element = affine_map<(d0, d1) -> (d0, d1)>
func.func @main(%x: tensor<?x21xf32>, %r: tensor<?xf32>, %c: tensor<21xf32>, %s: tensor<f32>) -> tensor<?x21xf32> {
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : tensor<?x21xf32>
  %init = tensor.empty(%m) : tensor<?x21xf32>
  %two = arith.constant 2.0 : f32
  %y = linalg.generic {indexing_maps = [#element, affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> (d1)>,
      affine_map<(d0, d1) -> ()>, #element], iterator_types = ["parallel", "parallel"]}
      ins(%x, %r, %c, %s : tensor<?x21xf32>, tensor<?xf32>, tensor<21xf32>, tensor<f32>) outs(%init : tensor<?x21xf32>) {
  ^bb0(%a: f32, %b: f32, %d: f32, %e: f32, %o: f32):
    %p = arith.mulf %a, %b : f32
    %q = arith.addf %p, %d : f32
    %t = arith.mulf %q, %two : f32
    %u = arith.maximumf %t, %e : f32
    linalg.yield %u : f32
  } -> tensor<?x21xf32>
  return %y : tensor<?x21xf32>
}
""").run(x, row, column, scalar)
    equal(y, np.maximum((x * row[:, None] + column) * 2, scalar))


def case_ragged_rows_are_zero_outside_their_groups() -> None:
    """exp(x) + 1 is 2 where x is 0, yet zero in the tail, which is not read either."""
    ragged = "#moe.ragged<groups = 2, tail = undefined>"
    x = np.full((8, 5), np.nan, f32)
    x[:5] = 0
    for options in ([], ["--disable-fusion=epilogue,gather,rows,weights"]):
        (y,) = compile(
            f"""func.func @main(%x: tensor<8x5xf32, {ragged}>, %s: tensor<2xi32>, %w: tensor<2x5x5xf32>)
    -> (tensor<2x5xf32>) {{
  %one = arith.constant dense<1.0> : tensor<8x5xf32, {ragged}>
  %p = moe.plan_from_sizes %s : tensor<2xi32> -> !moe.plan<groups = 2, rows = 8>
  %e = math.exp %x : tensor<8x5xf32, {ragged}>
  %y = arith.addf %e, %one : tensor<8x5xf32, {ragged}>
  %z = moe.ragged_matmul %y, %w plan %p
      : tensor<8x5xf32, {ragged}>, tensor<2x5x5xf32>, !moe.plan<groups = 2, rows = 8> -> tensor<8x5xf32, #moe.ragged<groups = 2>>
  %minus = arith.constant dense<-1.0> : tensor<8x5xf32, #moe.ragged<groups = 2>>
  %v = arith.addf %z, %minus : tensor<8x5xf32, #moe.ragged<groups = 2>>
  %g = moe.group_sum %v, %p : tensor<8x5xf32, #moe.ragged<groups = 2>>, !moe.plan<groups = 2, rows = 8> -> tensor<2x5xf32>
  return %g : tensor<2x5xf32>
}}
""",
            *options,
        ).run(x, np.array([2, 3], i32), np.ones((2, 5, 5), f32))
        equal(y, [[2 * 9] * 5, [3 * 9] * 5])


def case_no_row_is_in_a_group() -> None:
    """Constant sizes of 0, no groups, no rows: exp is 1 where x is 0, and yet every row stays zero."""
    text = ""
    for name, m, sizes in (("sizes", 8, [0, 0]), ("groups", 8, []), ("rows", 0, [0, 0])):
        g = len(sizes)
        ragged, weights = tensor([m, 4], f32, f"groups = {g}"), tensor([g, 4, 4], f32)
        kind = f"!moe.plan<groups = {g}, rows = {m}>"
        text += f"""func.func @{name}(%x: {ragged}, %w: {weights}) -> ({ragged}, {tensor([g, 4], f32)}) {{
  %s = arith.constant dense<{sizes}> : tensor<{g}xi32>
  %p = moe.plan_from_sizes %s : tensor<{g}xi32> -> {kind}
  %y = moe.ragged_matmul %x, %w plan %p : {ragged}, {weights}, {kind} -> {ragged}
  %e = math.exp %y : {ragged}
  %init = tensor.empty() : {ragged}
  %l = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%e : {ragged}) outs(%init : {ragged}) {{
  ^bb0(%a: f32, %o: f32):
    %b = math.exp %a : f32
    linalg.yield %b : f32
  }} -> {ragged}
  %sum = moe.group_sum %l, %p : {ragged}, {kind} -> {tensor([g, 4], f32)}
  return %l, %sum : {ragged}, {tensor([g, 4], f32)}
}}
"""
    for options in ([], ["--disable-fusion=epilogue,gather,rows,weights"]):
        program = compile(text, *options)
        for name, m, g in (("sizes", 8, 2), ("groups", 8, 0), ("rows", 0, 2)):
            y, total = program.run(np.full((m, 4), np.nan, f32), np.ones((g, 4, 4), f32), entry=name)
            equal(y, np.zeros((m, 4)), name)
            equal(total, np.zeros((g, 4)), name)


def property_a_batch_and_sums_of_groups() -> None:
    generator = rng()
    for dtype, tolerance in ((f32, 1e-6), (bf16, 2**-8)):
        x = generator.standard_normal((3, 11, 20)).astype(dtype)
        w = generator.standard_normal((3, 20, 7)).astype(dtype)
        expected = x.astype(np.float64) @ w.astype(np.float64)
        for layout, weight in (("kn", w), ("nk", np.ascontiguousarray(w.transpose(0, 2, 1)))):
            kinds = [tensor(s, dtype) for s in ((3, None, 20), weight.shape, (3, None, 7))]
            (y,) = compile(f"""func.func @main(%x: {kinds[0]}, %w: {kinds[1]}) -> {kinds[2]} {{
  %y = moe.ragged_matmul %x, %w {{mode = #moe.mode<batch>, layout = #moe.weights<{layout}>}}
      : {kinds[0]}, {kinds[1]} -> {kinds[2]}
  return %y : {kinds[2]}
}}
""").run(x, weight)
            close(y, expected, tolerance, f"batch {NAMES[dtype]} {layout}")
        rows = generator.standard_normal((17, 19)).astype(dtype)
        rows[14:] = np.nan
        ragged = tensor(rows.shape, dtype, "groups = 4, tail = undefined")
        (s,) = compile(f"""func.func @main(%x: {ragged}, %s: tensor<4xi32>) -> tensor<4x19xf32> {{
  %p = moe.plan_from_sizes %s : tensor<4xi32> -> !moe.plan<groups = 4, rows = 17>
  %y = moe.group_sum %x, %p : {ragged}, !moe.plan<groups = 4, rows = 17> -> tensor<4x19xf32>
  return %y : tensor<4x19xf32>
}}
""").run(rows, np.array([5, 0, 8, 1], i32))
        wide = rows.astype(np.float64)
        expected = [wide[a:b].sum(0) for a, b in ((0, 5), (5, 5), (5, 13), (13, 14))]
        close(s, np.array(expected), 1e-6, f"group_sum {NAMES[dtype]}")
