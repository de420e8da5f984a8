"""The time that a run looks at: the latest moment that every live name server has reached, where --days begins, and
which days are closed; and values that several threads ask for. Plain values, no Spark."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from threading import Barrier, Event
from typing import Any

import pytest

from rocketns.pipeline.batch.closing import DayEnd, closable
from rocketns.pipeline.batch.horizon import STEP_DAYS, horizon
from rocketns.pipeline.batch.observing import Reach, common_end, observed, reach_of, too_short
from rocketns.pipeline.batch.promises import Promises
from rocketns.pipeline.contract.defaults import CLOCK_DOUBT_US, ROTATE_US, SILENT_AFTER_US
from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.times import DAY_US, HOUR_US, exact_text
from rocketns.pipeline.storage.earlier import Kept
from rocketns.pipeline.storage.events.manifest import Day, Range
from tests.pipeline.journals import DAY_START

S = 1_000_000
VISIBLE, WAITING = SILENT_AFTER_US, SILENT_AFTER_US + ROTATE_US


def reach(ns: str, last_s: float, *, stopped: bool = False, lag: int = WAITING, doubt: int = 0) -> Reach:
    return Reach(ns, round(last_s * S), stopped, lag, doubt)


@pytest.mark.parametrize(
    ("reaches", "end"),
    [
        ([reach("n1", 1000), reach("n2", 430), reach("n3", 700)], 430),  # n2's file is closed up to ten minutes later
        ([reach("n1", 1000), reach("n2", 270), reach("n3", 700)], 700),  # n2 is too far behind
        ([reach("n1", 1000), reach("n2", 881, lag=VISIBLE)], 881),  # its open file was read
        ([reach("n1", 1000), reach("n2", 879, lag=VISIBLE)], 1000),
        ([reach("n1", 1000), reach("n2", 990, stopped=True)], 1000),
        ([reach("n1", 1000, stopped=True), reach("n2", 1200, stopped=True)], 1200),
        # A clock that may be ahead makes nobody silent
        ([reach("n1", 1150, lag=VISIBLE, doubt=CLOCK_DOUBT_US), reach("n2", 1000, lag=VISIBLE),
          reach("n3", 1001, lag=VISIBLE)], 1000),
    ],
)  # fmt: skip
def test_the_end_is_what_every_live_name_server_has_reached(reaches: list[Reach], end: int) -> None:
    assert common_end(reaches) == end * S


def row(**values: object) -> dict[str, object]:
    return {"ns": "n1", "last": 100 * S, "stopped": None, "rotate_s": 60} | values


def offset(method: str, us: int = 0, reference: str = "n9") -> dict[str, object]:
    return {"ns": "n1", "offset": us, "method": method, "reference": reference}


def test_the_lag_depends_on_the_rotation_and_on_open_files() -> None:
    assert reach_of(row(), offset("versions"), is_open=False).lag == SILENT_AFTER_US + 60 * S
    assert reach_of(row(rotate_s=None), offset("versions"), is_open=False).lag == SILENT_AFTER_US + ROTATE_US
    assert reach_of(row(), offset("versions"), is_open=True).lag == SILENT_AFTER_US
    assert reach_of(row(), offset("versions", 7 * S), is_open=True).last == 93 * S


def test_the_observation_is_what_was_asked_for_as_far_as_the_journals_reach() -> None:
    assert observed(None, None, 10 * S, 90 * S) == Observation(10 * S, 90 * S + 1)
    assert observed(20 * S, 50 * S, 10 * S, 90 * S) == Observation(20 * S, 50 * S)
    near = 90 * S + SILENT_AFTER_US
    assert observed(None, near, 10 * S, 90 * S) == Observation(10 * S, near)
    far = observed(None, near + 1, 10 * S, 90 * S)
    assert far == Observation(10 * S, 90 * S + 1)
    assert (too_short(near, Observation(0, near)), too_short(None, far)) == ([], [])
    assert too_short(near + 1, far) == [
        "The journals end at 1970-01-01 00:01:30, before the requested 1970-01-01 00:03:30."
    ]


@pytest.mark.parametrize(("t0", "t1", "said"), [(91, None, "is empty"), (91, 95, "no record"), (1, 9, "no record")])
def test_a_time_that_the_journals_do_not_have_is_refused(t0: int, t1: int | None, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        observed(t0 * S, t1 and t1 * S, 10 * S, 90 * S)


def begins(days: range, wanted: int) -> str | None:
    """Two name servers wrote on these days of November."""
    told = [Range(1, 1, 9)]
    stored = {f"2026-11-{day:02}": Day("", {"n1": told, "n2": told}) for day in days}
    found = horizon(stored, wanted)
    return found and exact_text(found.t0)


def test_the_beginning_moves_once_in_a_step() -> None:
    """It has the days asked for, and less than a step more. Nothing is left out of a journal that begins later."""
    for last in range(20, 31):
        begin = begins(range(1, last + 1), 10)
        assert begin is not None
        assert begin.endswith("T00:00:00.000Z")
        assert 10 <= last - int(begin[8:10]) + 1 < 10 + STEP_DAYS
    assert len({begins(range(1, last + 1), 3) for last in range(10, 10 + 2 * STEP_DAYS)}) == 3
    assert [begins(range(19, 31), days) for days in (11, 36_500)] == [None] * 2


MINUTE_US = 60_000_000
# 2026-01-04T12:00
NOON = DAY_START + 3 * DAY_US + DAY_US // 2


def day(number: int, *, after_end: int | None = None, is_open: bool = False) -> DayEnd:
    """A day of January whose last record is at midnight, or this long after the end of the observation."""
    last = DAY_START + number * DAY_US if after_end is None else NOON + after_end
    return DayEnd(last, is_open)


def ends_of_days(**ends: DayEnd) -> dict[str, DayEnd]:
    usual = {f"2026-01-0{number}": day(number) for number in (1, 2, 3)}
    today = {"2026-01-04": DayEnd(NOON + MINUTE_US, True)}
    return usual | today | {f"2026-01-0{name[1:]}": end for name, end in ends.items()}


@pytest.mark.parametrize(
    ("ends", "end", "closed"),
    [
        (ends_of_days(), NOON, "2026-01-03"),
        (ends_of_days(), DAY_START + 3 * DAY_US + 59 * MINUTE_US, "2026-01-02"),
        (ends_of_days(), DAY_START + 3 * DAY_US + HOUR_US, "2026-01-03"),
        (ends_of_days(d3=day(3, is_open=True)), NOON, "2026-01-02"),
        (ends_of_days(d1=day(1, is_open=True)), NOON, "2026-01-03"),
        (ends_of_days(d3=day(3, after_end=1)), NOON, "2026-01-02"),
        (ends_of_days(d1=day(1, after_end=DAY_US)), NOON, "2026-01-03"),
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


WAIT_S = 600  # against hangs


def test_a_value_is_made_once_for_all_threads() -> None:
    promises, made, begin = Promises({}), [], Barrier(8)

    def ask() -> Any:
        begin.wait(WAIT_S)
        return promises.get("value", lambda: made.append(1) or object())

    with ThreadPoolExecutor(8) as threads:
        values = {id(future.result()) for future in [threads.submit(ask) for _ in range(8)]}
    assert len(made) == len(values) == 1


def test_a_thread_that_waits_for_a_value_leaves_its_turn_to_another() -> None:
    promises, asked, free = Promises({}), Event(), Event()

    def slow() -> str:
        asked.set()
        assert free.wait(WAIT_S)
        return "slow"

    def waits() -> None:
        assert asked.wait(WAIT_S)
        assert promises.get("slow", slow) == "slow"

    # With two turns the third work is done only if one of the others leaves its turn.
    promises.together([partial(promises.get, "slow", slow), waits, free.set], 2)


def test_an_error_ends_the_rest_and_is_the_one_that_is_raised() -> None:
    promises, done = Promises({}), list[int]()

    def fails() -> None:
        raise OSError("no space left on device")

    works = [partial(promises.get, "bad", fails), partial(promises.get, "bad", fails)]
    with pytest.raises(OSError, match="no space"):
        promises.together([*works, *[partial(done.append, number) for number in range(100)]], 1)
    assert len(done) < 100
