"""Which days a run closes, and from which folder of closed days it continues. Plain values."""

from __future__ import annotations

import pytest

from rocketns.pipeline.batch.closing import DayEnd, closable
from rocketns.pipeline.contract.times import DAY_US, HOUR_US
from rocketns.pipeline.storage.earlier import Kept
from tests.pipeline.journals import DAY_START

MINUTE_US = 60_000_000
# 2026-01-04T12:00
NOON = DAY_START + 3 * DAY_US + DAY_US // 2


def day(number: int, *, after_end: int | None = None, is_open: bool = False) -> DayEnd:
    """A day of January whose last record is at midnight, or this long after the end of the observation."""
    last = DAY_START + number * DAY_US if after_end is None else NOON + after_end
    return DayEnd(last, is_open)


def days(**ends: DayEnd) -> dict[str, DayEnd]:
    usual = {f"2026-01-0{number}": day(number) for number in (1, 2, 3)}
    today = {"2026-01-04": DayEnd(NOON + MINUTE_US, True)}
    return usual | today | {f"2026-01-0{name[1:]}": end for name, end in ends.items()}


@pytest.mark.parametrize(
    ("ends", "end", "closed"),
    [
        (days(), NOON, "2026-01-03"),
        (days(), DAY_START + 3 * DAY_US + 59 * MINUTE_US, "2026-01-02"),
        (days(), DAY_START + 3 * DAY_US + HOUR_US, "2026-01-03"),
        (days(d3=day(3, is_open=True)), NOON, "2026-01-02"),
        (days(d1=day(1, is_open=True)), NOON, "2026-01-03"),
        (days(d3=day(3, after_end=1)), NOON, "2026-01-02"),
        (days(d1=day(1, after_end=DAY_US)), NOON, "2026-01-03"),
        ({"2026-01-04": DayEnd(NOON, False)}, NOON, ""),
        ({}, NOON, ""),
    ],
    ids=[
        "all before today", "within an hour after midnight", "an hour after midnight",
        "a file of yesterday is still open", "an old file was left open", "yesterday goes beyond the end",
        "an old day has a wrong time stamp", "today only", "nothing",
    ],
)  # fmt: skip
def test_the_last_day_that_can_be_closed(ends: dict[str, DayEnd], end: int, closed: str) -> None:
    assert closable(ends, end) == closed


@pytest.mark.parametrize(
    ("t0", "t1", "holds"),
    [(10, 101, True), (11, 101, False), (10, 100, False), (10, 200, True), (10, 201, False)],
    ids=["the same", "another beginning", "an end before its last record", "up to a wrong time stamp", "beyond it"],
)
def test_a_folder_is_used_only_where_a_run_would_compute_the_same(t0: int, t1: int, *, holds: bool) -> None:
    kept = Kept("earlier/1", "2026-01-01", {}, t0=10, last=100, stray_from=200, clocks=None, mark="")
    assert kept.holds(t0, t1) is holds
