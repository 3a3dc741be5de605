"""Which experts a layer chooses on JAX's inputs, beside what JAX's own arithmetic chooses, worked out in NumPy."""

from pathlib import Path

import numpy as np
from harness import bf16, compile, equal, f32, tensor

JAX = Path(__file__).resolve().parents[1] / "jax"


def router(tokens: int, width: int, experts: int, k: int, dtype: np.dtype) -> str:
    x, w = tensor([tokens, width], dtype), tensor([width, experts], dtype)
    logits, ids, values = tensor([tokens, experts], f32), f"tensor<{tokens}x{k}xi32>", tensor([tokens, k], f32)
    return f"""func.func @main(%x: {x}, %router: {w}) -> {ids} {{
  %l = moe.logits %x, %router : {x}, {w} -> {logits}
  %s = moe.scores %l : {logits}
  %ids, %v = moe.select %s {{k = {k}}} : {logits} -> {ids}, {values}
  return %ids : {ids}
}}
"""


def case_mixtral_bf16_chooses_the_experts_of_jax() -> None:
    data = np.load(JAX / "layer_mixtral_bf16.npz")
    x, w = data["in0"], data["in1"]
    rounded = (x.astype(np.float64) @ w.astype(np.float64)).astype(f32).astype(bf16).astype(f32)  # as JAX rounds
    expected = np.argsort(-rounded, axis=1, kind="stable")[:, :2]
    (ids,) = compile(router(*x.shape, w.shape[1], 2, bf16)).run(x.astype(bf16), w.astype(bf16))
    equal(np.sort(ids, 1), np.sort(expected, 1), "experts of a token")
