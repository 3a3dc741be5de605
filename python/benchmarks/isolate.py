"""Runs named items in a process of their own, so that one that crashes or hangs costs itself alone.

The worker reads the names as a JSON list from standard input and, for each, calls `serve`'s function; what it does with them is
reported as JSON lines on standard output. If it dies or takes too long, the item at hand has failed and a new worker goes
on with the next.
"""

from __future__ import annotations

import json
import queue
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass
class Result:
    name: str
    ok: bool
    seconds: float
    message: str = ""


class Broken(Exception):
    """Raised in a worker: nothing more can be run in this process."""


def serve(run: Callable[[str], str]) -> None:
    """The worker: `run` returns a note or raises; after Broken, or an error for which `__cause__` is Broken, it ends."""
    out, sys.stdout = sys.stdout, sys.stderr
    for name in json.load(sys.stdin):
        print(json.dumps({"begin": name}), file=out, flush=True)
        begin, broken = time.perf_counter(), False
        try:
            message, ok = run(name), True
        except Exception as error:
            broken, ok = isinstance(error, Broken), False
            lines = [str(error)] if isinstance(error, (AssertionError, Broken)) else traceback.format_exc().splitlines()
            message = "\n".join(lines[-4:])
        seconds = time.perf_counter() - begin
        print(json.dumps({"end": name, "ok": ok, "seconds": seconds, "message": message}), file=out, flush=True)
        if broken:
            sys.exit(3)


def run_isolated(command: list[str], names: list[str], limit: float) -> Iterator[Result]:
    """One result for each name, in order. `limit` is in seconds for one item; the start of a worker counts to its first."""
    left = list(names)
    while left:
        count = len(left)
        with tempfile.TemporaryFile("w+") as errors:
            worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
            lines: queue.Queue[str | None] = queue.Queue()

            def read(worker: subprocess.Popen = worker, lines: queue.Queue = lines) -> None:
                for line in worker.stdout:
                    lines.put(line)
                lines.put(None)

            threading.Thread(target=read, daemon=True).start()
            try:
                worker.stdin.write(json.dumps(left))
                worker.stdin.close()
            except BrokenPipeError:
                pass
            begin = time.perf_counter()
            late = False
            while left:
                try:
                    line = lines.get(timeout=max(begin + limit - time.perf_counter(), 0.01))
                except queue.Empty:
                    late = True
                    worker.kill()
                    break
                if line is None:
                    break
                event = json.loads(line)
                if "begin" in event:
                    begin = time.perf_counter()
                else:
                    left.pop(0)
                    begin = time.perf_counter()
                    yield Result(event["end"], event["ok"], event["seconds"], event["message"])
            code = worker.wait()
            # A worker that ended an item and then gave up on its process has said what there is to say.
            if left and (late or code != 3 or len(left) == count):
                errors.seek(0)
                tail = "\n".join(errors.read().splitlines()[-6:])
                why = f"took more than {limit:g} s" if late else f"the process ended with code {code}"
                yield Result(left.pop(0), False, time.perf_counter() - begin, f"{why}\n{tail}".strip())
