"""What a part of the benchmarks is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.plan import Plan
from benchmarks.record import Record


@dataclass(frozen=True)
class Part:
    """``method`` says how, for the report. ``base`` is the server that the ratios are about, the first that was
    measured of several. ``expected_s`` guesses how long it takes, for the display only."""

    name: str
    title: str
    base: tuple[str, ...]
    method: Callable[[Plan], str]
    expected_s: Callable[[Plan], float]
    run: Callable[[Bench, Record], None]
