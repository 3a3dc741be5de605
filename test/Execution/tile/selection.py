"""tile.select against a sort in Python: ties, signed zeros, NaN, infinities, limits to groups."""

import numpy as np
from bodies import levels, pitched, row, rows, runs, some
from harness import equal, f32, rng


def best_first(values: np.ndarray, nan_first: bool) -> list[int]:
    def key(i: int) -> tuple[int, float]:
        return (0 if nan_first else 2, 0.0) if np.isnan(values[i]) else (1, -float(values[i]))

    return sorted(range(len(values)), key=key)  # stable: ties go to the lowest id


def choose(scores: np.ndarray, k: int, groups: int, keep: int, top: int, nan_first: bool) -> list[int]:
    size = len(scores) // groups
    totals = np.zeros(groups, f32)
    with np.errstate(invalid="ignore", over="ignore"):
        for g in range(groups):
            part = scores[g * size : (g + 1) * size]
            for i in best_first(part, nan_first)[:top]:
                totals[g] += part[i]
    kept = set(best_first(totals, nan_first)[:keep])
    if nan_first:  # the others are masked, as where a program sorts
        masked = np.where([i // size in kept for i in range(len(scores))], scores, f32.type(-np.inf))
        return best_first(masked, nan_first)[:k]
    return [i for i in best_first(scores, nan_first) if i // size in kept][:k]


def hostile(random: np.random.Generator, experts: int) -> np.ndarray:
    shape = (10, experts)
    normal = [random.standard_normal(shape).astype(f32) for _ in range(4)]
    normal[1][random.random(shape) < 0.3] = np.nan
    normal[2][random.random(shape) < 0.5] = -np.inf
    specials = np.array([np.nan, -np.nan, np.inf, -np.inf, 0, -0.0, 1e-42, -1e-42], f32)
    blocks = [
        *normal[:3],
        np.sort(normal[3], axis=1),
        random.integers(-2, 3, shape).astype(f32),
        random.choice(specials, shape),
        random.choice(np.array([0, -0.0], f32), shape),
        np.repeat(np.array([[np.nan], [-np.inf], [np.inf], [0], [-3]], f32), experts, axis=1),
    ]
    return np.concatenate(blocks)


def run(experts: int, k: int, groups: int, keep: int, top: int, random: np.random.Generator) -> None:
    t, v, ids, values = f"?x{experts}xf32", f"vector<{experts}xf32>", f"vector<{k}xi32>", f"vector<{k}xf32>"
    scores = hostile(random, experts)
    for nan in ("last", "first"):
        text = rows(
            {"x": t},
            [f"?x{k}xi32", f"?x{k}xf32", f"?x{k}xf32"],
            f"""
    %x = {row("x", t)}
    %i = tile.select %x {{groups = {groups} : i64, keep_groups = {keep} : i64, group_top = {top} : i64, nan = #tile.nan<{nan}>}} : {v} -> {ids}
    %v = tile.lookup %x[%i] : {v}, {ids} -> {values}
    %n = arith.negf %x : {v}
    %w = tile.lookup %n[%i] : {v}, {ids} -> {values}
    tile.yield %i, %v, %w : {ids}, {values}, {values}""",
        )
        expected = np.array([choose(r, k, groups, keep, top, nan == "first") for r in scores])
        chosen = np.take_along_axis(scores, expected, 1)
        what = f"top {k} of {experts}, {keep} of {groups} groups by {top}, nan {nan}"

        for outs, _ in runs(levels(text), pitched(scores)):
            equal(outs[0], expected, "ids: " + what)
            equal(outs[1], chosen, "scores: " + what)
            equal(outs[2], -chosen, "computed scores: " + what)


def case_top_k() -> None:
    random = rng()
    for experts in some(random, [1, 2, 7, 16, 60, 64, 128, 500]):
        run(experts, int(random.integers(1, experts + 1)), 1, 1, 1, random)


def case_top_k_within_groups() -> None:
    random = rng()
    for experts in some(random, [4, 16, 60, 64, 256], 2):
        groups = int(random.choice([2, 4]))
        keep, size = int(random.integers(1, groups)), experts // groups
        run(experts, int(random.integers(1, keep * size + 1)), groups, keep, int(random.integers(1, size + 1)), random)
    run(256, 8, 8, 4, 2, random)
