"""Figures and ratios as text."""

from __future__ import annotations

from statistics import median

from benchmarks.kinds import ASYNCIO, JAVA, LEAST, REACTORS_2, ROCKETNS, RUST
from benchmarks.record import Record, Row

# The order of columns and what heads them.
LABELS = {
    ROCKETNS: "rocketns, 1 reactor",
    REACTORS_2: "rocketns, 2 reactors",
    ASYNCIO: "rocketns, asyncio",
    JAVA: "Java 5.5.0",
    RUST: "Rust 1.0.0",
    LEAST: "least possible",
}
NONE = "-"


def figure(value: float | None) -> str:
    """Three significant digits at least."""
    if value is None:
        return NONE
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(ratios: list[float]) -> str:
    """Median, and in brackets the least and the greatest where there is more than one round."""
    if not ratios:
        return NONE
    middle = figure(median(ratios))
    return middle if len(ratios) == 1 else f"{middle} ({figure(ratios[0])}-{figure(ratios[-1])})"


def more_is_better(row: Row) -> bool:
    """Throughput, as against costs and times."""
    return "/s" in row.unit


def times_better(row: Row, base: str, other: str) -> list[float]:
    """How many times better ``base`` is than ``other``, one for each round that has both, sorted."""
    return row.ratios(base, other) if more_is_better(row) else row.ratios(other, base)


def times_the_cost(row: Row, base: str, other: str) -> list[float]:
    """How many times ``other``'s cost is that of ``base``."""
    return row.ratios(other, base) if more_is_better(row) else row.ratios(base, other)


def first_measured(record: Record, keys: tuple[str, ...]) -> str:
    """The first of these servers that has any value in the record."""
    measured = {server for row in record.rows for server in row.values}
    return next((key for key in keys if key in measured), keys[0])


def table(head: list[str], words: int, rows: list[list[str]]) -> list[str]:
    """Lines of a Markdown table, the first ``words`` columns to the left, the others to the right."""
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return [f"| {' | '.join(row)} |" for row in [head, rule, *rows]]
