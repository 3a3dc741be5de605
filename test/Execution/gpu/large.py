"""Offsets past 2^31 on a GPU: a few rows are drawn, the others are filled where they lie."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from arrays import DTYPES, Placed
from kit import Draw, Kit, Source, compare, expected, test
from moe_mlir._runtime import Buffer, Call, DType
from moe_mlir.products import Product

WINDOW = 40  # rows that are drawn


def filled(kit: Kit, shape: tuple[int, ...], byte: int) -> Buffer:
    """A tensor of bf16 of which all bytes are the same."""
    size = math.prod(shape) * DTYPES["bf16"].itemsize
    address, owner = kit.memory.allocate(size)
    kit.memory.fill(address, byte, size)
    return Buffer(address, DType.bf16, shape, owner=owner)


def write_rows(kit: Kit, tensor: Buffer, first: int, rows: np.ndarray) -> None:
    kit.memory.write(tensor.pointer + first * rows[:1].nbytes, np.ascontiguousarray(rows))


def rows_at(kit: Kit, tensor: Buffer, first: int) -> np.ndarray:
    """WINDOW rows of a matrix."""
    width = tensor.shape[1]
    row = width * DTYPES["bf16"].itemsize
    data = kit.memory.read(tensor.pointer + first * row, WINDOW * row)
    return data.view(DTYPES["bf16"]).reshape(WINDOW, width)


def run(kit: Kit, source: Source, inputs: list[Buffer], outputs: list[Buffer]) -> None:
    program, session = kit.loaded(source)
    space, _ = program.workspace(program.entry(), inputs)
    base, _owner = kit.memory.allocate(space)
    call = Call(session, program.entry(), inputs, outputs, base, space)
    kit.guarded(lambda: call(kit.memory.stream))
    kit.memory.wait()
    assert not session.poll(base), session.poll(base)


def check_product(kit: Kit, p: Product, rows: int, sizes: list[int]) -> None:
    """The last rows of x and the weights of the last group are drawn, everything else is 0."""
    rng, dtype = np.random.default_rng(4), DTYPES["bf16"]
    x, weights, out = filled(kit, (rows, p.k), 0), filled(kit, p.rhs_shape, 0), filled(kit, (rows, p.n), 0xFF)
    w = rng.standard_normal((p.k, p.n)).astype(dtype)
    write_rows(kit, weights, p.groups - 1, (w if p.layout == "kn" else w.T)[None])
    ends = rng.standard_normal((WINDOW, p.k)).astype(dtype)
    write_rows(kit, x, rows - WINDOW, ends)
    counts = Placed(kit.memory, p.sizes, (p.groups,), np.array(sizes, DTYPES[p.sizes]))
    run(kit, p, [x, weights, counts.buffer], [out])
    wanted, far = expected(Product(p.k, p.n, 1), Draw(np.array([WINDOW]), ends, w[None]))
    compare(rows_at(kit, out, rows - WINDOW), wanted, far, f"{p.name}: the last {WINDOW} of {rows} rows")
    for at in (0, rows // 2, rows - 2 * WINDOW):
        assert not rows_at(kit, out, at).astype(np.float32).any(), f"{p.name}: rows from {at} on are not 0"


@test(Product(64, 4096, 4), Product(64, 4096, 4, layout="nk"), cuda=True)
def case_04_output_offsets_past_32_bits(kit: Kit, *products: Product) -> None:
    for p in products:
        check_product(kit, p, 524_400, [131_072, 131_072, 131_072, 131_184])


@test(Product(4096, 64, 4), cuda=True)
def case_04_input_offsets_past_32_bits(kit: Kit, p: Product) -> None:
    check_product(kit, p, 524_400, [131_072, 131_072, 131_072, 131_184])


@test(Product(4096, 4096, 160), Product(4096, 4096, 160, layout="nk"), cuda=True)
def case_04_weight_offsets_past_32_bits(kit: Kit, *products: Product) -> None:
    for p in products:
        check_product(kit, p, 480, [2] * 159 + [480 - 318])


@dataclass(frozen=True)
class Permutation:
    """Rows of x[T, width] in the order of a plan of ids[T, 1] of two experts, and those back in the order of tokens."""

    width: int

    @property
    def name(self) -> str:
        return f"permutation_{self.width}"

    def text(self) -> str:
        plan, x = "!moe.plan<groups = 2, topk = 1>", f"tensor<?x{self.width}xbf16>"
        rows = f"tensor<?x{self.width}xbf16, #moe.ragged<groups = 2>>"
        return f"""func.func @main(%x: {x}, %ids: tensor<?x1xi32>) -> ({rows}, {x}) {{
  %p = moe.plan %ids : tensor<?x1xi32> -> {plan}
  %rows = moe.gather %x, %p : {x}, {plan} -> {rows}
  %out = moe.combine %rows, %p : {rows}, {plan} -> {x}
  return %rows, %out : {rows}, {x}
}}
"""


def check_permutation(kit: Kit, p: Permutation, tokens: int) -> None:
    """The first tokens are of the second expert, whose rows are the last. Numbers up to 250 are exact."""
    x, rows, out = filled(kit, (tokens, p.width), 0), *(filled(kit, (tokens, p.width), 0xFF) for _ in range(2))
    ids = np.zeros((tokens, 1), np.int32)
    ids[:WINDOW] = 1
    windows = {first: np.arange(first, first + WINDOW) % 251 for first in (0, tokens - WINDOW)}
    for first, values in windows.items():
        write_rows(kit, x, first, np.repeat(values[:, None], p.width, 1).astype(DTYPES["bf16"]))
    run(kit, p, [x, Placed(kit.memory, "i32", ids.shape, ids).buffer], [rows, out])
    for tensor, first, token in (
        (rows, tokens - WINDOW, 0),
        (rows, tokens - 2 * WINDOW, tokens - WINDOW),
        (out, 0, 0),
        (out, tokens - WINDOW, tokens - WINDOW),
    ):
        found = rows_at(kit, tensor, first).astype(np.int64)
        assert (found == windows[token][:, None]).all(), f"{p.name}: rows from {first} on are {found[:, 0]}"
    for tensor, at in ((rows, 0), (rows, tokens // 2), (out, tokens // 2)):
        assert not rows_at(kit, tensor, at).astype(np.float32).any(), f"{p.name}: rows from {at} on are not 0"


@test(Permutation(7168), Permutation(4096), cuda=True)
def case_04_a_permutation_past_32_bits(kit: Kit, wide: Permutation, narrow: Permutation) -> None:
    check_permutation(kit, wide, 299_600)
    check_permutation(kit, narrow, 524_300)
