"""moe-import: whatever JAX can read, as generic StableHLO text at a fixed version, which the compiler reads.

The compiler does not link StableHLO. JAX carries MLIR bindings that do: they read portable artifacts, files of jax.export
and text in either form."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

BYTECODE = b"ML\xefR"
# Newer versions write replica groups in a form that few read.
VERSION = "1.15.0"


class ImportFailed(RuntimeError):
    """What is read is no StableHLO that this JAX understands."""


def _bindings() -> tuple[Any, Any, Any]:
    try:
        from jax.interpreters import mlir
        from jaxlib.mlir import ir
        from jaxlib.mlir.dialects import stablehlo
    except ImportError as error:
        raise ImportFailed(f"reading StableHLO needs JAX: {error}") from error
    return mlir.make_ir_context(), ir, stablehlo


def _parse(data: bytes, name: str) -> Any:
    """The module of a portable artifact, of a file of jax.export, or of text."""
    context, ir, stablehlo = _bindings()
    if data.startswith(BYTECODE):
        try:
            return stablehlo.deserialize_portable_artifact(context, data)
        except Exception as error:
            raise ImportFailed(f"{name} is no portable artifact that this JAX reads: {error}") from error
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return _parse(_exported(data, name), name)
    try:
        with context:
            return ir.Module.parse(text)
    except ir.MLIRError as error:
        raise ImportFailed(f"{name} is no text of StableHLO: {error}") from error


def _exported(data: bytes, name: str) -> bytes:
    """The portable artifact in a file of jax.export."""
    from jax import export

    try:
        return export.deserialize(bytearray(data)).mlir_module_serialized
    except Exception as error:
        raise ImportFailed(f"{name} is no text, no portable artifact and no file of jax.export: {error}") from error


def to_text(data: bytes, version: str = VERSION, name: str = "the input") -> str:
    """Generic text of a module at a version of StableHLO."""
    module = _parse(data, name)
    stablehlo = _bindings()[-1]
    with module.context as context:
        try:
            # Mixed: ops of CHLO, which have no version of their own, become composites.
            pinned = stablehlo.serialize_portable_artifact(module, version, True)
        except Exception as error:
            raise ImportFailed(f"{name} cannot be written at version {version} of StableHLO: {error}") from error
        back = stablehlo.deserialize_portable_artifact(context, pinned)
        return back.operation.get_asm(print_generic_op_form=True, large_elements_limit=None) + "\n"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="moe-import", description=__doc__)
    parser.add_argument("input", help="artifact, file of jax.export or text; - for standard input")
    parser.add_argument("-o", "--output", default="-", help="file to write; - for standard output")
    parser.add_argument("--version", default=VERSION, help=f"version of StableHLO (default {VERSION})")
    options = parser.parse_args(arguments)
    try:
        data = sys.stdin.buffer.read() if options.input == "-" else Path(options.input).read_bytes()
        text = to_text(data, options.version, options.input)
        if options.output == "-":
            sys.stdout.write(text)
        else:
            Path(options.output).write_text(text)
    except (ImportFailed, OSError) as error:
        print(f"moe-import: error: {error}", file=sys.stderr)
        return 1
    return 0


def run() -> None:
    """`moe-import` on the command line of an installed package."""
    sys.exit(main())


if __name__ == "__main__":
    run()
