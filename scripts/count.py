"""Prints "passed failed skipped" of a report: JSON of lit, or JUnit XML of ctest. Fails if it counts no test."""

import json
import sys
import xml.etree.ElementTree as ElementTree
from collections import Counter
from pathlib import Path

LIT = {"PASS": 0, "XFAIL": 0, "FLAKYPASS": 0, "UNSUPPORTED": 2, "SKIPPED": 2, "EXCLUDED": 2}


def main() -> int:
    report = Path(sys.argv[1])
    if report.suffix == ".json":
        counts = Counter(LIT.get(test["code"], 1) for test in json.loads(report.read_text())["tests"])
    else:
        cases = ElementTree.parse(report).getroot().iter("testcase")
        counts = Counter(
            1 if c.find("failure") is not None else 2 if c.find("skipped") is not None else 0 for c in cases
        )
    print(counts[0], counts[1], counts[2])
    return 0 if sum(counts.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
