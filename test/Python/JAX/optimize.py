"""optimize: blocks written as JAX users write them, beside JAX's own results, and what becomes of their StableHLO."""

from collections.abc import Callable
from typing import Any

from harness import rng
from kit import jax, jnp, normal, np, same
from moe_mlir.jax import _optimize, optimize

T, H, E, F, K = 12, 16, 8, 24, 2
BIAS = np.linspace(-0.3, 0.3, E, dtype=np.float32)


def arguments(r: Any, dtype: Any = jnp.float32) -> tuple[jax.Array, ...]:
    """x, router, gate and up, down."""
    return (
        normal(r, (T, H), dtype),
        normal(r, (H, E), dtype) / 4,
        normal(r, (E, H, 2 * F), dtype) / 4,
        normal(r, (E, F, H), dtype) / 4,
    )


def scatter_block(x: jax.Array, router: jax.Array, w1: jax.Array, w2: jax.Array) -> jax.Array:
    """A sort by expert, and a scatter-add back."""
    weight, expert = jax.lax.top_k(jax.nn.softmax((x @ router).astype(jnp.float32), -1), K)
    weight = (weight / weight.sum(-1, keepdims=True)).astype(x.dtype)
    slots = expert.reshape(-1)
    order = jnp.argsort(slots, stable=True)
    token = order // K
    sizes = jnp.bincount(slots, length=E).astype(jnp.int32)
    gate, up = jnp.split(jax.lax.ragged_dot(x[token], w1, sizes), 2, -1)
    y = jax.lax.ragged_dot(jax.nn.silu(gate) * up, w2, sizes) * weight.reshape(-1)[order][:, None]
    return jnp.zeros_like(x).at[token].add(y)


def unsort_block(x: jax.Array, router: jax.Array, w1: jax.Array, w2: jax.Array) -> jax.Array:
    """As MaxText: batches, three products, an unsort and an einsum."""
    gate, up = w1[..., :F], w1[..., F:]
    inputs = x.reshape(2, T // 2, H)
    logits = jnp.einsum("bsh,he->bse", inputs, router)
    weight, expert = jax.lax.top_k(logits, K)
    weight = jax.nn.softmax(weight.astype(jnp.float32), axis=-1).astype(x.dtype)
    tokens = inputs.reshape(-1, H)
    order = jnp.argsort(jnp.ravel(expert))
    rows = jnp.take(tokens, order // K, axis=0)
    sizes = jnp.bincount(jnp.ravel(expert), length=E).astype(jnp.int32)
    hidden = jax.nn.silu(jax.lax.ragged_dot(rows, gate, sizes)) * jax.lax.ragged_dot(rows, up, sizes)
    y = jax.lax.ragged_dot(hidden, w2, sizes)
    slots = jnp.take(y, jnp.argsort(order), axis=0).reshape(-1, K, H)
    out = jnp.einsum("tkh,tk->th", slots, weight.reshape(-1, K))
    return out.reshape(inputs.shape).reshape(T, H)


def repeat_block(x: jax.Array, router: jax.Array, w1: jax.Array, w2: jax.Array) -> jax.Array:
    """As in Flax: tokens repeated, GeGLU, a weighted sum over the slots."""
    probabilities = jax.nn.softmax(jnp.dot(x.astype(jnp.float32), router.astype(jnp.float32)))
    weight, expert = jax.lax.top_k(probabilities, K)
    order = jnp.argsort(expert.ravel())
    rows = jnp.repeat(x, K, axis=0)[order]
    sizes = jnp.bincount(expert.ravel(), length=E).astype(jnp.int32)
    gate, up = jnp.split(jax.lax.ragged_dot(rows, w1, sizes), 2, -1)
    y = jax.lax.ragged_dot(jax.nn.gelu(gate, approximate=True) * up, w2, sizes)
    back = jnp.zeros_like(order).at[order].set(jnp.arange(order.size, dtype=order.dtype))
    return (y[back].reshape(-1, K, H) * weight[..., None].astype(x.dtype)).sum(1)


def biased_block(x: jax.Array, router: jax.Array, w1: jax.Array, w2: jax.Array) -> jax.Array:
    """As DeepSeek: a bias for the choice alone, weights scaled."""
    scores = jax.nn.sigmoid(x @ router)
    _, expert = jax.lax.top_k(scores + BIAS, K)
    weight = jnp.take_along_axis(scores, expert, -1)
    weight = weight / (weight.sum(-1, keepdims=True) + 1e-20) * 2.5
    slots = expert.reshape(-1)
    order = jnp.argsort(slots, stable=True)
    sizes = jnp.bincount(slots, length=E).astype(jnp.int32)
    gate, up = jnp.split(jax.lax.ragged_dot(x[order // K], w1, sizes), 2, -1)
    y = jax.lax.ragged_dot(jax.nn.silu(gate) * up, w2, sizes) * weight.reshape(-1)[order][:, None]
    return jnp.zeros_like(x).at[order // K].add(y)


BLOCKS: dict[str, Callable[..., jax.Array]] = {
    "scatter": scatter_block,
    "unsort": unsort_block,
    "repeat": repeat_block,
    "biased": biased_block,
}


def text_of(fn: Callable[..., Any], *args: Any) -> str:
    """What becomes of a function's StableHLO on a CPU."""
    return _optimize._Source(fn, args).text("cpu")


def case_blocks_are_raised_whole() -> None:
    for name, block in BLOCKS.items():
        text = text_of(block, *arguments(rng()))
        assert text.count("stablehlo.custom_call") == 1, f"{name}:\n{text}"
        for op in ("ragged_dot", "top_k", "sort", "scatter", "gather"):
            assert f'"stablehlo.{op}"' not in text and f'"chlo.{op}"' not in text, f"{name} has {op} left:\n{text}"


def case_one_token() -> None:
    x, *weights = arguments(rng())
    for block in (scatter_block, repeat_block, biased_block):
        text = text_of(block, x[:1], *weights)
        for op in ("ragged_dot", "top_k", "sort", "scatter", "gather", "reduce"):
            assert f'"stablehlo.{op}"' not in text and f'"chlo.{op}"' not in text, f"{op} is left:\n{text}"
        assert text.count("stablehlo.custom_call") == 1, text
        same(optimize(block)(x[:1], *weights), block(x[:1], *weights), 1e-5)


def property_blocks() -> None:
    r = rng()
    for block in BLOCKS.values():
        args = arguments(r)
        same(optimize(block)(*args), block(*args), 1e-5)
    # Its router computes in f32: XLA need not round bf16 logits, and then chooses other experts.
    args = arguments(r, jnp.bfloat16)
    same(optimize(repeat_block)(*args), repeat_block(*args), 3e-2)


def case_nan_goes_where_jax_lets_it_go() -> None:
    x, router, w1, w2 = arguments(rng())
    for block in BLOCKS.values():
        args = (x.at[3, 1].set(jnp.nan), router, w1, w2)
        same(optimize(block)(*args), block(*args), 1e-5)


def case_gradients() -> None:
    args = arguments(rng())

    def loss(*a: jax.Array) -> jax.Array:
        return jnp.square(scatter_block(*a)).sum()

    expected = jax.grad(loss, (0, 1, 2, 3))(*args)
    same(optimize(jax.grad(loss, (0, 1, 2, 3)))(*args), expected, 1e-4)
    same(jax.grad(optimize(loss), (0, 1, 2, 3))(*args), expected, 1e-4)


def property_a_gradient_is_raised_whole() -> None:
    """Of a block whose cotangent is given, in both types."""
    r = rng()
    for block in (scatter_block, repeat_block):
        for dtype in (jnp.float32, jnp.bfloat16):
            args = arguments(r, dtype)

            def pull(ct: jax.Array, *a: jax.Array, block: Callable[..., jax.Array] = block) -> Any:
                return jax.vjp(block, *a)[1](ct)

            text = text_of(pull, args[0], *args)
            assert text.count("stablehlo.custom_call") == 1 and text.count('"stablehlo.') == 1, text
            if dtype == jnp.float32:  # XLA need not round bf16 logits, and then chooses other experts
                same(optimize(pull)(args[0], *args), pull(args[0], *args), 1e-5)
            elif block == repeat_block:  # whose router computes in f32
                same(optimize(pull)(args[0], *args), pull(args[0], *args), 3e-2)


def case_a_loss_stays_beside_its_gradient() -> None:
    args = arguments(rng())

    def loss(*a: jax.Array) -> jax.Array:
        return jnp.square(scatter_block(*a)).sum()

    step = jax.value_and_grad(loss, (0, 1, 2, 3))
    text = text_of(step, *args)
    assert text.count("stablehlo.custom_call") == 1 and text.count('"stablehlo.reduce"') == 1, text
    same(optimize(step)(*args), step(*args), 1e-4)


def case_under_transformations() -> None:
    args = arguments(rng())
    ours = optimize(scatter_block)
    expected = scatter_block(*args)
    same(jax.jit(ours)(*args), expected, 1e-5)
    same(jax.lax.scan(lambda x, _: (ours(x, *args[1:]), None), args[0], None, length=1)[0], expected, 1e-5)


def case_a_function_without_ragged_dots_stays() -> None:
    same(optimize(jnp.sin)(jnp.arange(3.0)), jnp.sin(jnp.arange(3.0)), 0)
    assert "custom_call" not in text_of(jnp.sin, jnp.arange(3.0))
