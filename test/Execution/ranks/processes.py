"""Ranks that are processes, and one that is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from harness import Comm, MoeError, Program, compile, f32, tensor

WORKER = "import sys; sys.path[:0] = sys.argv[1].split(':'); import processes; processes.worker(*sys.argv[2:])"


def blocks(size: int) -> str:
    x = tensor([size, 3], f32)
    return f"""func.func @main(%x: {x}) -> {x} {{
  %y = moe.all_to_all %x {{axis = "ep", ranks = {size}}} : {x} -> {x}
  return %y : {x}
}}
"""


def worker(folder: str, rank: str, size: str, timeout_ms: str, mode: str) -> None:
    """Exchanges again and again; says what happens. `mode` is what this rank does: work, die, sleep, come late or disagree."""
    blob = Path(folder, "blocks.moe").read_bytes()
    comm = Comm.processes(os.path.join(folder, "store"), int(rank), int(size), int(timeout_ms))
    program = Program(blob)
    try:
        for step in range(5):
            begin = time.monotonic()
            if step == 3 and mode == "die":
                os.kill(os.getpid(), signal.SIGKILL)
            if step == 3 and mode in ("sleep", "late"):
                time.sleep(3600 if mode == "sleep" else 6)
            rows = int(size) + (1 if step == 3 and mode == "disagree" else 0)
            x = np.full((rows, 3), 10 * int(rank) + step, f32)
            (y,) = program.run(x, threads=1, comm=comm)
            assert (y[:, 0] == 10 * np.arange(int(size)) + step).all(), y
    except MoeError as error:
        seconds = time.monotonic() - begin
        comm.fail(str(error))
        print(f"{error.code}: {error}\nafter {seconds:.0f} s")
        if mode == "die" or not Path(folder, "again").exists():
            sys.exit(1)
        fresh = Comm.processes(os.path.join(folder, "again"), int(rank), int(size), 60000)
        (y,) = program.run(np.full((int(size), 3), int(rank), f32), threads=1, comm=fresh)
        print("again", y[:, 0].tolist())
        sys.exit(0)
    assert comm.sent() == [5 * 12] * int(size)
    print("done")


def run(size: int, modes: dict[int, str], timeout_ms: int = 60000, again: bool = False) -> list[tuple[int, str]]:
    """Exit code and output of each rank. Sleepers are killed when the others have ended. `again` lets ranks exchange through
    another communicator after an error."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "blocks.moe").write_bytes(compile(blocks(size)).blob)
        for store in ["store", "again"] if again else ["store"]:
            Path(folder, store).mkdir()
        here = os.path.dirname(os.path.abspath(__file__))
        path = f"{here}:{os.path.dirname(here)}"
        processes = [
            subprocess.Popen(
                [sys.executable, "-c", WORKER, path, folder, str(r), str(size), str(timeout_ms), modes.get(r, "work")],
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
            for r in range(size)
        ]
        found = {}
        for rank, process in enumerate(processes):
            if modes.get(rank) != "sleep":
                out, _ = process.communicate(timeout=200)
                found[rank] = (process.returncode, out)
        for rank, process in enumerate(processes):
            if rank not in found:
                process.kill()
                out, _ = process.communicate()
                found[rank] = (process.returncode, out)
        return [found[rank] for rank in range(size)]


def case_processes_exchange_as_threads_do() -> None:
    for size in (1, 3):
        assert run(size, {}) == [(0, "done\n")] * size


def case_a_rank_that_is_killed_is_an_error_of_all_others() -> None:
    started = time.monotonic()
    found = run(3, {1: "die"}, timeout_ms=4000)
    assert found[1][0] == -signal.SIGKILL
    for rank in (0, 2):
        code, text = found[rank]
        assert code == 1 and text.startswith("COMM_FAILED") and "rank 1" in text, found
    assert time.monotonic() - started < 60, "they waited for longer than the time-out"


def case_a_rank_that_is_killed_is_noticed_while_another_is_late() -> None:
    found = run(3, {1: "die", 2: "late"})
    for rank in (0, 2):
        code, text = found[rank]
        assert code == 1 and text.startswith("COMM_FAILED") and "rank 1" in text, found
    assert int(found[0][1].split()[-2]) < 5, f"it was noticed when the other had come: {found}"


def case_a_rank_that_never_calls_is_an_error_of_all_others() -> None:
    found = run(3, {2: "sleep"}, timeout_ms=1500)
    for rank in (0, 1):
        code, text = found[rank]
        assert code == 1 and text.startswith("COMM_FAILED") and "rank 2" in text, found


def case_a_rank_that_comes_late_hears_of_it_and_all_go_on_with_another_communicator() -> None:
    for rank, (code, text) in enumerate(run(3, {1: "late"}, timeout_ms=1500, again=True)):
        assert code == 0 and text.startswith("COMM_FAILED") and "again [0.0, 1.0, 2.0]" in text, (rank, text)
        assert rank == 1 or "rank 1" in text, (rank, text)


def case_a_rank_with_other_sizes_is_an_error_of_all() -> None:
    found = run(3, {0: "disagree"})
    assert found[0][1].startswith("INVALID_ARGUMENT") and "is 4, but must be 3" in found[0][1], found
    for rank in (1, 2):
        assert found[rank][0] == 1 and "rank 0" in found[rank][1] and "is 4, but must be 3" in found[rank][1], found


def case_ranks_that_are_not_all_there() -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            Comm.processes(folder, 0, 2, 500)
        except MoeError as error:
            assert error.code == "COMM_FAILED" and "rank 0 of 2 does not find the others" in str(error), error
        else:
            raise AssertionError("a rank that is not there was found")
