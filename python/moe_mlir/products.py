"""One ragged matrix product as a program: what tests and benchmarks compile ahead, and then run for any number of rows."""

from __future__ import annotations

from dataclasses import asdict, dataclass

# silu(gate) * up, as an epilogue.
SILU = """  ^bb0(%gate: f32, %up: f32):
    %one = arith.constant 1.0 : f32
    %minus = arith.negf %gate : f32
    %exp = math.exp %minus : f32
    %sum = arith.addf %one, %exp : f32
    %silu = arith.divf %gate, %sum : f32
    %result = arith.mulf %silu, %up : f32
"""


# Schedules by name, where one is asked for: of products that gather their rows.
SCHEDULES = {
    "pingpong": "roles = pingpong, m = 64, n = 256, stages = 4",
    "pingpong-dynamic": "roles = pingpong, m = 128, n = 128, stages = 4, order = dynamic",
    "cluster": "m = 128, n = 256, stages = 4, cluster = 2, order = dynamic",
    "dynamic": "m = 128, n = 256, stages = 4, order = dynamic",
}


def tensor(shape: tuple[int | None, ...], dtype: str, encoding: str = "") -> str:
    sizes = "".join("?x" if s is None else f"{s}x" for s in shape)
    return f"tensor<{sizes}{dtype}{encoding}>"


@dataclass(frozen=True)
class Product:
    """`rows`: y[M, n] = x[M, k] times the weights of each row's group, [groups, k, n] (layout kn) or [groups, n, k] (nk).
    `contraction`: dw[groups, k, n] = x_g^T dy_g of x[M, k] and dy[M, n], added to an f32 input if `accumulate`. With `local`
    only that many groups from `offset` on. M is dynamic. Inputs of the program: x, weights or dy, sizes[groups]
    [, the input that is added to, or the index of `gather`].

    `gather`: row r of y is made of row index[r] of x[T, k], of zeros where that is -1. `gate`: y[M, n / 2] is silu(gate) * up of
    the halves of a row (`concatenated`) or of its even and odd columns (`interleaved`). `schedule` names one of SCHEDULES.
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
    gather: bool = False
    gate: str | None = None
    precision: str = "exact"
    schedule: str | None = None

    @property
    def name(self) -> str:
        """Says all there is; fit for a file."""
        parts = [self.layout if self.mode == "rows" else "wgrad", self.dtype]
        parts += [self.out] if self.out != self.dtype else []
        parts += [f"k{self.k}", f"n{self.n}", f"g{self.groups}"]
        parts += [f"local{self.local}at{self.offset}"] if self.local is not None else []
        parts += ["acc"] if self.accumulate else []
        parts += ["gather"] if self.gather else []
        parts += [self.gate] if self.gate else []
        parts += [self.sizes] if self.sizes != "i32" else []
        parts += [self.precision] if self.precision != "exact" else []
        parts += [self.schedule] if self.schedule else []
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
        if self.mode == "contraction":
            return (self.computed, self.k, self.n)
        return (None, self.n // 2 if self.gate else self.n)

    def to_json(self) -> dict[str, object]:
        return asdict(self)

    def text(self) -> str:
        """The program: in the moe dialect, or in tile where rows are gathered by an index that the caller gives."""
        return self._tile_text() if self.gather else self._moe_text()

    def _moe_text(self) -> str:
        ragged, plan = f"#moe.ragged<groups = {self.groups}", f"!moe.plan<groups = {self.groups}>"
        free = f", {ragged}, tail = undefined>"
        encoding = f", {ragged}>" if self.mode == "rows" else ""
        x = tensor((None, self.k), self.dtype, free)
        rhs = tensor(self.rhs_shape, self.dtype, free if self.mode == "contraction" else "")
        out = tensor(self.out_shape, self.out, encoding)
        product = tensor((None, self.n), self.out, encoding) if self.gate else out
        sizes = tensor((self.groups,), self.sizes)
        attributes = [f"mode = #moe.mode<{self.mode}>"]
        attributes += [f"layout = #moe.weights<{self.layout}>"] if self.mode == "rows" else []
        attributes += [f"group_offset = {self.offset}"] if self.local is not None else []
        attributes += [f"precision = #moe.precision<{self.precision}>"] if self.precision != "exact" else []
        argument, operand, kind = (f", %acc: {out}", " acc %acc", f", {out}") if self.accumulate else ("", "", "")
        gate = (
            f"  %z = moe.gated_activation %y {{layout = #moe.halves<{self.gate}>}} : {product} -> {out}\n"
            if self.gate
            else ""
        )
        return f"""func.func @main(%x: {x}, %rhs: {rhs}, %sizes: {sizes}{argument}) -> {out} {{
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : {x}
  %p = moe.plan_from_sizes %sizes rows %m : {sizes} -> {plan}
  %y = moe.ragged_matmul %x, %rhs plan %p{operand} {{{", ".join(attributes)}}} : {x}, {rhs}, {plan}{kind} -> {product}
{gate}  return %{"z" if self.gate else "y"} : {out}
}}
"""

    def _tile_text(self) -> str:
        x, rhs = tensor((None, self.k), self.dtype), tensor(self.rhs_shape, self.dtype)
        out, sizes, index = tensor(self.out_shape, self.out), tensor((self.groups,), self.sizes), tensor((None,), "i32")
        bounds = f"tensor<{self.groups}x2xi64>"
        attributes = [f"layout = #tile.rhs<{self.layout}>", f"group_offset = {self.offset} : i64"]
        attributes += [f"precision = #tile.precision<{self.precision}>", f"accs = #tile.accs<{self.gate or 'single'}>"]
        if self.schedule:
            registers = "producer_registers = 56, consumer_registers = 224"
            attributes += [f"sm90.schedule = #sm90.schedule<{SCHEDULES[self.schedule]}, {registers}>"]
        body = SILU if self.gate else "  ^bb0(%result: f32):\n"
        round_to = f"    %out = arith.truncf %result : f32 to {self.out}\n" if self.out != "f32" else ""
        return f"""func.func @main(%x: {x}, %rhs: {rhs}, %sizes: {sizes}, %index: {index}) -> {out} {{
  %c0 = arith.constant 0 : index
  %m = tensor.dim %index, %c0 : {index}
  %some = tensor.empty() : {bounds}
  %bounds = tile.offsets sizes(%sizes : {sizes}) rows(%m) outs(%some : {bounds}) -> {bounds}
  %empty = tensor.empty(%m) : {out}
  %y = tile.ragged_gemm lhs(%x : {x}) gather(%index : {index}) rhs(%rhs : {rhs}) bounds(%bounds : {bounds}) outs(%empty : {out})
      attributes {{{", ".join(attributes)}}} {{
{body}{round_to}    tile.yield %{"out" if round_to else "result"} : {self.out}
  }} -> {out}
  return %y : {out}
}}
"""
