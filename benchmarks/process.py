"""What the benchmarks read about a server process: its CPU time and its resident memory, in all threads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

import psutil

# The low bits of a clock id that mean the CPU time of a whole process (Linux: CPUCLOCK_SCHED).
PROCESS_CPU_CLOCK = 2


def cpu_s(pid: int) -> float:
    """CPU time of a process since its start, to the nanosecond (/proc counts in hundredths of a second)."""
    return time.clock_gettime((~pid << 3) | PROCESS_CPU_CLOCK)


def resident_mib(pid: int) -> float:
    return float(psutil.Process(pid).memory_info().rss) / 2**20


class Spent:
    """CPU seconds of a process inside a ``with`` block."""

    cpu_s = 0.0


@contextmanager
def spent_by(pid: int) -> Iterator[Spent]:
    spent, before = Spent(), cpu_s(pid)
    yield spent
    spent.cpu_s = cpu_s(pid) - before
