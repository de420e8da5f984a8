"""How a figure grows with the events of a journal, in two directions: more days, and more brokers."""

from __future__ import annotations

from collections.abc import Mapping
from statistics import linear_regression
from typing import NamedTuple

from benchmarks.audit.scale.fleets import BASE, Size

MILLION = 1e6
# Which sizes are along a direction.
DIRECTIONS = {
    "days": lambda size: size.brokers == BASE.brokers,
    "brokers": lambda size: size.days == BASE.days,
}


class Line(NamedTuple):
    """``start + slope * millions of events``. ``off``: the largest difference from a measured value, as a part of the
    largest value."""

    start: float
    slope: float
    off: float

    def at(self, events: float) -> float:
        return self.start + self.slope * events / MILLION


def along(direction: str, measured: Mapping[Size, float]) -> dict[Size, float]:
    """The values of the sizes along the direction, the smallest first."""
    return {size: measured[size] for size in sorted(measured) if DIRECTIONS[direction](size)}


def fitted(events: Mapping[Size, float], measured: Mapping[Size, float]) -> Line:
    """By least squares, over the sizes of ``measured``. ``events``: how many each size writes."""
    millions = [events[size] / MILLION for size in measured]
    values = [*measured.values()]
    slope, start = linear_regression(millions, values)
    away = max(abs(start + slope * x - y) for x, y in zip(millions, values, strict=True))
    return Line(start, slope, away / (max(map(abs, values)) or 1))
