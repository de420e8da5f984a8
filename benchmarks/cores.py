"""Which cores a part's processes run on, where that would be what is measured."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def apart() -> Iterator[int | None]:
    """This process on the last of its cores; gives the first of them, None where there is only one."""
    mine = sorted(os.sched_getaffinity(0))
    if len(mine) < 2:
        yield None
        return
    os.sched_setaffinity(0, {mine[-1]})
    try:
        yield mine[0]
    finally:
        os.sched_setaffinity(0, mine)


def pin(pid: int, core: int | None) -> None:
    """All threads of a process on one core; threads that they start later stay there, too."""
    if core is None:
        return
    for thread in Path(f"/proc/{pid}/task").iterdir():
        os.sched_setaffinity(int(thread.name), {core})
