"""What follows for the clocks from a word of the operator: the machines' clocks differ by so much at most (NTP).

It bounds clocks that nothing better bounds. Offsets stay as they were estimated, so no time moves by it. A clock that
was measured to be off by more than that is left as measured: then the word was wrong (``contradicts``).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from rocketns.pipeline.clocks.estimates import GIVEN, HEARTBEATS, NONE, OBSERVED, REFERENCE
from rocketns.pipeline.clocks.looks import AGREE_US


class Known(NamedTuple):
    """What a row of CLOCK_DAYS says of a clock, us."""

    method: str
    offset: int
    uncertainty: int | None


def contradicts(clock: Known, within: int) -> bool:
    """Whether the clock was measured to be off from the reference's by more than ``within``."""
    if clock.method in (NONE, REFERENCE, GIVEN) or clock.uncertainty is None:
        return False
    exact = AGREE_US if clock.method == HEARTBEATS else clock.uncertainty
    return abs(clock.offset) - exact > within


def bounded(clock: Known, within: int) -> Known:
    """The clock if it is off from the reference's by ``within`` at most."""
    if contradicts(clock, within):
        return clock
    away = within + abs(clock.offset)  # by how much the offset may be wrong then
    if clock.method == NONE:
        return Known(GIVEN, clock.offset, away)
    if clock.method == HEARTBEATS:
        return Known(GIVEN, clock.offset, min(away, AGREE_US) if _is_one(clock, within) else away)
    if clock.method in (OBSERVED, GIVEN) and (clock.uncertainty is None or clock.uncertainty > away):
        return clock._replace(uncertainty=away)
    return clock


def _is_one(beats: Known, within: int) -> bool:
    """Whether no other multiple of the period fits. Heartbeats alone cannot tell them apart."""
    return (beats.uncertainty or 0) - abs(beats.offset) - AGREE_US > within


def bounded_days(days: Iterable[tuple[Any, ...]], within: int | None) -> list[tuple[Any, ...]]:
    """Rows of CLOCK_DAYS, each clock ``bounded``; as they are if nothing was said."""
    rows = list(days)
    if within is None:
        return rows
    return [_bounded_row(*row, within=within) for row in rows]


def _bounded_row(
    day: str, ns: str, offset: int, samples: int, spread: int, method: str, reference: str | None,
    uncertainty: int | None, *, within: int,
) -> tuple[Any, ...]:  # fmt: skip
    known = bounded(Known(method, offset, uncertainty), within)
    return day, ns, offset, samples, spread, known.method, reference, known.uncertainty
