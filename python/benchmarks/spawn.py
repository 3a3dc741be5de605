"""Ranks of a benchmark, each in a process of its own."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from typing import Any


def run_ranks(work: Callable[..., None], ranks: int, limit: float, *arguments: Any) -> Any:
    """Calls work(rank, *arguments, pipe) in `ranks` processes: what rank 0 has sent last, or None.

    Returns when rank 0 has closed its pipe or sent nothing for `limit` seconds; no process is left then.
    """
    spawn, workers, last = multiprocessing.get_context("spawn"), [], None
    for rank in range(ranks):
        receive, send = spawn.Pipe(duplex=False)
        worker = spawn.Process(target=work, args=(rank, *arguments, send))
        worker.start()
        send.close()
        workers.append((worker, receive))
    try:
        while workers[0][1].poll(limit):
            last = workers[0][1].recv()
    except EOFError:
        pass
    for worker, _ in workers:
        worker.join(5)
        worker.kill()
        worker.join()
    return last
