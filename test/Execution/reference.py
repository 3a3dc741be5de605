"""What each operation means, in plain NumPy: row by row, in float64 where a sum is rounded only once."""

from __future__ import annotations

import ml_dtypes
import numpy as np

Array = np.ndarray


def bounds(sizes: Array, rows: int, align: int = 1) -> list[tuple[int, int]]:
    """Rows [begin, end) of each group; a group's start is rounded up to the alignment, everything clamped into range."""
    found, at = [], 0
    for size in sizes:
        begin = min(-(-at // align) * align, rows)
        end = min(begin + max(int(size), 0), rows)
        found.append((begin, end))
        at = end
    return found


def plan(ids: Array, experts: int, capacity: int | None = None, align: int = 1) -> dict[str, Array]:
    """Rows by expert, then token, then slot; -1 and ids out of range are dropped, and so is what passes the capacity."""
    tokens, k = ids.shape
    rows = tokens * k + (experts * (align - 1) if align > 1 else 0) if capacity is None else capacity
    kept = np.zeros((experts, 2), np.int64)
    permutation, inverse = np.full(rows, -1, np.int32), np.full((tokens, k), -1, np.int32)
    at = dropped = 0
    for expert in range(experts):
        at = min(-(-at // align) * align, rows)
        kept[expert, 0] = at
        for slot in np.flatnonzero(ids.reshape(-1) == expert):
            if at == rows:
                dropped += 1
                continue
            permutation[at] = slot
            inverse[slot // k, slot % k] = at
            at += 1
        kept[expert, 1] = at
    token = np.where(permutation < 0, -1, permutation // k).astype(np.int32)
    return {
        "sizes": np.array([np.count_nonzero(ids == e) for e in range(experts)], np.int32),
        "bounds": kept,
        "permutation": permutation,
        "token": token,
        "inverse": inverse,
        "dropped": np.array([dropped], np.int64),
    }


def gather(x: Array, token: Array) -> Array:
    """Row token[r] of x, or zero."""
    y = np.zeros((len(token), x.shape[1]), x.dtype)
    for row, t in enumerate(token):
        if t >= 0:
            y[row] = x[t]
    return y


def ragged_matmul(
    x: Array, w: Array, groups: list[tuple[int, int]], offset: int = 0, bias: Array | None = None
) -> Array:
    """Rows of group g times w[g - offset]; other rows are zero. In float64, not rounded."""
    y = np.zeros((x.shape[0], w.shape[2]))
    for g in range(w.shape[0]):
        begin, end = groups[g + offset]
        y[begin:end] = x[begin:end].astype(np.float64) @ w[g].astype(np.float64)
        if bias is not None:
            y[begin:end] += bias[g].astype(np.float64)
    return y


def ragged_contraction(x: Array, dy: Array, groups: list[tuple[int, int]]) -> Array:
    """x_g^T dy_g of each group, in float64."""
    return np.stack([x[b:e].astype(np.float64).T @ dy[b:e].astype(np.float64) for b, e in groups])


def group_sum(x: Array, groups: list[tuple[int, int]]) -> Array:
    return np.stack([x[b:e].astype(np.float64).sum(0) for b, e in groups])


def sigmoid(x: Array) -> Array:
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))


def gated_activation(
    h: Array,
    function: str = "silu",
    layout: str = "concatenated",
    limit: float | None = None,
    alpha: float = 1.0,
    up_offset: float = 0.0,
) -> Array:
    h = h.astype(np.float64)
    half = h.shape[1] // 2
    gate, up = (h[:, :half], h[:, half:]) if layout == "concatenated" else (h[:, 0::2], h[:, 1::2])
    if limit is not None:
        gate, up = np.minimum(gate, limit), np.clip(up, -limit, limit)
    act = {
        "silu": lambda g: g * sigmoid(alpha * g),
        "gelu_tanh": lambda g: 0.5 * g * (1 + np.tanh(np.sqrt(2 / np.pi) * (g + 0.044715 * g**3))),
        "relu": lambda g: np.maximum(g, 0),
        "sigmoid": sigmoid,
    }[function]
    return act(gate) * (up + up_offset)


def combine(y: Array, inverse: Array, weights: Array | None = None) -> Array:
    """Sum of each token's rows in slot order, in f32; a slot of weight 0 counts for nothing whatever its row holds."""
    out = np.zeros((len(inverse), y.shape[1]), np.float32)
    for t, slots in enumerate(inverse):
        for j, row in enumerate(slots):
            weight = np.float32(1) if weights is None else weights[t, j]
            if row >= 0 and weight != 0:
                out[t] += weight * y[row].astype(np.float32)
    return out


def scores(logits: Array, function: str = "softmax") -> Array:
    """Scores under nan = last, in f32 arithmetic: NaN takes no part, +inf counts as the largest finite value."""
    out = np.full(logits.shape, np.nan, np.float32)
    for t, row in enumerate(logits.astype(np.float32)):
        row = np.where(row == np.inf, np.finfo(np.float32).max, row)
        if not np.isfinite(row).any():
            continue
        number = ~np.isnan(row)
        if function == "softmax":
            e = np.exp((row[number] - row[number].max()).astype(np.float64))
            out[t, number] = e / e.sum()
        else:
            out[t, number] = sigmoid(row[number].astype(np.float64))
    return out


def select(
    values: Array, k: int, bias: Array | None = None, groups: int = 1, keep_groups: int = 1, group_top: int = 1
) -> tuple[Array, Array]:
    """Ids and unbiased values of the k best by value + bias in the best groups; ties go to the lowest id; NaN is last."""
    tokens, experts = values.shape
    ids, chosen = np.zeros((tokens, k), np.int32), np.zeros((tokens, k), np.float32)
    for t in range(tokens):
        if not np.isfinite(values[t]).any():
            ids[t], chosen[t] = np.arange(k), np.nan
            continue
        ranked = values[t] if bias is None else values[t] + bias.astype(np.float32)
        order = [(np.isnan(s), -s if not np.isnan(s) else 0, e) for e, s in enumerate(ranked)]
        allowed = set(range(experts))
        if groups > 1:
            width = experts // groups
            best = []
            for g in range(groups):
                top = sorted(order[g * width : (g + 1) * width])[:group_top]
                total = np.float32(0)
                for _, _, e in top:
                    total = total + ranked[e]
                best.append((np.isnan(total), -total if not np.isnan(total) else 0, g))
            allowed = {e for _, _, g in sorted(best)[:keep_groups] for e in range(g * width, (g + 1) * width)}
        ids[t] = [e for _, _, e in sorted(order) if e in allowed][:k]
        chosen[t] = values[t, ids[t]]
    return ids, chosen


def normalize(values: Array, renormalize: bool, scale: float = 1.0) -> Array:
    values = np.nan_to_num(values.astype(np.float64), nan=0.0)
    if renormalize:
        values = values / np.maximum(values.sum(1, keepdims=True), 1e-20)
    return values * scale


def rounded(values: Array, dtype: np.dtype) -> Array:
    """Rounded once, from f32, to the element type of a result."""
    return values.astype(np.float32).astype(dtype)


def ulp(dtype: np.dtype) -> float:
    """Distance from 1 to the next number."""
    return float(ml_dtypes.finfo(dtype).eps)
