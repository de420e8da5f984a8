"""Made-up results, with one row of a part that docs/costs.md shows."""

from __future__ import annotations

from benchmarks.parts import paced
from benchmarks.record import Record, Row
from benchmarks.report.store import COMMIT, Results
from benchmarks.servers.kinds import DEFAULT, JAVA

WHAT = paced.name(*paced.CELLS[0])


def record(part: str = "paced", commit: str = "abc", rows: list[Row] | None = None) -> Record:
    """Of one part, measured on a commit."""
    return Record(part, part, rows or [], facts={COMMIT: commit})


def results(ours: list[float | None], javas: list[float | None], unit: str = "p99 µs", java: str = JAVA) -> Results:
    """A whole run with one row."""
    found = Results("full", "abc", is_whole=True)
    found.add(record(rows=[Row(WHAT, unit, {DEFAULT: ours, java: javas})]), "how")
    return found
