"""Whole MoE layers inside jit on a GPU: ours, the same program and moe-run's called from C, and plain JAX. jax_products.py runs this.

Shapes, routing and data are those of layer.py: a router with a bias, even. Variants:

  jit  moe_layer in one jit
  c    the program of jit's custom call, for any number of tokens, called through the C runtime on the same buffers
  run  the layer of layer.py, which says its number of tokens and has weights [E, N, K]: what moe-run runs
  jax  the layer in plain JAX, with jax.lax.ragged_dot

All are compared with the layer in float32 on a sample of tokens first. jit, c and run take turns; plain JAX, which is slow, runs once.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax_calls import Wait, added_copies, custom_call, from_c, measure, timed
from layer import SHAPES, Shape
from moe_mlir.jax import moe_layer


def normal(key: int, shape: tuple[int, ...], scale: float = 1.0) -> jax.Array:
    def draw(k: jax.Array) -> jax.Array:
        # Matrix by matrix: the generator works in f32.
        if len(shape) == 3:
            return jax.lax.map(
                lambda k: jax.random.normal(k, shape[1:], jnp.bfloat16) * scale, jax.random.split(k, shape[0])
            )
        return jax.random.normal(k, shape, jnp.bfloat16) * scale

    return jax.jit(draw)(jax.random.key(key)).astype(jnp.bfloat16)


Parameters = dict[str, jax.Array]


def parameters(s: Shape) -> Parameters:
    return {
        "x": normal(0, (s.t, s.h)),
        "router": normal(1, (s.h, s.e), s.h**-0.5),
        "router_bias": jnp.zeros(s.e),
        "w_gate_up": normal(2, (s.e, s.h, 2 * s.f), s.h**-0.5),
        "w_down": normal(3, (s.e, s.f, s.h), s.f**-0.5),
    }


def route(p: Parameters, k: int) -> tuple[jax.Array, jax.Array]:
    logits = jnp.dot(p["x"].astype(jnp.float32), p["router"].astype(jnp.float32), precision="highest")
    weights, ids = jax.lax.top_k(jax.nn.softmax(logits + p["router_bias"], -1), k)
    return ids, weights / weights.sum(-1, keepdims=True)


def plain(p: Parameters, k: int) -> jax.Array:
    """As one writes it in JAX."""
    ids, weights = route(p, k)
    order = jnp.argsort(ids.reshape(-1), stable=True)
    token = order // k
    sizes = jnp.bincount(ids.reshape(-1), length=p["router"].shape[1]).astype(jnp.int32)
    gate, up = jnp.split(jax.lax.ragged_dot(p["x"][token], p["w_gate_up"], sizes), 2, -1)
    y = jax.lax.ragged_dot(jax.nn.silu(gate) * up, p["w_down"], sizes)
    y = y * weights.astype(y.dtype).reshape(-1)[order][:, None]
    return jnp.zeros_like(p["x"]).at[token].add(y)


def expected(p: Parameters, k: int, tokens: jax.Array) -> jax.Array:
    """These tokens through every expert, in float32; a token's weight of an expert that it did not choose is 0."""
    ids, weights = route(p, k)
    experts = p["router"].shape[1]
    dense = (jax.nn.one_hot(ids[tokens], experts) * weights[tokens][..., None]).sum(1)

    def add(out: jax.Array, expert: Any) -> Any:
        w_gate_up, w_down, weight = expert
        h = jnp.dot(p["x"][tokens], w_gate_up, preferred_element_type=jnp.float32)
        gate, up = jnp.split(h, 2, -1)
        a = (jax.nn.silu(gate) * up).astype(jnp.bfloat16)
        return out + weight[:, None] * jnp.dot(a, w_down, preferred_element_type=jnp.float32), None

    zero = jnp.zeros((tokens.size, p["x"].shape[1]))
    return jax.lax.scan(add, zero, (p["w_gate_up"], p["w_down"], dense.T))[0]


def layer(name: str, wait: Wait, rounds: int, peer: bool) -> dict[str, Any]:
    s = SHAPES[name]
    p = parameters(s)
    lowered = jax.jit(lambda p: moe_layer(**p, top_k=s.k)).lower(p)
    ours = lowered.compile()
    tokens = jnp.arange(0, s.t, s.t // 64)
    wanted = jax.jit(expected, static_argnums=1)(p, s.k, tokens)
    found: dict[str, Any] = {"shape": name, "what": "layer", "copies": added_copies(ours), "errors": {}}

    def compare(variant: str, y: jax.Array, bound: float = 2.0**-5) -> None:
        """The largest error of a token, of its largest element."""
        errors = jnp.abs(y[tokens] - wanted).max(1) / jnp.abs(wanted).max(1)
        found["errors"][variant] = error = float(errors.max())
        assert error < bound, f"{variant}: a token is off by {error} of its largest element"

    y = ours(p)
    compare("jit", y)
    of_run = {"x": p["x"], "router": p["router"], "bias": p["router_bias"]}
    of_run |= {to: jnp.swapaxes(p[n], 1, 2) for to, n in (("w1", "w_gate_up"), ("w2", "w_down"))}
    outs = {variant: jnp.full_like(y, jnp.nan) for variant in ("c", "run")}
    calls = {
        "c": from_c(custom_call(lowered), p, [outs["c"], jnp.zeros((s.t, s.k), jnp.int32)]),
        "run": from_c(s.text(), of_run, [outs["run"]]),
    }
    for variant, call in calls.items():
        call()
        wait()
        compare(variant, outs[variant])
    times = {}
    if peer:
        theirs = jax.jit(plain, static_argnums=1)
        compare("jax", theirs(p, s.k), 2.0**-4)
        times["jax"] = timed(lambda: theirs(p, s.k), wait)
    times |= measure({"jit": lambda: ours(p), **calls}, wait, rounds)
    return {**found, **{n: {**t, "tflops": s.flops / t["ms"] / 1e9} for n, t in times.items()}}
