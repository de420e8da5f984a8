"""A part of the benchmarks: one question, measured on all servers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.plan import Plan
from benchmarks.record import Record


@dataclass(frozen=True)
class Part:
    """``method`` is the report's text about how the part is measured."""

    name: str
    title: str
    method: Callable[[Plan], str]
    run: Callable[[Bench, Record], None]
