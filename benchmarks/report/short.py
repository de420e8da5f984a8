"""The table before the table of docs/costs.md: nine rows in the words of an operator, wins and losses."""

from __future__ import annotations

from statistics import median

from benchmarks.parts import lookups, paced, registering, start, storm, tls, wide
from benchmarks.parts.memory import name as memory_of
from benchmarks.plan import FULL
from benchmarks.record import Row
from benchmarks.report.figures import NONE, best_java, figure, table, times_better
from benchmarks.report.store import Results
from benchmarks.servers.kinds import DEFAULT, RUST, C

HEAD = ["", "rocketns", "best Java", "Rust", "simple C server", "rocketns beside the best Java"]
BROKERS, TOPICS = FULL.wide_brokers, FULL.memory_topics[0]
# What it says, part, measurement, unit.
ROWS = (
    ("CPU time of a route lookup", "lookups", lookups.name(*lookups.CELLS[0]), "CPU µs"),
    ("CPU time of a route lookup over TLS", "tls", tls.name(1), "CPU µs"),
    ("99 % of lookups at the rate of 100,000 clients are answered within", "paced",
     paced.name(*paced.CELLS[0]), "p99 µs"),
    ("99 % of lookups while brokers register without a pause are answered within", "storm",
     storm.name(storm.FULL_RATE, storm.ANYWHERE), "p99 µs"),
    ("CPU time of a broker's first registration, 10,000 topics", "registering",
     registering.name(registering.KINDS[0]), "CPU ms"),
    ("CPU time of its next one, nothing changed", "registering", registering.name(registering.KINDS[2]), "CPU ms"),
    (f"memory with {TOPICS:,} topics", "memory", memory_of(TOPICS), "MB"),
    (f"memory with {BROKERS} brokers of 10,000 topics", "wide", wide.asked(BROKERS), "MB"),
    ("from the start to the first answer", "start", start.WHAT, "ms"),
)  # fmt: skip


def short_table(results: Results) -> str:
    """Medians of the rounds. What was not measured is a dash."""
    return "\n".join(table(HEAD, 1, [_cells(results, *row) for row in ROWS]))


def _cells(results: Results, words: str, part: str, what: str, unit: str) -> list[str]:
    record = results.find(part)
    row = (record.find(what, unit) if record else None) or Row(what, unit)
    plain = unit.removeprefix("CPU ").removeprefix("p99 ")
    shown = [figure(row.middle(key)) for key in (DEFAULT, best_java(row), RUST, C)]
    return [f"{words}, {plain}", *shown, _beside(row)]


def _beside(row: Row) -> str:
    """By round: how many times less, or more, rocketns needs. All rows are costs, times or memory."""
    ratios = times_better(row, DEFAULT, best_java(row))
    if not ratios:
        return NONE
    times = median(ratios)
    return f"{figure(times)} times less" if times >= 1 else f"{figure(1 / times)} times more"
