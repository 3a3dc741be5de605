"""Mutates the suite's .mlir files and runs moe-opt and moe-compile on them: whatever the input, no tool may die by a signal.

python test/fuzz/mutate.py [--tools build/bin] [--count N] [--seed S] [--keep FOLDER] [file.mlir ...]

Every mutant follows from the seed and its number, so `--seed S --only I` shows one again. Exit 1 if any crashed,
hung or was reported by a sanitizer; its text is then kept in --keep.
"""

import argparse
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

TEST = Path(__file__).resolve().parent.parent
MEMORY = 8 << 30  # bytes of address space for one run
MLIR_OPT = "/usr/lib/llvm-22/bin/mlir-opt"
TOKEN = re.compile(r"[%#@!^]?[\w.$?]+|\"[^\"\n]*\"|->|[^\s\w]|\s+")
NUMBERS = """
0 1 -1 2 3 7 65 255 4096 2147483647 2147483648 -2147483648 4611686018427387904 9223372036854775807
9223372036854775808 1.0e30 0x7FC00000 ?
""".split()
TYPES = ["f32", "bf16", "f16", "i32", "i64", "f64", "i1", "index"]
WORDS = """
f32 bf16 f16 f64 i1 i32 i64 index tensor<*xf32> tensor<f32> memref<4xf32> none [] {} () true unit dense<0> ""
%arg0 vector<4xf32> ?x 0x
""".split()
PIPELINES = {
    "moe": ["--moe-check-ragged", "--moe-fuse-weights", "--canonicalize", "--cse", "--convert-moe-to-tile"],
    "all": ["--moe-to-prog-pipeline"],
    "tile": ["--tile-fuse", "--canonicalize", "--cse"],
    "stablehlo": ["--moe-normalize-stablehlo", "--convert-stablehlo-to-moe", "--moe-raise-stablehlo", "--canonicalize"],
    "islands": ["--moe-outline-islands"],
    "bufferized": ["--moe-bufferize", "--prog-prepare-results", "--tile-outline-kernels", "--convert-to-prog"],
    "kernels": ["--tile-outline-kernels", "--convert-tile-to-cpu", "--convert-kernels-to-llvm"],
    "prog": ["--pass-pipeline=builtin.module(prog.program(prog-plan-arena),canonicalize,cse)"],
    "verify": [],
    "compile": ["moe-compile", "--compile-to=object", "-o", os.devnull],
}


def split(text: str) -> list[tuple[bool, str]]:
    """The independent inputs of one file, as -split-input-file sees them: whether it is valid, and it without comments."""
    pieces = re.split(r"^// -----.*$", text, flags=re.MULTILINE)
    bare = [("expected-error" not in p, re.sub(r"^\s*//.*\n", "", p, flags=re.MULTILINE)) for p in pieces]
    return [(valid, p) for valid, p in bare if p.strip()]


def break_something(tokens: list[str], rng: random.Random) -> None:
    """One change after which the text most likely does not even parse."""
    i, j, length = rng.randrange(len(tokens)), rng.randrange(len(tokens)), rng.randrange(1, 40)
    match rng.randrange(6):
        case 0:
            del tokens[i]
        case 1:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        case 2:
            tokens.insert(i, tokens[j])
        case 3:
            tokens[j:j] = tokens[i : i + length]
        case 4:
            del tokens[i : i + length]
        case 5:
            tokens[i] = rng.choice(WORDS + NUMBERS)


def change_something(tokens: list[str], rng: random.Random) -> None:
    """One change after which the text may well be valid, so that passes see it: a size or a type, often everywhere at
    once; a value's name; an attribute."""
    everywhere = rng.random() < 0.7
    sizes = [n for n, t in enumerate(tokens) if re.fullmatch(r"-?\d+(x\w+)*|\?(x\w+)*|(\?x)+\w+", t)]
    values = [n for n, t in enumerate(tokens) if t[0] == "%"]
    enums = [n for n in range(1, len(tokens) - 1) if tokens[n - 1] == "<" and tokens[n + 1] == ">"]
    match rng.randrange(5):
        case 0 | 1 if sizes:
            old, new = rng.choice(tokens[rng.choice(sizes)].split("x")), rng.choice(NUMBERS)
            for n in sizes if everywhere else [rng.choice(sizes)]:
                tokens[n] = "x".join(new if part == old else part for part in tokens[n].split("x"))
        case 2:
            old, new = rng.sample(TYPES, 2)
            tokens[:] = [re.sub(rf"(^|x){old}$", rf"\g<1>{new}", t) if rng.random() < 0.9 else t for t in tokens]
        case 3 if values:
            tokens[rng.choice(values)] = tokens[rng.choice(values)]
        case 4 if enums:
            tokens[rng.choice(enums)] = tokens[rng.choice(enums)]


def mutate(text: str, rng: random.Random) -> bytes:
    """One to three random changes of a text, by token or by byte."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3])):
        if tokens:
            (break_something if rng.random() < 0.3 else change_something)(tokens, rng)
    data = bytearray("".join(tokens).encode())
    if data and rng.random() < 0.1:
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def pipeline(text: str, rng: random.Random) -> list[str]:
    """Options of moe-opt that fit the level of this text, most of the time, or moe-compile and its options."""
    levels = ["verify"]
    if "stablehlo." in text or "chlo." in text:
        levels += ["stablehlo", "islands", "compile"]
    if re.search(r"\bmoe\.", text):
        levels += ["moe", "moe", "all", "compile"]
    if re.search(r"\btile\.", text):
        levels += ["tile", "bufferized", "kernels"] if "memref" in text else ["tile", "tile", "bufferized"]
    if re.search(r"\bprog\.", text):
        levels += ["prog"] * 3
    level = rng.choice(levels if rng.random() < 0.9 else list(PIPELINES))
    return PIPELINES[level]


def run(command: list[str], timeout: float) -> tuple[str, str, bool]:
    """Runs a command in its own process group. Returns what is wrong with how it ended, or nothing; its stderr; and
    whether it took the input."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            ["prlimit", f"--as={MEMORY}", *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=log,
            start_new_session=True,
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"did not end within {timeout} s", "", False
        log.seek(0)
        errors = log.read().decode(errors="replace")
    if code < 0:
        return f"died by {signal.Signals(-code).name}", errors, False
    if code not in (0, 1):
        return f"exit code {code}", errors, False
    if "Sanitizer" in errors or "runtime error:" in errors:
        return "reported by a sanitizer", errors, False
    if code == 1 and "error:" not in errors:
        return "exit code 1 without an error", errors, False
    return "", errors, code == 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="*", type=Path, help="files to mutate (default: all of the suite)")
    parser.add_argument("--tools", type=Path, default=Path("build/bin"), help="folder of the tools")
    parser.add_argument("--count", type=int, default=300, help="number of mutants")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    parser.add_argument("--only", type=int, help="run this mutant alone and show what the tool says")
    parser.add_argument("--timeout", type=float, default=30, help="seconds for one run")
    parser.add_argument("--keep", type=Path, default=Path("build/fuzz"), help="folder for what failed")
    options = parser.parse_args()

    files = options.files or sorted(f for f in TEST.rglob("*.mlir") if f.stat().st_size < 200_000)
    texts: dict[bool, list[tuple[Path, str]]] = {True: [], False: []}
    for file in files:
        for valid, piece in split(file.read_text()):
            texts[valid].append((file, piece))
    if not texts[True]:
        parser.error("nothing to mutate")
    print(f"seed {options.seed}, {options.count} mutants of {len(files)} files", flush=True)

    taken: list[bool] = []
    upstream: list[int] = []

    def one(number: int) -> str:
        rng = random.Random(f"{options.seed} {number}")
        path, text = rng.choice(texts[rng.random() < 0.8 or not texts[False]])
        passes = pipeline(text, rng)
        options.keep.mkdir(parents=True, exist_ok=True)
        mutant = options.keep / f"{options.seed}-{number}.mlir"
        mutant.write_bytes(mutate(text, rng))
        compiles = passes[:1] == ["moe-compile"]
        command = [*(passes if compiles else ["moe-opt", "--allow-unregistered-dialect", *passes]), str(mutant)]
        command[0] = str(options.tools / command[0])
        wrong, errors, took = run(command, options.timeout)
        taken.append(took)
        if (
            wrong.startswith("died")
            and run([MLIR_OPT, "--allow-unregistered-dialect", str(mutant)], options.timeout)[0]
        ):
            upstream.append(number)  # MLIR's own parser dies of it, without our dialects and passes
            wrong = ""
        if options.only is not None:
            print(errors, end="")
        if not wrong and options.only is None:
            mutant.unlink()
        stack = [
            line
            for line in errors.splitlines()
            if "moe" in line or "tile" in line or "LLVM ERROR" in line or "Assert" in line
        ]
        return (
            f"mutant {number} of {path.name}: {wrong}: {' '.join(command)}\n  " + "\n  ".join(stack[:12])
            if wrong
            else ""
        )

    numbers = range(options.count) if options.only is None else [options.only]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        failures = [f for f in pool.map(one, numbers) if f]
    print("\n".join(failures))
    print(f"{len(numbers)} mutants, of which {sum(taken)} were accepted, {len(failures)} failures")
    if upstream:
        print(f"not counted: mlir-opt dies of mutants {sorted(upstream)}, too")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
