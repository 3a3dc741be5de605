"""A test whose CHECK lines nobody reads checks nothing. Scans the suite for such files."""

import re
import sys
from pathlib import Path

DIRECTIVE = re.compile(r"^\s*(?:(?://|#|;)\s*)?([A-Z][A-Z0-9_-]*?)(-(?:LABEL|NEXT|SAME|NOT|DAG|EMPTY|COUNT-\d+))?:")
RUN = re.compile(r"^\s*(?:(?://|#|;)\s*)?RUN:(.*)$")
EXPECTED = re.compile(r"^\s*//\s*expected-(?:error|warning|remark|note)")
NOT_CHECKS = {"RUN", "REQUIRES", "UNSUPPORTED", "XFAIL", "NOTE", "DEFINE", "REDEFINE", "END"}


def prefixes(runs: str) -> set[str]:
    """The prefixes that the RUN lines' FileChecks read."""
    found = set()
    for command in re.split(r"[|;&]", runs):
        if "FileCheck" not in command:
            continue
        given = re.findall(r"--?check-prefix(?:es)?[= ]([\w,-]+)", command)
        found |= {p for g in given for p in g.split(",")} or {"CHECK"}
    return found


def problems(text: str) -> list[str]:
    """What in this test file is never read by a tool."""
    runs = " ; ".join(m.group(1) for m in map(RUN.match, text.splitlines()) if m).replace("\\ ; ", " ")
    read = prefixes(runs)
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if EXPECTED.match(line) and "verify-diagnostics" not in runs:
            found.append(f"{number}: no RUN line has -verify-diagnostics: {line.strip()}")
        match = DIRECTIVE.match(line)
        if not match or match.group(1) in NOT_CHECKS:
            continue
        is_check = match.group(2) or match.group(1).startswith("CHECK")
        if is_check and match.group(1) not in read:
            found.append(f"{number}: no FileCheck reads this prefix: {line.strip()}")
    return found


def main() -> int:
    # The scan itself is tested first: it must find what it is for.
    assert problems("// RUN: moe-opt %s\n// CHECK: x\n"), "an unread CHECK is not found"
    assert problems("// RUN: moe-opt %s | FileCheck %s --check-prefix=A\n// B-NEXT: x\n"), (
        "an unread prefix is not found"
    )
    assert problems("// RUN: moe-opt %s\n// expected-error @below {{x}}\n"), "an unread diagnostic is not found"
    assert problems("RUN: moe-opt %s\nCHECK: x\n"), "an unread CHECK outside a comment is not found"
    assert not problems("// RUN: moe-opt %s \\\n// RUN:   | FileCheck %s\n// CHECK-NEXT: x\n"), "a read CHECK is found"

    root = Path(sys.argv[1])
    files = [f for f in root.rglob("*") if f.suffix in {".mlir", ".test"} and "Inputs" not in f.parts]
    found = [f"{f.relative_to(root)}:{p}" for f in sorted(files) for p in problems(f.read_text(errors="replace"))]
    print("\n".join(found))
    print(f"{len(files)} files scanned, {len(found)} lines that nobody reads")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
