"""Sizes at which 32-bit arithmetic wraps. The memory is mapped, not touched: only a few rows are ever used."""

import numpy as np
import texts
from harness import bf16, compile, equal, f32, i32


def last_rows(tokens: int, h: int, static: bool) -> None:
    """Gathers the last 10 of so many rows, at offsets past 2^31 elements."""
    assert (tokens - 1) * h > 2**31
    x, ids = np.empty((tokens, h), bf16), np.full((tokens, 1), -1, i32)
    ids[-10:] = 0
    x[-10:] = (np.arange(tokens - 10, tokens) % 251)[:, None]
    text = texts.plan_and_gather(1, tokens if static else None, h, bf16, capacity=12)
    (rows,) = compile(text).run(x, ids)
    equal(rows[:10], x[-10:])
    equal(rows[10:], np.zeros((2, h)))


def case_04_an_element_offset_past_32_bits() -> None:
    last_rows(299_600, 7168, static=False)


def case_04_an_element_offset_past_32_bits_of_a_static_shape() -> None:
    last_rows(299_600, 7168, static=True)


def case_row_524288_of_4096_columns() -> None:
    last_rows(524_300, 4096, static=False)


def case_04_a_row_pitch_that_takes_offsets_past_32_bits() -> None:
    """Output rows 2^28 elements apart: row 9 starts at element 9 * 2^28 > 2^31."""
    program = compile(texts.forward(10, 16, 64, 2, bf16))
    y = np.empty(9 * 2**28 + 64, bf16)
    rows = np.lib.stride_tricks.as_strided(y, (10, 64), (2**29, 2))
    w = np.ones((2, 16, 64), bf16)
    w[1] = 2
    program.run(np.ones((10, 16), bf16), w, np.array([4, 5], i32), outputs=[rows])
    equal(rows, np.repeat([[16]] * 4 + [[32]] * 5 + [[0]], 64, 1))


def case_many_more_groups_than_rows() -> None:
    groups = 70_000
    sizes = np.zeros(groups, i32)
    sizes[[0, 65_535, 65_536, groups - 1]] = 1
    w = np.zeros((groups, 1, 2), f32)
    w[sizes == 1, 0, 0] = [1, 2, 3, 4]
    (y,) = compile(texts.forward(4, 1, 2, groups, f32)).run(np.ones((4, 1), f32), w, sizes)
    equal(y, [[1, 0], [2, 0], [3, 0], [4, 0]])
