"""Which cores a part's processes run on, where that would be what is measured."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks.running import Server


@contextmanager
def apart(servers: Sequence[Server]) -> Iterator[int | None]:
    """This process on the last of its cores, the servers on the first, which is given; None where there is only one.
    Afterwards all may run anywhere again."""
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
    """All threads of a process on one core; threads that they start later stay there, too."""
    if core is not None:
        _place(pid, {core})


def _place(pid: int, cores: set[int]) -> None:
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        try:
            os.sched_setaffinity(int(thread.name), cores)
        except ProcessLookupError:
            continue  # a thread, or a server, that has just ended
