"""One ragged matrix product as a program: what tests and benchmarks compile ahead, and then run for any number of rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(frozen=True)
class Product:
    """`rows`: y[M, n] = x[M, k] times the weights of each row's group, [groups, k, n] (layout kn) or [groups, n, k] (nk).
    `contraction`: dw[groups, k, n] = x_g^T dy_g of x[M, k] and dy[M, n], added to an f32 input if `accumulate`. With `local`
    only that many groups from `offset` on. M is dynamic. Inputs of the program: x, weights or dy, sizes[groups]
    [, the input that is added to].
    """

    k: int
    n: int
    groups: int
    mode: str = "rows"
    layout: str = "kn"
    dtype: str = "bf16"
    out: str = "bf16"
    sizes: str = "i32"
    local: int | None = None
    offset: int = 0
    accumulate: bool = False
    precision: str = "exact"

    @property
    def name(self) -> str:
        """Says all there is; fit for a file."""
        parts = [self.layout if self.mode == "rows" else "wgrad", self.dtype]
        parts += [self.out] if self.out != self.dtype else []
        parts += [f"k{self.k}", f"n{self.n}", f"g{self.groups}"]
        parts += [f"local{self.local}at{self.offset}"] if self.local is not None else []
        parts += ["acc"] if self.accumulate else []
        parts += [self.sizes] if self.sizes != "i32" else []
        parts += [self.precision] if self.precision != "exact" else []
        return "_".join(parts)

    @property
    def computed(self) -> int:
        """Groups that are computed."""
        return self.groups if self.local is None else self.local

    @property
    def rhs_shape(self) -> tuple[int | None, ...]:
        """Shape of the second input; None is M."""
        if self.mode == "contraction":
            return (None, self.n)
        return (self.computed, self.k, self.n) if self.layout == "kn" else (self.computed, self.n, self.k)

    @property
    def out_shape(self) -> tuple[int | None, ...]:
        return (None, self.n) if self.mode == "rows" else (self.computed, self.k, self.n)

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def text(self) -> str:
        """The program in the moe dialect."""
        ragged, plan = f"#moe.ragged<groups = {self.groups}", f"!moe.plan<groups = {self.groups}>"

        def tensor(shape: tuple[int | None, ...], dtype: str, encoding: str = "") -> str:
            sizes = "".join("?x" if s is None else f"{s}x" for s in shape)
            return f"tensor<{sizes}{dtype}{encoding}>"

        free = f", {ragged}, tail = undefined>"
        x = tensor((None, self.k), self.dtype, free)
        rhs = tensor(self.rhs_shape, self.dtype, free if self.mode == "contraction" else "")
        out = tensor(self.out_shape, self.out, f", {ragged}>" if self.mode == "rows" else "")
        sizes = tensor((self.groups,), self.sizes)
        attributes = [f"mode = #moe.mode<{self.mode}>"]
        attributes += [f"layout = #moe.weights<{self.layout}>"] if self.mode == "rows" else []
        attributes += [f"group_offset = {self.offset}"] if self.local is not None else []
        attributes += [f"precision = #moe.precision<{self.precision}>"] if self.precision != "exact" else []
        argument, operand, kind = (f", %acc: {out}", " acc %acc", f", {out}") if self.accumulate else ("", "", "")
        return f"""func.func @main(%x: {x}, %rhs: {rhs}, %sizes: {sizes}{argument}) -> {out} {{
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : {x}
  %p = moe.plan_from_sizes %sizes rows %m : {sizes} -> {plan}
  %y = moe.ragged_matmul %x, %rhs plan %p{operand} {{{", ".join(attributes)}}} : {x}, {rhs}, {plan}{kind} -> {out}
  return %y : {out}
}}
"""
