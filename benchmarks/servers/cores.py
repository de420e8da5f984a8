"""Puts processes on certain cores, for the parts in which their place would change the result."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.servers.running import Server


@contextmanager
def apart(servers: Sequence[Server]) -> Iterator[int | None]:
    """Put this process on the last of its cores and the servers on the first; yields the first core's number, or None
    if there is only one core. Afterwards all may run on any core again."""
    mine = os.sched_getaffinity(0)
    if len(mine) < 2:
        yield None
        return
    first, last = min(mine), max(mine)
    place = {os.getpid(): {last}} | {server.pid: {first} for server in servers}
    try:
        for pid, cores in place.items():
            _place(pid, cores)
        yield first
    finally:
        for pid in place:
            _place(pid, mine)


def pin(pid: int, core: int | None) -> None:
    """Put all threads of a process on one core; threads that they start later inherit it."""
    if core is not None:
        _place(pid, {core})


def _place(pid: int, cores: set[int]) -> None:
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        try:
            os.sched_setaffinity(int(thread.name), cores)
        except ProcessLookupError:
            continue  # a thread, or a server, that has just ended
