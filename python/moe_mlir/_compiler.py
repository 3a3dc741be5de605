"""The compiler, run as a process of its own: no LLVM in this one."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from ._runtime import Program, home


class CompileError(RuntimeError):
    """What `moe-compile` says of a text that it refuses."""


def tool(name: str) -> Path:
    """A tool of this installation, such as "moe-run"; $MOE_COMPILER names another moe-compile."""
    chosen = os.environ.get("MOE_COMPILER") if name == "moe-compile" else None
    return Path(chosen) if chosen else home() / "bin" / name


def _environment() -> dict[str, str]:
    """This process's, with the ptxas that comes with wheels of CUDA after all others in PATH."""
    folders = [str(f) for p in sys.path for f in Path(p).glob("nvidia/cu*/bin")]
    return {**os.environ, "PATH": os.pathsep.join([os.environ.get("PATH", os.defpath), *folders])}


def _run(text: str, target: str, *options: str) -> bytes:
    """What `moe-compile --cache` makes of a text."""
    command = [str(tool("moe-compile")), "-", "--cache", "-o", "-", f"--target={target}", *options]
    try:
        done = subprocess.run(command, input=text.encode(), capture_output=True, env=_environment())
    except OSError as error:
        raise CompileError(
            f"cannot run {command[0]}: {error.strerror}; MOE_COMPILER or MOE_HOME name another"
        ) from error
    if done.returncode:
        raise CompileError(done.stderr.decode(errors="replace").strip() or f"moe-compile ended with {done.returncode}")
    return done.stdout


def compile(text: str, target: str = "cpu") -> Program:
    """Compiles a module in the moe dialect, or generic StableHLO, for "cpu" (this machine's) or "cuda". Takes it from the
    cache on disk if it is there (MOE_CACHE_DIR, MOE_CACHE_SIZE)."""
    return Program(_run(text, target))


def replace_islands(text: str, target: str = "cpu") -> str:
    """Generic StableHLO with custom calls for what moe can compute of it."""
    return _run(text, target, "--islands").decode()


def main() -> None:
    """`moe-compile` on the command line of an installed package."""
    path = str(tool("moe-compile"))
    os.execv(path, [path, *sys.argv[1:]])
