"""Routing, permutation, combination, and the layer that has them all."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp

from . import _texts as texts
from ._program import Result, define, vary_alike
from ._ragged import FLOATS, precision_name, ragged_dot
from ._texts import Axis, Gate, Routing, tensor

Operands = dict[str, Any]
_ORDER = ("x", "router", "router_bias", "selection_bias", "w_gate_up", "b_gate_up", "w_down", "b_down")


def _named(avals: Sequence[Any], names: Sequence[str]) -> Operands:
    return dict(zip(names, avals, strict=True))


def _arguments(types: Operands) -> dict[str, str]:
    """Names and types in the text: of %x any number of rows."""
    return {n: tensor((None, *t.shape[1:]) if n == "x" else t.shape, t.dtype) for n, t in types.items()}


# --- programs ------------------------------------------------------------------------------------------------------------------------


def _route_text(*avals: Any, names: Sequence[str], routing: Routing) -> tuple[str, Sequence[Result]]:
    types, k = _named(avals, names), routing.top_k
    results = {"ids": tensor((None, k), "int32"), "weights": tensor((None, k), "float32")}
    shape = (types["x"].shape[0], k)
    text = texts.function("route", _arguments(types), texts.route(types, routing), results)
    return text, [Result(shape, "int32"), Result(shape, "float32")]


def _permute_text(x: Any, ids: Any, *, experts: int, capacity: int | None) -> tuple[str, Sequence[Result]]:
    (tokens, k), width = ids.shape, x.shape[1]
    source, p = tensor((None, width), x.dtype), texts.plan_type(experts, k, capacity)
    results = {
        "rows": tensor((capacity, width), x.dtype, experts),
        "sizes": tensor((experts,), "int32"),
        "permutation": tensor((capacity,), "int32"),
        "inverse": tensor((None, k), "int32"),
    }
    body = [texts.plan(experts, k, capacity), f"%rows = moe.gather %x, %plan : {source}, {p} -> {results['rows']}"]
    for field in ("sizes", "permutation", "inverse"):
        body.append(f"%{field} = moe.plan_get %plan {{field = #moe.field<{field}>}} : {p} -> {results[field]}")
    text = texts.function("permute", {"x": source, "ids": tensor((None, k), "int32")}, body, results)
    rows = tokens * k if capacity is None else capacity
    return text, [
        Result(s, d)
        for s, d in (((rows, width), x.dtype), ((experts,), "int32"), ((rows,), "int32"), ((tokens, k), "int32"))
    ]


def _combine_text(y: Any, ids: Any, *weights: Any, experts: int, capacity: int | None) -> tuple[str, Sequence[Result]]:
    (tokens, k), width = ids.shape, y.shape[1]
    p, result = texts.plan_type(experts, k, capacity), tensor((None, width), y.dtype)
    rows = tensor((capacity, width), y.dtype, experts, "undefined")
    few = tensor((None, k), "float32")
    arguments = {"y": rows, "ids": tensor((None, k), "int32"), **({"weights": few} if weights else {})}
    word, kind = (" weights %weights", f", {few}") if weights else ("", "")
    body = [texts.plan(experts, k, capacity), f"%out = moe.combine %y, %plan{word} : {rows}, {p}{kind} -> {result}"]
    return texts.function("combine", arguments, body, {"out": result}), [Result((tokens, width), y.dtype)]


def _layer_text(
    *avals: Any,
    names: Sequence[str],
    routing: Routing,
    gate: Gate,
    capacity: int | None,
    precision: str,
    axis: Axis | None,
) -> tuple[str, Sequence[Result]]:
    types, k = _named(avals, names), routing.top_k
    x, (experts, width, both), inner = types["x"], types["w_gate_up"].shape, types["w_down"].shape[1]
    arrivals = None if axis is None else axis.arrivals
    count = arrivals * k if capacity is None and arrivals is not None else capacity
    p = texts.plan_type(experts, k, count, arrivals)
    result, ids, weights = tensor((None, width), x.dtype), tensor((None, k), "int32"), tensor((None, k), "float32")
    arrived = tensor((arrivals, width), x.dtype)

    def rows(columns: int) -> str:
        return tensor((count, columns), x.dtype, experts)

    body = texts.route(types, routing)
    source, combine, by = "x", "combine", p
    if axis is not None:
        route = texts.route_type(axis, experts, k)
        body += [*texts.routes(axis, experts, k), texts.travel("dispatch", "arrived", "x", result, route, arrived)]
        source, combine, by = "arrived", "combine_ranks", f"{p}, {route}"
    body += [
        texts.plan(experts, k, capacity, axis),
        f"%rows = moe.gather %{source}, %plan : {arrived}, {p} -> {rows(width)}",
        texts.product("h", "rows", "w_gate_up", types, p, "b_gate_up", (width, both), precision),
        texts.gated(gate, rows(both), rows(inner)),
        texts.product("y", "a", "w_down", types, p, "b_down", (inner, width), precision),
        f"%out = moe.{combine} %y, %plan{', %route' if axis else ''} weights %weights : {rows(width)}, {by}, {weights} -> {result}",
    ]
    text = texts.function("layer", _arguments(types), body, {"out": result, "ids": ids})
    return text, [Result(x.shape, x.dtype), Result((x.shape[0], k), "int32")]


def _travel_text(*avals: Any, op: str, axis: Axis, experts: int) -> tuple[str, Sequence[Result]]:
    """Of values and ids. dispatch: the values' rows for the tokens that arrive, and which experts those want here. collect: back,
    added."""
    *values, ids = avals
    tokens, k = ids.shape
    route = texts.route_type(axis, experts, k)
    arguments, results, outs, body = {}, {}, [], texts.routes(axis, experts, k)
    for i, value in enumerate(values):
        width = value.shape[1]
        here, there = tensor((None, width), value.dtype), tensor((axis.arrivals, width), value.dtype)
        source, target = (here, there) if op == "dispatch" else (there, here)
        arguments[f"v{i}"], results[f"r{i}"] = source, target
        body.append(texts.travel(op, f"r{i}", f"v{i}", source, route, target))
        outs.append(Result((axis.arrivals if op == "dispatch" else tokens, width), value.dtype))
    if op == "dispatch":
        results["here"] = tensor((axis.arrivals, k), "int32")
        outs.append(Result((axis.arrivals, k), "int32"))
    return texts.function(op, {**arguments, "ids": tensor((None, k), "int32")}, body, results), outs


_route_p = define("moe_route", _route_text)
_permute_p = define("moe_permute", _permute_text)
_combine_p = define("moe_combine", _combine_text)
_layer_p = define("moe_layer", _layer_text)
_ranks_layer_p = define("moe_layer_over_ranks", _layer_text, ranks=True)
_travel_p = define("moe_travel", _travel_text, ranks=True)


# --- derivatives ---------------------------------------------------------------------------------------------------------------------


def _weights(operands: Operands, ids: jax.Array, o: Routing) -> jax.Array:
    """The routing weights of the experts that were chosen, in JAX: what their gradient is taken through."""
    x, router = (operands[n].astype(jnp.float32) for n in ("x", "router"))
    values = jnp.dot(x, router, precision=jax.lax.Precision.HIGHEST)
    if "router_bias" in operands:
        values = values + operands["router_bias"].astype(jnp.float32)
    score = {"softmax": lambda v: jax.nn.softmax(v, axis=-1), "sigmoid": jax.nn.sigmoid}[o.score]
    if not o.select_first:
        values = score(values)
    values = jnp.take_along_axis(values, ids, axis=-1)
    if o.select_first:
        values = score(values)
    if o.renormalize:
        # Divided by at least 1e-20, whose square would be 0 in the derivative of the division.
        total = values.sum(axis=-1, keepdims=True)
        small = total < 1e-20
        values = jnp.where(small, values * 1e20, values / jnp.where(small, 1, total))
    return values * o.scale


@functools.partial(jax.custom_vjp, nondiff_argnums=(1,))
def _route(operands: Operands, routing: Routing) -> tuple[jax.Array, jax.Array]:
    ids, weights = _route_p.bind(*operands.values(), names=tuple(operands), routing=routing)
    return ids, weights


def _route_forward(operands: Operands, routing: Routing) -> Any:
    ids, weights = _route(operands, routing)
    return (ids, weights), (operands, ids)


def _route_backward(routing: Routing, kept: Any, cotangents: Any) -> Any:
    operands, ids = kept
    return jax.vjp(lambda o: _weights(o, ids, routing), operands)[1](cotangents[1])


_route.defvjp(_route_forward, _route_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3))
def _permute(x: jax.Array, ids: jax.Array, experts: int, capacity: int | None) -> list[jax.Array]:
    """Rows, sizes, permutation (row -> slot) and inverse (slot -> row)."""
    return _permute_p.bind(x, ids, experts=experts, capacity=capacity)


def _permute_forward(x: jax.Array, ids: jax.Array, experts: int, capacity: int | None) -> Any:
    return _permute(x, ids, experts, capacity), ids


def _permute_backward(experts: int, capacity: int | None, ids: jax.Array, cotangents: Any) -> Any:
    return _combine(cotangents[0], ids, None, experts, capacity), None


_permute.defvjp(_permute_forward, _permute_backward)


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _combine(y: jax.Array, ids: jax.Array, weights: jax.Array | None, experts: int, capacity: int | None) -> jax.Array:
    operands = (y, ids) if weights is None else (y, ids, weights)
    (out,) = _combine_p.bind(*operands, experts=experts, capacity=capacity)
    return out


def _combine_forward(y: jax.Array, ids: jax.Array, weights: Any, experts: int, capacity: int | None) -> Any:
    return _combine(y, ids, weights, experts, capacity), (y, ids, weights)


def _combine_backward(experts: int, capacity: int | None, kept: Any, cotangent: jax.Array) -> Any:
    y, ids, weights = kept
    rows, _, permutation, inverse = _permute(cotangent, ids, experts, capacity)
    if weights is None:
        return rows, None, None
    factor = jnp.where(permutation < 0, 0, weights.reshape(-1)[permutation])
    of_y = (rows.astype(jnp.float32) * factor[:, None]).astype(y.dtype)
    slots = jnp.where((inverse < 0)[..., None], 0, y[inverse])
    of_weights = jnp.einsum("tkh,th->tk", slots, cotangent, preferred_element_type=jnp.float32)
    return of_y, None, of_weights


_combine.defvjp(_combine_forward, _combine_backward)


def _activate(h: jax.Array, o: Gate) -> jax.Array:
    wide = h.astype(jnp.float32)
    gate, up = jnp.split(wide, 2, axis=1) if o.layout == "concatenated" else (wide[:, ::2], wide[:, 1::2])
    if o.limit is not None:
        gate, up = jnp.minimum(gate, o.limit), jnp.clip(up, -o.limit, o.limit)
    act: dict[str, Callable[[jax.Array], jax.Array]] = {
        "silu": lambda g: g * jax.nn.sigmoid(o.alpha * g),
        "gelu_tanh": functools.partial(jax.nn.gelu, approximate=True),
        "relu": jax.nn.relu,
        "sigmoid": jax.nn.sigmoid,
    }
    return (act[o.activation](gate) * (up + o.up_offset)).astype(h.dtype)


def _experts(
    operands: Operands,
    x: jax.Array,
    ids: jax.Array,
    weights: jax.Array,
    gate: Gate,
    capacity: int | None,
    precision: Any,
) -> jax.Array:
    """What tokens get from the experts that they chose, from its parts."""
    experts = operands["w_gate_up"].shape[0]
    rows, sizes, _, _ = _permute(x, ids, experts, capacity)
    group = jnp.searchsorted(jnp.cumsum(sizes), jnp.arange(rows.shape[0]), side="right")

    def expert(x: jax.Array, weight: str, bias: str) -> jax.Array:
        y = ragged_dot(x, operands[weight], sizes, precision)
        if bias not in operands:
            return y
        padded = jnp.pad(operands[bias], ((0, 1), (0, 0)))  # rows outside every group have none
        return (y.astype(jnp.float32) + padded[group].astype(jnp.float32)).astype(y.dtype)

    y = expert(_activate(expert(rows, "w_gate_up", "b_gate_up"), gate), "w_down", "b_down")
    return _combine(y, ids, weights, experts, capacity)


Values = tuple[jax.Array, ...]


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _dispatch(values: Values, ids: jax.Array, place: jax.Array, axis: Axis, experts: int) -> tuple[Values, jax.Array]:
    """Rows of values for the tokens that arrive on this rank, and which of its experts those want."""
    *arrived, here = _travel_p.bind(*values, ids, place, op="dispatch", axis=axis, experts=experts)
    return tuple(arrived), here


@functools.partial(jax.custom_vjp, nondiff_argnums=(3, 4))
def _collect(values: Values, ids: jax.Array, place: jax.Array, axis: Axis, experts: int) -> Values:
    """Rows of arrived tokens back on the tokens' ranks, added there."""
    return tuple(_travel_p.bind(*values, ids, place, op="collect", axis=axis, experts=experts))


def _dispatch_forward(values: Values, ids: jax.Array, place: jax.Array, axis: Axis, experts: int) -> Any:
    return _dispatch(values, ids, place, axis, experts), (ids, place)


def _dispatch_backward(axis: Axis, experts: int, kept: Any, cotangents: Any) -> Any:
    return _collect(cotangents[0], *kept, axis, experts), None, None


def _collect_forward(values: Values, ids: jax.Array, place: jax.Array, axis: Axis, experts: int) -> Any:
    return _collect(values, ids, place, axis, experts), (ids, place)


def _collect_backward(axis: Axis, experts: int, kept: Any, cotangents: Any) -> Any:
    return _dispatch(cotangents, *kept, axis, experts)[0], None, None


_dispatch.defvjp(_dispatch_forward, _dispatch_backward)
_collect.defvjp(_collect_forward, _collect_backward)


def _apart(
    operands: Operands,
    ids: jax.Array,
    place: jax.Array | None,
    routing: Routing,
    gate: Gate,
    capacity: int | None,
    precision: Any,
    axis: Axis | None,
) -> jax.Array:
    """The layer from its parts, for experts that were chosen: what its gradient is taken through."""
    x, weights = operands["x"], _weights(operands, ids, routing)
    if axis is None or place is None:
        return _experts(operands, x, ids, weights, gate, capacity, precision)
    experts = operands["w_gate_up"].shape[0]
    (x, weights), here = _dispatch((x, weights), ids, place, axis, experts)
    y = _experts(operands, x, here, weights, gate, capacity, precision)
    return _collect((y,), ids, place, axis, experts)[0]


@functools.partial(jax.custom_vjp, nondiff_argnums=(2, 3, 4, 5, 6))
def _layer(
    operands: Operands,
    place: jax.Array | None,
    routing: Routing,
    gate: Gate,
    capacity: int | None,
    precision: Any,
    axis: Axis | None,
) -> tuple[jax.Array, jax.Array]:
    """The output and the chosen experts."""
    name = "exact" if operands["x"].dtype != jnp.float32 else precision_name(precision)
    primitive, given = (_layer_p, ()) if place is None else (_ranks_layer_p, (place,))
    out, ids = primitive.bind(
        *operands.values(), *given, names=tuple(operands), routing=routing, gate=gate, capacity=capacity, precision=name, axis=axis,
    )  # fmt: skip
    return out, ids


def _layer_forward(operands: Operands, place: jax.Array | None, *options: Any) -> Any:
    out, ids = _layer(operands, place, *options)
    return (out, ids), (operands, ids, place)


def _layer_backward(
    routing: Routing, gate: Gate, capacity: int | None, precision: Any, axis: Axis | None, kept: Any, cotangents: Any
) -> Any:
    operands, ids, place = kept
    options = (routing, gate, capacity, precision, axis)
    return *jax.vjp(lambda o: _apart(o, ids, place, *options), operands)[1](cotangents[0]), None


_layer.defvjp(_layer_forward, _layer_backward)


# --- what is called ------------------------------------------------------------------------------------------------------------------


def _check(operands: Operands, shapes: Mapping[str, tuple[str, ...]]) -> Operands:
    """Operands that were given, in order, as arrays; their sizes fit the letters of the shapes, and their types each other."""
    sizes: dict[str, tuple[int, str]] = {}
    checked = {}
    for name in _ORDER:
        if operands.get(name) is None:
            continue
        x = jnp.asarray(operands[name])
        if x.dtype.name not in FLOATS:
            raise TypeError(f"{name} has element type {x.dtype}, expected one of {', '.join(FLOATS)}")
        if x.ndim != len(shapes[name]):
            raise TypeError(f"{name} has shape {x.shape}, expected [{', '.join(shapes[name])}]")
        for letter, size in zip(shapes[name], x.shape, strict=True):
            known, where = sizes.setdefault(letter, (size, name))
            if known != size:
                raise TypeError(f"{name} has shape {x.shape}, expected {letter} = {known} as in {where}")
        checked[name] = x
    for name in ("w_gate_up", "b_gate_up", "w_down", "b_down"):
        if name in checked and checked[name].dtype != checked["x"].dtype:
            if not jax.typeof(checked[name]).weak_type:
                raise TypeError(
                    f"{name} has element type {checked[name].dtype} and x {checked['x'].dtype}, expected equal ones"
                )
            checked[name] = checked[name].astype(checked["x"].dtype)
    return dict(zip(checked, vary_alike(*checked.values()), strict=True))


_SHAPES = {
    "x": ("T", "H"),
    "router": ("H", "E"),
    "router_bias": ("E",),
    "selection_bias": ("E",),
    "w_gate_up": ("E", "H", "2F"),
    "b_gate_up": ("E", "2F"),
    "w_down": ("E", "F", "H"),
    "b_down": ("E", "H"),
}


# Of ranks that have their own experts each.
_SHARDS = {n: tuple("E / ranks" if s == "E" and n[1] == "_" else s for s in shape) for n, shape in _SHAPES.items()}


def _choose(what: str, value: str, expected: Sequence[str]) -> None:
    if value not in expected:
        raise ValueError(f"{what} is {value!r}, expected one of {', '.join(expected)}")


def _axis(
    name: str, tokens: int, top_k: int, transport: str | None, pair_capacity: int | None
) -> tuple[Axis, jax.Array]:
    """A mesh axis, and where in the mesh this device is: a number of all other axes, and one of this."""
    manual = tuple(jax.sharding.get_abstract_mesh().manual_axes)
    if name not in manual:
        raise ValueError(
            f"axis_name is {name!r}, expected an axis of a jax.shard_map around the call, which has {list(manual)}"
        )
    if jax.process_count() > 1:
        raise NotImplementedError(
            f"axis_name is {name!r} in a program of {jax.process_count()} processes, expected one"
        )
    others = tuple(n for n in manual if n != name)
    row = jax.lax.axis_index(others) if others else jnp.int32(0)
    place = jnp.stack(vary_alike(row, jax.lax.axis_index(name)))
    most = max(tokens, 1)
    transport = transport or ("exact" if pair_capacity is None else "capacity")
    _choose("transport", transport, ("exact", "capacity", "peer"))
    if transport == "capacity":
        slots = most * max(top_k, 1)
        pair_capacity = slots if pair_capacity is None else min(pair_capacity, slots)
        if pair_capacity < 1:
            raise ValueError(f"pair_capacity is {pair_capacity}, expected at least 1")
    elif pair_capacity is not None:
        raise ValueError(f"pair_capacity is {pair_capacity} with transport {transport!r}, expected 'capacity'")
    return Axis(name, jax.lax.axis_size(name), most, transport, pair_capacity), place.astype(jnp.int32)


def _routing(experts: int, **options: Any) -> Routing:
    o = Routing(**options)
    _choose("score", o.score, ("softmax", "sigmoid"))
    _choose("nan", o.nan, ("last", "propagate"))
    if o.groups < 1 or experts % o.groups:
        raise ValueError(f"groups is {o.groups}, expected a divisor of {experts} experts")
    if not 1 <= o.keep_groups <= o.groups:
        raise ValueError(f"keep_groups is {o.keep_groups}, expected 1 to {o.groups} groups")
    if not 1 <= o.group_top <= experts // o.groups:
        raise ValueError(f"group_top is {o.group_top}, expected 1 to {experts // o.groups} experts of a group")
    if not 1 <= o.top_k <= o.keep_groups * (experts // o.groups):
        raise ValueError(f"top_k is {o.top_k}, expected 1 to {o.keep_groups * (experts // o.groups)} experts")
    return o


def _tokens(x: Any) -> tuple[jax.Array, tuple[int, ...]]:
    """x as a matrix of tokens, and the dimensions before the last."""
    x = jnp.asarray(x)
    if x.ndim < 2:
        raise TypeError(f"x has shape {x.shape}, expected tokens and their elements")
    return x.reshape(-1, x.shape[-1]), x.shape[:-1]


def _ids(ids: Any, leading: tuple[int, ...]) -> jax.Array:
    ids = jnp.asarray(ids)
    if ids.dtype != jnp.int32:
        raise TypeError(f"ids has element type {ids.dtype}, expected int32")
    if ids.ndim != len(leading) + 1 or ids.shape[:-1] != leading or ids.shape[-1] < 1:
        raise TypeError(f"ids has shape {ids.shape}, expected {list(leading)} and the slots of a token")
    return ids.reshape(-1, ids.shape[-1])


def _capacity(capacity: int | None) -> int | None:
    if capacity is not None and capacity < 0:
        raise ValueError(f"capacity is {capacity}, expected at least 0")
    return capacity


def route(
    x: Any,
    router: Any,
    *,
    top_k: int,
    router_bias: Any = None,
    selection_bias: Any = None,
    score: str = "softmax",
    select_first: bool = False,
    renormalize: bool = True,
    scale: float = 1.0,
    groups: int = 1,
    keep_groups: int | None = None,
    group_top: int = 1,
    nan: str = "last",
    precision: Any = None,
) -> tuple[jax.Array, jax.Array]:
    """The experts of each token, best first, and their weights: ids [..., top_k] int32 and weights [..., top_k] float32.

    The logits are x [..., H] times router [H, E], in float32, plus router_bias [E]. `score` ("softmax" or "sigmoid") makes
    scores of all logits, or with select_first of the chosen ones alone. The experts with the largest score (with
    select_first: logit) plus selection_bias [E] are chosen; ties go to the lower number; the bias is not in the weight. With
    groups > 1 only experts of the keep_groups best groups can be chosen; a group is as good as the sum of its group_top best
    experts. renormalize divides by the sum of the chosen scores, scale multiplies last. nan = "last" ranks NaN below every
    number, "propagate" does as JAX does.
    """
    x, leading = _tokens(x)
    given = {"x": x, "router": router, "router_bias": router_bias, "selection_bias": selection_bias}
    operands = _check(given, _SHAPES)
    exact = any(operands[n].dtype != jnp.float32 for n in ("x", "router"))
    routing = _routing(
        operands["router"].shape[1], top_k=top_k, score=score, select_first=select_first, renormalize=renormalize, scale=scale,
        groups=groups, keep_groups=groups if keep_groups is None else keep_groups, group_top=group_top, nan=nan,
        precision="exact" if exact else precision_name(precision),
    )  # fmt: skip
    ids, weights = _route(operands, routing)
    return ids.reshape(*leading, top_k), weights.reshape(*leading, top_k)


def permute(x: Any, ids: Any, num_experts: int, *, capacity: int | None = None) -> tuple[jax.Array, jax.Array]:
    """Rows of x [..., H] for each slot of ids [..., k], by expert, then token, then slot; and how many each expert has.

    An id of -1, or outside 0 to num_experts - 1, is a dropped slot. There are as many rows as slots, or `capacity`: slots past
    it are dropped. Rows that no slot fills are zero.
    """
    x, leading = _tokens(x)
    x, ids = vary_alike(x, _ids(ids, leading))
    rows, sizes, _, _ = _permute(x, ids, num_experts, _capacity(capacity))
    return rows, sizes


def combine(y: Any, ids: Any, weights: Any, num_experts: int, *, capacity: int | None = None) -> jax.Array:
    """The sum of each token's rows of y [M, H], in the order of `permute` for the same ids, times its weights [..., k] (None:
    1): [..., H]. Added in float32 in the order of the slots, rounded once. A slot of weight 0 adds nothing, even if NaN."""
    y, ids = jnp.asarray(y), jnp.asarray(ids)
    leading = ids.shape[:-1]
    ids = _ids(ids, leading)
    rows = ids.size if capacity is None else _capacity(capacity)
    if y.ndim != 2 or y.shape[0] != rows:
        raise TypeError(f"y has shape {y.shape}, expected {rows} rows")
    given = [y, ids]
    if weights is not None:
        weights = jnp.asarray(weights)
        if weights.shape != (*leading, ids.shape[1]):
            raise TypeError(f"weights has shape {weights.shape}, expected {(*leading, ids.shape[1])} as ids")
        given.append(weights.reshape(ids.shape).astype(jnp.float32))
    y, ids, *given = vary_alike(*given)
    out = _combine(y, ids, given[0] if given else None, num_experts, capacity)
    return out.reshape(*leading, y.shape[1])


def moe_layer(
    x: Any,
    router: Any,
    w_gate_up: Any,
    w_down: Any,
    *,
    top_k: int,
    router_bias: Any = None,
    selection_bias: Any = None,
    b_gate_up: Any = None,
    b_down: Any = None,
    score: str = "softmax",
    select_first: bool = False,
    renormalize: bool = True,
    scale: float = 1.0,
    groups: int = 1,
    keep_groups: int | None = None,
    group_top: int = 1,
    nan: str = "last",
    activation: str = "silu",
    layout: str = "concatenated",
    limit: float | None = None,
    alpha: float = 1.0,
    up_offset: float = 0.0,
    capacity: int | None = None,
    precision: Any = None,
    axis_name: str | None = None,
    transport: str | None = None,
    pair_capacity: int | None = None,
) -> jax.Array:
    """A Mixture-of-Experts layer as one program: x [..., H] -> [..., H].

    Routing is that of `route`. Each chosen expert is a gated two-layer network: h = row w_gate_up[e] + b_gate_up[e], with
    w_gate_up [E, H, 2F]; then activation(gate) * (up + up_offset); then times w_down[e] [E, F, H], plus b_down[e]. gate is the
    first half of h and up the second ("concatenated"), or they alternate ("interleaved"). activation: "silu" (gate *
    sigmoid(alpha * gate)), "gelu_tanh", "relu" or "sigmoid"; with `limit` gate is clamped from above and up on both sides
    before it. The results are weighted and added in float32. `capacity` bounds the rows of all experts together; slots past
    it are dropped. The gradient computes the layer again from its inputs.

    With axis_name, inside jax.shard_map, experts are spread over the devices of that mesh axis: each has its own part of
    w_gate_up, w_down and their biases, in the order of the axis, and its own tokens, of which it has as many as the others;
    the router knows all E experts. Tokens travel to the devices of their experts and back. `capacity` is then that of a
    device. All devices must make the call; they are of one process. `transport` says how tokens travel: "exact" (the default)
    sends as many as there are, and on a GPU the host waits for their number; "peer" does too, by stores into the other GPUs'
    memory, and the host waits for nothing; "capacity" sends blocks of one size, with room for pair_capacity slots of a device's
    tokens on each device: by default, and at most, for all of them. Slots past it are dropped, those of the last tokens first.
    """
    x, leading = _tokens(x)
    given = {
        "x": x, "router": router, "router_bias": router_bias, "selection_bias": selection_bias,
        "w_gate_up": w_gate_up, "b_gate_up": b_gate_up, "w_down": w_down, "b_down": b_down,
    }  # fmt: skip
    if axis_name is None:
        for what, value in (("transport", transport), ("pair_capacity", pair_capacity)):
            if value is not None:
                raise ValueError(f"{what} is {value!r} without axis_name, expected None")
        axis, place = None, None
    else:
        axis, place = _axis(axis_name, x.shape[0], top_k, transport, pair_capacity)
    operands = _check(given, _SHAPES if axis is None else _SHARDS)
    experts = operands["router"].shape[1]
    if axis is not None and operands["w_gate_up"].shape[0] * axis.size != experts:
        raise TypeError(
            f"w_gate_up has {operands['w_gate_up'].shape[0]} experts on each of {axis.size} devices of axis {axis.name!r}, and "
            f"router {experts}, expected as many in all"
        )
    both, inner = operands["w_gate_up"].shape[2], operands["w_down"].shape[1]
    if both != 2 * inner:
        raise TypeError(f"w_gate_up has {both} columns and w_down {inner} rows, expected twice as many columns")
    exact = any(operands[n].dtype != jnp.float32 for n in ("x", "router"))
    routing = _routing(
        experts, top_k=top_k, score=score, select_first=select_first, renormalize=renormalize, scale=scale,
        groups=groups, keep_groups=groups if keep_groups is None else keep_groups, group_top=group_top, nan=nan,
        precision="exact" if exact else precision_name(precision),
    )  # fmt: skip
    _choose("activation", activation, ("silu", "gelu_tanh", "relu", "sigmoid"))
    _choose("layout", layout, ("concatenated", "interleaved"))
    if limit is not None and not limit > 0:
        raise ValueError(f"limit is {limit}, expected more than 0")
    if alpha != 1 and activation != "silu":
        raise ValueError(f"alpha is {alpha} with activation {activation!r}, expected 1: silu alone has it")
    gate, capacity = Gate(activation, layout, limit, alpha, up_offset), _capacity(capacity)
    if capacity is None and axis is not None and axis.pair_capacity is not None:
        # Fewer slots arrive than the arriving tokens have.
        capacity = axis.size * min(axis.pair_capacity, axis.arrivals // axis.size * top_k)
    out, _ = _layer(operands, place, routing, gate, capacity, precision, axis)
    return out.reshape(*leading, out.shape[1])
