"""What scripts/demo shows: a Mixtral layer at each level, its kernels, its routing, and its distance from JAX."""

import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
BIN = ROOT / "build" / "bin"
OUT = ROOT / "build" / "demo"
LINES = 16  # of each level
WIDTH = 150


def run(*command: str) -> str:
    """Runs a command, which is shown, and returns what it printed."""
    print("$ " + " ".join(command).replace(f"{BIN}/", "").replace(f"{ROOT}/", ""), flush=True)
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(f"exit code {done.returncode}\n{done.stdout}")
    return done.stdout


def show(text: str, lines: int) -> None:
    """The first lines of a text, cut to a readable width."""
    kept = [line for line in text.splitlines() if line.strip()]
    for line in kept[:lines]:
        print("  " + (line if len(line) <= WIDTH else line[: WIDTH - 4] + " ..."))
    if len(kept) > lines:
        print(f"  ... {len(kept) - lines} more lines")


def outline(phase: str, text: str) -> str:
    """What is worth seeing of a level: the structured ops without their bodies, the launches, the heart of a kernel."""
    lines = text.splitlines()
    if phase.endswith(("tile", "bufferized")):
        return "\n".join(line for line in lines if re.match(r"    ?(\S.* )?(tile\.|func\.)|  func", line))
    if phase.endswith("prog"):
        return "\n".join(line for line in lines if re.match(r"  prog\.|    prog\.(launch|copy|memset)", line))
    if phase.endswith("kernels"):
        runs = [0] * (len(lines) + 1)  # how many products follow each other from this line on
        for i in reversed(range(len(lines))):
            runs[i] = runs[i + 1] + 1 if "llvm.intr.fma" in lines[i] else 0
        return "\n".join(lines[runs.index(max(runs)) :])
    return text


def main() -> None:
    source, data = ROOT / "scripts" / "mixtral.mlir", ROOT / "test/Execution/jax/layer_mixtral_f32.npz"
    program, phases, result = OUT / "mixtral.moe", OUT / "phases", OUT / "out.npz"
    OUT.mkdir(parents=True, exist_ok=True)

    print("== Compile a Mixtral layer for this machine's CPU")
    begin = time.perf_counter()
    run(f"{BIN}/moe-compile", str(source), "-o", str(program), "--dump-dir", str(phases))
    print(f"{program.stat().st_size} bytes in {time.perf_counter() - begin:.2f} s")

    print("\n== The same layer at each level")
    for phase in sorted(phases.glob("*.mlir")):
        print(f"-- {phase.stem}")
        show(outline(phase.stem, phase.read_text()), LINES)

    print("\n== What is in the file")
    show(run(f"{BIN}/moe-objdump", str(program)), 24)

    print("\n== Run it on the inputs that JAX had")
    print(run(f"{BIN}/moe-run", str(program), "--input", str(data), "--output", str(result), "--bench"), end="")
    got, jax = np.load(result), np.load(data)
    out, sizes, expected = got["out0"], got["out1"], jax["out0"]
    print("rows of each expert: " + ", ".join(f"{e}: {n}" for e, n in enumerate(sizes)) + f" (sum {sizes.sum()})")
    error, largest = np.abs(out - expected).max(), np.abs(expected).max()
    print(f"largest difference from JAX: {error:.3g}, that is {error / largest:.3g} of the largest output")
    if not error <= 1e-5 * largest or sizes.sum() != 96:
        sys.exit("expected at most 1e-5 of the largest output, and 96 rows")


if __name__ == "__main__":
    main()
