"""Gated activations: the case of a public bug report, the options, and values where exp is at its limits."""

import numpy as np
import reference
import texts
from harness import bf16, close, compile, f16, f32, rng

H = np.array([[1, 2, 3, 4]], f32)


def case_20_gate_and_up_are_where_the_layout_says() -> None:
    (a,) = compile(texts.activation(1, 2, f32, "layout = #moe.halves<concatenated>")).run(H)
    close(a, [[2.1932, 7.0464]], 1e-4 / 7)
    (a,) = compile(texts.activation(1, 2, f32, "layout = #moe.halves<interleaved>")).run(H)
    close(a, [[1.4621, 11.4309]], 1e-4 / 11)


def case_20_the_limit_clamps_gate_from_above_and_up_on_both_sides() -> None:
    h = np.array([[9, -9, 2, 9, -9, 3]], f32)
    (a,) = compile(texts.activation(1, 3, f32, "limit = 7.0 : f32")).run(h)
    silu = [v / (1 + np.exp(-v)) for v in (7.0, -9.0, 2.0)]
    close(a, [[silu[0] * 7, silu[1] * -7, silu[2] * 3]], 1e-6)


def case_activations_at_the_limits_of_exp() -> None:
    gate = np.array([0, -0.0, 88, -88, 104, -104, 1e30, -1e30, np.inf, -np.inf, np.nan, 1e-40], f32)
    h = np.concatenate([gate, np.ones_like(gate)])[None]
    (a,) = compile(texts.activation(1, gate.size, f32)).run(h)
    with np.errstate(all="ignore"):
        wide = gate.astype(np.float64)
        expected = np.where(wide == -np.inf, np.nan, wide * reference.sigmoid(wide))
    good = np.abs(a[0, :8] - expected[:8]) <= 1e-6 * np.abs(expected[:8]) + np.finfo(f32).tiny
    assert good.all(), (a[0, :8], expected[:8])
    assert a[0, 8] == np.inf and np.isnan(a[0, 10]) and abs(a[0, 11]) <= 1e-40, a


def property_activations_follow_numpy() -> None:
    generator = rng()
    forms = {
        "silu": {},
        "gelu_tanh": {},
        "relu": {},
        "sigmoid": {},
        "gpt_oss": {"function": "silu", "layout": "interleaved", "limit": 7.0, "alpha": 1.702, "up_offset": 1.0},
    }
    for dtype, tolerance in ((f32, 1e-6), (bf16, 2**-8), (f16, 2**-10)):
        text, calls = "", []
        for name, form in forms.items():
            form = {"function": name, **form}
            width = int(generator.integers(1, 70))
            attributes = [f"function = #moe.gate<{form['function']}>"]
            attributes += [f"layout = #moe.halves<{form['layout']}>"] if "layout" in form else []
            attributes += [f"{f} = {form[f]} : f32" for f in ("limit", "alpha", "up_offset") if f in form]
            text += texts.activation(None, width, dtype, ", ".join(attributes), name)
            h = (generator.standard_normal((int(generator.integers(0, 9)), 2 * width)) * 6).astype(dtype)
            calls.append((name, form, h))
        program = compile(text)
        for name, form, h in calls:
            (a,) = program.run(h, entry=name)
            close(a, reference.gated_activation(h, **form), tolerance, f"{name} of {dtype} {h.shape}")
