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
TOKEN = re.compile(r"[%#@!^]?[\w.$]+|\"[^\"\n]*\"|->|[^\s\w]|\s+")
NUMBERS = """
0 1 -1 2 3 7 65 255 4096 2147483647 2147483648 -2147483648 4611686018427387904 9223372036854775807
9223372036854775808 1.0e30 0x7FC00000 ?
""".split()
WORDS = """
f32 bf16 f16 f64 i1 i32 i64 index tensor<*xf32> tensor<f32> memref<4xf32> none [] {} () true unit dense<0> ""
%arg0 vector<4xf32> ?x 0x
""".split()
PIPELINES = {
    "moe": ["--moe-check-ragged", "--moe-fuse-weights", "--canonicalize", "--cse", "--convert-moe-to-tile"],
    "all": ["--moe-to-prog-pipeline"],
    "tile": ["--tile-fuse", "--canonicalize", "--cse"],
    "stablehlo": ["--allow-unregistered-dialect", "--convert-stablehlo-to-moe", "--canonicalize"],
    "bufferized": ["--moe-bufferize", "--prog-prepare-results", "--tile-outline-kernels", "--convert-to-prog"],
    "kernels": ["--tile-outline-kernels", "--convert-tile-to-cpu", "--convert-kernels-to-llvm"],
    "prog": ["--pass-pipeline=builtin.module(prog.program(prog-plan-arena),canonicalize,cse)"],
    "verify": [],
    "compile": ["moe-compile", "--compile-to=object", "-o", os.devnull],
}


def split(text: str) -> list[str]:
    """The independent inputs of one file: what -split-input-file would see, without comments."""
    pieces = re.split(r"^// -----.*$", text, flags=re.MULTILINE)
    return [p for p in (re.sub(r"^\s*//.*\n", "", p, flags=re.MULTILINE) for p in pieces) if p.strip()]


def mutate(text: str, rng: random.Random) -> bytes:
    """One to four random changes of a text, by token or by byte."""
    tokens = TOKEN.findall(text)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 4])):
        if not tokens:
            break
        i, j = rng.randrange(len(tokens)), rng.randrange(len(tokens))
        numbers = [n for n, t in enumerate(tokens) if re.fullmatch(r"-?\d+(x\w+)*|\?(x\w+)*", t)]
        names = [n for n, t in enumerate(tokens) if t[0] in "%#@!"]
        change = rng.randrange(9)
        if change == 0:
            del tokens[i]
        elif change == 1:
            tokens[i], tokens[j] = tokens[j], tokens[i]
        elif change == 2:
            tokens.insert(i, tokens[j])
        elif change == 3:
            end = min(len(tokens), i + rng.randrange(1, 40))
            tokens[j:j] = tokens[i:end]
        elif change == 4:
            del tokens[i : i + rng.randrange(1, 40)]
        elif change == 5:
            tokens[i] = rng.choice(WORDS + NUMBERS)
        elif change in (6, 7) and numbers:
            n = rng.choice(numbers)
            parts = tokens[n].split("x")
            where = rng.randrange(len(parts))
            parts[where] = rng.choice(NUMBERS) if re.fullmatch(r"-?\d+|\?", parts[where]) else rng.choice(WORDS[:8])
            tokens[n] = "x".join(parts)
        elif change == 8 and names:
            tokens[rng.choice(names)] = tokens[rng.choice(names)]
    data = bytearray("".join(tokens).encode())
    if data and rng.random() < 0.2:
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    return bytes(data)


def pipeline(text: str, rng: random.Random) -> list[str]:
    """Options of moe-opt that fit the level of this text, most of the time, or moe-compile and its options."""
    levels = ["verify"]
    if "stablehlo." in text or "chlo." in text:
        levels += ["stablehlo", "stablehlo", "compile"]
    if re.search(r"\bmoe\.", text):
        levels += ["moe", "moe", "all", "compile"]
    if re.search(r"\btile\.", text):
        levels += ["tile", "bufferized", "kernels"] if "memref" in text else ["tile", "tile", "bufferized"]
    if re.search(r"\bprog\.", text):
        levels += ["prog"] * 3
    level = rng.choice(levels if rng.random() < 0.9 else list(PIPELINES))
    return PIPELINES[level]


def run(command: list[str], timeout: float) -> tuple[str, str]:
    """Runs a command in its own process group; returns what is wrong with how it ended, or nothing, and its stderr."""
    with tempfile.TemporaryFile() as log:
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log, start_new_session=True
        )
        try:
            code = process.wait(timeout)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return f"did not end within {timeout} s", ""
        log.seek(0)
        errors = log.read().decode(errors="replace")
    if code < 0:
        return f"died by {signal.Signals(-code).name}", errors
    if code not in (0, 1):
        return f"exit code {code}", errors
    if "Sanitizer" in errors or "runtime error:" in errors:
        return "reported by a sanitizer", errors
    if code == 1 and "error:" not in errors:
        return "exit code 1 without an error", errors
    return "", errors


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
    texts = [(f, piece) for f in files for piece in split(f.read_text())]
    if not texts:
        parser.error("nothing to mutate")
    print(f"seed {options.seed}, {options.count} mutants of {len(files)} files", flush=True)

    def one(number: int) -> str:
        rng = random.Random(f"{options.seed} {number}")
        path, text = rng.choice(texts)
        passes = pipeline(text, rng)
        options.keep.mkdir(parents=True, exist_ok=True)
        mutant = options.keep / f"{options.seed}-{number}.mlir"
        mutant.write_bytes(mutate(text, rng))
        command = [*(passes if passes[:1] == ["moe-compile"] else ["moe-opt", *passes]), str(mutant)]
        command[0] = str(options.tools / command[0])
        wrong, errors = run(command, options.timeout)
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
    print(f"{len(numbers)} mutants, {len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
