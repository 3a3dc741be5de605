"""Programs of one tile op, and what their tests share."""

from collections.abc import Iterator

import ml_dtypes
import numpy as np
from harness import Program, compile

DTYPES = {
    "f32": np.float32,
    "bf16": ml_dtypes.bfloat16,
    "f16": np.float16,
    "i32": np.int32,
    "i64": np.int64,
    "i1": np.bool_,
}
# Below, at and beyond a vector register, a chunk of registers, and several chunks, at every CPU level.
WIDTHS = [1, 2, 7, 16, 31, 64, 100, 257, 1000]
ROWS = [0, 1, 37]


def rows(ins: dict[str, str], outs: list[str], body: str, groups: int = 0, order: str = "") -> str:
    """Text of a program of one tile.rows: named inputs (in the body with an s behind the name) and types of the outs. The
    rows are those of the first input; with `groups`, the last input of the program is the bounds, with `order`, a type,
    the order."""

    def listed(values: list[str]) -> str:
        return ", ".join(values)

    types, results = [f"tensor<{t}>" for t in ins.values()], listed([f"tensor<{t}>" for t in outs])
    bounds = f"tensor<{groups}x2xi64>"
    signature = [f"%in_{name}: {t}" for name, t in zip(ins, types, strict=True)]
    signature += [f"%bounds: {bounds}"] * bool(groups) + [f"%order: tensor<{order}>"] * bool(order)
    arguments = (
        ["%r: index"] + ["%g: index"] * bool(groups) + [f"%{name}s: {t}" for name, t in zip(ins, types, strict=True)]
    )
    empty = "\n".join(f"  %init{i} = tensor.empty(%rows) : tensor<{t}>" for i, t in enumerate(outs))
    return f"""func.func @main({listed(signature)}) -> ({results}) {{
  %first = arith.constant 0 : index
  %rows = tensor.dim %in_{next(iter(ins))}, %first : {types[0]}
{empty}
  %outs:{len(outs)} = tile.rows ins({listed([f"%in_{name}" for name in ins])} : {listed(types)})
      {f"bounds(%bounds : {bounds})" if groups else ""} {f"order(%order : tensor<{order}>)" if order else ""}
      outs({listed([f"%init{i}" for i in range(len(outs))])} : {results}) {{
  ^bb0({listed(arguments)}):
{body}
  }} -> {results}
  return {listed([f"%outs#{i}" for i in range(len(outs))])} : {results}
}}
"""


def row(name: str, t: str, index: str = "%r") -> str:
    """A load of a row: `row("x", "?x8xf32")`."""
    _, width, element = t.split("x", 2)
    return f"tile.load %{name}s[{index}] : tensor<{t}> -> vector<{width}x{element}>"


def levels(text: str) -> list[Program]:
    """The program for this machine's CPU and for the level below, whose chunks are of other widths."""
    native = compile(text)
    try:
        return [native, compile(text, "--cpu=x86-64-v3")]
    except AssertionError as refused:
        if "x86-64-v3" in str(refused):
            return [native]
        raise


def pitched(array: np.ndarray) -> np.ndarray:
    """The same matrix with space between its rows, filled with what must not be read."""
    wide = np.ones((array.shape[0], array.shape[1] + 3), array.dtype)
    if array.dtype.kind not in "b":
        wide[:] = np.array(np.nan if array.dtype.kind in "fV" else 99).astype(array.dtype)
    wide[:, : array.shape[1]] = array
    return wide[:, : array.shape[1]]


def some(rng: np.random.Generator, values: list[int], count: int = 3) -> list[int]:
    """A few of the values, other ones each time."""
    return sorted(int(v) for v in rng.choice(values, count, replace=False))


def runs(programs: list[Program], *inputs: np.ndarray) -> Iterator[tuple[list[np.ndarray], Program]]:
    """The outputs of each program, on one and on several threads, and the program, which has the faults."""
    for program in programs:
        for threads in (1, 2):
            yield program.run(*inputs, threads=threads), program
