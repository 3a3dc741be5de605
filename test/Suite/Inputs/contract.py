"""Finds rules of docs/contract.md without a test, and tests named there that do not exist."""

import re
import sys
from pathlib import Path

root = Path(sys.argv[1])
sources = [f.read_text() for f in (root / "test").rglob("*") if f.suffix in {".py", ".cpp"}]
defined = set(re.findall(r"def ((?:case|property|test)_\w+)\(|TEST(?:_F)?\(\w+, (\w+)\)", "\n".join(sources)))
names = {name for pair in defined for name in pair}
rules = re.findall(r"^\| (\d+) \|.*\| ([^|]*) \|$", (root / "docs" / "contract.md").read_text(), re.MULTILINE)
assert len(rules) >= 20, "the table of rules was not found"
bad = 0
for rule, column in rules:
    tests = re.findall(r"`([^`]+)`", column)
    for test in [t for t in tests if t not in names and not ("." in t and (root / "test" / t).is_file())]:
        print(f"rule {rule}: there is no test {test}")
        bad += 1
    if not tests:
        print(f"rule {rule} names no test")
        bad += 1
print(f"{len(rules)} rules, {bad} faults")
sys.exit(bad > 0)
