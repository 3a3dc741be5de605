"""moe text of the small programs that the cases run. Sizes are ints, or None for a dynamic number of rows."""

from __future__ import annotations

import numpy as np
from harness import NAMES, i32, tensor


def plan(groups: int, m: int | None, sizes: np.dtype = i32, source: str = "%x", row_type: str = "") -> str:
    """%p: a plan from the argument %sizes for M rows; a dynamic M is that of `source`."""
    if m is not None:
        rows, attribute = "", f", rows = {m}"
    else:
        rows, attribute = " rows %m", ""
    head = "" if m is not None else f"  %c0 = arith.constant 0 : index\n  %m = tensor.dim {source}, %c0 : {row_type}\n"
    return (
        f"{head}  %p = moe.plan_from_sizes %sizes{rows} : {tensor([groups], sizes)}"
        f" -> !moe.plan<groups = {groups}{attribute}>\n"
    )


def plan_type(groups: int, m: int | None) -> str:
    return f"!moe.plan<groups = {groups}{'' if m is None else f', rows = {m}'}>"


def forward(
    m: int | None,
    k: int,
    n: int,
    groups: int,
    dtype: np.dtype,
    *,
    local: int | None = None,
    offset: int | None = None,
    layout: str = "kn",
    out: np.dtype | None = None,
    sizes: np.dtype = i32,
    bias: bool = False,
    name: str = "main",
) -> str:
    """y = ragged_matmul(x, w, sizes [, bias]); x's tail may hold anything."""
    g = groups if local is None else local
    x = tensor([m, k], dtype, f"groups = {groups}, tail = undefined")
    w = tensor([g, k, n] if layout == "kn" else [g, n, k], dtype)
    y = tensor([m, n], out or dtype, f"groups = {groups}")
    b = tensor([g, n], dtype)
    attributes = [f"layout = #moe.weights<{layout}>"] + ([f"group_offset = {offset}"] if offset is not None else [])
    return f"""func.func @{name}(%x: {x}, %w: {w}, %sizes: {tensor([groups], sizes)}{f", %b: {b}" if bias else ""}) -> {y} {{
{plan(groups, m, sizes, "%x", x)}  %y = moe.ragged_matmul %x, %w plan %p{" bias %b" if bias else ""} {{{", ".join(attributes)}}}
      : {x}, {w}, {plan_type(groups, m)}{f", {b}" if bias else ""} -> {y}
  return %y : {y}
}}
"""


def wgrad(
    m: int | None, k: int, n: int, groups: int, dtype: np.dtype, *, accumulate: bool = False, name: str = "main"
) -> str:
    """dw = x_g^T dy_g in f32 [+ acc]; the tails of x and dy may hold anything."""
    x = tensor([m, k], dtype, f"groups = {groups}, tail = undefined")
    dy = tensor([m, n], dtype, f"groups = {groups}, tail = undefined")
    dw = tensor([groups, k, n], np.float32)
    sizes = tensor([groups], i32)
    return f"""func.func @{name}(%x: {x}, %dy: {dy}, %sizes: {sizes}{f", %acc: {dw}" if accumulate else ""}) -> {dw} {{
{plan(groups, m, i32, "%x", x)}  %dw = moe.ragged_matmul %x, %dy plan %p{" acc %acc" if accumulate else ""} {{mode = #moe.mode<contraction>}}
      : {x}, {dy}, {plan_type(groups, m)}{f", {dw}" if accumulate else ""} -> {dw}
  return %dw : {dw}
}}
"""


def router(
    experts: int,
    k: int,
    *,
    function: str = "softmax",
    bias: bool = False,
    select: str = "",
    normalize: str = "",
    name: str = "main",
) -> str:
    """ids, weights = normalize(select(scores(logits))); logits are given."""
    logits, vector = tensor([None, experts], np.float32), tensor([experts], np.float32)
    ids, values = tensor([None, k], i32), tensor([None, k], np.float32)
    return f"""func.func @{name}(%l: {logits}{f", %b: {vector}" if bias else ""}) -> ({ids}, {values}) {{
  %s = moe.scores %l {{function = #moe.score<{function}>}} : {logits}
  %ids, %v = moe.select %s{" bias %b" if bias else ""} {{k = {k}{select}}} : {logits}{f", {vector}" if bias else ""} -> {ids}, {values}
  %n = moe.normalize %v {{{normalize}}} : {values}
  return %ids, %n : {ids}, {values}
}}
"""


def plan_of(experts: int, tokens: int | None, k: int, capacity: int | None = None) -> str:
    """The type of a plan of expert ids."""
    rows = capacity if capacity is not None else None if tokens is None else tokens * k
    parts = [f"groups = {experts}"] + ([f"rows = {rows}"] if rows is not None else [])
    parts += ([f"tokens = {tokens}"] if tokens is not None else []) + [f"topk = {k}"]
    return f"!moe.plan<{', '.join(parts)}>"


def plan_fields(experts: int, tokens: int, k: int, capacity: int | None = None) -> str:
    """All tensors of the plan of ids."""
    rows = tokens * k if capacity is None else capacity
    kind, ids = plan_of(experts, tokens, k, capacity), tensor([tokens, k], i32)
    fields = {
        "sizes": tensor([experts], i32),
        "bounds": tensor([experts, 2], np.int64),
        "permutation": tensor([rows], i32),
        "token": tensor([rows], i32),
        "inverse": tensor([tokens, k], i32),
        "dropped": tensor([1], np.int64),
    }
    gets = "".join(f"  %{f} = moe.plan_get %p {{field = #moe.field<{f}>}} : {kind} -> {t}\n" for f, t in fields.items())
    return f"""func.func @main(%ids: {ids}) -> ({", ".join(fields.values())}) {{
  %p = moe.plan %ids {f"{{capacity = {capacity}}} " if capacity is not None else ""}: {ids} -> {kind}
{gets}  return {", ".join("%" + f for f in fields)} : {", ".join(fields.values())}
}}
"""


def permute_combine(
    experts: int, tokens: int | None, k: int, h: int, dtype: np.dtype, *, capacity: int | None = None
) -> str:
    """rows = gather(x, plan(ids)); out = combine(rows, weights)."""
    rows = capacity if capacity is not None else None if tokens is None else tokens * k
    kind, ids, weights = (
        plan_of(experts, tokens, k, capacity),
        tensor([tokens, k], i32),
        tensor([tokens, k], np.float32),
    )
    x, gathered = tensor([tokens, h], dtype), tensor([rows, h], dtype, f"groups = {experts}")
    return f"""func.func @main(%x: {x}, %ids: {ids}, %w: {weights}) -> ({gathered}, {x}) {{
  %p = moe.plan %ids {f"{{capacity = {capacity}}} " if capacity is not None else ""}: {ids} -> {kind}
  %g = moe.gather %x, %p : {x}, {kind} -> {gathered}
  %o = moe.combine %g, %p weights %w : {gathered}, {kind}, {weights} -> {x}
  return %g, %o : {gathered}, {x}
}}
"""


def combine(experts: int, tokens: int, k: int, h: int, dtype: np.dtype, *, weights: bool = True) -> str:
    """out = combine(y, plan(ids) [, weights]); y's rows are in the order of the plan."""
    kind, ids, w = plan_of(experts, tokens, k), tensor([tokens, k], i32), tensor([tokens, k], np.float32)
    y, out = tensor([tokens * k, h], dtype, f"groups = {experts}, tail = undefined"), tensor([tokens, h], dtype)
    return f"""func.func @main(%y: {y}, %ids: {ids}{f", %w: {w}" if weights else ""}) -> {out} {{
  %p = moe.plan %ids : {ids} -> {kind}
  %o = moe.combine %y, %p{" weights %w" if weights else ""} : {y}, {kind}{f", {w}" if weights else ""} -> {out}
  return %o : {out}
}}
"""


def activation(m: int | None, width: int, dtype: np.dtype, attributes: str = "", name: str = "main") -> str:
    """gated_activation of [M, 2 * width]."""
    x, y = tensor([m, 2 * width], dtype), tensor([m, width], dtype)
    return f"""func.func @{name}(%h: {x}) -> {y} {{
  %a = moe.gated_activation %h {{{attributes}}} : {x} -> {y}
  return %a : {y}
}}
"""


def plan_and_gather(experts: int, tokens: int | None, h: int, dtype: np.dtype, *, capacity: int) -> str:
    """rows = gather(x, plan(ids)) with k = 1 and a capacity."""
    kind, ids = plan_of(experts, tokens, 1, capacity), tensor([tokens, 1], i32)
    x, gathered = tensor([tokens, h], dtype), tensor([capacity, h], dtype, f"groups = {experts}")
    return f"""func.func @main(%x: {x}, %ids: {ids}) -> {gathered} {{
  %p = moe.plan %ids {{capacity = {capacity}}} : {ids} -> {kind}
  %g = moe.gather %x, %p : {x}, {kind} -> {gathered}
  return %g : {gathered}
}}
"""


def group_sum(m: int | None, n: int, groups: int, dtype: np.dtype, *, name: str = "main") -> str:
    """s = the sum of the rows of each group, in f32; x's tail may hold anything."""
    x, s = tensor([m, n], dtype, f"groups = {groups}, tail = undefined"), tensor([groups, n], np.float32)
    return f"""func.func @{name}(%x: {x}, %sizes: {tensor([groups], i32)}) -> {s} {{
{plan(groups, m, i32, "%x", x)}  %s = moe.group_sum %x, %p : {x}, {plan_type(groups, m)} -> {s}
  return %s : {s}
}}
"""


def ungated(function: str, kind: str, dtype: np.dtype, *, static: bool) -> str:
    """%a = relu or gelu of %y1, as a loop over its elements that computes in f32."""
    body = "    %zero = arith.constant 0.0 : f32\n    %acted = arith.maximumf %wide, %zero : f32\n"
    if function == "gelu":
        body = """    %half = arith.constant 0.5 : f32
    %root = arith.constant 0.70710678 : f32
    %one = arith.constant 1.0 : f32
    %scaled = arith.mulf %wide, %root : f32
    %erf = math.erf %scaled : f32
    %step = arith.addf %erf, %one : f32
    %part = arith.mulf %wide, %half : f32
    %acted = arith.mulf %part, %step : f32
"""
    element, before, result, after = NAMES[dtype], "%wide", "%acted", ""
    if element != "f32":
        before, result = "%e", "%t"
        after = f"    %t = arith.truncf %acted : f32 to {element}\n"
        body = f"    %wide = arith.extf %e : {element} to f32\n" + body
    rows = "" if static else f"  %c0 = arith.constant 0 : index\n  %m = tensor.dim %y1, %c0 : {kind}\n"
    return f"""{rows}  %init = tensor.empty({"" if static else "%m"}) : {kind}
  %a = linalg.generic {{indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}} ins(%y1 : {kind}) outs(%init : {kind}) {{
  ^bb0({before}: {element}, %o: {element}):
{body}{after}    linalg.yield {result} : {element}
  }} -> {kind}
"""


def layer(
    experts: int,
    tokens: int | None,
    k: int,
    h: int,
    f: int,
    dtype: np.dtype,
    *,
    layout: str = "kn",
    router: str = "kn",
    logit_bias: bool = False,
    function: str = "softmax",
    score_bias: bool = False,
    select: str = "",
    normalize: str = "",
    activation: str = "",
    plain: str = "",
    bias: bool = False,
    align: int = 1,
    capacity: int | None = None,
    given: bool = False,
    name: str = "main",
) -> str:
    """A whole layer: ids, weights and out of x, with router [h, E], w1 [E, h, 2f] and w2 [E, f, h] (kn). Then come the biases that
    there are: b1, b2, of the logits, of the scores. With `given`, ids and weights are arguments in the router's place. With
    `plain`, relu or gelu, the activation has no gate, and w1 is [E, h, f]."""
    rows = None if tokens is None else tokens * k + (experts * (align - 1) if align > 1 else 0)
    rows = rows if capacity is None else capacity
    aligned = f", align = {align}" if align > 1 else ""
    parts = [f"groups = {experts}"] + ([f"rows = {rows}"] if rows is not None else [])
    parts += [f"tokens = {tokens}"] if tokens is not None else []
    kind = f"!moe.plan<{', '.join(parts)}, topk = {k}{aligned}>"
    ragged = f"groups = {experts}{aligned}"
    width = f if plain else 2 * f
    x, by_expert = tensor([tokens, h], dtype), tensor([h, experts] if router == "kn" else [experts, h], dtype)
    w1 = tensor([experts, h, width] if layout == "kn" else [experts, width, h], dtype)
    w2 = tensor([experts, f, h] if layout == "kn" else [experts, h, f], dtype)
    b1, b2, b3 = tensor([experts, width], dtype), tensor([experts, h], dtype), tensor([experts], np.float32)
    scores = tensor([tokens, experts], np.float32)
    ids, weights = tensor([tokens, k], i32), tensor([tokens, k], np.float32)
    g, y1, a, y2 = (tensor([rows, n], dtype, ragged) for n in (h, width, f, h))
    arguments = [f"%x: {x}"] + ([] if given else [f"%r: {by_expert}"]) + [f"%w1: {w1}", f"%w2: {w2}"]
    arguments += [f"%b1: {b1}", f"%b2: {b2}"] if bias else []
    arguments += ([f"%lb: {b3}"] if logit_bias else []) + ([f"%sb: {b3}"] if score_bias else [])
    arguments += [f"%ids: {ids}", f"%w: {weights}"] if given else []
    options = f"{{layout = #moe.weights<{layout}>}}"
    bound = f"{{capacity = {capacity}}} " if capacity is not None else ""
    routing = f"""  %l = moe.logits %x, %r{" bias %lb" if logit_bias else ""} {{layout = #moe.weights<{router}>}}
      : {x}, {by_expert}{f", {b3}" if logit_bias else ""} -> {scores}
  %s = moe.scores %l {{function = #moe.score<{function}>}} : {scores}
  %ids, %v = moe.select %s{" bias %sb" if score_bias else ""} {{k = {k}{select}}}
      : {scores}{f", {b3}" if score_bias else ""} -> {ids}, {weights}
  %w = moe.normalize %v {{{normalize}}} : {weights}
"""
    activate = f"  %a = moe.gated_activation %y1 {{{activation}}} : {y1} -> {a}\n"
    if plain:
        activate = ungated(plain, a, np.dtype(dtype), static=rows is not None)
    return f"""func.func @{name}({", ".join(arguments)}) -> ({ids}, {weights}, {x}) {{
{"" if given else routing}  %p = moe.plan %ids {bound}: {ids} -> {kind}
  %g = moe.gather %x, %p : {x}, {kind} -> {g}
  %y1 = moe.ragged_matmul %g, %w1 plan %p{" bias %b1" if bias else ""} {options}
      : {g}, {w1}, {kind}{f", {b1}" if bias else ""} -> {y1}
{activate}  %y2 = moe.ragged_matmul %a, %w2 plan %p{" bias %b2" if bias else ""} {options}
      : {a}, {w2}, {kind}{f", {b2}" if bias else ""} -> {y2}
  %o = moe.combine %y2, %p weights %w : {y2}, {kind}, {weights} -> {x}
  return %ids, %w, %o : {ids}, {weights}, {x}
}}
"""
