"""Ragged products: drop-in forms of jax.lax.ragged_dot and ragged_dot_general."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
from jax.interpreters import ad

from ..products import Product
from ._program import Result, define, dtype_name, vary_alike

FLOATS = ("float32", "bfloat16", "float16")

# (contracting, ragged, group) dimensions of the products that there are: mode and layout.
_FORMS: dict[tuple[Any, ...], tuple[str, str]] = {
    (((1,), (1,)), (0,), (0,)): ("rows", "kn"),
    (((1,), (2,)), (0,), (0,)): ("rows", "nk"),
    (((0,), (0,)), (0,), ()): ("contraction", "kn"),
}
_ROWS = jax.lax.RaggedDotDimensionNumbers((((1,), (1,)), ((), ())), (0,), (0,))


def _text(lhs: Any, rhs: Any, sizes: Any, *, product: Product) -> tuple[str, Sequence[Result]]:
    shape = tuple(lhs.shape[0] if s is None else s for s in product.out_shape)
    return product.text(), [Result(shape, _dtypes[product.out])]


_dtypes = {dtype_name(name): jnp.dtype(name) for name in FLOATS}
product_p = define("moe_ragged_dot", _text)


def _bind(lhs: jax.Array, rhs: jax.Array, sizes: jax.Array, product: Product) -> jax.Array:
    """The product; operands of unlike types meet in f32, and so does their result."""
    wanted = _dtypes[product.out]
    if lhs.dtype != rhs.dtype:
        lhs, rhs = lhs.astype(jnp.float32), rhs.astype(jnp.float32)
        product = replace(product, out="f32")
    (out,) = product_p.bind(lhs, rhs, sizes, product=replace(product, dtype=dtype_name(lhs.dtype)))
    return out.astype(wanted)


def _differentiate(primals: Sequence[Any], tangents: Sequence[Any], *, product: Product) -> tuple[Any, Any]:
    lhs, rhs, sizes = primals
    changes = []
    for i, tangent in enumerate(tangents[:2]):
        if not isinstance(tangent, ad.Zero):
            changes.append(product_p.bind(*((tangent, rhs) if i == 0 else (lhs, tangent)), sizes, product=product)[0])
    out = product_p.bind(lhs, rhs, sizes, product=product)
    return out, [sum(changes[1:], changes[0])]


def _transpose(cotangents: Sequence[Any], lhs: Any, rhs: Any, sizes: Any, *, product: Product) -> Sequence[Any]:
    (cotangent,) = cotangents
    of_lhs = ad.is_undefined_primal(lhs)
    aval = (lhs if of_lhs else rhs).aval
    if isinstance(cotangent, ad.Zero):
        found: Any = ad.Zero(aval)
    else:
        found = _adjoint(cotangent, lhs, rhs, sizes, product, dtype_name(aval.dtype))
    return (found, None, None) if of_lhs else (None, found, None)


def _adjoint(cotangent: jax.Array, lhs: Any, rhs: Any, sizes: jax.Array, p: Product, out: str) -> jax.Array:
    """The cotangent of the operand that is undefined, of type `out`. Each mode's adjoints are products of the other."""
    rows = replace(p, mode="rows", out=out)
    swapped = replace(p, k=p.n, n=p.k, out=out)
    of_lhs = ad.is_undefined_primal(lhs)
    if p.mode == "contraction":
        # dw[k, n] = x^T y: of x it is y dw^T, of y it is x dw.
        if of_lhs:
            return _bind(rhs, cotangent, sizes, replace(swapped, mode="rows", layout="nk"))
        return _bind(lhs, cotangent, sizes, replace(rows, layout="kn"))
    if of_lhs:
        return _bind(cotangent, rhs, sizes, replace(swapped, layout="nk" if p.layout == "kn" else "kn"))
    if p.layout == "kn":
        return _bind(lhs, cotangent, sizes, replace(p, mode="contraction", out=out))
    return _bind(cotangent, lhs, sizes, replace(swapped, mode="contraction", layout="kn"))


ad.primitive_jvps[product_p] = _differentiate
ad.primitive_transposes[product_p] = _transpose


# --- checks ------------------------------------------------------------------------------------------------------------------------


def _operand(x: Any, name: str, rank: int) -> jax.Array:
    x = jnp.asarray(x)
    if x.dtype.name not in FLOATS:
        raise TypeError(f"{name} has element type {x.dtype}, expected one of {', '.join(FLOATS)}")
    if x.ndim != rank:
        raise TypeError(f"{name} has shape {x.shape}, expected rank {rank}")
    return x


def _same_type(lhs: jax.Array, rhs: jax.Array) -> tuple[jax.Array, jax.Array]:
    """A weakly typed operand takes the other's type."""
    if lhs.dtype != rhs.dtype:
        if jax.typeof(lhs).weak_type:
            return lhs.astype(rhs.dtype), rhs
        if jax.typeof(rhs).weak_type:
            return lhs, rhs.astype(lhs.dtype)
        raise TypeError(f"lhs has element type {lhs.dtype} and rhs {rhs.dtype}, expected equal ones")
    return lhs, rhs


def check_sizes(sizes: Any) -> jax.Array:
    sizes = jnp.asarray(sizes)
    if sizes.dtype not in (jnp.int32, jnp.int64):
        raise TypeError(f"group_sizes has element type {sizes.dtype}, expected int32 or int64")
    if sizes.ndim != 1:
        raise TypeError(f"group_sizes has shape {sizes.shape}, expected rank 1 (vmap takes more)")
    return sizes


def precision_name(precision: Any) -> str:
    """ "tf32" where JAX lets f32 operands be rounded to it, else "exact"."""
    names = {str(getattr(p, "name", p)).lower() for p in (precision if isinstance(precision, tuple) else (precision,))}
    if names == {"none"}:
        names = {str(jax.config.values["jax_default_matmul_precision"]).lower()}
    if names <= {"none", "default", "fastest", "tensorfloat32", "tf32_tf32_f32"}:
        return "tf32"
    if names <= {"none", "default", "high", "highest", "float32", "f32_f32_f32", "tensorfloat32", "bfloat16_3x"}:
        return "exact"
    raise NotImplementedError(f"precision {precision}, expected DEFAULT, HIGH or HIGHEST")


def _offset(sizes: jax.Array, offset: Any, count: int) -> tuple[jax.Array, dict[str, Any]]:
    """Sizes and attributes of a product of `count` groups from `offset` on. An offset of the device's becomes a group of
    all the rows before."""
    groups: int = sizes.shape[0]
    if count > groups:
        raise TypeError(f"{count} groups, but group_sizes has {groups}")
    if isinstance(offset, int):
        if not 0 <= offset <= groups - count:
            raise ValueError(f"group_offset is {offset}, expected 0 to {groups - count}: {count} of {groups} groups")
        return sizes, {"groups": groups, "local": count, "offset": offset}
    offset = jnp.asarray(offset)
    if not jnp.issubdtype(offset.dtype, jnp.integer) or offset.size != 1:
        raise TypeError(f"group_offset is {offset.dtype}{list(offset.shape)}, expected one integer")
    offset = jnp.clip(offset.reshape(()), 0, groups - count)
    before = jnp.sum(jnp.where(jnp.arange(groups) < offset, jnp.maximum(sizes, 0), 0), dtype=sizes.dtype)
    local = jax.lax.dynamic_slice(sizes, (offset,), (count,))
    return jnp.concatenate([before[None], local]), {"groups": count + 1, "local": count, "offset": 1}


def ragged_dot(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
) -> jax.Array:
    """jax.lax.ragged_dot: rows of lhs [m, k], sorted by group, times the group's matrix of rhs [g, k, n] -> [m, n].

    group_sizes [g] is int32 or int64; rows past their sum are zero in the result and not read. With group_offset (an int, or
    an integer on the device) rhs holds the g groups from there on, and the rows of all other groups are zero. Accumulates in
    f32. Differentiable any number of times, in both modes.
    """
    return ragged_dot_general(lhs, rhs, group_sizes, _ROWS, precision, preferred_element_type, group_offset)


def ragged_dot_general(
    lhs: Any,
    rhs: Any,
    group_sizes: Any,
    ragged_dot_dimension_numbers: jax.lax.RaggedDotDimensionNumbers,
    precision: Any = None,
    preferred_element_type: Any = None,
    group_offset: Any = None,
    group_count: int | None = None,
) -> jax.Array:
    """jax.lax.ragged_dot_general for its products with one ragged dimension and no batch.

    | contracting | ragged | group | operands | result |
    |---|---|---|---|---|
    | 1, 1 | 0 | 0 | [m, k], [g, k, n] | [m, n] |
    | 1, 2 | 0 | 0 | [m, k], [g, n, k] | [m, n] |
    | 0, 0 | 0 | - | [m, k], [m, n] | [g, k, n]: for each group the sum over its rows |

    With group_offset the last has group_count groups, from there on.
    """
    numbers = ragged_dot_dimension_numbers
    contracting, batch = numbers.dot_dimension_numbers
    ragged, group = tuple(numbers.lhs_ragged_dimensions), tuple(numbers.rhs_group_dimensions)
    form = _FORMS.get((tuple(map(tuple, contracting)), ragged, group))
    if form is None or any(batch):
        raise NotImplementedError(
            f"ragged_dot_general with contracting dimensions {contracting}, batch {batch}, ragged {ragged} and group {group}; "
            f"there are {', '.join(map(str, _FORMS))} without batch"
        )
    mode, layout = form
    lhs = _operand(lhs, "lhs", 2)
    rhs = _operand(rhs, "rhs", 3 if mode == "rows" else 2)
    lhs, rhs = _same_type(lhs, rhs)
    sizes = check_sizes(group_sizes)
    k, n = (lhs.shape[1], rhs.shape[2 if layout == "kn" else 1]) if mode == "rows" else (lhs.shape[1], rhs.shape[1])
    left, right = (k, rhs.shape[1 if layout == "kn" else 2]) if mode == "rows" else (lhs.shape[0], rhs.shape[0])
    if left != right:
        raise TypeError(f"lhs has shape {lhs.shape} and rhs {rhs.shape}: the contracted sizes are {left} and {right}")
    out = jnp.dtype(preferred_element_type or lhs.dtype)
    if out not in (lhs.dtype, jnp.float32):
        raise TypeError(f"preferred_element_type is {out}, expected {lhs.dtype} or float32")
    count = rhs.shape[0] if mode == "rows" else sizes.shape[0] if group_count is None else group_count
    if group_offset is None:
        if count != sizes.shape[0]:
            raise TypeError(f"rhs has {count} groups and group_sizes {sizes.shape[0]}, expected as many")
        where: dict[str, Any] = {"groups": count}
    else:
        sizes, where = _offset(sizes, group_offset, count)
    exact = lhs.dtype != jnp.float32 or precision_name(precision) == "exact"
    product = Product(
        k, n, mode=mode, layout=layout, out=dtype_name(out), sizes=dtype_name(sizes.dtype),
        precision="exact" if exact else "tf32", **where,
    )  # fmt: skip
    lhs, rhs, sizes = vary_alike(lhs, rhs, sizes)
    return _bind(lhs, rhs, sizes, product)
