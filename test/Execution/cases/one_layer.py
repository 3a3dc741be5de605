"""One layer at random or as a test wants it, and what it must give."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import reference
import texts
from harness import Program, close, equal, f32

FORMS = [
    {},
    {"layout": "interleaved"},
    {"limit": 1.0},
    {"function": "gelu_tanh"},
    {"layout": "interleaved", "limit": 7.0, "alpha": 1.702, "up_offset": 1.0},
]


def dimension(generator: np.random.Generator) -> int:
    return int(generator.choice([1, 2, 3, 7, 8, 16, 17, 31, 32, 33, 48, 64, 65, 96, 100, 128, 130]))


@dataclass
class Layer:
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

    @classmethod
    def draw(cls, generator: np.random.Generator, dtype: np.dtype, name: str) -> Layer:
        experts = int(generator.integers(1, 17))
        return cls(
            name,
            dtype,
            experts,
            int(generator.integers(1, min(experts, 4) + 1)),
            int(generator.choice([0, 1, 5, 40, 70])),
            dimension(generator),
            dimension(generator),
            bool(generator.random() < 0.5),
            bool(generator.random() < 0.5),
            int(generator.choice([1, 1, 8])),
            str(generator.choice(["kn", "nk"])),
            str(generator.choice(["softmax", "sigmoid"])),
            dict(generator.choice(FORMS)),
        )

    def text(self) -> str:
        form = self.form
        activation = [f"function = #moe.gate<{form['function']}>"] if "function" in form else []
        activation += [f"layout = #moe.halves<{form['layout']}>"] if "layout" in form else []
        activation += [f"{key} = {form[key]} : f32" for key in ("limit", "alpha", "up_offset") if key in form]
        return texts.layer(
            self.experts, self.tokens if self.static else None, self.k, self.h, self.f, self.dtype, layout=self.layout,
            function=self.function, normalize="renormalize", activation=", ".join(activation), bias=self.bias,
            align=self.align, name=self.name,
        )  # fmt: skip

    def inputs(self, generator: np.random.Generator) -> list[np.ndarray]:
        """x, router, w1, w2 (both as kn) and, with a bias, b1 and b2."""
        experts, h, f = self.experts, self.h, self.f
        drawn = [
            generator.standard_normal((self.tokens, h)),
            generator.standard_normal((h, experts)),
            generator.standard_normal((experts, h, 2 * f)) / np.sqrt(h),
            generator.standard_normal((experts, f, h)) / np.sqrt(f),
        ]
        drawn += [generator.standard_normal((experts, n)) for n in (2 * f, h)] if self.bias else []
        return [array.astype(self.dtype) for array in drawn]

    def run(self, program: Program, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """ids, weights and the result."""
        passed = list(inputs)
        if self.layout == "nk":
            passed[2:4] = (np.ascontiguousarray(w.swapaxes(1, 2)) for w in inputs[2:4])
        return program.run(*passed, entry=self.name)

    def check(self, program: Program, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """Runs it on finite inputs, compares with the reference, and returns the outputs."""
        ids, weights, out = self.run(program, inputs)
        x, router, w1, w2, *biases = inputs
        b1, b2 = biases or (None, None)
        scores = reference.scores(x.astype(np.float64) @ router.astype(np.float64), self.function)
        expected_ids, _ = reference.select(scores, self.k)
        ordered = np.sort(scores, axis=1)[:, ::-1]
        clear = np.ones(len(x), bool)  # rows whose choice no rounding changes
        if self.experts > self.k:
            clear = (ordered[:, : self.k] - ordered[:, 1 : self.k + 1] > 1e-5).all(1)
        equal(np.sort(ids, 1)[clear], np.sort(expected_ids, 1)[clear], f"{self}: ids")
        chosen = np.take_along_axis(scores, ids, 1)
        close(weights, reference.normalize(chosen, True), 1e-4, f"{self}: weights")
        plan = reference.plan(ids, self.experts, align=self.align)
        groups = [tuple(int(v) for v in b) for b in plan["bounds"]]
        y1 = reference.ragged_matmul(reference.gather(x, plan["token"]), w1, groups, bias=b1)
        y2 = reference.ragged_matmul(reference.gated_activation(y1, **self.form), w2, groups, bias=b2)
        expected = reference.combine(y2, plan["inverse"], weights)
        close(out, expected, 1e-5 if self.dtype == f32 else 0.02, str(self))
        return [ids, weights, out]
