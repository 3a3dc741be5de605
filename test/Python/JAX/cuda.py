"""What JAX lowers for a GPU, on a machine without one."""

# REQUIRES: ptxas

import os

from kit import environment, jax, jnp, raised
from moe_mlir import CompileError, compile
from moe_mlir.jax import ragged_dot
from moe_mlir.products import Product

BF16 = jnp.bfloat16
X, W, SIZES = (jax.ShapeDtypeStruct(*s) for s in (((256, 128), BF16), ((4, 128, 64), BF16), ((4,), jnp.int32)))


def case_products_are_custom_calls_of_cuda_programs() -> None:
    f = jax.jit(jax.grad(lambda x, w, s: ragged_dot(x, w, s).astype(jnp.float32).sum(), (0, 1)))
    text = f.trace(X, W, SIZES).lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("custom_call @moe_execute") == 2, text  # the value itself is not asked for
    assert "transpose" not in text and "dot_general" not in text, text


def case_one_computation_for_two_platforms() -> None:
    exported = jax.export.export(
        jax.jit(ragged_dot),
        platforms=("cpu", "cuda"),
        disabled_checks=[jax.export.DisabledSafetyCheck.custom_call("moe_execute")],
    )(X, W, SIZES)
    y = exported.call(jnp.ones((256, 128), BF16), jnp.ones((4, 128, 64), BF16), jnp.array([9, 0, 100, 147], jnp.int32))
    assert (y == 128).all()


def case_a_platform_that_there_is_no_target_for() -> None:
    said = raised(
        NotImplementedError, lambda: jax.jit(ragged_dot).trace(X, W, SIZES).lower(lowering_platforms=("tpu",))
    )
    assert "moe_ragged_dot" in said and "tpu" in said, said


def case_ptxas_is_found_beside_python() -> None:
    text = Product(16, 8, 2).text()
    with environment(PATH="/nowhere", CUDA_HOME="", CUDA_PATH=""):
        try:
            assert compile(text, "cuda").target == "cuda"
        except CompileError as error:
            # No wheel has it, and no toolkit lies in the usual place.
            assert "there is no ptxas" in str(error) and not os.path.exists("/usr/local/cuda/bin/ptxas"), error
