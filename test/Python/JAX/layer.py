"""route, permute, combine and moe_layer beside the same written in plain JAX, values and gradients."""

from typing import Any

from harness import equal, rng
from kit import jax, jnp, mesh, normal, np, raised, same
from moe_mlir.jax import combine, moe_layer, permute, ragged_dot, route

P = jax.sharding.PartitionSpec


def plain_route(x: jax.Array, p: dict[str, jax.Array], *, top_k: int, **o: Any) -> tuple[jax.Array, jax.Array]:
    logits = x.astype(jnp.float32) @ p["router"].astype(jnp.float32) + p.get("router_bias", 0)
    score = jax.nn.sigmoid if o.get("score") == "sigmoid" else jax.nn.softmax
    scores = logits if o.get("select_first") else score(logits)
    biased = scores + p.get("selection_bias", 0)
    groups = o.get("groups", 1)
    if groups > 1:
        apart = biased.reshape(x.shape[0], groups, -1)
        best = jax.lax.top_k(apart, o["group_top"])[0].sum(-1)
        keep = jax.nn.one_hot(jax.lax.top_k(best, o["keep_groups"])[1], groups).sum(1) > 0
        biased = jnp.where(keep[:, :, None], apart, -jnp.inf).reshape(biased.shape)
    ids = jax.lax.top_k(jax.lax.stop_gradient(biased), top_k)[1]
    weights = jnp.take_along_axis(scores, ids, 1)
    if o.get("select_first"):
        weights = score(weights)
    if o.get("renormalize", True):
        weights = weights / weights.sum(-1, keepdims=True)
    return ids, weights * o.get("scale", 1.0)


def plain_activation(h: jax.Array, **o: Any) -> jax.Array:
    gate, up = (h[:, ::2], h[:, 1::2]) if o.get("layout") == "interleaved" else jnp.split(h, 2, 1)
    if "limit" in o:
        gate, up = jnp.minimum(gate, o["limit"]), jnp.clip(up, -o["limit"], o["limit"])
    act = {"silu": lambda g: g * jax.nn.sigmoid(o.get("alpha", 1) * g), "gelu_tanh": jax.nn.gelu, "relu": jax.nn.relu}
    return act[o.get("activation", "silu")](gate) * (up + o.get("up_offset", 0.0))


def plain_layer(p: dict[str, jax.Array], **o: Any) -> jax.Array:
    """Every token through every expert; a token's weight of an expert that it did not choose is 0."""
    ids, weights = plain_route(p["x"], p, **o)
    dense = jnp.zeros((ids.shape[0], p["router"].shape[1])).at[jnp.arange(ids.shape[0])[:, None], ids].add(weights)
    out = 0.0
    for e in range(p["router"].shape[1]):
        h = p["x"] @ p["w_gate_up"][e] + (p["b_gate_up"][e] if "b_gate_up" in p else 0)
        y = plain_activation(h, **o) @ p["w_down"][e] + (p["b_down"][e] if "b_down" in p else 0)
        out = out + dense[:, e, None] * y
    return out


def parameters(r: np.random.Generator, t: int, h: int, e: int, f: int, *, biases: str = "") -> dict[str, jax.Array]:
    shapes = {
        "x": (t, h), "router": (h, e), "w_gate_up": (e, h, 2 * f), "w_down": (e, f, h),
        "router_bias": (e,), "selection_bias": (e,), "b_gate_up": (e, 2 * f), "b_down": (e, h),
    }  # fmt: skip
    chosen = ["x", "router", "w_gate_up", "w_down", *biases.split()]
    return {n: normal(r, shapes[n], jnp.float32) * (0.1 if n == "selection_bias" else 1) for n in chosen}


def check_layer(p: dict[str, jax.Array], **options: Any) -> None:
    """Values, and gradients with respect to all parameters."""

    def pull(f: Any) -> Any:
        return jax.jit(lambda p: jax.value_and_grad(lambda p: (f(p) ** 2).sum())(p))(p)

    same(pull(lambda p: moe_layer(**p, **options)), pull(lambda p: plain_layer(p, **options)), 2e-5)


def property_mixtral() -> None:
    r = rng()
    t, h, e, f = (int(v) for v in r.integers((1, 2, 2, 1), (20, 24, 9, 12)))
    k = int(r.integers(1, e + 1))
    # The renormalised weight of one expert is 1, whose gradient is noise.
    check_layer(parameters(r, t, h, e, f), top_k=k, renormalize=k > 1 and bool(r.integers(2)))


def property_gpt_oss() -> None:
    r = rng()
    p = parameters(r, 9, 15, 8, 7, biases="router_bias b_gate_up b_down")
    check_layer(p, top_k=3, select_first=True, layout="interleaved", limit=1.5, alpha=1.702, up_offset=1.0)


def property_deepseek_v3() -> None:
    r = rng()
    p = parameters(r, 11, 12, 16, 6, biases="selection_bias")
    check_layer(p, top_k=3, score="sigmoid", groups=4, keep_groups=2, group_top=2, scale=2.5)


def property_other_activations() -> None:
    r = rng()
    for activation in ("gelu_tanh", "relu"):
        check_layer(parameters(r, 6, 8, 4, 5), top_k=2, activation=activation)


def case_bf16_with_a_router_in_f32() -> None:
    r = rng()
    p = parameters(r, 12, 16, 4, 8)
    wide = {n: v.astype(jnp.bfloat16).astype(jnp.float32) for n, v in p.items() if n != "router"} | {
        "router": p["router"]
    }
    narrow = {n: v.astype(jnp.bfloat16) for n, v in p.items() if n != "router"} | {"router": p["router"]}
    out = jax.jit(lambda p: moe_layer(**p, top_k=2))(narrow)
    assert out.dtype == jnp.bfloat16
    same(out.astype(jnp.float32), plain_layer(wide, top_k=2), 2e-2)
    grads = jax.grad(lambda p: moe_layer(**p, top_k=2).astype(jnp.float32).sum())(narrow)
    expected = jax.grad(lambda p: plain_layer(p, top_k=2).sum())(wide)
    for n, g in grads.items():
        assert g.dtype == narrow[n].dtype
        same(g.astype(jnp.float32), expected[n], 5e-2)


def property_bf16_of_many_tokens() -> None:
    """Tiles that are whole and tiles that are not."""
    r = rng()
    t, h, e, f = int(r.integers(130, 400)), 192, int(r.integers(2, 9)), 136
    p = {n: v / v.shape[-2] ** 0.5 if v.ndim > 1 and n != "x" else v for n, v in parameters(r, t, h, e, f).items()}
    narrow = {n: v if n == "router" else v.astype(jnp.bfloat16) for n, v in p.items()}
    wide = {n: v.astype(jnp.float32) for n, v in narrow.items()}
    out, back = jax.vjp(jax.jit(lambda p: moe_layer(**p, top_k=2)), narrow)
    expected, pull = jax.vjp(lambda p: plain_layer(p, top_k=2), wide)
    same(out.astype(jnp.float32), expected, 2e-2)
    cotangent = normal(r, (t, h), jnp.bfloat16)
    expected_grads = pull(cotangent.astype(jnp.float32))[0]
    for n, g in back(cotangent)[0].items():
        same(g.astype(jnp.float32), expected_grads[n], 5e-2)


def case_leading_dimensions_and_no_tokens() -> None:
    p = parameters(rng(), 12, 8, 4, 3)
    flat = moe_layer(**p, top_k=2)
    same(moe_layer(**{**p, "x": p["x"].reshape(3, 4, 8)}, top_k=2), flat.reshape(3, 4, 8), 0)
    assert moe_layer(**{**p, "x": p["x"][:0]}, top_k=2).shape == (0, 8)


def case_parts_make_the_layer() -> None:
    p = parameters(rng(), 13, 8, 5, 6)

    def apart(p: dict[str, jax.Array]) -> jax.Array:
        ids, weights = route(p["x"], p["router"], top_k=2)
        rows, sizes = permute(p["x"], ids, 5)
        y = ragged_dot(plain_activation(ragged_dot(rows, p["w_gate_up"], sizes)), p["w_down"], sizes)
        return combine(y, ids, weights, 5)

    grads = [
        jax.jit(jax.value_and_grad(lambda p, f=f: (f(p) ** 2).sum()))(p)
        for f in (apart, lambda p: plain_layer(p, top_k=2))
    ]
    same(*grads, 2e-5)


def case_06_ties_go_to_the_lower_number() -> None:
    x, router = jnp.eye(2), jnp.array([[1.0, 3, 3, 3, 0, 2], [7] * 6])
    ids, weights = jax.jit(lambda x: route(x, router, top_k=2))(x)
    equal(np.asarray(ids), [[1, 2], [0, 1]])
    equal(np.asarray(weights), [[0.5, 0.5]] * 2)


def case_07_nan_in_the_router() -> None:
    x, router = jnp.eye(2), jnp.array([[jnp.nan] * 4, [0.0, 1, 2, 3]])
    ids, weights = route(x @ jnp.eye(2), jnp.where(jnp.isnan(router), jnp.nan, router), top_k=2)
    assert jnp.isfinite(weights).all() and ids[0].tolist() == [0, 1], (ids, weights)


def case_08_masked_groups_never_win() -> None:
    """Whatever the signs."""
    bias = jnp.array([-0.7, -0.9, -1.1, -1.4])
    ids, _ = route(
        jnp.eye(1), jnp.zeros((1, 4)), top_k=2, score="sigmoid", selection_bias=bias, groups=2, keep_groups=1
    )
    equal(np.asarray(ids), [[0, 1]])


def case_09_the_selection_bias_is_not_in_the_weight() -> None:
    bias = jnp.array([0, 0, 0.3, 0.1])
    ids, weights = route(
        jnp.eye(1), jnp.zeros((1, 4)), top_k=2, score="sigmoid", selection_bias=bias, renormalize=False
    )
    equal(np.asarray(ids), [[2, 3]])
    equal(np.asarray(weights), [[0.5, 0.5]])


def case_29_scores_that_sum_to_zero() -> None:
    bias = jnp.array([0, 0.1, 0.2, 0.3])

    def weights(x: jax.Array) -> jax.Array:
        return route(x, jnp.full((1, 4), -120.0), top_k=2, score="sigmoid", selection_bias=bias)[1]

    ids, found = route(jnp.eye(1), jnp.full((1, 4), -120.0), top_k=2, score="sigmoid", selection_bias=bias)
    equal(np.asarray(ids), [[3, 2]])
    equal(np.asarray(found), [[0, 0]])
    assert jnp.isfinite(jax.grad(lambda x: weights(x).sum())(jnp.eye(1))).all()


def case_10_an_id_out_of_range_is_dropped() -> None:
    x = jnp.arange(1.0, 9).reshape(2, 4)
    ids = jnp.array([[0, -1], [2, 3]], jnp.int32)
    rows, sizes = jax.jit(lambda x: permute(x, ids, 4))(x)
    equal(np.asarray(sizes), [1, 0, 1, 1])
    equal(np.asarray(rows), np.stack([x[0], x[1], x[1], 0 * x[0]]))
    out = combine(rows, ids, None, 4)
    equal(np.asarray(out), np.stack([x[0], 2 * x[1]]))
    dx = jax.grad(lambda x: (permute(x, ids, 4)[0] * jnp.arange(1.0, 5)[:, None]).sum())(x)
    equal(np.asarray(dx), np.broadcast_to([[1], [5]], (2, 4)))


def case_11_capacity() -> None:
    x, ids = jnp.arange(1.0, 5)[:, None], jnp.array([[0, 1]] * 4, jnp.int32)
    rows, sizes = permute(x, ids, 2, capacity=5)
    equal(np.asarray(rows)[:, 0], [1, 2, 3, 4, 1])
    equal(np.asarray(combine(rows, ids, None, 2, capacity=5))[:, 0], [2, 2, 3, 4])
    dy = jax.grad(lambda y: (combine(y, ids, None, 2, capacity=5)[:, 0] * jnp.arange(1.0, 5)).sum())(rows)
    equal(np.asarray(dy)[:, 0], [1, 2, 3, 4, 1])
    p = parameters(rng(), 8, 6, 3, 4)
    same(moe_layer(**p, top_k=2, capacity=16), moe_layer(**p, top_k=2), 0)
    assert not moe_layer(**p, top_k=2, capacity=0).any()
    dx = jax.grad(lambda x: moe_layer(**{**p, "x": x}, top_k=1, renormalize=True, capacity=2).sum())(p["x"])
    assert jnp.isfinite(dx).all() and (abs(dx).sum(1) > 0).sum() == 2


def case_18_combine_adds_in_f32() -> None:
    y, ids = jnp.array([[256.0], [1], [1], [-256]], jnp.bfloat16), jnp.array([[0, 1, 2, 3]], jnp.int32)
    equal(np.asarray(combine(y, ids, jnp.ones((1, 4)), 4)), [[2]])


def case_19_a_bias_is_weighted() -> None:
    x, zero = jnp.ones((1, 1)), jnp.zeros
    router = jnp.log(jnp.array([[0.25, 0.75]]))
    out = moe_layer(x, router, zero((2, 1, 2)), zero((2, 1, 1)), top_k=2, b_down=jnp.array([[1.0], [3.0]]))
    same(out, jnp.array([[2.5]]), 1e-6)


def case_20_layouts_of_gate_and_up() -> None:
    h, eye = jnp.array([[1.0, 2, 3, 4]]), jnp.eye(4)[None]
    for layout, expected in (("concatenated", [2.1932, 7.0464]), ("interleaved", [1.4621, 11.4309])):
        down = jnp.pad(jnp.eye(2), ((0, 0), (0, 2)))[None]
        out = moe_layer(h, jnp.zeros((4, 1)), eye, down, top_k=1, layout=layout)
        same(out[0, :2], jnp.array(expected), 1e-4)


def case_weights_of_zero_and_their_gradient() -> None:
    y, ids = jnp.array([[jnp.nan], [2.0]]), jnp.array([[0, 1]], jnp.int32)
    equal(np.asarray(combine(y, ids, jnp.array([[0.0, 3]]), 2)), [[6]])
    dw = jax.grad(lambda w: combine(jnp.array([[5.0], [2.0]]), ids, w, 2).sum())(jnp.ones((1, 2)))
    equal(np.asarray(dw), [[5, 2]])


def case_vmap_scan_and_remat() -> None:
    p = parameters(rng(), 10, 6, 4, 5)
    xs = jnp.stack([p["x"], 2 * p["x"], -p["x"]])
    same(
        jax.jit(jax.vmap(lambda x: moe_layer(**{**p, "x": x}, top_k=2)))(xs),
        jnp.stack([plain_layer({**p, "x": x}, top_k=2) for x in xs]),
        2e-5,
    )

    def deep(layer: Any) -> Any:
        block = jax.checkpoint(lambda x, w: (x + layer({**p, "x": x, "w_down": w}), None))
        ws = jnp.stack([p["w_down"], 0.5 * p["w_down"], -p["w_down"]])
        return jax.jit(jax.grad(lambda x: jax.lax.scan(block, x, ws)[0].sum()))(p["x"])

    same(deep(lambda p: moe_layer(**p, top_k=2)), deep(lambda p: plain_layer(p, top_k=2)), 1e-4)


def case_shard_map_over_two_devices() -> None:
    p = parameters(rng(), 12, 6, 4, 5)
    specs = {n: P("d") if n == "x" else P() for n in p}

    def total(p: dict[str, jax.Array]) -> jax.Array:
        return jax.lax.psum((moe_layer(**p, top_k=2) ** 2).sum(), "d")

    expected = jax.value_and_grad(lambda p: (plain_layer(p, top_k=2) ** 2).sum())(p)
    for check in (True, False):
        f = jax.shard_map(total, mesh=mesh(), in_specs=(specs,), out_specs=P(), check_vma=check)
        same(jax.jit(jax.value_and_grad(f))(p), expected, 2e-5)


def case_donation_and_weak_types() -> None:
    p = parameters(rng(), 6, 8, 4, 3)
    expected = moe_layer(**p, top_k=2)
    step = jax.jit(lambda x, p: x + moe_layer(**{**p, "x": x}, top_k=2), donate_argnums=0)
    same(step(jnp.array(p["x"]), p), p["x"] + expected, 1e-6)
    narrow = {n: v.astype(jnp.bfloat16) for n, v in p.items()}
    weak = jax.lax.full_like(jnp.asarray(1.0), 1.0, shape=(4, 8))
    assert jax.typeof(weak).weak_type
    out = jax.jit(lambda b: moe_layer(**narrow, b_down=b, top_k=2))(weak)
    assert out.dtype == jnp.bfloat16 and not jax.typeof(out).weak_type
    same(out, moe_layer(**narrow, b_down=weak.astype(jnp.bfloat16), top_k=2), 0)


def case_x64_on() -> None:
    p = parameters(rng(), 6, 8, 4, 3)
    expected = moe_layer(**p, top_k=2)
    with jax.enable_x64(True):
        same(jax.jit(lambda p: moe_layer(**p, top_k=2))(p), expected, 0)
        grads = jax.grad(lambda p: moe_layer(**p, top_k=2).sum())(p)
    assert all(g.dtype == jnp.float32 for g in grads.values())


def case_what_is_refused_says_why() -> None:
    p = parameters(rng(), 6, 8, 4, 3)

    def said(error: type[Exception], changed: dict[str, Any] | None = None, **options: Any) -> str:
        found = [raised(error, f, {**p, **(changed or {})}) for f in (
            lambda p: moe_layer(**p, **{"top_k": 2, **options}), lambda p: jax.eval_shape(lambda p: moe_layer(**p, **{"top_k": 2, **options}), p)
        )]  # fmt: skip
        assert found[0] == found[1], found
        return found[0]

    assert "expected H = 8 as in x" in said(TypeError, {"router": jnp.ones((7, 4))})
    assert "expected [E, F, H]" in said(TypeError, {"w_down": jnp.ones((4, 3))})
    assert "w_gate_up has 8 columns and w_down 3 rows" in said(TypeError, {"w_gate_up": jnp.ones((4, 8, 8))})
    assert "bfloat16 and x float32" in said(TypeError, {"w_down": p["w_down"].astype(jnp.bfloat16)})
    assert "x has element type int32" in said(TypeError, {"x": jnp.ones((6, 8), int)})
    assert "top_k is 5, expected 1 to 4" in said(ValueError, top_k=5)
    assert "score is 'max', expected one of softmax, sigmoid" in said(ValueError, score="max")
    assert "nan is 'first'" in said(ValueError, nan="first")
    assert "groups is 3, expected a divisor of 4" in said(ValueError, groups=3)
    assert "keep_groups is 3, expected 1 to 2" in said(ValueError, groups=2, keep_groups=3)
    assert "group_top is 3, expected 1 to 2" in said(ValueError, groups=2, group_top=3)
    assert "activation is 'tanh'" in said(ValueError, activation="tanh")
    assert "layout is 'halves'" in said(ValueError, layout="halves")
    assert "limit is 0" in said(ValueError, limit=0.0)
    assert "alpha is 2.0 with activation 'relu'" in said(ValueError, activation="relu", alpha=2.0)
    assert "capacity is -1" in said(ValueError, capacity=-1)
    x, ids = p["x"], jnp.zeros((6, 2), jnp.int32)
    assert "(8,), expected tokens" in raised(TypeError, lambda: route(x[0], p["router"], top_k=1))
    assert "float32, expected int32" in raised(TypeError, lambda: permute(x, ids.astype(float), 4))
    assert "(5, 2), expected [6]" in raised(TypeError, lambda: permute(x, ids[:5], 4))
    assert "expected 12 rows" in raised(TypeError, lambda: combine(x, ids, None, 4))
    assert "(6, 3), expected (6, 2)" in raised(TypeError, lambda: combine(jnp.ones((12, 8)), ids, jnp.ones((6, 3)), 4))
    assert "jvp" in raised(TypeError, lambda: jax.jvp(lambda x: moe_layer(**{**p, "x": x}, top_k=2), (x,), (x,)))
