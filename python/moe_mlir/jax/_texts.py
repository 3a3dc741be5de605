"""Whole layers and their parts as text in the moe dialect, for any number of tokens."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._program import dtype_name


@dataclass(frozen=True)
class Routing:
    """How tokens find their experts: the options of `route`."""

    top_k: int
    score: str = "softmax"
    select_first: bool = False
    renormalize: bool = True
    scale: float = 1.0
    groups: int = 1
    keep_groups: int = 1
    group_top: int = 1
    nan: str = "last"
    precision: str = "exact"


@dataclass(frozen=True)
class Gate:
    """What an expert does between its two products: the options of `gated`."""

    activation: str = "silu"
    layout: str = "concatenated"
    limit: float | None = None
    alpha: float = 1.0
    up_offset: float = 0.0


@dataclass(frozen=True)
class Axis:
    """The mesh axis over which experts are spread, the most tokens that a rank has, and how they travel: with transport
    "capacity", and with no other, pair_capacity is the most slots of a rank's tokens on another."""

    name: str
    size: int
    max_tokens: int
    transport: str = "exact"
    pair_capacity: int | None = None

    @property
    def arrivals(self) -> int:
        """The most tokens that come to a rank."""
        pair = self.max_tokens if self.pair_capacity is None else min(self.max_tokens, self.pair_capacity)
        return self.size * pair


def tensor(shape: Sequence[int | None], dtype: Any, ragged: int | None = None, tail: str = "zero") -> str:
    """A tensor type; None is a dynamic size. With `ragged` its rows are those of so many groups."""
    sizes = "".join("?x" if s is None else f"{s}x" for s in shape)
    encoding = "" if ragged is None else f", #moe.ragged<groups = {ragged}, tail = {tail}>"
    return f"tensor<{sizes}{dtype_name(dtype)}{encoding}>"


def plan_type(experts: int, k: int, rows: int | None, tokens: int | None = None) -> str:
    known = "".join(f", {n} = {v}" for n, v in (("rows", rows), ("tokens", tokens)) if v is not None)
    return f"!moe.plan<groups = {experts}{known}, topk = {k}>"


def route_type(axis: Axis, experts: int, k: int) -> str:
    """`experts` are those of a rank."""
    how = "" if axis.transport == "exact" else f", transport = {axis.transport}"
    how += "" if axis.pair_capacity is None else f", pair_capacity = {axis.pair_capacity}"
    return (
        f'!moe.route<axis = "{axis.name}", ranks = {axis.size}, groups = {experts}, topk = {k},'
        f" max_tokens = {axis.max_tokens}{how}>"
    )


def travel(op: str, result: str, value: str, source: str, route: str, target: str) -> str:
    """%result from %value by moe.dispatch or moe.collect."""
    return f"%{result} = moe.{op} %{value}, %route : {source}, {route} -> {target}"


def routes(axis: Axis, experts: int, k: int) -> list[str]:
    """%route of %ids, and %here, the ids of what arrives."""
    ids, route = tensor((None, k), "int32"), route_type(axis, experts, k)
    return [
        f"%route = moe.route %ids : {ids} -> {route}",
        f"%here = moe.route_ids %route : {route} -> {tensor((axis.arrivals, k), 'int32')}",
    ]


def function(name: str, arguments: Mapping[str, str], body: Sequence[str], results: Mapping[str, str]) -> str:
    """A module of one function; arguments and results are names and types."""
    head = ", ".join(f"%{n}: {t}" for n, t in arguments.items())
    lines = [*body, f"return {', '.join('%' + n for n in results)} : {', '.join(results.values())}"]
    text = "".join(f"  {line}\n" for line in lines)
    return f"func.func @{name}({head}) -> ({', '.join(results.values())}) {{\n{text}}}\n"


def _float(value: float) -> str:
    return f"{float(value):e} : f32"


def route(types: Mapping[str, Any], o: Routing) -> list[str]:
    """%ids and %weights of %x and %router [, %router_bias, %selection_bias]."""
    experts, k = types["router"].shape[1], o.top_k
    wide, few, ids = tensor((None, experts), "float32"), tensor((None, k), "float32"), tensor((None, k), "int32")
    lines, names = [], {"x": "%x", "router": "%router"}
    dtypes = {n: dtype_name(types[n].dtype) for n in names}
    for n in names if dtypes["x"] != dtypes["router"] else ():
        # Operands of unlike types meet in f32.
        if dtypes[n] != "f32":
            shape = (None, *types["x"].shape[1:]) if n == "x" else types[n].shape
            lines.append(f"%{n}_f32 = arith.extf %{n} : {tensor(shape, types[n].dtype)} to {tensor(shape, 'float32')}")
            names[n], dtypes[n] = f"%{n}_f32", "f32"
    dtype = "float32" if dtypes["x"] == "f32" else types["x"].dtype
    x, router = tensor((None, types["x"].shape[1]), dtype), tensor(types["router"].shape, dtype)

    def optional(word: str, name: str) -> tuple[str, str]:
        return (f" {word} %{name}", f", {tensor(types[name].shape, types[name].dtype)}") if name in types else ("", "")

    bias, bias_type = optional("bias", "router_bias")
    prefer, prefer_type = optional("bias", "selection_bias")
    policy = f"nan = #moe.nan<{o.nan}>"
    score = f"{{function = #moe.score<{o.score}>, {policy}}}"
    choice = f"{{k = {k}, groups = {o.groups}, keep_groups = {o.keep_groups}, group_top = {o.group_top}, {policy}}}"
    normal = "{" + ("renormalize, " if o.renormalize else "") + f"scale = {_float(o.scale)}, {policy}}}"
    lines.append(
        f"%logits = moe.logits {names['x']}, {names['router']}{bias} {{precision = #moe.precision<{o.precision}>}}"
        f" : {x}, {router}{bias_type} -> {wide}"
    )
    ranked = "%logits"
    if not o.select_first:
        lines.append(f"%scores = moe.scores %logits {score} : {wide}")
        ranked = "%scores"
    lines.append(f"%ids, %chosen = moe.select {ranked}{prefer} {choice} : {wide}{prefer_type} -> {ids}, {few}")
    values = "%chosen"
    if o.select_first:
        lines.append(f"%values = moe.scores %chosen {score} : {few}")
        values = "%values"
    lines.append(f"%weights = moe.normalize {values} {normal} : {few}")
    return lines


def plan(experts: int, k: int, capacity: int | None, axis: Axis | None = None) -> str:
    """%plan of %ids, or with an axis of %here."""
    kept = "" if capacity is None else f" {{capacity = {capacity}}}"
    if axis is None:
        return f"%plan = moe.plan %ids{kept} : {tensor((None, k), 'int32')} -> {plan_type(experts, k, capacity)}"
    rows = axis.arrivals * k if capacity is None else capacity
    ids = tensor((axis.arrivals, k), "int32")
    return f"%plan = moe.plan %here{kept} : {ids} -> {plan_type(experts, k, rows, axis.arrivals)}"


def product(
    y: str, x: str, weight: str, types: Mapping[str, Any], p: str, bias: str, columns: Sequence[int], precision: str
) -> str:
    """%y = %x times the weight of each row's expert, of the plan type p, [, plus its bias]."""
    experts = types[weight].shape[0]
    k, n = columns
    rows = None if "rows" not in p else int(p.split("rows = ")[1].split(",")[0])
    dtype = types[weight].dtype
    left, right = tensor((rows, k), dtype, experts), tensor((rows, n), dtype, experts)
    word, kind = (f" bias %{bias}", f", {tensor(types[bias].shape, types[bias].dtype)}") if bias in types else ("", "")
    attributes = f"{{precision = #moe.precision<{precision}>}}"
    return (
        f"%{y} = moe.ragged_matmul %{x}, %{weight} plan %plan{word} {attributes}"
        f" : {left}, {tensor(types[weight].shape, dtype)}, {p}{kind} -> {right}"
    )


def gated(o: Gate, source: str, result: str) -> str:
    """%a = the activation of %h."""
    attributes = [f"function = #moe.gate<{o.activation}>", f"layout = #moe.halves<{o.layout}>"]
    attributes += [f"limit = {_float(o.limit)}"] if o.limit is not None else []
    attributes += [f"alpha = {_float(o.alpha)}", f"up_offset = {_float(o.up_offset)}"]
    return f"%a = moe.gated_activation %h {{{', '.join(attributes)}}} : {source} -> {result}"
