"""One layer at random or as a test wants it, and what it must give."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import reference
import texts
from harness import Program, bf16, equal, f16, f32, i32, near

Array = np.ndarray

FORMS = [
    {},
    {"layout": "interleaved"},
    {"limit": 1.0},
    {"function": "gelu_tanh"},
    {"function": "relu"},
    {"function": "sigmoid", "layout": "interleaved"},
    {"layout": "interleaved", "limit": 7.0, "alpha": 1.702, "up_offset": 1.0},
    {"plain": "relu"},
    {"plain": "gelu"},
]
# Of each type half the distance from 1 to the next number, and half the least number.
UNIT = {f32: (2.0**-24, 2.0**-150), bf16: (2.0**-8, 2.0**-134), f16: (2.0**-11, 2.0**-25)}
STEEPEST = 1.13  # of all these activations


def dimension(generator: np.random.Generator) -> int:
    fast = [8, 16, 32, 48, 64, 96, 128, 136, 200]  # rows begin on multiples of 16 bytes
    return int(generator.choice(fast if generator.random() < 0.5 else [1, 2, 3, 7, 17, 31, 33, 65, 100, 130]))


@dataclass
class Layer:
    """With `given`, ids and weights are inputs; else a router chooses, within `keep` of `groups` groups of experts, each ranked
    by its `top` best."""

    name: str
    dtype: np.dtype
    experts: int
    k: int
    tokens: int
    h: int
    f: int
    static: bool = True
    bias: bool = False
    align: int = 1
    layout: str = "kn"
    function: str = "softmax"
    form: dict = field(default_factory=dict)
    router: str = "kn"
    logit_bias: bool = False
    score_bias: bool = False
    groups: int = 1
    keep: int = 1
    top: int = 1
    renormalize: bool = True
    scale: float = 1.0
    given: bool = False
    capacity: int | None = None

    @classmethod
    def draw(cls, generator: np.random.Generator, dtype: np.dtype, **fixed: object) -> Layer:
        """All that is not fixed at random."""

        def pick(name: str, *choices: object) -> object:
            drawn = choices[int(generator.integers(len(choices)))]
            return fixed.get(name, drawn)

        experts = int(pick("experts", 2, 3, 5, 8, 16, 33))
        given = bool(pick("given", False))
        groups = int(pick("groups", *([1, 1, 2, 4] if experts % 4 == 0 and not given else [1])))
        width = experts // groups
        keep, top = int(generator.integers(1, groups + 1)), int(generator.integers(1, min(width, 3) + 1))
        k = min(int(pick("k", 1, 2, 4, 8)), keep * width)
        tokens = int(pick("tokens", 5, 31, 70, 127))
        capacity = pick("capacity", None, None, int(generator.integers(1, tokens * k + 5))) if given else None
        h, f = dimension(generator), dimension(generator)
        return cls(
            "main", dtype, experts, k, tokens, h, f,
            static=bool(pick("static", False, True)),
            bias=bool(pick("bias", False, True)),
            align=1 if capacity is not None else int(pick("align", 1, 1, 8)),
            layout=str(pick("layout", "kn", "nk")),
            function=str(pick("function", "softmax", "sigmoid")),
            form=dict(pick("form", *FORMS)),
            router=str(pick("router", "kn", "nk")),
            logit_bias=not given and bool(pick("logit_bias", False, True)),
            score_bias=not given and bool(pick("score_bias", False, True)),
            groups=groups, keep=keep, top=top,
            renormalize=bool(pick("renormalize", False, True)),
            scale=float(pick("scale", 1.0, 2.5)),
            given=given, capacity=capacity,
        )  # fmt: skip

    def text(self) -> str:
        form = self.form
        activation = [f"function = #moe.gate<{form['function']}>"] if "function" in form else []
        activation += [f"layout = #moe.halves<{form['layout']}>"] if "layout" in form else []
        activation += [f"{key} = {form[key]} : f32" for key in ("limit", "alpha", "up_offset") if key in form]
        select = f", groups = {self.groups}, keep_groups = {self.keep}, group_top = {self.top}"
        normalize = ["renormalize"] if self.renormalize else []
        return texts.layer(
            self.experts, self.tokens if self.static else None, self.k, self.h, self.f, self.dtype, layout=self.layout,
            router=self.router, logit_bias=self.logit_bias, function=self.function, score_bias=self.score_bias,
            select=select if self.groups > 1 else "", normalize=", ".join([*normalize, f"scale = {self.scale} : f32"]),
            activation=", ".join(activation), plain=form.get("plain", ""), bias=self.bias, align=self.align,
            capacity=self.capacity, given=self.given, name=self.name,
        )  # fmt: skip

    def inputs(self, generator: np.random.Generator) -> dict[str, Array]:
        """By name; the weights as [h, E], [E, h, 2f] and [E, f, h]. Logits are of the order of 2."""
        experts, h, f, k = self.experts, self.h, self.f, self.k
        width = f if "plain" in self.form else 2 * f
        normal = generator.standard_normal
        drawn = {"x": normal((self.tokens, h))}
        if not self.given:
            drawn["router"] = normal((h, experts)) * 2 / np.sqrt(h)
        drawn["w1"], drawn["w2"] = normal((experts, h, width)) / np.sqrt(h), normal((experts, f, h)) / np.sqrt(f)
        if self.bias:
            drawn["b1"], drawn["b2"] = normal((experts, width)), normal((experts, h))
        drawn = {name: array.astype(self.dtype) for name, array in drawn.items()}
        if self.logit_bias:
            drawn["logit_bias"] = normal(experts).astype(f32)
        if self.score_bias:
            drawn["score_bias"] = (normal(experts) / 4).astype(f32)
        if self.given:
            drawn["ids"] = generator.integers(0, experts, (self.tokens, k)).astype(i32)
            drawn["weights"] = generator.random((self.tokens, k)).astype(f32)
        return drawn

    def passed(self, inputs: dict[str, Array]) -> list[Array]:
        """The arguments, in order."""
        stored = dict(inputs)
        if self.layout == "nk":
            stored["w1"], stored["w2"] = (np.ascontiguousarray(inputs[w].swapaxes(1, 2)) for w in ("w1", "w2"))
        if self.router == "nk" and not self.given:
            stored["router"] = np.ascontiguousarray(inputs["router"].T)
        return list(stored.values())

    def run(self, program: Program, inputs: dict[str, Array]) -> list[Array]:
        """ids, weights and the result."""
        return program.run(*self.passed(inputs), entry=self.name)

    def check(self, program: Program, inputs: dict[str, Array], outputs: list[Array] | None = None) -> list[Array]:
        """Compares the outputs of a run, one of its own if none are given, with the reference and with the CPU's; returns them."""
        ids, weights, out = outputs or self.run(program, inputs)
        faults, clear = {}, np.ones(self.tokens, bool)
        if self.given:
            equal(ids, inputs["ids"], f"{self}: ids")
            equal(weights, inputs["weights"], f"{self}: weights")
            faults |= self.bad_ids(ids)
        else:
            clear = self.check_router(inputs, ids, weights)
            lost = np.flatnonzero(~np.isfinite(self.logits(inputs)[0]).any(1))
            if lost.size:
                faults["NAN_ROUTER"] = (lost.size, lost[0], 0, self.experts)
        wanted, far, over = self.expected(inputs, ids, weights)
        faults |= over
        if outputs is None:
            assert program.faults == faults, f"{self}: faults {program.faults}, expected {faults}"
        near(out, wanted, far, str(self))
        # Each of two targets adds in an order of its own, so a value between two roundings may fall on either side.
        cpu_ids, cpu_weights, cpu_out = program.on_cpu([ids, weights, out])
        equal(ids[clear], cpu_ids[clear], f"{self}: ids and the CPU's")
        same = (ids == cpu_ids).all(1)
        near(
            weights[same],
            cpu_weights[same],
            2 * self.weights_far(inputs, ids, weights)[same],
            f"{self}: weights and the CPU's",
        )
        near(out[same], cpu_out[same], far[same], f"{self}: the result and the CPU's")
        return [ids, weights, out]

    # --- the router ---------------------------------------------------------------------------------------------------------

    def logits(self, inputs: dict[str, Array]) -> tuple[Array, Array]:
        """In float64, and how far a sum in f32 may be from each."""
        x, router = inputs["x"].astype(np.float64), inputs["router"].astype(np.float64)
        logits, far = x @ router, np.abs(x) @ np.abs(router)
        if self.logit_bias:
            logits, far = logits + inputs["logit_bias"], far + np.abs(inputs["logit_bias"])
        return logits, far * (self.h / 4 + 16) * 2.0**-23

    def scores(self, inputs: dict[str, Array]) -> tuple[Array, Array]:
        """In float64, and their bounds: an error of a logit is one of the score, relative, and of all others under softmax. So
        are those of differences of logits in f32, and of their products with log2(e)."""
        logits, far = self.logits(inputs)
        scores = reference.scores(logits, self.function).astype(np.float64)
        worst = np.nan_to_num(far + np.abs(logits) * 2.0**-22).max(1, initial=0, keepdims=True)
        return scores, np.nan_to_num(scores) * (2 * worst + 2.0**-20) + 2.0**-126  # less may be flushed to 0

    def weights_far(self, inputs: dict[str, Array], ids: Array, weights: Array) -> Array:
        if self.given:
            return np.zeros_like(weights)
        far = np.take_along_axis(self.scores(inputs)[1], ids, 1) * self.scale
        if self.renormalize:
            chosen = np.nan_to_num(np.take_along_axis(self.scores(inputs)[0], ids, 1))
            total = np.maximum(chosen.sum(1, keepdims=True), 1e-20)
            far = (far + chosen / total * far.sum(1, keepdims=True)) / total
        return far + np.abs(weights) * 2.0**-21

    def check_router(self, inputs: dict[str, Array], ids: Array, weights: Array) -> Array:
        """Returns which tokens' choice no rounding changes."""
        scores, far = self.scores(inputs)
        bias = inputs.get("score_bias")
        ranked = scores if bias is None else scores + bias
        far_ranked = far + 2.0**-23 * np.abs(ranked)
        expected, _ = reference.select(scores.astype(f32), self.k, bias, self.groups, self.keep, self.top)
        even = ~inputs["x"].any(1) & (bias is None) & (not self.logit_bias)  # the logits are 0: ties are exact
        clear = np.array(
            [e or self.is_clear(r, s) for e, r, s in zip(even, ranked, far_ranked, strict=True)], bool
        )  # fmt: skip
        equal(ids[clear], expected[clear], f"{self}: ids")
        ordered = np.sort(ids, 1)
        assert (ordered[:, 1:] != ordered[:, :-1]).all() and ((ids >= 0) & (ids < self.experts)).all(), (
            f"{self}: ids {ids}"
        )
        chosen = np.take_along_axis(scores, ids, 1)
        wanted = reference.normalize(chosen, self.renormalize, self.scale)
        near(weights, wanted, self.weights_far(inputs, ids, weights), f"{self}: weights")
        return clear

    def is_clear(self, ranked: Array, far: Array) -> bool:
        """Whether no two scores of one token that decide about its ids, and no two groups' sums, are within their bounds."""

        def apart(values: Array, bounds: Array, count: int) -> bool:
            order = np.argsort(-np.nan_to_num(values, nan=-np.inf), kind="stable")
            values, bounds = values[order][: count + 1], bounds[order][: count + 1]
            gaps = values[:-1] - values[1:]
            return bool((np.isnan(gaps) | (gaps > bounds[:-1] + bounds[1:])).all())

        allowed = np.arange(self.experts)
        if self.groups > 1:
            by_group = np.nan_to_num(ranked, nan=-1e9).reshape(self.groups, -1)
            best = -np.sort(-by_group, 1)[:, : self.top].sum(1)
            bounds = np.sort(far.reshape(self.groups, -1), 1)[:, -self.top :].sum(1)
            order = np.argsort(-best, kind="stable")
            cut = order[self.keep - 1 : self.keep + 1]
            if len(cut) == 2 and best[cut[0]] - best[cut[1]] <= bounds[cut].sum():
                return False
            allowed = np.flatnonzero(np.isin(np.arange(self.experts) // by_group.shape[1], order[: self.keep]))
        return apart(ranked[allowed], far[allowed], self.k)

    # --- what follows -------------------------------------------------------------------------------------------------------

    def bad_ids(self, ids: Array) -> dict[str, tuple[int, int, int, int]]:
        bad = np.flatnonzero((ids < -1) | (ids >= self.experts))
        return {"BAD_ID": (bad.size, bad[0], ids.reshape(-1)[bad[0]], self.experts)} if bad.size else {}

    def expected(self, inputs: dict[str, Array], ids: Array, weights: Array) -> tuple[Array, Array, dict]:
        """The result in float64, how far from it one may be, and faults of the plan.

        A bound has two parts. `sure`: sums in f32 (those of tensor cores are cut off at each step, see gpu/kit.py) and approximate
        functions, which may all err to one side. `loose`: the sum of the squares of roundings to the element type, of both
        products, the activation and the result, whether a fusion skips one or not. Independent roundings pass six times its root
        once in 30 million times."""
        x, w1, w2 = (inputs[name].astype(np.float64) for name in ("x", "w1", "w2"))
        unit, least = UNIT[self.dtype]
        plan = reference.plan(ids, self.experts, self.capacity, self.align)
        groups = [tuple(int(v) for v in b) for b in plan["bounds"]]
        rows = len(plan["token"])
        bias = [inputs[b].astype(np.float64) if self.bias else np.zeros((self.experts, 1)) for b in ("b1", "b2")]

        def product(a: Array, sure: Array, loose: Array, w: Array, b: Array) -> tuple[Array, Array, Array]:
            y, s, v = (np.zeros((rows, w.shape[2])) for _ in range(3))
            for g, (begin, end) in enumerate(groups):
                part, size = slice(begin, end), np.abs(w[g])
                y[part] = a[part] @ w[g] + b[g]
                s[part] = sure[part] @ size + (np.abs(a[part]) @ size + np.abs(b[g])) * (a.shape[1] / 4 + 16) * 2.0**-23
                v[part] = loose[part] @ size**2
            return y, s, v + (unit * np.abs(y) + least) ** 2

        gathered = reference.gather(x, plan["token"])
        nothing = np.zeros_like(gathered)
        y1, sure, loose = product(gathered, nothing, nothing, w1, bias[0])
        a, sure, loose = self.activate(y1, sure, loose)
        y2, sure, loose = product(a, sure, loose + (unit * np.abs(a) + least) ** 2, w2, bias[1])

        out, far_sure, far_loose = (np.zeros((self.tokens, self.h)) for _ in range(3))
        for slot in range(self.k):
            row, weight = plan["inverse"][:, slot], weights[:, slot].astype(np.float64)
            used = (row >= 0) & (weight != 0)
            row, weight = row[used], weight[used, None]
            out[used] += weight * y2[row]
            far_sure[used] += np.abs(weight) * sure[row] + np.abs(weight * y2[row]) * (self.k + 2) * 2.0**-24
            far_loose[used] += weight**2 * loose[row] + least**2
        far = far_sure + 6 * np.sqrt(far_loose) + unit * np.abs(out) + least
        faults = {}
        if dropped := int(plan["dropped"][0]):
            valid = (ids >= 0) & (ids < self.experts) & (plan["inverse"] < 0)
            faults["OVERFLOW"] = (1, np.flatnonzero(valid)[0], dropped, self.capacity)
        return out, far, faults

    def activate(self, y1: Array, sure: Array, loose: Array) -> tuple[Array, Array, Array]:
        """None of the functions is steeper than STEEPEST; chips approximate them to 20 bits."""
        if plain := self.form.get("plain"):
            gelu = np.vectorize(lambda v: v * (1 + math.erf(v / math.sqrt(2))) / 2, otypes=[np.float64])
            a = np.maximum(y1, 0) if plain == "relu" else gelu(y1)
            return a, STEEPEST * sure + np.abs(y1) * 2.0**-20, STEEPEST**2 * loose
        a = reference.gated_activation(y1, **self.form)
        layout, limit = self.form.get("layout", "concatenated"), self.form.get("limit", np.inf)
        half = y1.shape[1] // 2
        cut = (slice(half), slice(half, None)) if layout == "concatenated" else (slice(0, None, 2), slice(1, None, 2))
        gate, up = (
            np.minimum(y1[:, cut[0]], limit),
            np.clip(y1[:, cut[1]], -limit, limit) + self.form.get("up_offset", 0.0),
        )
        steep_gate = STEEPEST * np.abs(up)
        steep_up = np.abs(reference.gated_activation(np.concatenate([gate, np.ones_like(gate)], 1), **{
            name: value for name, value in self.form.items() if name in ("function", "alpha")}))  # fmt: skip
        both = STEEPEST * (sure[:, cut[0]] + np.sqrt(loose[:, cut[0]])) * (sure[:, cut[1]] + np.sqrt(loose[:, cut[1]]))
        approximate = (np.abs(gate) + 1) * np.abs(up) * 2.0**-20
        far = steep_gate * sure[:, cut[0]] + steep_up * sure[:, cut[1]] + both + approximate
        return a, far, steep_gate**2 * loose[:, cut[0]] + steep_up**2 * loose[:, cut[1]]
