"""Router, plan, gather and combine: the cases of public bug reports, each by its number, and their kin without one."""

import numpy as np
import reference
import texts
from harness import bf16, close, compile, equal, f32, i32, refused, rng, tensor

NAN, INF = np.nan, np.inf


def case_05_as_many_slots_as_a_launch_grid_has_not() -> None:
    tokens, k, experts, h = 8192, 8, 16, 16
    ids = ((np.arange(tokens)[:, None] + np.arange(k)) % experts).astype(i32)
    x = np.repeat((np.arange(tokens) % 256)[:, None], h, 1).astype(f32)
    sizes, *_ = compile(texts.plan_fields(experts, tokens, k)).run(ids)
    equal(sizes, np.full(experts, 4096))
    program = compile(texts.permute_combine(experts, tokens, k, h, f32))
    _, out = program.run(x, ids, np.full((tokens, k), 1 / 8, f32))
    equal(out, x)


def case_06_ties_go_to_the_lowest_id() -> None:
    program = compile(texts.router(6, 2))
    logits = np.array([[1, 3, 3, 3, 0, 2], [7] * 6], f32)
    first = program.run(logits)
    equal(first[0], [[1, 2], [0, 1]])
    for run in range(20):
        ids, weights = program.run(logits, threads=1 + run % 4)
        assert ids.tobytes() == first[0].tobytes() and weights.tobytes() == first[1].tobytes(), f"run {run}"


def case_07_a_row_of_nan_logits() -> None:
    program = compile(texts.router(4, 2))
    ids, weights = program.run(np.array([[NAN] * 4, [0, 1, 2, 3]], f32))
    equal(ids, [[0, 1], [3, 2]])
    equal(weights[0], [0, 0])
    assert np.isfinite(weights).all()
    assert program.faults == {"NAN_ROUTER": (1, 0, 0, 4)}, program.faults


def case_07_some_nan_and_infinite_logits() -> None:
    program = compile(texts.router(4, 2))
    logits = [
        [NAN, 1, 0, NAN],
        [INF, 1, 0, 1],
        [-INF, -INF, 2, NAN],
        [NAN, NAN, 3, NAN],
        [NAN, NAN, INF, NAN],
        [INF] * 4,
    ]
    ids, weights = program.run(np.array(logits, f32))
    equal(ids, [[1, 2], [0, 1], [2, 0], [2, 0], [2, 0], [0, 1]])
    e = np.exp(1)
    close(weights, [[e / (e + 1), 1 / (e + 1)], [1, 0], [1, 0], [1, 0], [1, 0], [0.25, 0.25]], 1e-6)
    assert not program.faults, program.faults


def case_08_masked_groups_never_win() -> None:
    text = texts.router(
        4, 2, function="sigmoid", bias=True, select=", groups = 2, keep_groups = 1, group_top = 2", name="main"
    )
    # sigmoid(0) = 0.5, so that the biased scores are -0.2, -0.4, -0.6 and -0.9.
    bias = np.array([-0.7, -0.9, -1.1, -1.4], f32)
    ids, weights = compile(text).run(np.zeros((1, 4), f32), bias)
    equal(ids, [[0, 1]])
    equal(weights, [[0.5, 0.5]])


def case_09_the_weight_is_the_unbiased_score() -> None:
    ids, weights = compile(texts.router(4, 2, function="sigmoid", bias=True)).run(
        np.zeros((1, 4), f32), np.array([0, 0, 0.3, 0.1], f32)
    )
    equal(ids, [[2, 3]])
    equal(weights, [[0.5, 0.5]])
    bias = np.zeros(128, f32)
    bias[[3, 17, 31, 64, 65, 99, 126, 127]] = [8, 7, 6, 5, 4, 3, 2, 1]
    ids, weights = compile(texts.router(128, 8, function="sigmoid", bias=True)).run(np.zeros((3, 128), f32), bias)
    equal(ids, [[3, 17, 31, 64, 65, 99, 126, 127]] * 3)
    equal(weights, np.full((3, 8), 0.5))


def case_10_ids_of_other_ranks_and_out_of_range() -> None:
    ids = np.array([[0, -1], [2, 3]], i32)
    program = compile(texts.plan_fields(4, 2, 2))
    sizes, _, permutation, token, inverse, dropped = program.run(ids)
    equal(sizes, [1, 0, 1, 1])
    equal(permutation, [0, 2, 3, -1])
    equal(token, [0, 1, 1, -1])
    equal(inverse, [[0, -1], [1, 2]])
    equal(dropped, [0])
    assert not program.faults, program.faults
    x = np.array([[1], [10]], f32)
    rows, out = compile(texts.permute_combine(4, 2, 2, 1, f32)).run(x, ids, np.ones((2, 2), f32))
    equal(rows[:, 0], [1, 10, 10, 0])
    equal(out[:, 0], [1, 20])


def case_10_ids_far_out_of_range_are_dropped_and_reported() -> None:
    program = compile(texts.plan_fields(4, 3, 2))
    ids = np.array([[0, 4], [-2147483648, 3], [2147483647, 1]], i32)
    sizes, _, permutation, _, inverse, _ = program.run(ids)
    equal(sizes, [1, 1, 0, 1])
    equal(permutation, [0, 5, 3, -1, -1, -1])
    equal(inverse, [[0, -1], [-1, 2], [-1, 1]])
    assert program.faults == {"BAD_ID": (3, 1, 4, 4)}, program.faults


def case_11_a_capacity_that_is_exceeded() -> None:
    ids = np.array([[0, 1]] * 4, i32)
    program = compile(texts.plan_fields(2, 4, 2, capacity=5))
    sizes, bounds, permutation, token, inverse, dropped = program.run(ids)
    equal(sizes, [4, 4])
    equal(bounds, [[0, 4], [4, 5]])
    equal(permutation, [0, 2, 4, 6, 1])
    equal(token, [0, 1, 2, 3, 0])
    equal(inverse, [[0, 4], [1, -1], [2, -1], [3, -1]])
    equal(dropped, [3])
    count, slot, value, limit = program.faults["OVERFLOW"]
    assert (slot, value, limit) == (3, 3, 5), program.faults
    x = np.arange(1, 5, dtype=f32)[:, None].repeat(3, 1)
    rows, out = compile(texts.permute_combine(2, 4, 2, 3, f32, capacity=5)).run(x, ids, np.ones((4, 2), f32))
    equal(rows[:, 0], [1, 2, 3, 4, 1])
    equal(out[:, 0], [2, 2, 3, 4])


def case_18_combine_is_deterministic_and_adds_in_f32() -> None:
    program = compile(texts.combine(4, 1, 4, 8, bf16))
    y = np.array([256, 1, 1, -256], bf16)[:, None].repeat(8, 1)
    for run in range(50):
        (out,) = program.run(y, np.array([[0, 1, 2, 3]], i32), np.ones((1, 4), f32), threads=1 + run % 4)
        equal(out, np.full((1, 8), 2), f"run {run}")


def case_combine_of_many_slots_and_wide_rows() -> None:
    """More slots than one kernel reads at once, and rows of which a thread cannot hold all its columns."""
    random = rng()
    for k, h, dtype in ((100, 24, bf16), (33, 300, f32), (16, 2048, f32), (10, 7168, bf16)):
        tokens, experts = 3, 128
        ids = np.stack([random.permutation(experts)[:k] for _ in range(tokens)]).astype(i32)
        ids[1, 5] = -1
        y = random.standard_normal((tokens * k, h)).astype(dtype)
        weights = random.random((tokens, k)).astype(f32)
        (out,) = compile(texts.combine(experts, tokens, k, h, dtype)).run(y, ids, weights)
        expected = reference.combine(y, reference.plan(ids, experts)["inverse"], weights)
        close(out, expected, 1e-6 if dtype == f32 else 2**-8, f"k={k} H={h}")


def case_19_the_bias_of_an_expert_is_weighted_too() -> None:
    kind = texts.plan_of(2, 1, 2)
    text = f"""
    func.func @main(%x: tensor<1x4xf32>, %w: tensor<2x4x8xf32>, %b: tensor<2x8xf32>, %ids: tensor<1x2xi32>,
                    %weights: tensor<1x2xf32>) -> tensor<1x8xf32> {{
      %p = moe.plan %ids : tensor<1x2xi32> -> {kind}
      %g = moe.gather %x, %p : tensor<1x4xf32>, {kind} -> tensor<2x4xf32, #moe.ragged<groups = 2>>
      %y = moe.ragged_matmul %g, %w plan %p bias %b : tensor<2x4xf32, #moe.ragged<groups = 2>>, tensor<2x4x8xf32>,
        {kind}, tensor<2x8xf32> -> tensor<2x8xf32, #moe.ragged<groups = 2>>
      %o = moe.combine %y, %p weights %weights : tensor<2x8xf32, #moe.ragged<groups = 2>>, {kind}, tensor<1x2xf32>
        -> tensor<1x8xf32>
      return %o : tensor<1x8xf32>
    }}"""
    bias = np.array([[1], [3]], f32).repeat(8, 1)
    (out,) = compile(text).run(
        np.ones((1, 4), f32), np.zeros((2, 4, 8), f32), bias, np.array([[0, 1]], i32), np.array([[0.25, 0.75]], f32)
    )
    equal(out, np.full((1, 8), 2.5))


def case_a_gather_of_a_gather_reads_through_both_plans() -> None:
    """Once by rank, then by expert; -1 drops a slot in either. The row of a dropped token stays zero."""
    tokens, h, random = 13, 4, rng()
    x = random.standard_normal((tokens, h)).astype(f32)
    ranks = random.integers(-1, 2, (tokens, 2)).astype(i32)
    experts = random.integers(-1, 4, (2 * tokens, 1)).astype(i32)
    outer = texts.plan_of(4, None, 1)
    text = f"""func.func @main(%x: tensor<?x4xf32>, %ranks: tensor<?x2xi32>, %experts: tensor<?x1xi32>)
    -> tensor<?x4xf32, #moe.ragged<groups = 4>> {{
  %p = moe.plan %ranks : tensor<?x2xi32> -> !moe.plan<groups = 2, topk = 2>
  %g = moe.gather %x, %p : tensor<?x4xf32>, !moe.plan<groups = 2, topk = 2> -> tensor<?x4xf32, #moe.ragged<groups = 2>>
  %c = tensor.cast %g : tensor<?x4xf32, #moe.ragged<groups = 2>> to tensor<?x4xf32>
  %q = moe.plan %experts : tensor<?x1xi32> -> {outer}
  %h = moe.gather %c, %q : tensor<?x4xf32>, {outer} -> tensor<?x4xf32, #moe.ragged<groups = 4>>
  return %h : tensor<?x4xf32, #moe.ragged<groups = 4>>
}}
"""
    rows = reference.gather(x, reference.plan(ranks, 2)["token"])
    (out,) = compile(text).run(x, ranks, experts)
    equal(out, reference.gather(rows, reference.plan(experts, 4)["token"]))


def case_29_weights_that_underflow_to_zero() -> None:
    text = texts.router(4, 2, function="sigmoid", bias=True, normalize="renormalize")
    ids, weights = compile(text).run(np.full((1, 4), -120, f32), np.array([0, 0.1, 0.2, 0.3], f32))
    equal(ids, [[3, 2]])
    equal(weights, [[0, 0]])


def case_a_dropped_slot_is_never_summed() -> None:
    """Slot 1 is dropped, and so the last row belongs to no slot: it holds NaN, and counts for nothing."""
    y = np.full((2, 8), NAN, f32)
    y[0] = 3
    (out,) = compile(texts.combine(2, 1, 2, 8, f32)).run(y, np.array([[0, -1]], i32), np.full((1, 2), 0.5, f32))
    equal(out, np.full((1, 8), 1.5))


def case_a_slot_of_weight_zero_contributes_nothing() -> None:
    y = np.array([3, NAN], f32)[:, None].repeat(8, 1)
    (out,) = compile(texts.combine(2, 1, 2, 8, f32)).run(y, np.array([[0, 1]], i32), np.array([[0.5, 0]], f32))
    equal(out, np.full((1, 8), 1.5))


def case_nan_propagate_multiplies_by_a_weight_of_zero() -> None:
    y, ids, w = np.array([3, NAN], f32)[:, None].repeat(8, 1), np.array([[0, 1]], i32), np.array([[0.5, 0]], f32)
    text = texts.combine(2, 1, 2, 8, f32).replace("weights %w", "weights %w {nan = #moe.nan<propagate>}")
    equal(compile(text).run(y, ids, w)[0], np.full((1, 8), NAN))
    # The same where the weights have moved into the product.
    ragged, plan = "tensor<2x8xf32, #moe.ragged<groups = 2>>", "!moe.plan<groups = 2, rows = 2, tokens = 1, topk = 2>"
    program = compile(f"""
func.func @main(%y: {ragged}, %e: tensor<2x8x8xf32>, %ids: tensor<1x2xi32>, %w: tensor<1x2xf32>) -> tensor<1x8xf32> {{
  %p = moe.plan %ids : tensor<1x2xi32> -> {plan}
  %z = moe.ragged_matmul %y, %e plan %p : {ragged}, tensor<2x8x8xf32>, {plan} -> {ragged}
  %o = moe.combine %z, %p weights %w {{nan = #moe.nan<propagate>}} : {ragged}, {plan}, tensor<1x2xf32> -> tensor<1x8xf32>
  return %o : tensor<1x8xf32>
}}
""")
    equal(program.run(y, np.stack([np.eye(8, dtype=f32)] * 2), ids, w)[0], np.full((1, 8), NAN))


def case_nan_propagate_gives_what_jax_gives() -> None:
    """jax.lax.top_k(x, 3) and jax.nn.softmax(x) of JAX 0.10.2, for rows with NaN and infinities."""
    n, i = np.nan, np.inf
    x = np.array([[1, n, 2, n], [i, 1, i, -i], [-i, -i, -i, -i], [n, n, n, n], [0, 0, 0, 0]], f32)
    row, chosen = tensor(x.shape, f32), tensor((5, 3), f32)
    ids, values, softmax = compile(f"""func.func @main(%x: {row}) -> (tensor<5x3xi32>, {chosen}, {row}) {{
  %i, %v = moe.select %x {{k = 3, nan = #moe.nan<propagate>}} : {row} -> tensor<5x3xi32>, {chosen}
  %s = moe.scores %x {{nan = #moe.nan<propagate>}} : {row}
  return %i, %v, %s : tensor<5x3xi32>, {chosen}, {row}
}}
""").run(x)
    equal(ids, [[1, 3, 2], [0, 2, 1], [0, 1, 2], [0, 1, 2], [0, 1, 2]])
    equal(values, [[n, n, 2], [i, i, 1], [-i, -i, -i], [n, n, n], [0, 0, 0]])
    equal(softmax, [[n] * 4, [n] * 4, [n] * 4, [n] * 4, [0.25] * 4])


def case_nan_propagate_lets_masked_experts_tie_with_minus_infinity() -> None:
    x = np.array([[4, 3, 5, -INF], [5, -INF, 4, 3]], f32)
    for policy, expected in (("last", [[2, 3], [0, 1]]), ("propagate", [[2, 0], [0, 1]])):
        ids, _ = compile(f"""func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x2xi32>, tensor<2x2xf32>) {{
  %i, %v = moe.select %x {{k = 2, groups = 2, keep_groups = 1, group_top = 1, nan = #moe.nan<{policy}>}}
      : tensor<2x4xf32> -> tensor<2x2xi32>, tensor<2x2xf32>
  return %i, %v : tensor<2x2xi32>, tensor<2x2xf32>
}}
""").run(x)
        equal(ids, expected)


def case_renormalising_with_an_epsilon_or_without_a_floor() -> None:
    x = np.array([[1, 3], [0, 0], [-1, -3]], f32)
    kind = "tensor<3x2xf32>"
    added, bare, floored = compile(f"""func.func @main(%x: {kind}) -> ({kind}, {kind}, {kind}) {{
  %a = moe.normalize %x {{renormalize, epsilon = 1.0 : f32, floor = 0xFF800000 : f32}} : {kind}
  %b = moe.normalize %x {{renormalize, floor = 0xFF800000 : f32, scale = 2.0 : f32, nan = #moe.nan<propagate>}} : {kind}
  %c = moe.normalize %x {{renormalize, floor = 8.0 : f32}} : {kind}
  return %a, %b, %c : {kind}, {kind}, {kind}
}}
""").run(x)
    with np.errstate(invalid="ignore"):
        equal(added, x / (x.sum(1, keepdims=True) + 1))
        equal(bare, 2 * (x / x.sum(1, keepdims=True)))
    equal(floored, x / 8)


def case_the_same_expert_twice_is_two_slots() -> None:
    y = np.array([3, 4], f32)[:, None].repeat(8, 1)
    (out,) = compile(texts.combine(3, 1, 2, 8, f32, weights=False)).run(y, np.array([[1, 1]], i32))
    equal(out, np.full((1, 8), 7))


def case_rows_past_the_first_block_are_routed() -> None:
    generator = np.random.default_rng(17)
    logits = generator.permuted(np.tile(np.arange(128, dtype=f32) / 8, (17, 1)), axis=1)
    ids, weights = compile(texts.router(128, 8)).run(logits)
    equal(ids, np.argsort(-logits, axis=1)[:, :8])
    close(weights, np.take_along_axis(reference.scores(logits), ids, 1), 1e-6)


def case_experts_past_index_255_are_candidates() -> None:
    logits = np.zeros((1, 512), f32)
    logits[0, [300, 511]] = [5, 4]
    ids, _ = compile(texts.router(512, 2)).run(logits)
    equal(ids, [[300, 511]])


def case_padding_tokens_take_no_capacity() -> None:
    """Tokens 0 and 3 are padding: their ids are -1, and so the four real ones keep all the slots."""
    ids = np.array([[-1], [0], [1], [-1], [0], [1]], i32)
    program = compile(texts.plan_fields(2, 6, 1, capacity=4))
    sizes, bounds, _, token, inverse, dropped = program.run(ids)
    equal(sizes, [2, 2])
    equal(bounds, [[0, 2], [2, 4]])
    equal(token, [1, 4, 2, 5])
    equal(inverse[:, 0], [-1, 0, 2, -1, 1, 3])
    equal(dropped, [0])
    assert not program.faults, program.faults


def case_no_tokens_are_routed() -> None:
    ids, weights = compile(texts.router(4, 2)).run(np.zeros((0, 4), f32))
    assert ids.shape == (0, 2) and weights.shape == (0, 2)
    sizes, bounds, permutation, token, inverse, dropped = compile(texts.plan_fields(4, 0, 2)).run(np.zeros((0, 2), i32))
    equal(sizes, [0] * 4)
    equal(bounds, [[0, 0]] * 4)
    assert permutation.shape == (0,) and token.shape == (0,) and inverse.shape == (0, 2)
    equal(dropped, [0])


def case_minus_infinity_is_chosen_when_nothing_else_is_left() -> None:
    ids, weights = compile(texts.router(4, 3)).run(np.array([[-INF, 1, -INF, -INF]], f32))
    equal(ids, [[1, 0, 2]])
    equal(weights, [[1, 0, 0]])


def case_a_group_limit_with_too_few_experts_is_refused() -> None:
    message = refused(texts.router(8, 5, function="sigmoid", select=", groups = 4, keep_groups = 2, group_top = 1"))
    assert "5" in message and "4" in message, message
    message = refused(texts.router(8, 2, function="sigmoid", select=", groups = 4, keep_groups = 2, group_top = 3"))
    assert "3" in message and "2" in message, message
