"""Whole layers: random ones with random sets of fusions, and layers at their edges."""

from pathlib import Path

import numpy as np
from harness import Program, bf16, compile, equal, f16, f32, near, rng
from one_layer import Layer

FUSIONS = ["epilogue", "gather", "rows", "weights"]
NO_FUSION = f"--disable-fusion={','.join(FUSIONS)}"


def draw_fusions(generator: np.random.Generator) -> tuple[list[str], list[str]]:
    """Options of moe-compile that leave some fusions out, and those of the cuda target alone."""
    left_out = [name for name in FUSIONS if generator.random() < 0.4]
    keep = ["--keep-gathers"] if generator.random() < 0.5 else []
    return [f"--disable-fusion={','.join(left_out)}"] if left_out else [], keep


def spoil(generator: np.random.Generator, layer: Layer, inputs: dict[str, np.ndarray]) -> str:
    """At times all tokens to one expert, equal logits, NaN; ids of no expert; a caller's weights of 0."""
    x, some = inputs["x"], generator.random(layer.tokens) < 0.2
    expert = int(generator.integers(layer.experts))
    if layer.given:
        ids, weights = inputs["ids"], inputs["weights"]
        kind = str(generator.choice(["none", "one expert", "dropped", "out of range"]))
        if kind == "one expert":
            ids[:] = expert
        elif kind != "none":
            hit = generator.random(ids.shape) < 0.3
            wrong = [-1] if kind == "dropped" else [-1, layer.experts, -2, np.iinfo("i4").min, np.iinfo("i4").max]
            ids[hit] = generator.choice(wrong, hit.sum())
        weights[some] = 0  # the rows of these tokens count for nothing
        x[some] = np.nan
        return kind
    kind = str(generator.choice(["none", "one expert", "equal logits", "NaN tokens", "NaN expert"]))
    if kind == "one expert":
        x[:] = np.abs(x)
        inputs["router"][:, expert] = 1
    elif kind == "equal logits":
        x[some] = 0
    elif kind == "NaN tokens":
        x[some] = np.nan
    elif kind == "NaN expert":
        inputs["router"][:, expert] = np.nan
    return kind


def check(generator: np.random.Generator, layer: Layer, *options: str, cuda: list[str] | None = None) -> Program:
    """Twice: inputs as they are, and spoilt."""
    program = compile(layer.text(), *options, cuda=cuda or [])
    print(layer, *options, *(cuda or []), flush=True)
    layer.check(program, layer.inputs(generator))
    for _ in range(2):
        inputs = layer.inputs(generator)
        print("  spoilt:", spoil(generator, layer, inputs), flush=True)
        layer.check(program, inputs)
    return program


def random_layers(dtype: np.dtype, count: int, **fixed: object) -> None:
    generator = rng(f"layers {dtype} {fixed}")
    for _ in range(count):
        options, cuda = draw_fusions(generator)
        check(generator, Layer.draw(generator, dtype, **fixed), *options, cuda=cuda)


def property_layers_f32() -> None:
    random_layers(f32, 4)


def property_layers_bf16() -> None:
    random_layers(bf16, 6)


def property_layers_f16() -> None:
    random_layers(f16, 3)


def property_layers_of_given_ids_f32() -> None:
    random_layers(f32, 3, given=True)


def property_layers_of_given_ids_bf16() -> None:
    random_layers(bf16, 3, given=True)


def property_layers_at_their_edges() -> None:
    """No token, one, one expert, every expert chosen, more experts than tokens and than threads."""
    generator = rng()
    edges = [
        {"tokens": 0},
        {"tokens": 1},
        {"experts": 1, "groups": 1},
        {"experts": int(generator.choice([5, 16, 40])), "groups": 1, "k": 40},
        {"experts": int(generator.choice([129, 160, 300])), "tokens": 70},
    ]
    for fixed in edges:
        options, cuda = draw_fusions(generator)
        check(generator, Layer.draw(generator, [f32, bf16, bf16][generator.integers(3)], **fixed), *options, cuda=cuda)


def fusions_change_nothing_but_rounding(dtype: np.dtype, count: int) -> None:
    """All fusions, none, and a set at random, on the same inputs."""
    generator = rng(f"fusions {dtype}")
    for _ in range(count):
        layer = Layer.draw(generator, dtype, k=2)
        options, cuda = draw_fusions(generator)
        print(layer, *options, *cuda, flush=True)
        inputs = layer.inputs(generator)
        programs = [compile(layer.text()), compile(layer.text(), NO_FUSION), compile(layer.text(), *options, cuda=cuda)]
        fused, *others = (layer.check(program, inputs) for program in programs)
        for ids, weights, out in others:
            same = (ids == fused[0]).all(1)
            near(out[same], fused[2][same], layer.expected(inputs, ids, weights)[1][same], f"{layer}: fused and not")


def property_fusions_change_nothing_but_rounding_f32() -> None:
    fusions_change_nothing_but_rounding(f32, 1)


def property_fusions_change_nothing_but_rounding_bf16() -> None:
    fusions_change_nothing_but_rounding(bf16, 2)


def property_layers_of_the_lower_level_of_cpu() -> None:
    if "avx2" in Path("/proc/cpuinfo").read_text():
        generator = rng()
        for dtype in (f32, bf16):
            check(generator, Layer.draw(generator, dtype), "--cpu=x86-64-v3")


def case_12_a_layer_whose_tokens_all_go_to_one_expert() -> None:
    generator = rng()
    for dtype in (f32, bf16):
        layer = Layer("main", dtype, 16, 1, 150, 64, 80, layout="nk")
        inputs = layer.inputs(generator)
        inputs["x"][:] = np.abs(inputs["x"])
        inputs["router"][:] = 0
        inputs["router"][:, 11] = 1
        ids, _, _ = layer.check(compile(layer.text()), inputs)
        equal(ids, np.full((150, 1), 11))


def case_a_layer_gives_the_same_bits_every_time() -> None:
    """With everything fused and with nothing."""
    generator = rng()
    for dtype, options in ((f32, ()), (bf16, ()), (bf16, (NO_FUSION,))):
        layer = Layer("main", dtype, 32, 4, 300, 128, 96, bias=True)
        program, inputs = compile(layer.text(), *options), layer.inputs(generator)
        first = [array.tobytes() for array in layer.check(program, inputs)]
        for number in range(50):
            again = [array.tobytes() for array in layer.run(program, inputs)]
            assert again == first, f"run {number} of {dtype} {options}"


def case_a_captured_layer_reads_new_inputs() -> None:
    """All tokens to one expert, then inputs at random, at the same places; on a GPU by one captured graph."""
    generator = rng()
    for dtype, options in ((f32, (NO_FUSION,)), (bf16, ())):
        layer = Layer("main", dtype, 24, 3, 200, 64, 72, bias=True)
        program = compile(layer.text(), *options)
        sets = [layer.inputs(generator) for _ in range(4)]
        sets[0]["x"][:] = np.abs(sets[0]["x"])
        sets[0]["router"][:, 7] = 1
        for inputs, outputs in zip(sets, program.replay(*(layer.passed(s) for s in sets), entry="main"), strict=True):
            layer.check(program, inputs, outputs)


def case_tokens_of_nan_leave_the_others_alone() -> None:
    """Logits of NaN: experts 0 to k - 1 with weight 0, a fault for each token, and zeros, since 0 times NaN counts as nothing."""
    generator = rng()
    for dtype in (f32, bf16):
        layer = Layer("main", dtype, 8, 2, 40, 64, 48)
        program, inputs = compile(layer.text()), layer.inputs(generator)
        clean = layer.check(program, inputs)
        bad = np.sort(generator.choice(40, 7, replace=False))
        inputs["x"][bad] = np.nan
        outputs = layer.run(program, inputs)
        assert program.faults == {"NAN_ROUTER": (7, bad[0], 0, 8)}, (program.faults, bad)
        equal(outputs[0][bad], np.tile([0, 1], (7, 1)), "ids")
        for array in outputs[1:]:
            equal(array[bad], np.zeros_like(array[bad]), "weights and rows of tokens without logits")
        others = np.setdiff1d(np.arange(40), bad)
        for array, wanted in zip(outputs, clean, strict=True):
            equal(array[others], wanted[others], "other tokens")
