"""A ragged matmul of the cpu target beside NumPy's loop over the experts, on the same inputs and as many threads.

    python3 python/benchmarks/cpu_ragged_matmul.py

compiles y = ragged_matmul(x, w, sizes), lets moe-run time it, times NumPy (whatever BLAS it has) and prints both and their
ratio. A sample of rows is checked against products in float64. For bf16, NumPy multiplies the same values in f32, as it has
no fast bf16. The two are measured in turns; of each, the median of a round and then the best round counts.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parents[2] / "build")
    parser.add_argument("--m", type=int, default=4096, help="rows of x")
    parser.add_argument("--k", type=int, default=1024, help="columns of x")
    parser.add_argument("--n", type=int, default=2048, help="columns of y")
    parser.add_argument("--experts", type=int, default=8)
    parser.add_argument("--dtype", choices=["f32", "bf16"], default="f32")
    parser.add_argument("--layout", choices=["kn", "nk"], default="kn", help="order of a weight's dimensions")
    parser.add_argument("--cpu", default="native", help="level of CPU to compile for")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--repeat", type=int, default=10, help="timed runs a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--limit", type=float, help="fail if ours takes more than this many times NumPy's time")
    return parser.parse_args()


arguments = parse_arguments()
# Read when NumPy is imported. The first two would pin OpenBLAS to another machine's kernels.
for variable in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(variable, None)
for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = str(arguments.threads)

import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402


def program(a: argparse.Namespace) -> str:
    """moe text of y = ragged_matmul(x, w, sizes) for any number of rows."""
    weights = f"{a.k}x{a.n}" if a.layout == "kn" else f"{a.n}x{a.k}"
    x = f"tensor<?x{a.k}x{a.dtype}, #moe.ragged<groups = {a.experts}>>"
    w = f"tensor<{a.experts}x{weights}x{a.dtype}>"
    y = f"tensor<?x{a.n}x{a.dtype}, #moe.ragged<groups = {a.experts}>>"
    plan = f"!moe.plan<groups = {a.experts}>"
    return f"""func.func @main(%x: {x}, %w: {w}, %sizes: tensor<{a.experts}xi32>) -> {y} {{
  %c0 = arith.constant 0 : index
  %m = tensor.dim %x, %c0 : {x}
  %p = moe.plan_from_sizes %sizes rows %m : tensor<{a.experts}xi32> -> {plan}
  %y = moe.ragged_matmul %x, %w plan %p {{layout = #moe.weights<{a.layout}>}} : {x}, {w}, {plan} -> {y}
  return %y : {y}
}}
"""


def run(*command: object) -> str:
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{result.stderr or result.stdout}")
    return result.stdout


def main() -> None:
    a = arguments
    rng = np.random.default_rng(a.seed)
    dtype = np.dtype(np.float32 if a.dtype == "f32" else ml_dtypes.bfloat16)
    # f32 files whose values are exact in the program's type.
    x = rng.standard_normal((a.m, a.k), np.float32).astype(dtype).astype(np.float32)
    shape = (a.experts, a.k, a.n) if a.layout == "kn" else (a.experts, a.n, a.k)
    w = rng.standard_normal(shape, np.float32).astype(dtype).astype(np.float32)
    sizes = rng.multinomial(a.m, rng.dirichlet(np.full(a.experts, 8.0))).astype(np.int32)
    ends = np.cumsum(sizes)
    matrices = w if a.layout == "kn" else w.transpose(0, 2, 1)
    y = np.empty((a.m, a.n), np.float32)

    def numpy_loop() -> None:
        for matrix, size, end in zip(matrices, sizes, ends, strict=True):
            np.matmul(x[end - size : end], matrix, out=y[end - size : end])

    print(
        f"M {a.m}  K {a.k}  N {a.n}  E {a.experts}  {a.dtype}  {a.layout}  {a.cpu}  threads {a.threads}  seed {a.seed}"
    )
    print(f"sizes {' '.join(map(str, sizes))}")
    ours, numpy = [], []
    with tempfile.TemporaryDirectory() as folder:
        text, moe, inputs, outputs = (Path(folder) / f for f in ("main.mlir", "main.moe", "in.npz", "out.npz"))
        text.write_text(program(a))
        run(a.build / "bin/moe-compile", text, "-o", moe, f"--cpu={a.cpu}")
        np.savez(inputs, in0=x, in1=w, in2=sizes)
        for _ in range(a.rounds):
            command = [a.build / "bin/moe-run", moe, "--input", inputs, "--output", outputs]
            printed = run(*command, "--bench", "--repeat", a.repeat, "--threads", a.threads)
            median = re.search(r"median ([0-9.]+) ms", printed)
            if not median:
                sys.exit(f"moe-run printed no time:\n{printed}")
            ours.append(float(median[1]))
            numpy_loop()
            times = []
            for _ in range(a.repeat):
                begin = time.perf_counter()
                numpy_loop()
                times.append(time.perf_counter() - begin)
            numpy.append(float(np.median(times)) * 1e3)
        with np.load(outputs) as file:
            result = file[file.files[0]].astype(np.float64)

    for row in rng.choice(a.m, min(a.m, 64), replace=False):
        expert = int(np.searchsorted(ends, row, side="right"))
        factors = matrices[expert].astype(np.float64)
        expected = x[row].astype(np.float64) @ factors
        bound = np.abs(x[row]).astype(np.float64) @ np.abs(factors) * a.k * 2.0**-24
        if a.dtype == "bf16":
            bound += np.abs(expected) * 2.0**-8
        error = np.abs(result[row] - expected)
        if not (error <= bound).all():
            column = int(np.argmax(np.where(np.isnan(error), np.inf, error) - bound))
            sys.exit(f"y[{row}, {column}] is {result[row, column]}, expected {expected[column]} +- {bound[column]}")

    gigaflops = 2 * a.m * a.k * a.n / 1e6
    for name, best in (("ours", min(ours)), ("numpy", min(numpy))):
        print(f"{name:6}{best:10.2f} ms{gigaflops / best:10.1f} GFLOP/s")
    ratio = min(ours) / min(numpy)
    print(f"ratio {ratio:.2f}")
    if a.limit is not None and ratio > a.limit:
        sys.exit(f"ours takes {ratio:.2f} times NumPy's time, the limit is {a.limit}")


if __name__ == "__main__":
    main()
