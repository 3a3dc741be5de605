"""moe_layer over the devices of a mesh axis beside the layer of one device: values and gradients for any spread of tokens."""

from typing import Any

from harness import rng
from kit import environment, jax, jnp, mesh, normal, np, raised, same
from moe_mlir.jax import _program as program
from moe_mlir.jax import moe_layer, route

P = jax.sharding.PartitionSpec
H, F = 16, 6
SHARDED = ("x", "w_gate_up", "w_down", "b_gate_up", "b_down")


def parameters(r: np.random.Generator, experts: int, tokens: int, *biases: str) -> dict[str, jax.Array]:
    """The router's logits are four times a token's first elements."""
    shapes = {
        "x": (tokens, H), "w_gate_up": (experts, H, 2 * F), "w_down": (experts, F, H),
        "b_gate_up": (experts, 2 * F), "b_down": (experts, H), "router_bias": (experts,), "selection_bias": (experts,),
    }  # fmt: skip
    p = {n: normal(r, shapes[n], jnp.float32) / 4 for n in ("x", "w_gate_up", "w_down", *biases)}
    return {**p, "router": jnp.eye(H, experts) * 4}


def tokens_for(r: np.random.Generator, ids: np.ndarray, experts: int) -> jax.Array:
    """Tokens that choose these experts, a row's ids apart from each other."""
    x = r.standard_normal((len(ids), H)).astype(np.float32)
    x[:, :experts] = -1 - r.random((len(ids), experts))
    np.put_along_axis(x, ids, 1 + r.random(ids.shape).astype(np.float32), 1)
    return jnp.asarray(x)


def workloads(r: np.random.Generator, experts: int, k: int, size: int, tokens: int) -> dict[str, np.ndarray]:
    """Ids of all tokens."""
    count, mine = size * tokens, experts // size
    any_ = np.arange(experts)

    def ids(allowed: np.ndarray) -> np.ndarray:
        return np.stack([r.permutation(allowed)[:k] for _ in range(count)])

    def first(preferred: np.ndarray) -> np.ndarray:
        """Those, then others."""
        rest = np.setdiff1d(any_, preferred)
        return np.stack([np.concatenate([r.permutation(preferred), r.permutation(rest)])[:k] for _ in range(count)])

    hot = int(r.integers(size)) * mine
    found = {
        "uniform": ids(any_),
        "one hot expert": first(np.array([experts - 1])),
        "a hot rank": first(np.arange(hot, hot + mine)),
        "rotating hot spots": (any_[:k] + np.arange(count)[:, None] // tokens * mine) % experts,
        "one expert alone": np.stack([np.roll(any_, -e)[:k] for e in np.repeat(3 % experts, count)]),
    }
    if experts - mine >= k:
        found["an empty rank"] = ids(np.setdiff1d(any_, np.arange(hot, hot + mine)))
    return found


def over(m: jax.sharding.Mesh, axis: str, p: dict[str, jax.Array], **options: Any) -> Any:
    """The layer over an axis, as a function of whole parameters; tokens are spread over the other axes, too."""
    tokens = tuple(m.axis_names)
    specs = {n: P(tokens) if n == "x" else P(axis) if n in SHARDED else P() for n in p}
    return jax.shard_map(
        lambda p: moe_layer(**p, **options, axis_name=axis), mesh=m, in_specs=(specs,), out_specs=P(tokens)
    )


def pulled(f: Any) -> Any:
    """Values, and gradients of what `live` tokens give."""

    def loss(p: dict[str, jax.Array], live: jax.Array) -> Any:
        out = f(p)
        return ((out * live[:, None]) ** 2).sum(), out

    return jax.jit(jax.value_and_grad(loss, has_aux=True))


def check(size: int, experts: int, k: int, *biases: str, transport: str | None = None, **options: Any) -> None:
    r, tokens = rng(), 5
    p = parameters(r, experts, size * tokens, *biases)
    ours = pulled(over(mesh(size), "d", p, top_k=k, transport=transport, **options))
    one = pulled(lambda p: moe_layer(**p, top_k=k, **options))
    live = jnp.ones(size * tokens)
    for name, ids in workloads(r, experts, k, size, tokens).items():
        given = {**p, "x": tokens_for(r, ids, experts)}
        print(name)
        same(ours(given, live), one(given, live), 1e-5)
    print("a rank with zero live tokens")
    live = live.at[:tokens].set(0)
    given = {**p, "x": p["x"].at[:tokens].set(0)}
    same(ours(given, live), one(given, live), 1e-5)


def property_2_devices() -> None:
    check(2, 6, 2)


def property_2_devices_and_more_slots_than_ranks() -> None:
    check(2, 8, 5, renormalize=False)


def property_2_devices_gpt_oss() -> None:
    check(
        2, 4, 2, "router_bias", "b_gate_up", "b_down", select_first=True, layout="interleaved", limit=1.5, alpha=1.702, up_offset=1.0,
    )  # fmt: skip


def property_4_devices_deepseek_v3() -> None:
    check(4, 16, 3, "selection_bias", score="sigmoid", groups=4, keep_groups=2, group_top=2, scale=2.5)


def property_8_devices() -> None:
    check(8, 8, 3)


def property_3_devices_in_equal_blocks() -> None:
    """With room for all slots."""
    check(3, 6, 2, transport="capacity")


def property_2_devices_by_stores() -> None:
    check(2, 6, 2, "b_gate_up", transport="peer")


def case_2_devices_in_bf16() -> None:
    r = rng()
    p = parameters(r, 4, 12)
    narrow = {n: v if n == "router" else v.astype(jnp.bfloat16) for n, v in p.items()}

    def grads(f: Any) -> Any:
        return jax.jit(jax.grad(lambda p: f(p).astype(jnp.float32).sum()))(narrow)

    ours = over(mesh(), "d", narrow, top_k=2)
    same(jax.jit(ours)(narrow), moe_layer(**narrow, top_k=2), 1e-2)
    same(grads(ours), grads(lambda p: moe_layer(**p, top_k=2)), 2e-2)


def case_2_devices_without_tokens_and_with_a_capacity() -> None:
    p = parameters(rng(), 4, 12)
    none = {**p, "x": p["x"][:0]}
    assert over(mesh(), "d", none, top_k=2)(none).shape == (0, H)
    same(over(mesh(), "d", p, top_k=2, capacity=24)(p), moe_layer(**p, top_k=2), 1e-5)
    assert not over(mesh(), "d", p, top_k=2, capacity=0)(p).any()
    # Experts 0 and 1 are on one device: its first 5 slots are those of the first 5 tokens of expert 0.
    x = tokens_for(np.random.default_rng(0), np.array([[0, 1]] * 12), 4)
    out, grads = pulled(over(mesh(), "d", p, top_k=2, capacity=5))({**p, "x": x}, jnp.ones(12))
    assert (np.abs(out[1]).sum(1) > 0).tolist() == [True] * 5 + [False] * 7
    assert grads["w_down"][0].any() and not grads["w_down"][1:].any()


def case_2_devices_that_drop_what_a_pair_has_no_room_for() -> None:
    """Beside the layer of one device in which those slots have weight 0."""
    r, tokens, room = rng(), 8, 5
    p = parameters(r, 4, 2 * tokens)
    ids = np.stack([r.permutation(4)[:2] for _ in range(2 * tokens)])
    ids[tokens:] = [0, 1]  # the second device's tokens all go to the first, with twice as many slots as tokens
    p["x"] = tokens_for(r, ids, 4)
    (live, found), grads = pulled(over(mesh(), "d", p, top_k=2, pair_capacity=room))(p, jnp.ones(2 * tokens))

    # Slots in the order of the router's choice; of a device's tokens the first 5 for each device have room.
    chosen, _ = route(p["x"], p["router"], top_k=2)
    kept = np.zeros(ids.shape, bool)
    for source in range(2):
        for target in range(2):
            mine = np.arange(2 * tokens)[:, None] // tokens == source
            kept |= (there := mine & (np.asarray(chosen) // 2 == target)) & (there.cumsum().reshape(ids.shape) <= room)
    assert not kept.all() and kept[tokens:].sum() == room

    def expected(p: dict[str, jax.Array]) -> jax.Array:
        chosen, weights = route(p["x"], p["router"], top_k=2)
        out = 0
        for slot in range(2):
            up, down = p["w_gate_up"][chosen[:, slot]], p["w_down"][chosen[:, slot]]
            gate, linear = jnp.split(jnp.einsum("th,thf->tf", p["x"], up, precision="highest"), 2, axis=1)
            y = jnp.einsum("tf,tfh->th", jax.nn.silu(gate) * linear, down, precision="highest")
            out = out + jnp.where(kept[:, slot, None], weights[:, slot, None] * y, 0)
        return out

    (total, value), by_hand = pulled(expected)(p, jnp.ones(2 * tokens))
    same((live, found, grads), (total, value, by_hand), 1e-4)


def case_two_communicators_interleaved() -> None:
    """Layers over both axes of a mesh, one after another and side by side, in one computation, many times."""
    r = rng()
    p = parameters(r, 4, 24)
    m = mesh(2, 2, names="ab")
    layers = [over(m, axis, p, top_k=2) for axis in "ab"]

    def both(p: dict[str, jax.Array], f: Any, g: Any) -> jax.Array:
        x = f({**p, "x": g(p) + p["x"]})
        return f({**p, "x": -x}) + g({**p, "x": x}) + f(p)

    ours = pulled(lambda p: both(p, *map(jax.jit, layers)))
    one = pulled(lambda p: both(p, *[lambda p: moe_layer(**p, top_k=2)] * 2))
    expected = one(p, jnp.ones(24))
    found = [ours(p, jnp.ones(24)) for _ in range(10)]
    for f in found:
        same(f, expected, 1e-4)


def case_under_scan_and_checkpoint() -> None:
    p = parameters(rng(), 4, 8)

    def deep(f: Any) -> Any:
        block = jax.checkpoint(lambda x, w: (x + f({**p, "x": x, "w_down": w}), None))
        ws = jnp.stack([p["w_down"], -p["w_down"], 0.5 * p["w_down"]])
        return jax.jit(jax.value_and_grad(lambda x: jax.lax.scan(block, x, ws)[0].sum()))(p["x"])

    same(deep(over(mesh(4), "d", p, top_k=2)), deep(lambda p: moe_layer(**p, top_k=2)), 1e-4)


def case_under_vmap() -> None:
    p = parameters(rng(), 4, 8)
    xs = jnp.stack([p["x"], -p["x"], 2 * p["x"]])
    ours = over(mesh(), "d", p, top_k=2)
    same(
        jax.jit(jax.vmap(lambda x: ours({**p, "x": x})))(xs),
        jnp.stack([moe_layer(**{**p, "x": x}, top_k=2) for x in xs]),
        1e-5,
    )


def case_unchecked_replication() -> None:
    p = parameters(rng(), 4, 8)
    specs = {n: P("d") if n in SHARDED else P() for n in p}

    def total(p: dict[str, jax.Array]) -> jax.Array:
        return jax.lax.psum((moe_layer(**p, top_k=2, axis_name="d") ** 2).sum(), "d")

    f = jax.shard_map(total, mesh=mesh(), in_specs=(specs,), out_specs=P(), check_vma=False)
    same(jax.jit(jax.value_and_grad(f))(p), jax.value_and_grad(lambda p: (moe_layer(**p, top_k=2) ** 2).sum())(p), 1e-5)


def case_a_rank_that_never_calls_is_named() -> None:
    """By an exception, within the time-out; the next run works."""
    p = parameters(rng(), 4, 8)
    specs = {n: P("d") if n in SHARDED else P() for n in p}

    def layer(p: dict[str, jax.Array], absent: jax.Array) -> jax.Array:
        away = jax.lax.axis_index("d") == absent
        return jax.lax.cond(away, lambda p: p["x"], lambda p: moe_layer(**p, top_k=2, axis_name="d"), p)

    f = jax.jit(jax.shard_map(layer, mesh=mesh(4), in_specs=(specs, P()), out_specs=P("d"), check_vma=False))
    with environment(MOE_COMM_TIMEOUT_MS="2000"):
        said = raised(jax.errors.JaxRuntimeError, f, p, jnp.int32(2))
        assert "rank 2 did not take part in exchange 1 within 2000 ms of rank" in said, said
        said = raised(jax.errors.JaxRuntimeError, f, p, jnp.int32(1))
        assert "rank 1 did not take part in exchange 1 within 2000 ms of rank" in said, said
    same(f(p, jnp.int32(-1)), moe_layer(**p, top_k=2), 1e-5)


def case_what_is_refused_says_why() -> None:
    p = parameters(rng(), 4, 8)
    said = raised(ValueError, lambda: moe_layer(**p, top_k=2, axis_name="d"))
    assert said == "axis_name is 'd', expected an axis of a jax.shard_map around the call, which has []", said
    wrong = jax.shard_map(
        lambda p: moe_layer(**p, top_k=2, axis_name="f"), mesh=mesh(2, 2, names="de"), in_specs=P(), out_specs=P()
    )
    assert "axis_name is 'f'" in (said := raised(ValueError, wrong, p)) and "['d', 'e']" in said, said
    said = raised(TypeError, lambda: over(mesh(), "d", p, top_k=2)({**p, "router": jnp.ones((H, 6))}))
    assert "w_gate_up has 2 experts on each of 2 devices of axis 'd', and router 6" in said, said
    said = raised(TypeError, lambda: over(mesh(), "d", p, top_k=2)({**p, "w_down": jnp.ones((6, F, H))}))
    assert "expected E / ranks = 2 as in w_gate_up" in said, said
    for wrong, expected in (
        ({"transport": "mail"}, "transport is 'mail', expected one of exact, capacity, peer"),
        ({"transport": "peer", "pair_capacity": 4}, "pair_capacity is 4 with transport 'peer', expected 'capacity'"),
        ({"pair_capacity": 0}, "pair_capacity is 0, expected at least 1"),
    ):
        said = raised(ValueError, lambda options=wrong: over(mesh(), "d", p, top_k=2, **options)(p))
        assert said == expected, said
    said = raised(ValueError, lambda: moe_layer(**p, top_k=2, transport="peer"))
    assert said == "transport is 'peer' without axis_name, expected None", said
    said = raised(ValueError, lambda: moe_layer(**p, top_k=2, pair_capacity=4))
    assert said == "pair_capacity is 4 without axis_name, expected None", said
    processes, jax.process_count = jax.process_count, lambda: 2
    try:
        said = raised(NotImplementedError, lambda: over(mesh(), "d", p, top_k=2)(p))
    finally:
        jax.process_count = processes
    assert "axis_name is 'd' in a program of 2 processes, expected one" in said, said


TEXT = """func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %y = moe.all_to_all %x {axis = "d", ranks = 2} : tensor<2x3xf32> -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}
"""


def call(x: jax.Array, place: Any, text: str = TEXT, ranks: bool = True) -> jax.Array:
    """The custom call itself."""
    outs = [jax.ShapeDtypeStruct((2, 3), jnp.float32), jax.ShapeDtypeStruct((4096,), jnp.uint8)]
    target = program.RANKS_TARGET if ranks else program.TARGET
    made = jax.ffi.ffi_call(target, outs, has_side_effect=True)
    operands = (place, x) if ranks else (x,)
    return made(*operands, program=text, version=program._runtime().version)[0]


def case_handlers_refuse_wrong_calls() -> None:
    error, x = jax.errors.JaxRuntimeError, jnp.ones((2, 3))
    run = jax.jit(call, static_argnames=("text", "ranks"))
    said = raised(error, lambda: run(x, jnp.zeros(3, jnp.int32)))
    assert "the first operand is not s32[2], the row and the rank" in said, said
    said = raised(error, lambda: run(x, jnp.array([0, 2], jnp.int32)))
    assert "the custom call runs on rank 2 of 2" in said, said
    said = raised(
        error,
        lambda: run(
            x,
            jnp.zeros(2, jnp.int32),
            text="func.func @f(%x: tensor<2x3xf32>) -> tensor<2x3xf32> { return %x : tensor<2x3xf32> }",
        ),
    )
    assert "the program is for one device, which moe_execute runs" in said, said
    said = raised(error, lambda: run(x, None, ranks=False))
    assert "comm is NULL, but entry 'f' is for 2 ranks of axis 'd'" in said, said


def case_devices_in_any_order() -> None:
    """The rank is the place in the mesh, not the device's number; rows do not mix."""
    devices = np.array(jax.devices()[:4])[[2, 0, 3, 1]].reshape(2, 2)
    m = jax.sharding.Mesh(devices, ("r", "d"), axis_types=(jax.sharding.AxisType.Auto,) * 2)
    x = jnp.arange(8.0 * 3).reshape(8, 3)

    def body(x: jax.Array) -> jax.Array:
        place = jnp.stack([jax.lax.axis_index("r"), jax.lax.axis_index("d")]).astype(jnp.int32)
        return call(x, place)

    y = jax.jit(jax.shard_map(body, mesh=m, in_specs=P(("r", "d")), out_specs=P(("r", "d")), check_vma=False))(x)
    same(y, x[np.array([0, 2, 1, 3, 4, 6, 5, 7])], 0)
