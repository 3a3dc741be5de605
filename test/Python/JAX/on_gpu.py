"""Runs the tests of ragged products and of the handlers on a GPU, several at a time, each in a process of its own.

    pip install --no-deps --target DIR moe_mlir-*.whl
    MOE_HOME=DIR/moe_mlir python3 test/Python/JAX/on_gpu.py [FILTER]

Needs JAX with its CUDA plugin, NumPy, ml_dtypes, and ptxas of a CUDA toolkit. Cases for two devices are left out where there is one. Exits
with 1 if a test failed.
"""

from __future__ import annotations

import concurrent.futures
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
HARNESS = HERE.parents[1] / "Execution" / "harness.py"
SETTINGS = {
    "JAX_PLATFORMS": "cuda,cpu",
    "XLA_PYTHON_CLIENT_PREALLOCATE": "false",
    "MOE_BUILD_DIR": os.environ["MOE_HOME"],
}
CAPTURED = "--xla_gpu_graph_min_graph_size=1 --xla_gpu_enable_command_buffer=+CUSTOM_CALL"


def run(file: str, name: str, **extra: str) -> tuple[str, bool, float, str]:
    begin = time.monotonic()
    command = [sys.executable, str(HARNESS), str(HERE / file), name]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=300, env={**os.environ, **SETTINGS, **extra}
        )
        ok, said = done.returncode == 0, done.stdout + done.stderr
    except subprocess.TimeoutExpired:
        ok, said = False, "more than 300 s"
    return f"{file}/{name}", ok, time.monotonic() - begin, said


def main() -> int:
    pattern = sys.argv[1] if len(sys.argv) > 1 else ""
    items: list[tuple[str, str, dict[str, str]]] = []
    for file in ("ragged_dot.py", "handlers.py"):
        names = re.findall(r"^def ((?:case|property)_\w+)\(\)", (HERE / file).read_text(), re.MULTILINE)
        items += [
            (file, name, {})
            for name in names
            if re.search(pattern, name) and "two_devices" not in name and "sharded" not in name
        ]
    items += [(file, name, {"XLA_FLAGS": CAPTURED}) for file, name, _ in items if "scan" in name or "case_23" in name]
    with tempfile.TemporaryDirectory() as cache, concurrent.futures.ThreadPoolExecutor(8) as pool:
        os.environ.setdefault("MOE_CACHE_DIR", cache)
        failed = 0
        for name, ok, seconds, said in pool.map(lambda item: run(item[0], item[1], **item[2]), items):
            failed += not ok
            print(f"{'passed' if ok else 'FAILED'} {seconds:6.1f} s  {name}", flush=True)
            if not ok:
                print("        " + said[-3000:].replace("\n", "\n        "), flush=True)
    print(f"{len(items) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
