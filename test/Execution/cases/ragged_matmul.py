"""Ragged matrix products: the cases of public bug reports, each by its number, and their kin without one."""

import ml_dtypes
import numpy as np
import texts
from harness import MoeError, bf16, close, compile, equal, f32, i32, i64, refused

NAN = np.nan


def ones(*shape: int, dtype: np.dtype = bf16) -> np.ndarray:
    return np.ones(shape, dtype)


def per_expert(values: list[float], k: int, n: int, dtype: np.dtype = bf16) -> np.ndarray:
    """Weights [E, k, n] that hold values[e] throughout."""
    return np.broadcast_to(np.array(values, dtype).reshape(-1, 1, 1), (len(values), k, n)).copy()


def case_01_wgrad_of_an_empty_expert_is_zero() -> None:
    sizes = [5, 0, 7, 3, 0, 1]
    program = compile(texts.wgrad(16, 64, 32, 6, bf16))
    (dw,) = program.run(ones(16, 64), ones(16, 32), np.array(sizes, i32))
    equal(dw, per_expert(sizes, 64, 32, f32))


def case_02_no_tokens_at_all() -> None:
    sizes = np.zeros(4, i32)
    for m in (0, None):
        (y,) = compile(texts.forward(m, 64, 32, 4, bf16)).run(ones(0, 64), ones(4, 64, 32), sizes)
        assert y.shape == (0, 32)
        dgrad = compile(texts.forward(m, 32, 64, 4, bf16, layout="nk"))
        (dx,) = dgrad.run(ones(0, 32), ones(4, 64, 32), sizes)
        assert dx.shape == (0, 64)
        (dw,) = compile(texts.wgrad(m, 64, 32, 4, bf16)).run(ones(0, 64), ones(0, 32), sizes)
        equal(dw, np.zeros((4, 64, 32)))


def case_02_no_groups_at_all() -> None:
    (y,) = compile(texts.forward(3, 8, 16, 0, f32)).run(
        np.full((3, 8), NAN, f32), np.ones((0, 8, 16), f32), np.zeros(0, i32)
    )
    equal(y, np.zeros((3, 16)))


def case_03_rows_past_the_last_group_are_zero() -> None:
    x = ones(8, 16)
    x[5:] = NAN
    program = compile(texts.forward(8, 16, 8, 2, bf16))
    (y,) = program.run(x, per_expert([1, 2], 16, 8), np.array([2, 3], i32))
    equal(y[:, 0], [16, 16, 32, 32, 32, 0, 0, 0])
    equal(y, np.repeat(y[:, :1], 8, 1))


def case_12_all_tokens_to_one_expert() -> None:
    program = compile(texts.forward(8, 32, 16, 8, bf16))
    sizes = np.array([0, 0, 0, 8, 0, 0, 0, 0], i32)
    (y,) = program.run(ones(8, 32), per_expert(list(range(1, 9)), 32, 16), sizes)
    equal(y, np.full((8, 16), 128))


def case_13_skewed_groups_and_many_of_them() -> None:
    experts, k, n = 160, 64, 128
    sizes = np.array([1 - e % 2 for e in range(experts)], i32)
    sizes[159] = 97
    values = [e % 4 + 1 for e in range(experts)]
    program = compile(texts.forward(177, k, n, experts, bf16))
    x, w = ones(177, k), per_expert(values, k, n)
    expected = np.repeat([64 * v for v in values], sizes)
    for run in range(100):
        (y,) = program.run(x, w, sizes, threads=1 + run % 4)
        equal(y, np.repeat(expected[:, None], n, 1), f"run {run}")


def case_15_rows_whose_pitch_is_not_a_multiple_of_16_bytes() -> None:
    program = compile(texts.forward(4, 33, 16, 2, bf16, layout="nk"))
    (y,) = program.run(ones(4, 33), ones(2, 16, 33), np.array([1, 3], i32))
    equal(y, np.full((4, 16), 33))


def case_15_padding_between_rows_is_never_read() -> None:
    program = compile(texts.forward(4, 33, 16, 2, bf16))
    x, w = np.full((4, 37), NAN, bf16), np.full((2, 35, 21), NAN, bf16)
    x[:, :33], w[:, :33, :16] = 1, 2
    y = np.full((4, 19), 7, bf16)
    program.run(x[:, :33], w[:, :33, :16], np.array([1, 3], i32), outputs=[y[:, :16]])
    equal(y[:, :16], np.full((4, 16), 66))
    equal(y[:, 16:], np.full((4, 3), 7), "padding of the output")


def case_15_a_base_address_that_is_not_aligned() -> None:
    program = compile(texts.forward(4, 33, 16, 2, bf16))
    x, w = np.ones(4 * 33 + 1, bf16)[1:].reshape(4, 33), np.ones(2 * 33 * 16 + 3, bf16)[3:].reshape(2, 33, 16)
    y = np.zeros(4 * 16 + 5, bf16)[5:].reshape(4, 16)
    program.run(x, w, np.array([1, 3], i32), outputs=[y])
    equal(y, np.full((4, 16), 33))


def case_16_sizes_change_between_runs_of_one_session() -> None:
    program = compile(texts.forward(8, 16, 8, 2, bf16))
    x, w, sizes = ones(8, 16), per_expert([1, 2], 16, 8), np.array([4, 4], i32)
    (y,) = program.run(x, w, sizes)
    equal(y[:, 0], [16] * 4 + [32] * 4)
    sizes[:] = [1, 7]
    (y,) = program.run(x, w, sizes)
    equal(y[:, 0], [16] + [32] * 7)


def case_17_overwrite_or_accumulate_on_empty_work() -> None:
    x, dy, sizes = ones(2, 16), ones(2, 16), np.array([2, 0], i32)
    (dw,) = compile(texts.wgrad(2, 16, 16, 2, bf16)).run(x, dy, sizes)
    equal(dw, per_expert([2, 0], 16, 16, f32))
    (dw,) = compile(texts.wgrad(2, 16, 16, 2, bf16, accumulate=True)).run(x, dy, sizes, np.full((2, 16, 16), 7, f32))
    equal(dw, per_expert([9, 7], 16, 16, f32))


def case_17_the_buffer_that_is_added_to_may_be_the_output() -> None:
    program = compile(texts.wgrad(2, 16, 16, 2, bf16, accumulate=True))
    assert program.program.entry().outputs[0].alias == 3, program.program.entry()
    dw = np.full((2, 16, 16), 7, f32)
    program.run(ones(2, 16), ones(2, 16), np.array([2, 0], i32), dw, outputs=[dw])
    equal(dw, per_expert([9, 7], 16, 16, f32))


def case_an_input_that_is_read_again_is_no_output() -> None:
    """Both results begin as the same buffer: only the second may be it."""
    text = texts.wgrad(2, 16, 16, 2, bf16, accumulate=True)
    text = text.replace("-> tensor<2x16x16xf32> {", "-> (tensor<2x16x16xf32>, tensor<2x16x16xf32>) {")
    product = next(line for line in text.splitlines() if "moe.ragged_matmul" in line)
    rest = text.splitlines()[text.splitlines().index(product) + 1]
    text = text.replace(rest, rest + "\n" + product.replace("%dw", "%again") + "\n" + rest)
    text = text.replace(
        "return %dw : tensor<2x16x16xf32>", "return %dw, %again : tensor<2x16x16xf32>, tensor<2x16x16xf32>"
    )
    program = compile(text)
    first, second = (o.alias for o in program.program.entry().outputs)
    assert first is None or second is None, (first, second)
    found = program.run(ones(2, 16), ones(2, 16), np.array([2, 0], i32), np.full((2, 16, 16), 7, f32))
    for dw in found:
        equal(dw, per_expert([9, 7], 16, 16, f32))


def case_24_a_local_shard_computes_only_its_groups() -> None:
    program = compile(texts.forward(8, 16, 8, 4, bf16, local=2, offset=2))
    (y,) = program.run(ones(8, 16), per_expert([1, 2], 16, 8), np.array([1, 2, 3, 2], i32))
    equal(y[:, 0], [0, 0, 0, 16, 16, 16, 32, 32])


def case_28_sizes_of_the_wrong_length_are_refused() -> None:
    text = texts.forward(8, 16, 8, 3, bf16).replace("tensor<3xi32>", "tensor<4xi32>")
    message = refused(text)
    assert "3" in message and "4" in message, message


def case_28_buffers_that_do_not_fit_are_refused() -> None:
    program = compile(texts.forward(8, 16, 8, 3, bf16))
    x, w, sizes = ones(8, 16), per_expert([1, 2, 3], 16, 8), np.array([2, 2, 4], i32)
    wrong = {
        "four sizes": ([x, w, np.array([2, 2, 4, 0], i32)], ("4", "3")),
        "i64 sizes": ([x, w, sizes.astype(i64)], ("i64", "i32")),
        "nine rows": ([ones(9, 16), w, sizes], ("9", "8")),
        "f32 rows": ([x.astype(f32), w, sizes], ("f32", "bf16")),
        "rank 2 weights": ([x, w[0], sizes], ("2", "3")),
        "two inputs": ([x, w], ("2", "3")),
    }
    for what, (inputs, words) in wrong.items():
        try:
            program.run(*inputs)
        except MoeError as error:
            assert all(word in str(error) for word in words), f"{what}: {error}"
        else:
            raise AssertionError(f"{what} were accepted")
    y = np.full((8, 7), 3, bf16)
    try:
        program.run(x, w, sizes, outputs=[y])
    except MoeError:
        equal(y, np.full((8, 7), 3))
    else:
        raise AssertionError("an output of 7 columns was accepted")


def case_28_sizes_may_be_i64() -> None:
    program = compile(texts.forward(8, 16, 8, 3, bf16, sizes=i64))
    (y,) = program.run(ones(8, 16), per_expert([1, 2, 3], 16, 8), np.array([2, 2, 4], i64))
    equal(y[:, 0], [16] * 2 + [32] * 2 + [48] * 4)


def case_bad_sizes_are_clamped_and_reported() -> None:
    program = compile(texts.forward(8, 16, 8, 4, bf16))
    x, w = ones(8, 16), per_expert([1, 2, 3, 4], 16, 8)
    (y,) = program.run(x, w, np.array([2, -5, 3, 2147483647], i32))
    equal(y[:, 0], [16] * 2 + [48] * 3 + [64] * 3)
    count, group, value, _ = program.faults["BAD_SIZES"]
    assert (count, group, value) == (2, 1, -5), program.faults
    (y,) = program.run(x, w, np.array([2, 2, 2, 2], i32))
    assert not program.faults, program.faults


def case_an_empty_last_group() -> None:
    program = compile(texts.forward(8, 16, 8, 3, bf16))
    (y,) = program.run(ones(8, 16), per_expert([1, 2, 3], 16, 8), np.array([3, 5, 0], i32))
    equal(y[:, 0], [16] * 3 + [32] * 5)


def case_wgrad_of_768_columns() -> None:
    program = compile(texts.wgrad(256, 256, 768, 2, bf16))
    (dw,) = program.run(ones(256, 256), ones(256, 768), np.array([128, 128], i32))
    equal(dw, np.full((2, 256, 768), 128))


def case_an_output_pitch_of_12_columns() -> None:
    program = compile(texts.forward(8, 16, 12, 2, bf16))
    (y,) = program.run(ones(8, 16), per_expert([1, 2], 16, 12), np.array([3, 5], i32))
    equal(y[:, 0], [16] * 3 + [32] * 5)
    equal(y, np.repeat(y[:, :1], 12, 1))


def case_an_expert_without_tokens_forward_and_backward() -> None:
    sizes = np.array([8, 0, 8], i32)
    (y,) = compile(texts.forward(16, 64, 64, 3, bf16)).run(ones(16, 64), ones(3, 64, 64), sizes)
    equal(y, np.full((16, 64), 64))
    (dx,) = compile(texts.forward(16, 64, 64, 3, bf16, layout="nk")).run(ones(16, 64), ones(3, 64, 64), sizes)
    equal(dx, np.full((16, 64), 64))
    (dw,) = compile(texts.wgrad(16, 64, 64, 3, bf16)).run(ones(16, 64), ones(16, 64), sizes)
    equal(dw, per_expert([8, 0, 8], 64, 64, f32))


def case_views_of_a_packed_weight() -> None:
    """Gate and up are views of one packed tensor: the stride from expert to expert is twice that of the view."""
    packed = np.zeros((3, 16, 16), f32)
    for e in range(3):
        packed[e, :8], packed[e, 8:] = e + 1, 10 * (e + 1)
    program = compile(texts.forward(6, 16, 8, 3, f32, layout="nk"))
    x, sizes = np.ones((6, 16), f32), np.array([1, 2, 3], i32)
    (gate,) = program.run(x, packed[:, :8], sizes)
    (up,) = program.run(x, packed[:, 8:], sizes)
    equal(gate[:, 0], [16, 32, 32, 48, 48, 48])
    equal(up[:, 0], [160, 320, 320, 480, 480, 480])


def case_one_rounding_of_an_f32_sum() -> None:
    """256 + 1 + 1 is 258 in f32, and 256 if each addition is rounded to bf16."""
    x, w = np.ones((1, 3), bf16), np.array([[[256], [1], [1]]], bf16)
    (y,) = compile(texts.forward(1, 3, 1, 1, bf16)).run(x, w, np.array([1], i32))
    equal(y, [[258]])


def case_f32_operands_are_not_rounded() -> None:
    value = np.float32(1 + 2**-20)
    x, w = np.full((1, 1), value, f32), np.ones((1, 1, 1), f32)
    (y,) = compile(texts.forward(1, 1, 1, 1, f32)).run(x, w, np.array([1], i32))
    close(y, [[value]], 0)
    assert ml_dtypes.bfloat16(value) != value
