"""What a part of the benchmarks is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.plan import Plan
from benchmarks.record import Record


@dataclass(frozen=True)
class Part:
    """``method`` says how it is measured, for the report."""

    name: str
    title: str
    method: Callable[[Plan], str]
    run: Callable[[Bench, Record], None]
