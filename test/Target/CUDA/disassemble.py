"""The instructions that moe-objdump and --dump-dir count in a cubin are those that nvdisasm shows."""

# REQUIRES: ptxas, nvdisasm
# RUN: %python %s %source %t

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(sys.argv[1]) / "python"))
from moe_mlir.products import Product

COUNTED = {"HGMMA": "wgmmas", "UTMALDG": "bulk loads", "UTMASTG": "bulk stores", "UTMAREDG": "bulk stores",
           "LDL": "local loads and stores", "STL": "local loads and stores"}  # fmt: skip


def output(*arguments: str, text: str | None = None) -> str:
    return subprocess.run(arguments, input=text, capture_output=True, text=True, check=True).stdout


def main() -> int:
    folder = Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    file = str(folder / "product.moe")
    product = Product(512, 768, 8, mode="contraction", out="f32", accumulate=True)
    output("moe-compile", "-", "--target=cuda", f"--dump-dir={folder}", "-o", file, text=product.text())
    kernels = re.findall(r"^  (\w+): .*\n    (.* local loads and stores)$", output("moe-objdump", file), re.M)
    assert len(kernels) == 3, kernels
    assert set((folder / "6.object.sass.txt").read_text().splitlines()) == {f"{name}: {text}" for name, text in kernels}
    wgmmas = 0
    for name, text in kernels:
        sass = output("moe-objdump", f"--disassemble={name}", file)
        opcodes = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\w+\s+)?([A-Z0-9]+)", sass, re.M)
        expected = Counter(COUNTED[o] for o in opcodes if o in COUNTED)
        expected["instructions"] = sum(o != "NOP" for o in opcodes)
        counted = {what: int(number) for number, what in re.findall(r"(\d+) ([a-z ]+)", text)}
        assert counted == {what: expected[what] for what in counted}, f"{name}: {counted}, expected {dict(expected)}"
        wgmmas += counted["wgmmas"]
    assert wgmmas > 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
