"""Runs the README's first program in a folder, and looks for what it links to and the options it names."""

import os
import re
import subprocess
import sys
from pathlib import Path


def block(text: str, name: str) -> str:
    """The code block after the comment of this name."""
    found = re.search(rf"<!-- {re.escape(name)} -->\n```\w+\n(.*?)```", text, re.DOTALL)
    assert found, f"the README has no block '{name}'"
    return found.group(1)


def main() -> None:
    readme, folder = Path(sys.argv[1]), Path(sys.argv[2])
    text = readme.read_text()
    (folder / "first.mlir").write_text(block(text, "first.mlir"))
    python = folder / "bin" / "python3"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    environment = {**os.environ, "PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run(["bash", "-euc", block(text, "run")], cwd=folder, env=environment, check=True)

    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (readme.parent / link).exists(), f"the README links to {link}"
    for tool, options in re.findall(r"^\| `(moe-\w+)[^|]*\|[^|]*\|(.*)\|$", text.replace(r"\|", "/"), re.MULTILINE):
        help_text = subprocess.run([tool, "--help"], capture_output=True, text=True).stdout if options.strip() else ""
        for option in re.findall(r"`(--[\w-]*\w)", options):
            assert option in help_text, f"{tool} has no option {option}"
    print("the README holds")


if __name__ == "__main__":
    main()
