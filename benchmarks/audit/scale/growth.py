"""How runs of several sizes grow, and what a billion events come to."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

from benchmarks.audit.scale.fleets import Size
from benchmarks.audit.scale.slopes import DIRECTIONS, Line, along, fitted
from benchmarks.report.figures import figure

WANTED = 1_000_000_000
Row = dict[str, Any]
Values = Mapping[Size, float]
Key = TypeVar("Key", bound=Hashable)


class Growth(NamedTuple):
    """``events``: those of each size."""

    runs: Sequence[Row]
    events: Values

    @classmethod
    def of(cls, runs: Sequence[Row]) -> Growth:
        return cls(runs, {Size(*run["size"]): run["events"] for run in runs})

    def ways(self) -> list[str]:
        """The directions in which more than one size was measured."""
        return [direction for direction in DIRECTIONS if len(along(direction, self.events)) > 1]

    def lines(self, values: Values) -> dict[str, Line]:
        """By direction."""
        return {way: fitted(self.events, along(way, values)) for way in self.ways()}

    def head(self) -> list[str]:
        """The titles of ``tail``: for each direction the growth from its first to its last size, and a billion."""
        found = []
        for direction in self.ways():
            first, *_, last = along(direction, self.events)
            sizes = [getattr(size, direction) for size in (first, last)]
            found += [f"{sizes[0]} to {sizes[1]} {direction}", f"a billion by {direction}"]
        return found

    def tail(self, values: Values, scale: float = 1) -> list[str]:
        found = []
        for direction, line in self.lines(values).items():
            first, *_, last = along(direction, values).values()
            found += [times(last, first), signed(line.at(WANTED) / scale)]
        return found

    def of_all(self, name: str, value: str, key: Callable[[Row], Key]) -> dict[Key, Values]:
        """Of the rows below ``name``, by their key: the sum of their values in each run."""
        keys = {key(row) for run in self.runs for row in run[name]}
        return {
            one: {Size(*run["size"]): float(sum(r[value] for r in run[name] if key(r) == one)) for run in self.runs}
            for one in keys
        }

    def largest(self, found: Mapping[Key, Values]) -> list[tuple[Key, Values]]:
        """Those first that are largest with a billion events."""

        def last(item: tuple[Key, Values]) -> tuple[float, str]:
            return max(line.at(WANTED) for line in self.lines(item[1]).values()), str(item[0])

        return sorted(found.items(), key=last, reverse=True)


def signed(value: float) -> str:
    return f"-{figure(-value)}" if value < 0 else figure(value)


def times(more: float, less: float) -> str:
    """How many times as much; more than 4 for four times the days or brokers grows faster than they do."""
    return f"{more / less:.1f}x" if less else ""
