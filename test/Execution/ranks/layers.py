"""Layers over ranks beside the same layers on one: bit for bit, for any spread of tokens over experts and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import reference
from harness import MoeError, Program, bf16, close, comms, compile, equal, f32, refused, rng, tensor


def layer(experts: int, k: int, width: int, inner: int, dtype: np.dtype = f32, tokens: int | None = None) -> str:
    """Routed tokens through gate, up and down products; ids and weights are inputs, so that a test chooses the routing."""
    plan, ragged = f"!moe.plan<groups = {experts}, topk = {k}>", f"groups = {experts}"
    x, ids, weights = tensor([tokens, width], dtype), f"tensor<{tokens or '?'}x{k}xi32>", tensor([tokens, k], f32)
    up, down = tensor([experts, width, 2 * inner], dtype), tensor([experts, inner, width], dtype)
    rows, hidden, gated = (tensor([None, n], dtype, ragged) for n in (width, 2 * inner, inner))
    return f"""func.func @main(%x: {x}, %ids: {ids}, %s: {weights}, %up: {up}, %down: {down}) -> {x} {{
  %p = moe.plan %ids : {ids} -> {plan}
  %g = moe.gather %x, %p : {x}, {plan} -> {rows}
  %h = moe.ragged_matmul %g, %up plan %p : {rows}, {up}, {plan} -> {hidden}
  %a = moe.gated_activation %h : {hidden} -> {gated}
  %y = moe.ragged_matmul %a, %down plan %p : {gated}, {down}, {plan} -> {rows}
  %o = moe.combine %y, %p weights %s : {rows}, {plan}, {weights} -> {x}
  return %o : {x}
}}
"""


def partition(size: int, max_tokens: int, *options: str) -> list[str]:
    # Weights go into the product on one rank and are applied at home over ranks: the same only if neither is moved.
    return ["--partition=" + " ".join([f"axis=ep size={size} max-tokens={max_tokens}", *options])]


def on_ranks(program: Program, inputs: Sequence[Sequence[np.ndarray]], timeout_ms: int = 60000) -> tuple[list, list]:
    """Runs rank r on inputs[r]; outputs and faults of each rank. Raises the first rank's error."""
    ends = comms(len(inputs), timeout_ms)
    programs = [Program(program.blob) for _ in inputs]

    def run(rank: int) -> list[np.ndarray]:
        return programs[rank].run(*inputs[rank], threads=1, comm=ends[rank])

    with ThreadPoolExecutor(len(inputs)) as pool:
        futures = [pool.submit(run, rank) for rank in range(len(inputs))]
    return [future.result() for future in futures], [one.faults for one in programs]


def shards(weights: np.ndarray, owners: Sequence[int], size: int) -> list[np.ndarray]:
    """Each rank's experts in the order of ids; those that a rank has fewer than the most are NaN."""
    most = max(list(owners).count(rank) for rank in range(size))
    found = []
    for rank in range(size):
        part = np.full((most, *weights.shape[1:]), np.nan, weights.dtype)
        mine = [e for e, owner in enumerate(owners) if owner == rank]
        part[: len(mine)] = weights[mine]
        found.append(part)
    return found


class Layer:
    """Random weights of a layer, and what it gives on one rank."""

    def __init__(self, generator: np.random.Generator, experts: int, k: int, dtype: np.dtype = f32):
        self.experts, self.k, self.width, self.inner, self.dtype = experts, k, 12, 8, dtype
        self.up = generator.standard_normal((experts, self.width, 2 * self.inner)).astype(dtype)
        self.down = generator.standard_normal((experts, self.inner, self.width)).astype(dtype)
        self.text = layer(experts, k, self.width, self.inner, dtype)
        self.single = compile(self.text, "--disable-fusion=weights")

    def tokens(self, generator: np.random.Generator, ids: np.ndarray) -> list[np.ndarray]:
        x = generator.standard_normal((len(ids), self.width)).astype(self.dtype)
        return [x, ids.astype(np.int32), generator.random(ids.shape).astype(f32)]

    def expected(self, tokens: Sequence[np.ndarray]) -> np.ndarray:
        (out,) = self.single.run(*tokens, self.up, self.down)
        return out

    def run(self, program: Program, parts: Sequence[Sequence[np.ndarray]], owners: Sequence[int]) -> tuple[list, list]:
        size = len(parts)
        up, down = shards(self.up, owners, size), shards(self.down, owners, size)
        outputs, faults = on_ranks(program, [[*parts[r], up[r], down[r]] for r in range(size)])
        return [out for (out,) in outputs], faults


def consecutive(experts: int, size: int) -> list[int]:
    return [e // (experts // size) for e in range(experts)]


def workloads(generator: np.random.Generator, experts: int, k: int, size: int) -> dict[str, list[np.ndarray]]:
    """Ids of each rank's tokens."""
    per_rank = experts // size

    def ids(tokens: int, low: int, high: int) -> np.ndarray:
        return generator.integers(low, high, (tokens, k))

    counts = generator.integers(1, 9, size)
    hot = int(generator.integers(0, size))
    found = {
        "uniform": [ids(n, 0, experts) for n in counts],
        "one hot expert": [np.full((n, k), experts - 1) for n in counts],
        "a hot rank": [ids(n, hot * per_rank, (hot + 1) * per_rank) for n in counts],
        "zero tokens on some ranks": [ids(0 if r % 2 == 0 else n, 0, experts) for r, n in enumerate(counts)],
        "no tokens": [ids(0, 0, experts) for _ in counts],
        "dropped slots": [np.where(generator.random((n, k)) < 0.5, -1, ids(n, 0, experts)) for n in counts],
    }
    if size > 1:
        found["an empty rank"] = [(ids(n, 0, experts - per_rank) + per_rank) for n in counts]
        found["rotating hot spots"] = [
            np.tile(np.arange(k) + r * per_rank, (n, 1)) % experts for r, n in enumerate(counts)
        ]
    return found


def check_layer(
    size: int, experts: int, k: int, dtype: np.dtype = f32, tolerance: float = 0, options: str = ""
) -> None:
    generator = rng()
    one = Layer(generator, experts, k, dtype)
    program = compile(one.text, "--disable-fusion=weights", *partition(size, 8, options))
    for name, ids in workloads(generator, experts, k, size).items():
        parts = [one.tokens(generator, part) for part in ids]
        outputs, faults = one.run(program, parts, consecutive(experts, size))
        for rank, (out, part) in enumerate(zip(outputs, parts, strict=True)):
            close(out, one.expected(part), tolerance, f"{name}: rank {rank} of {size} {options}")
        assert not any(faults), (name, faults)


def property_layers_over_2_ranks_are_those_of_one() -> None:
    check_layer(2, 6, 2)


def property_layers_over_3_ranks_with_more_slots_than_ranks() -> None:
    check_layer(3, 6, 5)


def property_layers_over_4_ranks_in_bf16() -> None:
    check_layer(4, 8, 2, bf16)


def property_layers_over_8_ranks() -> None:
    check_layer(8, 8, 3)


def case_one_rank_is_a_layer_of_its_own() -> None:
    check_layer(1, 4, 2)
    check_layer(1, 4, 2, options="transport=capacity")


def property_ranks_of_an_nvlink_domain() -> None:
    check_layer(3, 6, 2, options="mesh=nvlink")


def property_room_for_all_over_2_ranks_drops_nothing() -> None:
    check_layer(2, 6, 2, options="transport=capacity")


def property_room_for_all_over_3_ranks_with_more_slots_than_ranks() -> None:
    check_layer(3, 6, 5, options="transport=capacity")


def property_room_for_all_over_4_ranks_in_bf16() -> None:
    check_layer(4, 8, 2, bf16, options="transport=capacity")


def property_room_for_all_over_8_ranks() -> None:
    check_layer(8, 8, 3, options="transport=capacity")


def property_partial_sums_in_equal_blocks() -> None:
    check_layer(2, 6, 4, f32, 1e-6, "transport=capacity partial-sums=true")
    check_layer(3, 6, 5, bf16, 2**-6, "transport=capacity partial-sums=true")


def property_owners_spread_experts_unevenly() -> None:
    """5 experts over 3 ranks; a rank may own none."""
    generator = rng()
    one = Layer(generator, 5, 2)
    for owners in ([2, 0, 2, 1, 2], [0, 0, 2, 2, 0]):
        text = "owners=" + ",".join(map(str, owners))
        program = compile(one.text, "--disable-fusion=weights", *partition(3, 8, text))
        parts = [one.tokens(generator, generator.integers(0, 5, (n, 2))) for n in (3, 0, 8)]
        outputs, _ = one.run(program, parts, owners)
        for out, part in zip(outputs, parts, strict=True):
            equal(out, one.expected(part))


def property_partial_sums_are_rounded_once_more() -> None:
    generator = rng()
    for dtype, tolerance in ((f32, 1e-6), (bf16, 2**-6)):
        one = Layer(generator, 6, 4, dtype)
        program = compile(one.text, "--disable-fusion=weights", *partition(3, 8, "partial-sums=true"))
        parts = [one.tokens(generator, generator.integers(-1, 6, (n, 4))) for n in (5, 0, 8)]
        outputs, _ = one.run(program, parts, consecutive(6, 3))
        for out, part in zip(outputs, parts, strict=True):
            close(out, one.expected(part), tolerance)


def property_a_capacity_drops_in_order_and_counts() -> None:
    """The slots of a rank in the order of expert, source rank, token and slot; those past the capacity count for nothing."""
    generator = rng()
    one, size, owners = Layer(generator, 4, 2), 2, [0, 0, 1, 1]
    for capacity in (0, 3, 7):
        program = compile(one.text, "--disable-fusion=weights", *partition(size, 8, f"capacity={capacity}"))
        parts = [one.tokens(generator, generator.integers(0, 4, (n, 2))) for n in (8, 5)]
        outputs, faults = one.run(program, parts, owners)
        kept = [part[1].copy() for part in parts]
        for rank in range(size):
            order = [
                (part[1][t, j], source, t, j)
                for source, part in enumerate(parts)
                for t in range(len(part[1]))
                for j in range(2)
                if owners[part[1][t, j]] == rank
            ]
            dropped = sorted(order)[capacity:]
            for _, source, t, j in dropped:
                kept[source][t, j] = -1
            found = faults[rank].get("OVERFLOW", (0, 0, 0, capacity))
            assert found[0] == (1 if dropped else 0) and found[2:] == (len(dropped), capacity), (faults, dropped)
        for out, part, ids in zip(outputs, parts, kept, strict=True):
            equal(out, one.expected([part[0], ids, part[2]]), f"capacity {capacity}")


def property_a_capacity_of_pairs_drops_in_order_and_counts() -> None:
    """Of the slots of a rank's tokens on another rank the first ones are kept, in the order of token and slot."""
    generator = rng()
    for size, experts, k, capacity in ((2, 4, 2, 3), (3, 6, 5, 7), (3, 6, 1, 1)):
        one, owners = Layer(generator, experts, k), consecutive(experts, size)
        for sums in ("", "partial-sums=true"):
            options = f"pair-capacity={capacity} {sums}"
            program = compile(one.text, "--disable-fusion=weights", *partition(size, 8, options))
            for name, ids in workloads(generator, experts, k, size).items():
                parts = [one.tokens(generator, part) for part in ids]
                outputs, faults = one.run(program, parts, owners)
                for out, (x, chosen, weights), found in zip(outputs, parts, faults, strict=True):
                    ranks = np.where(chosen < 0, -1, np.array(owners)[chosen]).reshape(-1)
                    dropped = np.sort(np.concatenate([np.flatnonzero(ranks == r)[capacity:] for r in range(size)]))
                    kept = chosen.copy()
                    kept.reshape(-1)[dropped] = -1
                    close(out, one.expected([x, kept, weights]), 1e-6 if sums else 0, f"{name} {options}")
                    count = {"OVERFLOW": (1, dropped[0], len(dropped), capacity)} if len(dropped) else {}
                    assert found == count, (name, options, found, count)


def case_ranks_with_other_capacities_are_an_error_of_all() -> None:
    """And a new communicator works."""
    generator, size = rng(), 3
    one, owners = Layer(generator, 6, 2), consecutive(6, 3)
    programs = [compile(one.text, *partition(size, 8, f"pair-capacity={n}")) for n in (3, 4)]
    parts = [one.tokens(generator, generator.integers(0, 6, (5, 2))) for _ in range(size)]
    ends = comms(size, 60000)

    def run(rank: int) -> str:
        own = [e for e in range(6) if owners[e] == rank]
        try:
            program = Program(programs[rank == 2].blob)
            program.run(*parts[rank], one.up[own], one.down[own], threads=1, comm=ends[rank])
        except MoeError as error:
            return f"{error.code}: {error}"
        return ""

    with ThreadPoolExecutor(size) as pool:
        for message in pool.map(run, range(size)):
            assert message.startswith("COMM_FAILED") and "rank 2" in message and "expects" in message, message
    outputs, _ = one.run(programs[1], parts, owners)
    assert all(len(out) == 5 for out in outputs)


def case_22_a_rank_with_zero_tokens() -> None:
    one = Layer(rng(), 4, 1)
    program = compile(one.text, "--disable-fusion=weights", *partition(2, 6))
    generator = rng()
    parts = [
        one.tokens(generator, np.array([[0], [1], [2], [3], [2], [3]])),
        one.tokens(generator, np.zeros((0, 1), int)),
    ]
    outputs, _ = one.run(program, parts, [0, 0, 1, 1])
    equal(outputs[0], one.expected(parts[0]))
    assert outputs[1].shape == (0, one.width)


def case_31_more_tokens_than_a_rank_may_have() -> None:
    one = Layer(rng(), 4, 1)
    program = compile(one.text, *partition(2, 8))
    ends = comms(2, 60000)
    generator = rng()

    def run(rank: int, tokens: int) -> str:
        part = one.tokens(generator, np.zeros((tokens, 1), int))
        try:
            Program(program.blob).run(*part, one.up[:2], one.down[:2], threads=1, comm=ends[rank])
        except MoeError as error:
            ends[rank].fail(str(error))  # found before the enqueue
            return f"{error.code}: {error}"
        return ""

    with ThreadPoolExecutor(2) as pool:
        messages = list(pool.map(run, range(2), (8, 9)))
    assert messages[1].startswith("INVALID_ARGUMENT") and "is 9, but must be 8" in messages[1], messages
    assert messages[0].startswith("COMM_FAILED") and "rank 1" in messages[0] and "is 9, but must be 8" in messages[0]


def case_ids_that_are_no_experts_are_dropped_and_reported() -> None:
    generator = rng()
    one = Layer(generator, 4, 2)
    program = compile(one.text, "--disable-fusion=weights", *partition(2, 8))
    ids = [np.array([[0, 7], [3, -1]]), np.array([[-2, 1]])]
    parts = [one.tokens(generator, part) for part in ids]
    outputs, faults = one.run(program, parts, [0, 0, 1, 1])
    for out, part in zip(outputs, parts, strict=True):
        equal(out, one.expected(part))
    assert faults == [{"BAD_ID": (1, 1, 7, 4)}, {"BAD_ID": (1, 0, -2, 4)}], faults


def all_to_all(size: int, rows: int) -> str:
    x, ids = tensor([None, 2], f32), "tensor<?x1xi32>"
    ragged = tensor([None, 2], f32, f"groups = {size}")
    out, sizes = tensor([rows, 2], f32, f"groups = {size}"), f"tensor<{size}xi32>"
    p, q = f"!moe.plan<groups = {size}, topk = 1>", f"!moe.plan<groups = {size}, rows = {rows}>"
    axis = f'{{axis = "ep", ranks = {size}}}'
    return f"""func.func @main(%x: {x}, %ids: {ids}) -> ({out}, {sizes}) {{
  %p = moe.plan %ids : {ids} -> {p}
  %g = moe.gather %x, %p : {x}, {p} -> {ragged}
  %s = moe.plan_get %p {{field = #moe.field<sizes>}} : {p} -> {sizes}
  %a = moe.all_to_all %s {axis} : {sizes} -> {sizes}
  %q = moe.plan_from_sizes %a : {sizes} -> {q}
  %y = moe.all_to_all %g from %p to %q {axis} : {ragged}, {p}, {q} -> {out}
  return %y, %a : {out}, {sizes}
}}
"""


def case_30_slices_arrive_in_the_order_of_their_ranks() -> None:
    program = compile(all_to_all(2, 6))
    a, b = np.array([[1, 1], [2, 2], [3, 3]], f32), np.array([[10, 1], [11, 2], [12, 3], [13, 4]], f32)
    ids = [np.array([[0], [0], [1]], np.int32), np.array([[0], [1], [1], [1]], np.int32)]
    outputs, _ = on_ranks(program, [[a, ids[0]], [b, ids[1]]])
    zero = np.zeros((6, 2), f32)
    first, second = zero.copy(), zero.copy()
    first[:3], second[:4] = [a[0], a[1], b[0]], [a[2], b[1], b[2], b[3]]
    equal(outputs[0][0], first)
    equal(outputs[0][1], [2, 1])
    equal(outputs[1][0], second)
    equal(outputs[1][1], [1, 3])


def case_a_rank_that_sends_nothing_to_anyone() -> None:
    program = compile(all_to_all(4, 40))
    generator = rng()
    ids = [generator.integers(0, 4, (0 if rank == 2 else 7, 1)).astype(np.int32) for rank in range(4)]
    xs = [generator.standard_normal((len(part), 2)).astype(f32) for part in ids]
    outputs, _ = on_ranks(program, [[x, part] for x, part in zip(xs, ids, strict=True)])
    for rank, (out, sizes) in enumerate(outputs):
        arrived = np.concatenate([x[part[:, 0] == rank] for x, part in zip(xs, ids, strict=True)])
        equal(out[: len(arrived)], arrived)
        equal(out[len(arrived) :], np.zeros((40 - len(arrived), 2), f32))
        equal(sizes, [np.count_nonzero(part == rank) for part in ids])


def case_more_arrives_than_there_is_room_for() -> None:
    """The sizes that arrive say 8 rows, and there is room for 6."""
    program = compile(all_to_all(1, 6))
    try:
        on_ranks(program, [[np.zeros((8, 2), f32), np.zeros((8, 1), np.int32)]])
    except MoeError as error:
        assert "rank 0 sends 64 bytes to rank 0, which expects 48" in str(error), error
    else:
        raise AssertionError("8 rows fit 6")


def property_collect_is_the_adjoint_of_dispatch() -> None:
    """<dispatch(x), y> = <x, collect(y)>, summed over ranks."""
    generator, size, tokens = rng(), 3, 6
    route = f'!moe.route<axis = "ep", ranks = {size}, groups = 2, topk = 2, max_tokens = {tokens}>'
    x, arrived = tensor([None, 5], f32), tensor([size * tokens, 5], f32)
    program = compile(f"""func.func @main(%x: {x}, %ids: tensor<?x2xi32>, %y: {arrived}) -> ({arrived}, {x}) {{
  %r = moe.route %ids : tensor<?x2xi32> -> {route}
  %a = moe.dispatch %x, %r : {x}, {route} -> {arrived}
  %c = moe.collect %y, %r : {arrived}, {route} -> {x}
  return %a, %c : {arrived}, {x}
}}
""")
    ids = [generator.integers(-1, 6, (n, 2)).astype(np.int32) for n in (6, 0, 4)]
    xs = [generator.integers(-8, 9, (len(part), 5)).astype(f32) for part in ids]
    ys = [generator.integers(-8, 9, (size * tokens, 5)).astype(f32) for _ in ids]
    outputs, _ = on_ranks(program, [[*part] for part in zip(xs, ids, ys, strict=True)])
    left = sum(float((a * y).sum()) for (a, _), y in zip(outputs, ys, strict=True))
    right = sum(float((x * c).sum()) for x, (_, c) in zip(xs, outputs, strict=True))
    assert left == right, (left, right)
    for rank, (a, _) in enumerate(outputs):
        needed = [x[(part // 2 == rank).any(1)] for x, part in zip(xs, ids, strict=True)]
        rows = np.concatenate(needed)
        equal(a[: len(rows)], rows, "a token travels once to a rank")
        assert not a[len(rows) :].any()


def case_a_layer_that_numpy_agrees_with() -> None:
    generator = rng()
    one = Layer(generator, 4, 2)
    (tokens,) = [one.tokens(generator, generator.integers(0, 4, (7, 2)))]
    x, ids, weights = tokens
    program = compile(one.text, *partition(2, 8))
    outputs, _ = one.run(program, [[x[:3], ids[:3], weights[:3]], [x[3:], ids[3:], weights[3:]]], [0, 0, 1, 1])
    expected = np.zeros(x.shape)
    for t in range(7):
        for j in range(2):
            h = x[t].astype(np.float64) @ one.up[ids[t, j]]
            expected[t] += weights[t, j] * (reference.gated_activation(h[None])[0] @ one.down[ids[t, j]])
    close(np.concatenate(outputs), expected, 1e-5)


def case_refused_partitions() -> None:
    text = layer(6, 2, 4, 4)
    assert "it has 6 experts, expected a multiple of 4 ranks" in refused(text, *partition(4, 8))
    assert "the number of tokens is dynamic" in refused(text, "--partition=axis=ep size=2")
    assert "size is 0" in refused(text, "--partition=axis=ep")
    assert "no such option nope" in refused(text, "--partition=nope=1")
