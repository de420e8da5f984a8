"""How busy the reactors are, and how many of this process' cores are idle."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

# Shorter windows are too coarse: the kernel counts idle time in hundredths of a second.
WINDOW_S_MIN = 0.5
# /proc/stat is read only if a reactor is busier than this: reading it is slow on large machines.
ASKED_FROM_SHARE = 0.5
PROC_STAT = Path("/proc/stat")
IDLE, IOWAIT = 4, 5  # fields of a line of /proc/stat, the first of which is the core's name


@dataclass(frozen=True)
class Usage:
    """One window. ``shares``: the part of a core that each reactor used. ``idle``: the number of idle cores."""

    shares: Sequence[float]
    idle: float


class Meter:
    """Reads the CPU clocks of threads, which costs the threads nothing. They must not end before `read`."""

    def __init__(self, threads: Sequence[threading.Thread]) -> None:
        self._threads = threads
        self._clocks: list[int] = []
        self._cores = os.sched_getaffinity(0)
        self._used_s = [0.0] * len(threads)
        self._idle_s: float | None = None
        self._at_s = -math.inf

    def read(self) -> Usage | None:
        """The usage since the last call; None if that was too short ago, or if not all threads run yet."""
        self._clocks = self._clocks or self._clocks_of_threads()
        if not self._clocks:
            return None
        at_s = time.monotonic()
        took_s = at_s - self._at_s
        if took_s < WINDOW_S_MIN:
            return None
        used_s = [time.clock_gettime(clock) for clock in self._clocks]
        shares = [(now - before) / took_s for now, before in zip(used_s, self._used_s, strict=True)]
        self._at_s, self._used_s = at_s, used_s
        return Usage(shares, self._idle(took_s) if max(shares) >= ASKED_FROM_SHARE else self._not_asked())

    def _clocks_of_threads(self) -> list[int]:
        if not all(one.ident for one in self._threads):
            return []
        return [time.pthread_getcpuclockid(one.ident) for one in self._threads if one.ident]

    def _not_asked(self) -> float:
        self._idle_s = None
        return 0.0

    def _idle(self, took_s: float) -> float:
        """The idle cores; 0 in the first window, whose beginning is unknown."""
        before_s, self._idle_s = self._idle_s, idle_s(self._cores)
        if self._idle_s is None:
            return float(len(self._cores))
        return 0.0 if before_s is None else (self._idle_s - before_s) / took_s


def idle_s(cores: set[int], file: Path = PROC_STAT) -> float | None:
    """Seconds that these cores were idle since the machine started, added up. None if they cannot be read."""
    try:
        lines = [line.split() for line in file.read_text("ascii").splitlines() if line.startswith("cpu")]
        of_cores = [words for words in lines if words[0].removeprefix("cpu") in map(str, cores)]
        ticks = sum(int(words[IDLE]) + int(words[IOWAIT]) for words in of_cores)
    except (OSError, ValueError, IndexError):
        return None
    return ticks / os.sysconf("SC_CLK_TCK") if len(of_cores) == len(cores) else None
