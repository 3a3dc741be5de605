"""Every schedule that a product can have, and every one of the built-in table, compiles to a cubin without spills or serialised wgmma.

What ptxas finds is an error of moe-compile. Of schedules that differ only in how tiles are visited and staged one is taken.
"""

# REQUIRES: ptxas
# RUN: %python %s %source

from __future__ import annotations

import concurrent.futures
import re
import subprocess
import sys
from pathlib import Path

SOURCE = Path(sys.argv[1])
TABLE = SOURCE / "lib" / "Dialect" / "SM90" / "Transforms" / "H200.txt"
sys.path.insert(0, str(SOURCE / "python"))
from moe_mlir.products import Product  # noqa: E402

# Weights in both layouts, the gradient of weights, a sum.
PRODUCTS = [
    Product(512, 768, 8),
    Product(512, 768, 8, layout="nk", dtype="f16", out="f16"),
    Product(512, 768, 8, mode="contraction", out="f32", accumulate=True),
]


def command(*arguments: str, text: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(arguments, input=text, capture_output=True, text=True)


def candidates(product: Product) -> list[str]:
    """Schedules, one of those that differ only in how tiles are visited and in how many staging buffers there are."""
    prog = command("moe-compile", "-", "--target=cuda", "--compile-to=prog", text=product.text()).stdout
    listed = command("moe-opt", "-", "--sm90-choose-schedules=table=none report=100000", text=prog).stderr
    found = re.findall(r"(#sm90\.schedule<[^>]*>), could take", listed)
    distinct = {re.sub(r", (stages|raster|buffers) = \d+", "", schedule): schedule for schedule in reversed(found)}
    return sorted(distinct.values())


def table() -> list[tuple[Product, str]]:
    """The products and schedules of the table that the products here can say."""
    pairs = []
    for line in TABLE.read_text().splitlines():
        if line.startswith("#"):
            continue
        _, name, _, _, schedule = line.split(" ", 4)
        parts = name.split(".")
        numbers = {p[0]: int(p[1:]) for p in parts if re.fullmatch(r"[kng]\d+", p)}
        mode, words = parts[0], set(parts)
        if words & {"gather", "parts2"}:
            continue
        types = [p for p in parts if p in ("bf16", "f16", "f32")]
        layout = "nk" if "nk" in words else "kn"
        product = Product(numbers["k"], numbers["n"], numbers["g"], mode=mode, layout=layout, dtype=types[0], out=types[1],
                          accumulate="acc" in words)  # fmt: skip
        pairs.append((product, schedule))
    return pairs


def compile_one(pair: tuple[Product, str]) -> str:
    product, schedule = pair
    done = command("moe-compile", "-", "--target=cuda", f"--schedule={schedule}", "-o", "/dev/null", "--compile-to=object",
                   text=product.text())  # fmt: skip
    return "" if done.returncode == 0 else f"{product.name} {schedule}: {done.stderr.strip()}"


def main() -> int:
    pairs = [(product, schedule) for product in PRODUCTS for schedule in candidates(product)]
    assert len(pairs) > 3 * len(PRODUCTS), f"only {len(pairs)} schedules"
    pairs += table()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        failures = [message for message in pool.map(compile_one, pairs) if message]
    print(f"{len(pairs)} schedules compiled, {len(failures)} failed")
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
