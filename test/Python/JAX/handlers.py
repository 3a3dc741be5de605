"""The custom call and its handlers: what it carries, what they refuse."""

import ctypes
import tempfile
import textwrap
from pathlib import Path
from typing import Any

from harness import equal
from kit import environment, jax, jnp, np, python, raised
from moe_mlir.jax import _program as program
from moe_mlir.jax import ragged_dot
from moe_mlir.products import Product

TEXT = Product(16, 8, 2, dtype="f32", out="f32").text()
X, W, SIZES = jnp.ones((5, 16)), jnp.ones((2, 16, 8)), jnp.array([2, 3], jnp.int32)


def call(text: str = TEXT, version: str | None = None, workspace: int = 4096, outs: Any = None, x: Any = X) -> Any:
    """The custom call itself."""
    shapes = [jax.ShapeDtypeStruct((5, 8), jnp.float32), jax.ShapeDtypeStruct((workspace,), jnp.uint8)]
    version = version or program._runtime().version
    return jax.jit(
        lambda x, w, s: jax.ffi.ffi_call(program.TARGET, outs or shapes)(x, w, s, program=text, version=version)
    )(x, W, SIZES)[0]


def case_a_program_that_nobody_added_is_compiled() -> None:
    equal(np.asarray(call(TEXT + "// another text\n")), np.full((5, 8), 16))


def case_errors_name_their_cause() -> None:
    error = jax.errors.JaxRuntimeError
    said = raised(error, call, "func.func @f() { return %x : f32 }")
    assert "moe-compile failed" in said and "use of undeclared SSA value" in said, said
    said = raised(error, lambda: call(version="0.0.1"))
    assert "made by MoE-MLIR 0.0.1, this is" in said, said
    said = raised(error, lambda: call(workspace=512))
    assert "workspace has" in said and "must have" in said, said
    said = raised(error, lambda: call(workspace=8))
    assert "u8 of 8 bytes, expected u8 and at least 64" in said, said
    said = raised(error, lambda: call(outs=[jax.ShapeDtypeStruct((5, 8), jnp.float32)]))
    assert "the workspace, is f32 of 160 bytes" in said, said
    said = raised(error, lambda: call(x=X.astype(jnp.bfloat16)))
    assert "input 0" in said and "bf16" in said, said
    said = raised(error, lambda: call(x=X.astype(jnp.uint32)))
    assert "element type 8" in said, said
    with environment(MOE_COMPILER="/nowhere/moe-compile"):
        said = raised(error, lambda: call(TEXT + "// yet another\n"))
    assert "cannot run '/nowhere/moe-compile'" in said and "No such file" in said, said


def case_what_the_compiler_refuses_is_a_python_exception() -> None:
    from moe_mlir import CompileError, compile

    assert "use of undeclared SSA value" in raised(CompileError, compile, "func.func @f() { return %x : f32 }")
    with environment(MOE_COMPILER="/nowhere/moe-compile"):
        assert "/nowhere/moe-compile" in raised(CompileError, compile, "")
        assert "/nowhere/moe-compile" in raised(
            CompileError, ragged_dot, jnp.ones((5, 17)), jnp.ones((2, 17, 8)), SIZES
        )


def case_a_serialised_computation_runs_in_another_process() -> None:
    """With an empty cache: what it carries is compiled again."""
    check = [jax.export.DisabledSafetyCheck.custom_call(program.TARGET)]
    exported = jax.export.export(jax.jit(jax.grad(lambda x: ragged_dot(x, W, SIZES).sum())), disabled_checks=check)(X)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "f").write_bytes(exported.serialize())
        code = f"""
            import jax, jax.numpy as jnp, pathlib, moe_mlir.jax
            f = jax.export.deserialize(bytearray(pathlib.Path({folder!r}, "f").read_bytes()))
            print(f.call(jnp.ones((5, 16))).sum())
        """
        assert float(python(textwrap.dedent(code), MOE_CACHE_DIR=str(Path(folder, "cache")))) == 5 * 16 * 8
        assert list(Path(folder, "cache").glob("llvmcache-*"))


def case_two_programs_in_one_process() -> None:
    f = jax.jit(lambda x, w: ragged_dot(ragged_dot(x, w, SIZES), jnp.ones((2, 8, 3)), SIZES))
    equal(np.asarray(f(X, W)), np.full((5, 3), 128))
    equal(np.asarray(f(X, W)), np.full((5, 3), 128))


def case_processes_race_on_a_cold_cache() -> None:
    import concurrent.futures

    code = "import jax.numpy as jnp, moe_mlir.jax as m; print(m.ragged_dot(jnp.ones((5, 16)), jnp.ones((2, 16, 8)), jnp.array([2, 3])).sum())"
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(4) as pool:
        sums = list(pool.map(lambda _: float(python(code, MOE_CACHE_DIR=folder)), range(4)))
        assert sums == [5 * 16 * 8] * 4, sums
        assert len(list(Path(folder).glob("llvmcache-*"))) == 1


def case_an_import_needs_neither_jax_nor_a_gpu() -> None:
    code = """
        import sys
        for name in ("jax", "jaxlib", "numpy"):
            sys.modules[name] = None
        import moe_mlir
        print(moe_mlir.compile("func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }").entry().name)
        try:
            import moe_mlir.jax
        except ImportError as error:
            print(error)
    """
    assert python(textwrap.dedent(code)).split("\n")[:2] == ["f", "moe_mlir.jax needs JAX: pip install 'moe-mlir[jax]'"]


class _Version(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
    ]


class _ErrorArgs(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("message", ctypes.c_char_p),
        ("code", ctypes.c_int),
    ]


CREATE = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_ErrorArgs))


class _Api(ctypes.Structure):
    _fields_ = [
        ("size", ctypes.c_size_t),
        ("extension", ctypes.c_void_p),
        ("version", _Version),
        ("internal", ctypes.c_void_p),
        ("create", CREATE),
    ]


class _Frame(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("extension", ctypes.c_void_p), ("api", ctypes.POINTER(_Api))]


def case_another_api_version_is_refused_by_name() -> None:
    library, count = program.register(), ctypes.c_size_t()
    handlers = library.moe_xla_handlers(ctypes.byref(count))[:4]
    assert count.value == 4 and [(h.target, h.platform) for h in handlers] == [
        (target, platform) for target in (b"moe_execute", b"moe_execute_ranks") for platform in (b"cpu", b"CUDA")
    ]
    said: list[str] = []

    def create(args: Any) -> int:
        said.append(args.contents.message.decode())
        return 1

    for major, minor in ((0, 2), (1, 0)):
        api = _Api(
            ctypes.sizeof(_Api), None, _Version(ctypes.sizeof(_Version), None, major, minor), None, CREATE(create)
        )
        frame = _Frame(ctypes.sizeof(_Frame), None, ctypes.pointer(api))
        for handler in handlers:
            for stage in (handler.instantiate, handler.initialize, handler.execute):
                if stage:
                    assert ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(_Frame))(stage)(ctypes.byref(frame)) == 1
                    assert f"FFI API version {major}.{minor}, expected 0.3 or a later minor version" in said[-1], said
