"""Figures and ratios as text."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median

from benchmarks.kinds import JAVAS
from benchmarks.record import Row, quantile

NONE = "-"


def figure(value: float | None) -> str:
    """Three significant digits at least."""
    if value is None:
        return NONE
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def spread(values: Sequence[float]) -> str:
    """Median, and in brackets the least and the greatest where there is more than one round."""
    if not values:
        return NONE
    middle = figure(median(values))
    return middle if len(values) == 1 else f"{middle} ({figure(min(values))}-{figure(max(values))})"


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    """The lower and the upper one: of few values rather the least and the greatest, never one between two."""
    return quantile(values, 0.25), -quantile([-value for value in values], 0.25)


def more_is_better(unit: str) -> bool:
    """Throughput, as against costs and times."""
    return "/s" in unit


def times_better(row: Row, base: str, other: str) -> list[float]:
    """How many times better ``base`` is than ``other``, one for each round that has both, sorted."""
    return row.ratios(base, other) if more_is_better(row.unit) else row.ratios(other, base)


def times_the_cost(row: Row, base: str, other: str) -> list[float]:
    """How many times ``other``'s cost is that of ``base``."""
    return row.ratios(other, base) if more_is_better(row.unit) else row.ratios(base, other)


def best(row: Row, keys: Sequence[str]) -> str:
    """Which of these servers has the best median in a row; the first if none was measured."""
    found = {key: middle for key in keys if (middle := row.middle(key)) is not None}
    if not found:
        return keys[0]
    return (max if more_is_better(row.unit) else min)(found, key=lambda key: found[key])


def best_java(row: Row) -> str:
    """The Java that does best in this row: rocketns is compared with that one."""
    return best(row, JAVAS)


def table(head: list[str], words: int, rows: list[list[str]]) -> list[str]:
    """Lines of a Markdown table, the first ``words`` columns to the left, the others to the right."""
    rule = ["---"] * words + ["---:"] * (len(head) - words)
    return [f"| {' | '.join(row)} |" for row in [head, rule, *rows]]
