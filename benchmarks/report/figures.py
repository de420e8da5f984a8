"""Figures and ratios as text."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.record import Row, quantile
from benchmarks.servers.kinds import JAVAS

NONE = "-"


def figure(value: float | None) -> str:
    """Three significant digits at least."""
    if value is None:
        return NONE
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(values: Sequence[float]) -> str:
    """The median; for more than one round also the least and the greatest, in brackets."""
    if not values:
        return NONE
    middle = figure(median(values))
    return middle if len(values) == 1 else f"{middle} ({figure(min(values))}-{figure(max(values))})"


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The lower and the upper quartile. Of few values: the least and the greatest, never a value between two."""
    return quantile(values, 0.25), -quantile([-value for value in values], 0.25)


def more_is_better(unit: str) -> bool:
    """True for throughput, false for costs and times."""
    return "/s" in unit


def times_better(row: Row, base: str, other: str) -> list[float]:
    """How many times better ``base`` is than ``other``, for each round that has both, sorted."""
    return row.ratios(base, other) if more_is_better(row.unit) else row.ratios(other, base)


def times_the_cost(row: Row, base: str, other: str) -> list[float]:
    """How many times ``other``'s cost is that of ``base``."""
    return row.ratios(other, base) if more_is_better(row.unit) else row.ratios(base, other)


def best(row: Row, keys: Sequence[str]) -> str:
    """The server with the best median in a row; the first of them if none was measured."""
    found = {key: middle for key in keys if (middle := row.middle(key)) is not None}
    if not found:
        return keys[0]
    return (max if more_is_better(row.unit) else min)(found, key=lambda key: found[key])


def best_java(row: Row) -> str:
    """The Java that does best in this row; rocketns is compared with it."""
    return best(row, JAVAS)


def table(head: list[str], words: int, rows: list[list[str]]) -> list[str]:
    """Lines of a Markdown table. The first ``words`` columns are aligned left, the others right."""
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return [f"| {' | '.join(row)} |" for row in [head, rule, *rows]]
