"""moe text of the small programs that the cases run. Sizes are ints, or None for a dynamic number of rows."""

from __future__ import annotations

import numpy as np
from harness import i32, tensor


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


def layer(
    experts: int,
    tokens: int | None,
    k: int,
    h: int,
    f: int,
    dtype: np.dtype,
    *,
    layout: str = "kn",
    function: str = "softmax",
    select: str = "",
    normalize: str = "",
    activation: str = "",
    bias: bool = False,
    align: int = 1,
    name: str = "main",
) -> str:
    """A whole layer: ids, weights and out of x, with router [h, E], w1 [E, h, 2f] and w2 [E, f, h] (kn)."""
    rows = None if tokens is None else tokens * k + (experts * (align - 1) if align > 1 else 0)
    aligned = f", align = {align}" if align > 1 else ""
    parts = [f"groups = {experts}"] + ([f"rows = {rows}, tokens = {tokens}"] if tokens is not None else [])
    kind = f"!moe.plan<{', '.join(parts)}, topk = {k}{aligned}>"
    ragged = f"groups = {experts}{aligned}"
    x, router = tensor([tokens, h], dtype), tensor([h, experts], dtype)
    w1 = tensor([experts, h, 2 * f] if layout == "kn" else [experts, 2 * f, h], dtype)
    w2 = tensor([experts, f, h] if layout == "kn" else [experts, h, f], dtype)
    b1, b2 = tensor([experts, 2 * f], dtype), tensor([experts, h], dtype)
    scores = tensor([tokens, experts], np.float32)
    ids, weights = tensor([tokens, k], i32), tensor([tokens, k], np.float32)
    g, y1, a, y2 = (tensor([rows, n], dtype, ragged) for n in (h, 2 * f, f, h))
    arguments = f"%x: {x}, %r: {router}, %w1: {w1}, %w2: {w2}" + (f", %b1: {b1}, %b2: {b2}" if bias else "")
    options = f"{{layout = #moe.weights<{layout}>}}"
    return f"""func.func @{name}({arguments}) -> ({ids}, {weights}, {x}) {{
  %l = moe.logits %x, %r : {x}, {router} -> {scores}
  %s = moe.scores %l {{function = #moe.score<{function}>}} : {scores}
  %ids, %v = moe.select %s {{k = {k}{select}}} : {scores} -> {ids}, {weights}
  %w = moe.normalize %v {{{normalize}}} : {weights}
  %p = moe.plan %ids : {ids} -> {kind}
  %g = moe.gather %x, %p : {x}, {kind} -> {g}
  %y1 = moe.ragged_matmul %g, %w1 plan %p{" bias %b1" if bias else ""} {options}
      : {g}, {w1}, {kind}{f", {b1}" if bias else ""} -> {y1}
  %a = moe.gated_activation %y1 {{{activation}}} : {y1} -> {a}
  %y2 = moe.ragged_matmul %a, %w2 plan %p{" bias %b2" if bias else ""} {options}
      : {a}, {w2}, {kind}{f", {b2}" if bias else ""} -> {y2}
  %o = moe.combine %y2, %p weights %w : {y2}, {kind}, {weights} -> {x}
  return %ids, %w, %o : {ids}, {weights}, {x}
}}
"""
