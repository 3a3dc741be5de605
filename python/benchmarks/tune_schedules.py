#!/usr/bin/env python3
"""Measures the schedules of the benchmark's products on a GPU, and writes the fastest to a table.

    python/benchmarks/tune_schedules.py --compiler build/bin/moe-compile --table H200.txt

Each product is one run of `moe-compile --tune=TABLE --rows=M`; lines of the table that are there already are replaced. What every schedule
took goes to the log. At the end: how much slower the cost model's choices are than the fastest ones.
"""

from __future__ import annotations

import argparse
import math
import re
import subprocess
import sys
import time
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[1]), str(Path(__file__).resolve().parent)]
import ragged_gemm  # noqa: E402


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compiler", type=Path, required=True, help="moe-compile or moe-compile-static")
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("--log", type=Path, help="gets what every schedule took")
    parser.add_argument("--shapes", default=",".join(ragged_gemm.SHAPES))
    parser.add_argument("--variants", default="fwd.kn,fwd.nk,dgrad.kn,dgrad.nk,wgrad.bf16,wgrad.f32,wgrad.acc")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no product after so many")
    a = parser.parse_args()
    begin, ratios, seen, failed = time.monotonic(), [], set(), 0
    log = a.log.open("w") if a.log else None
    for variant in a.variants.split(","):
        for name in a.shapes.split(","):
            shape = ragged_gemm.SHAPES[name]
            product = shape.product(*variant.split("."))
            if (product.name, shape.m) in seen:
                continue
            seen.add((product.name, shape.m))
            if time.monotonic() - begin > a.seconds:
                print(f"{name} {variant}: left out, no time")
                continue
            options = [f"--tune={a.table}", f"--tune-seed={a.seed}", f"--rows={shape.m}", "-o", "/dev/null"]
            done = subprocess.run(
                [a.compiler.resolve(), "-", "--target=cuda", *options],
                input=product.text(),
                capture_output=True,
                text=True,
            )
            if log:
                log.write(done.stdout + done.stderr)
                log.flush()
            found = re.search(
                r"^(.*fastest.*the cost model's choice.*?, ([0-9.]+) of the fastest.*)$", done.stdout, re.M
            )
            if done.returncode or not found:
                failed += 1
                print(f"{name} {variant}: FAILED: {done.stderr.strip()[:600]}", flush=True)
                continue
            ratios.append(float(found[2]))
            print(f"{name} {variant} ({time.monotonic() - begin:.0f} s): {found[1]}", flush=True)
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        print(f"{len(ratios)} products, seed {a.seed}: the cost model's choice takes {mean:.4f} of the fastest (geometric mean), "
              f"at most {max(ratios):.3f}")  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
