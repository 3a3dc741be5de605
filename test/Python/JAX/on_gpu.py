"""Runs the tests of products, layers, islands and handlers on a GPU, several at a time, each in a process of its own; then times products and
layers inside jit (python/benchmarks/jax_products.py).

    on_gpu.py --pack DIR WHEEL          gathers what a run needs: `pip wheel . --no-deps` makes the wheel
    DIR/test/Python/JAX/on_gpu.py       on the machine with the GPU; [--filter PATTERN] [--limit SECONDS] [--each SECONDS] [--bench FILE.json [options of
                                        jax_products.py]]; --devices 2 for the tests of layers over two GPUs alone, one after another;
                                        --cpu for all tests of the package on the CPU, with this Python and its JAX

That machine needs JAX with its CUDA plugin, NumPy, ml_dtypes, and ptxas of a CUDA toolkit; with --devices 2, two GPUs and NCCL; with --cpu, JAX alone.
Exits with 1 if something failed.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[2]
CARRIED = ["test/Python", "test/Execution/harness.py", "test/Execution/cases/texts.py", "python/benchmarks"]
CAPTURED = "--xla_gpu_graph_min_graph_size=1 --xla_gpu_enable_command_buffer=+CUSTOM_CALL"


def pack(folder: Path, wheel: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for part in CARRIED:
        (folder / part).parent.mkdir(parents=True, exist_ok=True)
        if (ROOT / part).is_dir():
            shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy2(ROOT / part, folder / part)
    shutil.copy2(wheel, folder / wheel.name)


def install(folder: Path) -> dict[str, str]:
    """Unpacks the wheel; the environment of what uses it."""
    (wheel,) = ROOT.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    home = folder / "moe_mlir"
    (home / "bin" / "moe-compile").chmod(0o755)
    return {
        **os.environ,
        "PYTHONPATH": str(folder),
        "PYTHONDONTWRITEBYTECODE": "1",
        "MOE_HOME": str(home),
        "MOE_BUILD_DIR": str(home),
        "MOE_CACHE_DIR": str(folder / "cache"),
        "TF_CPP_MIN_LOG_LEVEL": "3",
    }


def select(pattern: str, devices: int, cpu: bool) -> list[tuple[str, str, dict[str, str]]]:
    """File, function and settings of each test."""

    def functions(file: str) -> list[str]:
        names = re.findall(r"^def ((?:case|property)_\w+)\(\)", (HERE / file).read_text(), re.MULTILINE)
        return [n for n in names if re.search(pattern, f"{file}/{n}")]

    if cpu:
        files = [f.name for f in HERE.glob("*.py") if f.name != "asynchronous.py"]
        files += [f"../{f.name}" for f in HERE.parent.glob("*.py")]
        return [(file, n, {"JAX_PLATFORMS": "cpu"}) for file in sorted(files) for n in functions(file)]
    if devices == 2:
        return [("ranks.py", n, {}) for n in functions("ranks.py") if "2_devices" in n]
    items: list[tuple[str, str, dict[str, str]]] = []
    for file in ("asynchronous.py", "layer.py", "optimize.py", "ragged_dot.py", "handlers.py"):
        items += [(file, n, {}) for n in functions(file) if "two_devices" not in n and "sharded" not in n]
    captured = [i for i in items if i[0] == "asynchronous.py" or "scan" in i[1] or "case_23" in i[1]]
    return items + [(file, n, {"XLA_FLAGS": CAPTURED}) for file, n, _ in captured]


def run_tests(environment: dict[str, str], a: argparse.Namespace) -> int:
    """How many failed."""
    settings = {"JAX_PLATFORMS": "cuda,cpu", "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    deadline = time.monotonic() + a.limit

    def run(item: tuple[str, str, dict[str, str]]) -> tuple[bool, str]:
        file, name, extra = item
        command = [sys.executable, str(ROOT / "test" / "Execution" / "harness.py"), str(HERE / file), name]
        begin = time.monotonic()
        if begin > deadline:
            return False, f"FAILED    0.0 s  {file}/{name}: no time was left"
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=min(a.each, deadline - begin),
                env={**environment, **settings, **extra},
            )
            ok, said = done.returncode == 0, done.stdout + done.stderr
        except subprocess.TimeoutExpired:
            ok, said = False, "it took too long"
        line = f"{'passed' if ok else 'FAILED'} {time.monotonic() - begin:6.1f} s  {file}/{name} {' '.join(extra.values())}".rstrip()
        # A fatal error of XLA ends in a stack longer than all it says.
        lines = [text for text in said.splitlines() if not text.lstrip().startswith("@ ")]
        shown = [] if ok and file != "asynchronous.py" else lines[-40:]
        return ok, "\n        ".join([line, *shown])

    failed = 0
    workers = 1 if a.devices > 1 else min(8, os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        for ok, said in pool.map(run, items := select(a.filter, a.devices, a.cpu)):
            failed += not ok
            print(said, flush=True)
    versions = f"Python {sys.version.split()[0]}, JAX {importlib.metadata.version('jax')}"
    print(f"{len(items) - failed} passed, {failed} failed ({versions})", flush=True)
    return failed


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pack", nargs=2, type=Path, metavar=("DIR", "WHEEL"))
    parser.add_argument("--filter", default="")
    parser.add_argument("--limit", type=float, default=300, help="seconds for the tests")
    parser.add_argument("--each", type=float, default=60, help="seconds for one test")
    parser.add_argument("--devices", type=int, choices=(1, 2), default=1)
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--bench", type=Path, help="then time products, and write the figures here")
    a, rest = parser.parse_known_args()
    if a.pack:
        pack(*a.pack)
        return 0
    with tempfile.TemporaryDirectory() as folder:
        environment = install(Path(folder))
        failed = run_tests(environment, a)
        if a.bench:
            command = [
                sys.executable,
                str(ROOT / "python" / "benchmarks" / "jax_products.py"),
                "--out",
                str(a.bench),
                *rest,
            ]
            failed += subprocess.run(command, env=environment).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
