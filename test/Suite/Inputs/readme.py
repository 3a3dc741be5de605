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
    programs = folder / "bin"
    programs.mkdir()
    for name, options in {"python3": "", "moe-import": "-m moe_mlir.importer "}.items():
        (programs / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {options}"$@"\n')
        (programs / name).chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(readme.resolve().parent / "python"),
    }
    subprocess.run(["bash", "-euc", block(text, "run")], cwd=folder, env=environment, check=True)

    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert (readme.parent / link).exists(), f"the README links to {link}"
    for tool, options in re.findall(r"^\| `(moe-\w+)[^|]*\|[^|]*\|(.*)\|$", text.replace(r"\|", "/"), re.MULTILINE):
        command = [str(programs / tool) if (programs / tool).exists() else tool, "--help"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True) if options.strip() else None
        help_text = done.stdout if done else ""
        for option in re.findall(r"`(--[\w-]*\w)", options):
            assert option in help_text, f"{tool} has no option {option}"
    print("the README holds")


if __name__ == "__main__":
    main()
