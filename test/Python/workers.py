"""Named items in worker processes: one that fails, crashes or hangs costs itself alone. Ranks in processes of their own."""

import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "benchmarks"))
import isolate
from isolate import run_isolated

BENCHMARKS = str(Path(isolate.__file__).parent)

WORKER = textwrap.dedent(f"""
    import os, sys, time
    sys.path.insert(0, {BENCHMARKS!r})
    from isolate import Broken, serve

    def run(name):
        print("said on the way")
        if name == "wrong":
            raise AssertionError("1 is not 2")
        if name == "broken":
            raise Broken("the device is lost")
        if name == "crash":
            sys.stderr.write("on standard error\\n")
            sys.stderr.flush()
            os.abort()
        if name == "hang":
            time.sleep(60)
        return f"{{name}} in {{os.getpid()}}"

    serve(run)
""")


def outcome(*names: str) -> dict[str, tuple[bool, str]]:
    found = list(run_isolated([sys.executable, "-c", WORKER], list(names), 5))
    assert [r.name for r in found] == list(names), found
    return {r.name: (r.ok, r.message) for r in found}


def case_items_share_a_worker_until_one_breaks_it() -> None:
    found = outcome("a", "wrong", "b", "broken", "c")
    assert found["wrong"] == (False, "1 is not 2") and found["broken"] == (False, "the device is lost"), found
    worker = {name: found[name][1].split()[-1] for name in "abc"}
    assert all(found[name][0] for name in "abc") and worker["a"] == worker["b"] != worker["c"], found


def case_a_crash_and_a_hang_cost_one_item_each() -> None:
    found = outcome("a", "crash", "hang", "b")
    assert found["a"][0] and found["b"][0], found
    assert not found["crash"][0] and "code -6" in found["crash"][1] and "on standard error" in found["crash"][1], found
    assert not found["hang"][0] and "more than 5 s" in found["hang"][1], found


def case_a_worker_that_cannot_start_fails_every_item() -> None:
    for code in (0, 1, 3):
        command = [sys.executable, "-c", f"import sys; print('no library', file=sys.stderr); sys.exit({code})"]
        found = [(r.name, r.ok, "no library" in r.message) for r in run_isolated(command, ["a", "b"], 5)]
        assert found == [("a", False, True), ("b", False, True)], (code, found)


def case_nothing_to_do() -> None:
    assert list(run_isolated([sys.executable, "-c", "raise SystemExit(1)"], [], 5)) == []


RANKS = textwrap.dedent(f"""
    import os, sys, time
    sys.path.insert(0, {BENCHMARKS!r})
    from spawn import run_ranks

    def work(rank, what, first, pipe):
        pipe.send(first + rank)
        if what == "hangs" or what == "another hangs" and rank == 1:
            time.sleep(60)
        if what == "dies":
            os._exit(3)
        pipe.send((first + rank, what))

    if __name__ == "__main__":
        print(run_ranks(work, 2, 0.5 if sys.argv[1] == "hangs" else 20, sys.argv[1], 7))
""")


def case_ranks_end_whatever_becomes_of_them() -> None:
    """What rank 0 sent last counts."""
    # None where a rank takes more than its half second to start.
    expected = {
        "ends": ["(7, 'ends')"], "dies": ["7"], "hangs": ["7", "None"], "another hangs": ["(7, 'another hangs')"]
    }  # fmt: skip
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(RANKS)
        script.flush()
        for what, last in expected.items():
            done = subprocess.run([sys.executable, script.name, what], capture_output=True, text=True, timeout=50)
            assert done.stdout.strip() in last, (what, done)
