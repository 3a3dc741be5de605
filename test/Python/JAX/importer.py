"""moe-import: every form that JAX can read becomes one text."""

import io
import tempfile
from contextlib import redirect_stderr
from pathlib import Path

from jax import export
from kit import jax, jnp, raised
from moe_mlir.importer import ImportFailed, main, to_text


def exported() -> export.Exported:
    shapes = (jax.ShapeDtypeStruct(s, jnp.float32) for s in ((12, 8), (4, 8, 8)))
    sizes = jax.ShapeDtypeStruct((4,), jnp.int32)
    return export.export(jax.jit(jax.lax.ragged_dot), platforms=["cuda"])(*shapes, sizes)


def case_every_form_is_read() -> None:
    made = exported()
    module = made.mlir_module_serialized
    text = to_text(module)
    assert '"stablehlo.composite"' in text and 'name = "chlo.ragged_dot"' in text, text
    assert to_text(bytes(made.serialize())) == text
    assert '"chlo.ragged_dot"' in to_text(made.mlir_module().encode()), "of pretty text"
    assert 'name = "chlo.ragged_dot"' in to_text(text.encode()), "of its own"


def case_what_cannot_be_read_is_named() -> None:
    assert "is no text of StableHLO" in raised(ImportFailed, to_text, b"func.func @f( {")
    assert "is no portable artifact" in raised(ImportFailed, to_text, b"ML\xefR\x00nothing")
    assert "no file of jax.export" in raised(ImportFailed, to_text, b"\xff\xfe\x00\x01 nothing")
    assert "version 0.1.0" in raised(ImportFailed, to_text, exported().mlir_module_serialized, "0.1.0")


def case_the_tool() -> None:
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "in.bc"), Path(folder, "out.mlir")
        source.write_bytes(exported().mlir_module_serialized)
        assert main([str(source), "-o", str(target)]) == 0
        assert target.read_text() == to_text(source.read_bytes())
        said = io.StringIO()
        with redirect_stderr(said):
            assert main([str(Path(folder, "nothing"))]) == 1
        assert "moe-import: error:" in said.getvalue() and "nothing" in said.getvalue(), said.getvalue()
