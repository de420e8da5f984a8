"""Samples of a process, and how fast each figure grows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil

MB = 1 << 20
# Judged is the second half of a run, but no more than its last hour. Before that tables, caches and the heap reach
# their size: the heap grows by a megabyte when a burst of objects is larger than any before it, which gets rarer.
JUDGED_S = 3_600.0
GROWTH_PERCENT_MAX = 1.0


@dataclass(frozen=True)
class Sample:
    """``at_s`` since the start of the run; ``rss`` in bytes; ``cpu_s`` of the process in all."""

    at_s: float
    rss: int
    descriptors: int
    threads: int
    cpu_s: float


def sample(pid: int, started: float) -> Sample:
    process = psutil.Process(pid)
    with process.oneshot():
        times = process.cpu_times()
        return Sample(
            time.monotonic() - started, process.memory_info().rss, process.num_fds(), process.num_threads(),
            times.user + times.system,
        )  # fmt: skip


def after_warm_up(samples: Sequence[Sample]) -> list[Sample]:
    begin = max(samples[-1].at_s / 2, samples[-1].at_s - JUDGED_S)
    return [one for one in samples if one.at_s >= begin]


def growth_percent_an_hour(samples: Sequence[Sample], figure: str) -> float:
    """The slope of the straight line through the samples, by least squares, as a share of their mean."""
    times = [one.at_s / 3600 for one in samples]
    values = [float(getattr(one, figure)) for one in samples]
    mean_time, mean = sum(times) / len(times), sum(values) / len(values)
    spread = sum((at - mean_time) ** 2 for at in times)
    slope = sum((at - mean_time) * (value - mean) for at, value in zip(times, values, strict=True)) / spread
    return 100 * slope / mean
