"""ragged_dot and ragged_dot_general beside JAX's own."""

from typing import Any

from harness import equal, rng
from kit import MODES, jax, jnp, mesh, normal, np, raised, same, sizes
from moe_mlir.jax import ragged_dot, ragged_dot_general

P = jax.sharding.PartitionSpec
TOLERANCE = {jnp.float32: 1e-5, jnp.bfloat16: 2e-2}


def operands(r: np.random.Generator, mode: str, dtype: Any, m: int, k: int, n: int, g: int) -> tuple[jax.Array, ...]:
    rhs = {"kn": (g, k, n), "nk": (g, n, k), "contraction": (m, n)}[mode]
    return normal(r, (m, k), dtype), normal(r, rhs, dtype), jnp.asarray(sizes(r, g, m))


def ours(mode: str, **options: Any) -> Any:
    return lambda x, w, s: ragged_dot_general(x, w, s, MODES[mode], **options)


def theirs(mode: str) -> Any:
    """Modes with a gradient in JAX; that of a contraction is taken through a product with a mask of each group's rows."""

    def masked(x: jax.Array, y: jax.Array, s: jax.Array) -> jax.Array:
        ends = jnp.cumsum(s)
        rows = jnp.arange(x.shape[0])
        mask = (rows >= (ends - s)[:, None]) & (rows < ends[:, None])
        return jnp.einsum(
            "gm,mk,mn->gkn", mask.astype(jnp.float32), x.astype(jnp.float32), y.astype(jnp.float32)
        ).astype(x.dtype)

    def transposed(x: jax.Array, w: jax.Array, s: jax.Array) -> jax.Array:
        return jax.lax.ragged_dot(x, w.transpose(0, 2, 1), s)

    return {"kn": jax.lax.ragged_dot, "nk": transposed, "contraction": masked}[mode]


def dense(x: jax.Array, w: jax.Array, s: jax.Array) -> jax.Array:
    """A product that any transformation takes: every row times every matrix, of which a mask keeps one."""
    group = jnp.searchsorted(jnp.cumsum(s), jnp.arange(x.shape[0]), side="right")
    return jnp.einsum("mg,mk,gkn->mn", jax.nn.one_hot(group, w.shape[0]), x, w)


def check_property(mode: str) -> None:
    """Values and gradients of random products, f32 and bf16, with empty groups and tails."""
    r = rng()
    for dtype, tolerance in TOLERANCE.items():
        for _ in range(3):
            m, k, n, g = (int(v) for v in r.integers(1, (40, 24, 24, 7)))
            x, w, s = operands(r, mode, dtype, m, k, n, g)
            print(mode, jnp.dtype(dtype).name, m, k, n, s)
            same(jax.jit(ours(mode))(x, w, s), theirs(mode)(x, w, s), tolerance)
            ct = jax.eval_shape(theirs(mode), x, w, s)
            ct = normal(r, ct.shape, ct.dtype)

            def pull(f: Any, x: Any = x, w: Any = w, s: Any = s, ct: Any = ct) -> Any:
                return jax.jit(lambda x, w: jax.vjp(lambda x, w: f(x, w, s), x, w)[1](ct))(x, w)

            same(pull(ours(mode)), pull(theirs(mode)), tolerance)


def property_rows() -> None:
    check_property("kn")


def property_rows_of_transposed_weights() -> None:
    check_property("nk")


def property_contraction() -> None:
    check_property("contraction")


def case_forward_mode_and_second_derivatives() -> None:
    r = rng()
    x, w, s = operands(r, "kn", jnp.float32, 9, 4, 3, 3)

    def third(f: Any) -> Any:
        return jax.hessian(lambda w: (f(x, w, s) ** 3).sum())(w)

    same(third(ragged_dot), third(dense), 1e-5)
    push = [jax.jvp(lambda x, f=f: f(x, w, s), (x,), (2 * x,)) for f in (ragged_dot, dense)]
    same(*push, 1e-5)


def case_01_empty_expert_in_the_weight_gradient() -> None:
    s = jnp.array([5, 0, 7, 3, 0, 1], jnp.int32)
    x, w = jnp.ones((16, 64), jnp.bfloat16), jnp.ones((6, 64, 32), jnp.bfloat16)
    dw = jax.jit(jax.grad(lambda w: ragged_dot(x, w, s).astype(jnp.float32).sum()))(w)
    equal(np.asarray(dw), np.broadcast_to(np.asarray(s)[:, None, None], dw.shape))


def case_02_no_rows_and_no_groups() -> None:
    f = jax.jit(jax.value_and_grad(lambda x, w, s: ragged_dot(x, w, s).sum(), (0, 1)))
    for m, g in ((0, 4), (5, 4)):
        value, (dx, dw) = f(jnp.ones((m, 64)), jnp.ones((g, 64, 32)), jnp.zeros(g, jnp.int32))
        assert value == 0 and dx.shape == (m, 64) and not dx.any() and dw.shape == (g, 64, 32) and not dw.any()


def case_03_rows_past_the_last_group_are_zero() -> None:
    x = jnp.ones((8, 16), jnp.bfloat16).at[5:].set(jnp.nan)
    w = jnp.stack([jnp.full((16, 8), v, jnp.bfloat16) for v in (1, 2)])
    s = jnp.array([2, 3], jnp.int32)
    y, dx = jax.value_and_grad(lambda x: ragged_dot(x, w, s).astype(jnp.float32).sum())(x)
    equal(np.asarray(jax.jit(ragged_dot)(x, w, s))[:, 0], [16, 16, 32, 32, 32, 0, 0, 0])
    assert y == 8 * (2 * 16 + 3 * 32) and not dx[5:].any()


def case_23_sizes_are_traced() -> None:
    f = jax.jit(ragged_dot)
    x, w = jnp.ones((8, 16)), jnp.stack([jnp.full((16, 8), v, jnp.float32) for v in (1, 2)])
    for s in ([4, 4], [1, 7], [0, 8]):
        equal(np.asarray(f(x, w, jnp.array(s, jnp.int32)))[:, 0], [16] * s[0] + [32] * s[1])
    assert f._cache_size() == 1


def case_24_group_offset() -> None:
    s = jnp.array([1, 2, 3, 2], jnp.int32)
    x, w = jnp.ones((8, 16)), jnp.stack([jnp.full((16, 8), v, jnp.float32) for v in (1, 2)])
    expected = [0] * 3 + [16] * 3 + [32] * 2
    equal(np.asarray(ragged_dot(x, w, s, group_offset=2))[:, 0], expected)
    for offset in (jnp.array([2]), jnp.int32(2)):
        equal(np.asarray(jax.jit(lambda o: ragged_dot(x, w, s, group_offset=o))(offset))[:, 0], expected)

    def loss(x: jax.Array, w: jax.Array, offset: Any) -> jax.Array:
        return (ragged_dot(x, w, s, group_offset=offset) ** 2).sum()

    grads = [jax.jit(jax.grad(loss, (0, 1)), static_argnums=())(x, w, jnp.int32(2)), jax.grad(loss, (0, 1))(x, w, 2)]
    whole = jnp.concatenate([jnp.zeros_like(w), w])
    dx, dw = jax.grad(lambda x, w: (jax.lax.ragged_dot(x, w, s) ** 2).sum(), (0, 1))(x, whole)
    for found in grads:
        same(found, (dx, dw[2:]), 1e-6)
    local = ragged_dot_general(x, 2 * x, s, MODES["contraction"], group_offset=jnp.int32(1), group_count=2)
    equal(np.asarray(local)[:, 0, 0], [4, 6])


def case_28_sizes_of_another_length_or_type() -> None:
    x, w = jnp.ones((8, 16)), jnp.ones((3, 16, 4))
    for f in (ragged_dot, jax.jit(ragged_dot)):
        said = raised(TypeError, f, x, w, jnp.zeros(4, jnp.int32))
        assert "3" in said and "4" in said, said
        assert "float32" in raised(TypeError, f, x, w, jnp.zeros(3))
        assert "rank 1" in raised(TypeError, f, x, w, jnp.zeros((1, 3), jnp.int32))


def case_what_is_refused_says_why() -> None:
    x, w, s = jnp.ones((8, 16)), jnp.ones((3, 16, 4)), jnp.array([1, 2, 3], jnp.int32)
    for f in (lambda *a, **o: ragged_dot(*a, **o), lambda *a, **o: jax.eval_shape(lambda *a: ragged_dot(*a, **o), *a)):
        assert "int32, expected one of" in raised(TypeError, f, x.astype(int), w, s)
        assert "float32 and rhs bfloat16" in raised(TypeError, f, x, w.astype(jnp.bfloat16), s)
        assert "16 and 15" in raised(TypeError, f, x, w[:, :15], s)
        assert "(16,), expected rank 2" in raised(TypeError, f, x[0], w, s)
        for options, error, word in (
            ({"preferred_element_type": jnp.bfloat16}, TypeError, "bfloat16, expected float32"),
            ({"precision": "bf16_3x3"}, Exception, "bf16_3x3"),
            ({"group_offset": 1}, ValueError, "group_offset is 1, expected 0 to 0"),
            ({"group_offset": jnp.array([1.0])}, TypeError, "float32[1], expected one integer"),
        ):
            said = raised(error, lambda *a, f=f, o=options: f(*a, **o), x, w, s)
            assert word in said, said
    batch = jax.lax.RaggedDotDimensionNumbers((((2,), (1,)), ((0,), (0,))), (0,), ())
    said = raised(NotImplementedError, ragged_dot_general, jnp.ones((2, 3, 4)), jnp.ones((2, 4, 5)), s[:2], batch)
    assert "batch ((0,), (0,))" in said, said


def case_weak_types_and_wider_results() -> None:
    x, w, s = jnp.ones((6, 4), jnp.bfloat16), jnp.ones((2, 4, 3), jnp.bfloat16), jnp.array([2, 4], jnp.int32)
    weak = jax.lax.full_like(jnp.asarray(1.0), 1.0, shape=(2, 4, 3))
    assert jax.typeof(weak).weak_type
    y = jax.jit(ragged_dot)(x, weak, s)
    assert y.dtype == jnp.bfloat16 and not jax.typeof(y).weak_type
    wide = ragged_dot(x * 1.0078125, w, s, preferred_element_type=jnp.float32)
    equal(np.asarray(wide), np.full((6, 3), 4.03125))
    assert wide.dtype == jnp.float32
    dx, dw = jax.grad(lambda x, w: ragged_dot(x, w, s, preferred_element_type=jnp.float32).sum(), (0, 1))(x, w)
    assert dx.dtype == dw.dtype == jnp.bfloat16


def case_x64_on() -> None:
    with jax.enable_x64(True):
        x, w, s = jnp.ones((6, 4), jnp.float32), jnp.ones((2, 4, 3), jnp.float32), jnp.array([2, 3])
        assert s.dtype == jnp.int64
        f = jax.jit(jax.value_and_grad(lambda x, w: ragged_dot(x, w, s).sum(), (0, 1)))
        same(f(x, w), jax.value_and_grad(lambda x, w: jax.lax.ragged_dot(x, w, s).sum(), (0, 1))(x, w), 1e-6)
        assert "float64" in raised(TypeError, ragged_dot, x.astype(jnp.float64), w, s)


def case_vmap_over_any_operands() -> None:
    r = rng()
    x, w = normal(r, (3, 9, 4), jnp.float32), normal(r, (3, 2, 4, 5), jnp.float32)
    s = jnp.array([[4, 5], [0, 9], [3, 3]], jnp.int32)
    every = (x, w, s)
    for mask in ((1, 1, 1), (1, 0, 1), (0, 1, 0), (0, 0, 1)):
        args = [a if v else a[0] for a, v in zip(every, mask, strict=True)]
        axes = tuple(0 if v else None for v in mask)
        one_by_one = [
            jax.lax.ragged_dot(*(a[i] if v else a for a, v in zip(args, mask, strict=True))) for i in range(3)
        ]
        same(jax.jit(jax.vmap(ragged_dot, axes))(*args), jnp.stack(one_by_one), 1e-5)
    grads = jax.vmap(jax.grad(lambda x, w, s: (ragged_dot(x, w, s) ** 2).sum(), (0, 1)))(*every)
    expected = [
        jax.grad(lambda x, w, s: (jax.lax.ragged_dot(x, w, s) ** 2).sum(), (0, 1))(x[i], w[i], s[i]) for i in range(3)
    ]
    same(grads, jax.tree.map(lambda *a: jnp.stack(a), *expected), 1e-5)
    same(
        jax.vmap(ragged_dot, (2, None, None))(x.transpose(1, 2, 0), w[0], s[0])[1],
        jax.lax.ragged_dot(x[1], w[0], s[0]),
        1e-5,
    )


def case_remat_scan_and_donation() -> None:
    r = rng()
    x, ws = normal(r, (12, 8), jnp.float32), normal(r, (5, 3, 8, 8), jnp.float32)
    s = jnp.array([4, 0, 6], jnp.int32)

    def deep(f: Any) -> Any:
        layer = jax.checkpoint(lambda x, w: (jnp.tanh(f(x, w, s)), None))
        return jax.jit(jax.value_and_grad(lambda x, ws: jax.lax.scan(layer, x, ws)[0].sum(), (0, 1)))(x, ws)

    same(deep(ragged_dot), deep(jax.lax.ragged_dot), 1e-5)
    donated = jax.jit(lambda x, w: ragged_dot(x, w, s) + x, donate_argnums=0)
    expected = jax.lax.ragged_dot(x, ws[0], s) + x
    same(donated(jnp.array(x), ws[0]), expected, 1e-5)


def case_shard_map_over_two_devices() -> None:
    r = rng()
    x, w = normal(r, (24, 8), jnp.float32), normal(r, (3, 8, 5), jnp.float32)
    s = jnp.array([[5, 0, 4], [2, 7, 3]], jnp.int32)

    def local(f: Any) -> Any:
        return lambda x, w, s: jax.lax.psum((f(x, w, s[0]) ** 2).sum(), "d")

    def whole(x: jax.Array, w: jax.Array) -> jax.Array:
        return sum((jax.lax.ragged_dot(x[12 * i :][:12], w, s[i]) ** 2).sum() for i in range(2))

    expected = jax.value_and_grad(whole, (0, 1))(x, w)
    for check in (True, False):
        f = jax.shard_map(
            local(ragged_dot), mesh=mesh(), in_specs=(P("d"), P(), P("d")), out_specs=P(), check_vma=check
        )
        same(jax.jit(jax.value_and_grad(f, (0, 1)))(x, w, s), expected, 1e-5)
    # Local experts: each device has its groups, of rows that both have.
    x, w, s = x[:12], normal(r, (4, 8, 5), jnp.float32), jnp.array([3, 2, 0, 5], jnp.int32)

    def experts(x: jax.Array, w: jax.Array) -> jax.Array:
        return jax.lax.psum(ragged_dot(x, w, s, group_offset=2 * jax.lax.axis_index("d")), "d")

    f = jax.shard_map(experts, mesh=mesh(), in_specs=(P(), P("d")), out_specs=P())
    grads = [
        jax.jit(jax.value_and_grad(lambda x, w, f=f: (f(x, w) ** 2).sum(), (0, 1)))
        for f in (f, lambda x, w: jax.lax.ragged_dot(x, w, s))
    ]
    same(grads[0](x, w), grads[1](x, w), 1e-5)


def case_sharded_operands() -> None:
    """Without shard_map XLA brings the operands together; types that say a sharding are refused."""
    x, w, s = jnp.ones((8, 4)), jnp.ones((2, 4, 3)), jnp.array([3, 4], jnp.int32)
    apart = jax.device_put(x, jax.sharding.NamedSharding(mesh(), P("d")))
    same(jax.jit(ragged_dot)(apart, w, s), jax.lax.ragged_dot(x, w, s), 0)
    explicit = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Explicit,))
    with jax.set_mesh(explicit):
        apart = jax.device_put(x, jax.sharding.NamedSharding(explicit, P("d")))
        assert "jax.shard_map" in raised(NotImplementedError, ragged_dot, apart, w, s)
