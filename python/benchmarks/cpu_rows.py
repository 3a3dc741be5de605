"""Every op of the cpu target but the products beside its NumPy form, on the same inputs and one thread.

    python3 python/benchmarks/cpu_rows.py

compiles each op, lets moe-run time it, times NumPy, compares the outputs and prints both times and their ratio. NumPy
works in f32 where the program works in bf16, as it has no fast bf16. The two are measured in turns; of each, the median
of a round and then the best round counts.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

Arrays = list[np.ndarray]


@dataclass
class Case:
    name: str
    text: str  # the program; its only function is main
    inputs: Arrays
    numpy: Callable[[], Arrays]  # the outputs, in order
    tolerance: float = 0.0  # relative to the largest value of the output
    expected: Callable[[], Arrays] | None = None  # where the fast form is not exact


def exact(x: np.ndarray, dtype: str) -> np.ndarray:
    """f32 values that dtype holds exactly."""
    return x.astype(ml_dtypes.bfloat16).astype(np.float32) if dtype == "bf16" else x


def softmax(x: np.ndarray) -> np.ndarray:
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def scores(rng: np.random.Generator, function: str, tokens: int, experts: int) -> Case:
    x = rng.standard_normal((tokens, experts), np.float32)
    t = f"tensor<?x{experts}xf32>"
    text = f"""func.func @main(%x: {t}) -> {t} {{
  %s = moe.scores %x {{function = #moe.score<{function}>}} : {t}
  return %s : {t}
}}"""
    form = {"softmax": lambda: [softmax(x)], "sigmoid": lambda: [1 / (1 + np.exp(-x))]}[function]
    return Case(f"{function} [{tokens}, {experts}]", text, [x], form, 1e-6)


def select(rng: np.random.Generator, tokens: int, experts: int, k: int, limits: tuple[int, int, int] | None) -> Case:
    x = rng.random((tokens, experts), np.float32)
    bias = rng.random(experts, np.float32)
    t = f"tensor<?x{experts}xf32>"
    groups = "groups = {}, keep_groups = {}, group_top = {}".format(*limits) if limits else "groups = 1"
    text = f"""func.func @main(%x: {t}, %b: tensor<{experts}xf32>) -> (tensor<?x{k}xi32>, tensor<?x{k}xf32>) {{
  %i, %v = moe.select %x bias %b {{k = {k}, {groups}}} : {t}, tensor<{experts}xf32> -> tensor<?x{k}xi32>, tensor<?x{k}xf32>
  return %i, %v : tensor<?x{k}xi32>, tensor<?x{k}xf32>
}}"""

    def choose(largest: Callable[[np.ndarray, int], np.ndarray]) -> Arrays:
        """largest(v, n): where the n largest of each row of v are, best first."""
        biased = x + bias
        if limits:
            number, keep, top = limits
            best = -np.sort(-biased.reshape(tokens, number, -1), axis=2)[:, :, :top].sum(2)
            mask = np.zeros((tokens, number), bool)
            np.put_along_axis(mask, largest(best, keep), True, 1)
            biased = np.where(np.repeat(mask, experts // number, axis=1), biased, -np.inf)
        ids = largest(biased, k)
        return [ids.astype(np.int32), np.take_along_axis(x, ids, 1)]

    def fast(v: np.ndarray, n: int) -> np.ndarray:
        ids = np.argpartition(-v, n - 1, axis=1)[:, :n]
        return np.take_along_axis(ids, np.argsort(-np.take_along_axis(v, ids, 1), axis=1), 1)

    def stable(v: np.ndarray, n: int) -> np.ndarray:  # ties go to the lowest id
        return np.argsort(-v, axis=1, kind="stable")[:, :n]

    limited = f", {limits[1]} of {limits[0]} groups" if limits else ""
    name = f"select top {k}{limited} [{tokens}, {experts}]"
    return Case(name, text, [x, bias], lambda: choose(fast), expected=lambda: choose(stable))


def normalize(rng: np.random.Generator, tokens: int, k: int) -> Case:
    x = rng.random((tokens, k), np.float32)
    t = f"tensor<?x{k}xf32>"
    text = f"""func.func @main(%x: {t}) -> {t} {{
  %s = moe.normalize %x {{renormalize, scale = 2.5 : f32}} : {t}
  return %s : {t}
}}"""
    form = lambda: [x / np.maximum(x.sum(1, keepdims=True), np.float32(1e-20)) * np.float32(2.5)]  # noqa: E731
    return Case(f"normalize [{tokens}, {k}]", text, [x], form, 1e-6)


def plan(rng: np.random.Generator, tokens: int, k: int, experts: int) -> Case:
    ids = rng.integers(0, experts, (tokens, k), np.int32)
    slots = tokens * k
    types = {
        "sizes": f"{experts}xi32",
        "permutation": f"{slots}xi32",
        "token": f"{slots}xi32",
        "inverse": f"{tokens}x{k}xi32",
    }
    p = f"!moe.plan<groups = {experts}, rows = {slots}, tokens = {tokens}, topk = {k}>"
    gets = "\n".join(
        f"  %{f} = moe.plan_get %p {{field = #moe.field<{f}>}} : {p} -> tensor<{t}>" for f, t in types.items()
    )
    results = ", ".join(f"tensor<{t}>" for t in types.values())
    text = f"""func.func @main(%i: tensor<{tokens}x{k}xi32>) -> ({results}) {{
  %p = moe.plan %i : tensor<{tokens}x{k}xi32> -> {p}
{gets}
  return {", ".join("%" + f for f in types)} : {results}
}}"""

    def form() -> Arrays:
        flat = ids.reshape(-1)
        sizes = np.bincount(flat, minlength=experts).astype(np.int32)
        permutation = np.argsort(flat, kind="stable").astype(np.int32)
        inverse = np.empty(slots, np.int32)
        inverse[permutation] = np.arange(slots, dtype=np.int32)
        return [sizes, permutation, permutation // k, inverse.reshape(tokens, k)]

    return Case(f"plan [{tokens}, {k}] of {experts}", text, [ids], form)


def rows(ins: dict[str, str], out: str, body: str) -> str:
    """A program of one tile.rows: named inputs and their types, the type of the result, its body."""
    arguments = ", ".join(f"%{name}: tensor<{t}>" for name, t in ins.items())
    names = ", ".join("%" + name for name in ins)
    types = ", ".join(f"tensor<{t}>" for t in ins.values())
    inner = ", ".join(f"%{name}s: tensor<{t}>" for name, t in ins.items())
    last = list(ins)[-1]  # the input that has as many rows as the result
    return f"""func.func @main({arguments}) -> tensor<{out}> {{
  %c0 = arith.constant 0 : index
  %m = tensor.dim %{last}, %c0 : tensor<{ins[last]}>
  %e = tensor.empty(%m) : tensor<{out}>
  %o = tile.rows ins({names} : {types}) outs(%e : tensor<{out}>) {{
  ^bb0(%r: index, {inner}):
{body}
  }} -> tensor<{out}>
  return %o : tensor<{out}>
}}"""


def gather(rng: np.random.Generator, tokens: int, k: int, width: int, dtype: str) -> Case:
    x = exact(rng.standard_normal((tokens, width), np.float32), dtype)
    token = rng.permutation(np.repeat(np.arange(tokens, dtype=np.int32), k))
    t = f"?x{width}x{dtype}"
    text = rows(
        {"x": t, "t": "?xi32"},
        t,
        f"""    %i = tile.load %ts[%r] : tensor<?xi32> -> i32
    %j = arith.index_cast %i : i32 to index
    %y = tile.load %xs[%j] : tensor<{t}> -> vector<{width}x{dtype}>
    tile.yield %y : vector<{width}x{dtype}>""",
    )
    return Case(f"gather [{tokens}, {width}] {dtype} to {tokens * k} rows", text, [x, token], lambda: [x[token]])


def combine(rng: np.random.Generator, tokens: int, k: int, width: int, dtype: str) -> Case:
    y = exact(rng.standard_normal((tokens * k, width), np.float32), dtype)
    weight = rng.random((tokens, k), np.float32)
    inverse = rng.permutation(tokens * k).astype(np.int32).reshape(tokens, k)
    t, v, narrow = f"?x{width}x{dtype}", f"vector<{width}xf32>", f"vector<{width}x{dtype}>"
    body = f"    %s0 = arith.constant dense<0.0> : {v}\n"
    for j in range(k):
        wide = f"%f{j} = arith.extf %y{j} : {narrow} to {v}" if dtype != "f32" else ""
        body += f"""    %j{j} = arith.constant {j} : index
    %i{j} = tile.load %is[%r, %j{j}] : tensor<?x{k}xi32> -> i32
    %r{j} = arith.index_cast %i{j} : i32 to index
    %w{j} = tile.load %ws[%r, %j{j}] : tensor<?x{k}xf32> -> f32
    %y{j} = tile.load %ys[%r{j}] : tensor<{t}> -> {narrow}
    {wide}
    %b{j} = vector.broadcast %w{j} : f32 to {v}
    %p{j} = arith.mulf %b{j}, {f"%f{j}" if wide else f"%y{j}"} : {v}
    %s{j + 1} = arith.addf %s{j}, %p{j} : {v}
"""
    if dtype == "f32":
        body += f"    tile.yield %s{k} : {v}"
    else:
        body += f"    %n = arith.truncf %s{k} : {v} to {narrow}\n    tile.yield %n : {narrow}"
    text = rows({"y": t, "w": f"?x{k}xf32", "i": f"?x{k}xi32"}, t, body)

    def form() -> Arrays:
        return [np.einsum("tk,tkh->th", weight, y[inverse])]

    return Case(
        f"combine {k} rows [{tokens}, {width}] {dtype}",
        text,
        [y, weight, inverse],
        form,
        2**-8 if dtype != "f32" else 1e-6,
    )


def swiglu(rng: np.random.Generator, m: int, width: int, dtype: str, layout: str) -> Case:
    x = exact(rng.standard_normal((m, 2 * width), np.float32), dtype)
    t, o = f"tensor<?x{2 * width}x{dtype}>", f"tensor<?x{width}x{dtype}>"
    text = f"""func.func @main(%x: {t}) -> {o} {{
  %a = moe.gated_activation %x {{layout = #moe.halves<{layout}>}} : {t} -> {o}
  return %a : {o}
}}"""

    def form() -> Arrays:
        gate, up = (x[:, :width], x[:, width:]) if layout == "concatenated" else (x[:, 0::2], x[:, 1::2])
        return [gate / (1 + np.exp(-gate)) * up]

    return Case(f"swiglu {layout} [{m}, {width}] {dtype}", text, [x], form, 2**-8 if dtype != "f32" else 1e-6)


def elementwise(rng: np.random.Generator, m: int, width: int, dtype: str) -> Case:
    x, y = (exact(rng.standard_normal((m, width), np.float32), dtype) for _ in range(2))
    t = f"tensor<?x{width}x{dtype}>"
    text = f"""func.func @main(%x: {t}, %y: {t}) -> {t} {{
  %a = arith.mulf %x, %y : {t}
  return %a : {t}
}}"""
    return Case(f"multiply [{m}, {width}] {dtype}", text, [x, y], lambda: [x * y], 2**-8 if dtype != "f32" else 0)


def reduction(rng: np.random.Generator, m: int, width: int) -> Case:
    x = rng.standard_normal((m, width), np.float32)
    t, v = f"?x{width}xf32", f"vector<{width}xf32>"
    body = f"""    %v = tile.load %xs[%r] : tensor<{t}> -> {v}
    %q = arith.mulf %v, %v : {v}
    %s = vector.reduction <add>, %q : {v} into f32
    tile.yield %s : f32"""
    return Case(
        f"sum of squares [{m}, {width}]",
        rows({"x": t}, "?xf32", body),
        [x],
        lambda: [np.einsum("mh,mh->m", x, x)],
        1e-5,
    )


def cases(rng: np.random.Generator) -> list[Case]:
    return [
        scores(rng, "softmax", 65536, 8),
        scores(rng, "softmax", 16384, 128),
        scores(rng, "sigmoid", 16384, 256),
        select(rng, 65536, 8, 2, None),
        select(rng, 16384, 128, 8, None),
        select(rng, 16384, 256, 8, (8, 4, 2)),
        select(rng, 4096, 512, 64, None),
        normalize(rng, 65536, 8),
        plan(rng, 65536, 8, 128),
        gather(rng, 4096, 4, 2048, "f32"),
        gather(rng, 4096, 4, 2048, "bf16"),
        combine(rng, 2048, 8, 2048, "f32"),
        combine(rng, 2048, 8, 2048, "bf16"),
        swiglu(rng, 4096, 2048, "f32", "concatenated"),
        swiglu(rng, 4096, 2048, "bf16", "concatenated"),
        swiglu(rng, 4096, 2048, "f32", "interleaved"),
        elementwise(rng, 4096, 2048, "f32"),
        elementwise(rng, 4096, 2048, "bf16"),
        reduction(rng, 4096, 2048),
    ]


def run(*command: object) -> str:
    result = subprocess.run([str(c) for c in command], capture_output=True, text=True, check=False)
    if result.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{result.stderr or result.stdout}")
    return result.stdout


def measure(case: Case, a: argparse.Namespace) -> tuple[float, float]:
    """Milliseconds of ours and of NumPy, after the outputs were compared."""
    ours, numpy = [], []
    with tempfile.TemporaryDirectory() as folder:
        text, moe, inputs, outputs = (Path(folder) / f for f in ("main.mlir", "main.moe", "in.npz", "out.npz"))
        text.write_text(case.text)
        run(a.build / "bin/moe-compile", text, "-o", moe, f"--cpu={a.cpu}")
        np.savez(inputs, **{f"in{i}": x for i, x in enumerate(case.inputs)})
        for _ in range(a.rounds):
            command = [a.build / "bin/moe-run", moe, "--input", inputs, "--output", outputs]
            printed = run(*command, "--bench", "--repeat", a.repeat, "--threads", a.threads)
            median = re.search(r"median ([0-9.]+) ms", printed)
            if not median:
                sys.exit(f"moe-run printed no time:\n{printed}")
            ours.append(float(median[1]))
            case.numpy()
            times = []
            for _ in range(a.repeat):
                begin = time.perf_counter()
                case.numpy()
                times.append(time.perf_counter() - begin)
            numpy.append(float(np.median(times)) * 1e3)
        expected = (case.expected or case.numpy)()
        with np.load(outputs) as file:
            results = [file[f"out{i}"] for i in range(len(expected))]
    for i, (result, wanted) in enumerate(zip(results, expected, strict=True)):
        error = np.abs(result.astype(np.float64) - wanted)
        bound = case.tolerance * np.abs(wanted.astype(np.float64)).max()
        if result.shape != wanted.shape or not (error <= bound).all():
            sys.exit(f"{case.name}: output {i} is off by {error.max()}, allowed are {bound}")
    return min(ours), min(numpy)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path(__file__).resolve().parents[2] / "build")
    parser.add_argument("--only", default="", help="run the cases whose name holds this text")
    parser.add_argument("--cpu", default="native", help="level of CPU to compile for")
    parser.add_argument("--threads", type=int, default=1, help="of ours; NumPy's forms of these ops have one")
    parser.add_argument("--repeat", type=int, default=5, help="timed runs a round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seed", type=int, default=time.time_ns() % 2**32)
    parser.add_argument("--limit", type=float, help="fail if an op takes more than this many times NumPy's time")
    a = parser.parse_args()
    print(f"cpu {a.cpu}  threads {a.threads}  seed {a.seed}")
    print(f"{'op':44}{'ours ms':>10}{'numpy ms':>10}{'ratio':>8}")
    worst = 0.0
    for case in cases(np.random.default_rng(a.seed)):
        if a.only not in case.name:
            continue
        ours, numpy = measure(case, a)
        worst = max(worst, ours / numpy)
        print(f"{case.name:44}{ours:10.3f}{numpy:10.3f}{ours / numpy:8.2f}", flush=True)
    if a.limit is not None and worst > a.limit:
        sys.exit(f"the slowest op takes {worst:.2f} times NumPy's time, the limit is {a.limit}")


if __name__ == "__main__":
    main()
