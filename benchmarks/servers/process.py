"""Reads a server process' CPU time, also by thread, and its resident memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# The low bits of a clock id for the CPU time of a whole process (Linux: CPUCLOCK_SCHED).
PROCESS_CPU_CLOCK = 2
IDLE_SHARE, IDLE_SPAN_S, SETTLE_MAX_S = 0.1, 0.02, 2.0


def cpu_s(pid: int) -> float:
    """CPU time of a process since its start, to the nanosecond (/proc counts in hundredths of a second)."""
    return time.clock_gettime((~pid << 3) | PROCESS_CPU_CLOCK)


def thread_cpu_s(pid: int) -> dict[int, float]:
    """CPU time of each thread by its id, to the nanosecond: the first number of its schedstat."""
    spent = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            spent[int(task.name)] = int((task / "schedstat").read_text("ascii").split()[0]) * 1e-9
        except (FileNotFoundError, ProcessLookupError):
            continue  # the thread has just ended
    return spent


def resident_mb(pid: int, which: str = "VmRSS:") -> float:
    """Resident memory in MB (of 1,000,000 bytes): now, or with VmHWM the most so far."""
    for line in Path(f"/proc/{pid}/status").read_text("utf-8").splitlines():
        if line.startswith(which):
            return int(line.split()[1]) * 1024 / 1e6
    raise ProcessLookupError(f"process {pid} has ended")


def settle(pid: int) -> None:
    """Wait until a process is idle (closed connections, garbage), so that it does not disturb the next measurement."""
    deadline = time.monotonic() + SETTLE_MAX_S
    busy = True
    while busy and time.monotonic() < deadline:
        before = cpu_s(pid)
        time.sleep(IDLE_SPAN_S)
        busy = cpu_s(pid) - before > IDLE_SHARE * IDLE_SPAN_S


class Spent:
    """The CPU seconds of a process inside a ``with`` block, and the block's duration."""

    cpu_s = 0.0
    took_s = 0.0


@contextmanager
def spent_by(pid: int) -> Iterator[Spent]:
    """Measure a block; the ``Spent`` has its values when the block ends."""
    spent, before, began = Spent(), cpu_s(pid), time.perf_counter()
    yield spent
    spent.cpu_s, spent.took_s = cpu_s(pid) - before, time.perf_counter() - began
