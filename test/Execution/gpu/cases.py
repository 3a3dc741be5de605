"""The functions of test/Execution/cases and test/Execution/tile on programs compiled beforehand (see harness.py).

As a program this is a worker of scripts/gpu: it reads the names of tests (see isolate.py), which are FOLDER/FILE.FUNCTION, and
runs them from a packed folder.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

EXECUTION = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(EXECUTION), str(EXECUTION.parents[1] / "python" / "benchmarks")]
from isolate import Broken, serve  # noqa: E402

FUNCTION = re.compile(r"^def ((?:case|property)_\w+)\(\)", re.MULTILINE)  # as functions.py has it

# Not those that ask what the compiler or its CPU target says, or that take more memory than one would copy.
FILES = [
    *(
        f"cases/{name}.py"
        for name in (
            "elementwise",
            "layers",
            "properties",
            "ragged_gemm",
            "ragged_matmul",
            "routing",
            "single_column",
            "upstream",
        )
    ),
    *(f"tile/{name}.py" for name in ("plans", "rearrange", "reductions", "selection", "values")),
]


CPU_ONLY = ["property_layers_of_the_lower_level_of_cpu", "property_products_of_every_kind_with_avx2"]
# Short, and of every kernel: for compute-sanitizer.
SMALL = [
    "cases/layers.case_tokens_of_nan_leave_the_others_alone",
    "cases/routing.case_06_ties_go_to_the_lowest_id",
    "cases/routing.case_07_a_row_of_nan_logits",
    "cases/routing.case_10_ids_far_out_of_range_are_dropped_and_reported",
    "cases/routing.case_11_a_capacity_that_is_exceeded",
    "tile/plans.case_ids_of_every_kind",
    "tile/selection.case_top_k_within_groups",
    "tile/values.case_groups_and_faults",
]


def all_cases() -> list[str]:
    found = [f"{file[:-3]}.{name}" for file in FILES for name in FUNCTION.findall((EXECUTION / file).read_text())]
    return [name for name in found if name.rsplit(".", 1)[1] not in CPU_ONLY]


def split(name: str) -> tuple[Path, str]:
    file, function = name.rsplit(".", 1)
    return EXECUTION / f"{file}.py", function


def pack(names: list[str], build: Path, to: Path, target: str, seed: int, jobs: int) -> dict[str, str]:
    """Runs each test on this machine's CPU and keeps the programs it compiles, for `target` too. Returns what failed."""
    to.mkdir(parents=True, exist_ok=True)
    environment = {
        **os.environ, "MOE_BUILD_DIR": str(build), "MOE_KEEP": str(to), "MOE_KEEP_TARGET": target, "MOE_SEED": str(seed),
    }  # fmt: skip

    def run(name: str) -> tuple[str, str]:
        path, function = split(name)
        command = [sys.executable, str(EXECUTION / "harness.py"), str(path), function]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        return name, "" if done.returncode == 0 else f"exit code {done.returncode}\n{done.stdout}{done.stderr}"[-2000:]

    with ThreadPoolExecutor(jobs) as pool:
        return {name: message for name, message in pool.map(run, names) if message}


def main() -> None:
    parser = argparse.ArgumentParser(description="a worker of scripts/gpu; reads a JSON list of test names")
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    manifest = json.loads((folder / "manifest.json").read_text())
    os.environ.update(
        MOE_BUILD_DIR=str(folder),
        MOE_KEPT=str(folder / "cases"),
        MOE_KEPT_TARGET=manifest["target"],
        MOE_SEED=str(manifest["seed"]),
    )
    import harness

    def run(name: str) -> str:
        failure = manifest["cases_failed"].get(name)
        assert failure is None, f"{name} was not packed:\n{failure}"
        try:
            harness.find(*split(name))()
        except harness.MoeError as error:
            if error.code == "SYSTEM":
                raise Broken(f"{error} [{error.where}]") from error
            raise
        return ""

    serve(run)


if __name__ == "__main__":
    main()
