"""Whole layers at their edges."""

import numpy as np
from harness import bf16, compile, equal, f32, rng
from one_layer import Layer


def case_layers_at_their_edges() -> None:
    """No token, one token, one expert, every expert, more experts than tokens; all sizes static and not."""
    generator = rng()
    for dtype in (f32, bf16):
        layers = [
            Layer(f"f{number}", dtype, experts, k, tokens, 64, 48, static=static)
            for number, (experts, k, tokens, static) in enumerate(
                [
                    (8, 2, 0, True),
                    (8, 2, 0, False),
                    (8, 2, 1, True),
                    (8, 2, 1, False),
                    (1, 1, 70, True),
                    (6, 6, 33, False),
                    (160, 8, 3, True),
                ]
            )
        ]
        program = compile("".join(layer.text() for layer in layers))
        for layer in layers:
            layer.check(program, layer.inputs(generator))


def case_12_a_layer_whose_tokens_all_go_to_one_expert() -> None:
    generator = rng()
    for dtype in (f32, bf16):
        layer = Layer("main", dtype, 16, 1, 150, 64, 80, layout="nk")
        inputs = layer.inputs(generator)
        inputs[0] = np.abs(inputs[0])
        inputs[1][:] = 0
        inputs[1][:, 11] = 1
        ids, _, _ = layer.check(compile(layer.text()), inputs)
        equal(ids, np.full((150, 1), 11))


def case_a_layer_gives_the_same_bits_every_time() -> None:
    generator = rng()
    for dtype in (f32, bf16):
        layer = Layer("main", dtype, 32, 4, 300, 128, 96, bias=True)
        program, inputs = compile(layer.text()), layer.inputs(generator)
        first = [array.tobytes() for array in layer.check(program, inputs)]
        for number in range(50):
            again = [array.tobytes() for array in layer.run(program, inputs)]
            assert again == first, f"run {number}"


def case_tokens_of_nan_leave_the_others_alone() -> None:
    """Logits of NaN: experts 0 to k - 1 with weight 0, a fault for each token, and zeros, since 0 times NaN counts as nothing."""
    generator = rng()
    for dtype in (f32, bf16):
        layer = Layer("main", dtype, 8, 2, 40, 64, 48)
        program, inputs = compile(layer.text()), layer.inputs(generator)
        clean = layer.check(program, inputs)
        bad = np.sort(generator.choice(40, 7, replace=False))
        inputs[0][bad] = np.nan
        outputs = layer.run(program, inputs)
        assert program.faults == {"NAN_ROUTER": (7, bad[0], 0, 8)}, (program.faults, bad)
        equal(outputs[0][bad], np.tile([0, 1], (7, 1)), "ids")
        for array in outputs[1:]:
            equal(array[bad], np.zeros_like(array[bad]), "weights and rows of tokens without logits")
        others = np.setdiff1d(np.arange(40), bad)
        for array, wanted in zip(outputs, clean, strict=True):
            equal(array[others], wanted[others], "other tokens")
