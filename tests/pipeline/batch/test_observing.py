"""The time that a run looks at: the latest moment that every live name server has reached, where --days begins;
and works that run at the same time. Plain values, no Spark."""

from __future__ import annotations

from functools import partial
from threading import Barrier, Event

import pytest

from rocketns.pipeline.batch.observing import JournalEnd, common_end, last_days, observed, reach_of, too_short
from rocketns.pipeline.batch.run import AT_ONCE, together
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import ReadFile
from rocketns.pipeline.contract.terms import CLOCK_DOUBT_US, ROTATE_US, SILENT_AFTER_US, BadInput, exact_text

S = 1_000_000
VISIBLE, WAITING = SILENT_AFTER_US, SILENT_AFTER_US + ROTATE_US


def reach(ns: str, last_s: float, *, stopped: bool = False, lag: int = WAITING, doubt: int = 0) -> JournalEnd:
    return JournalEnd(ns, round(last_s * S), stopped, lag, doubt)


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
def test_the_end_is_what_every_live_name_server_has_reached(reaches: list[JournalEnd], end: int) -> None:
    assert common_end(reaches) == end * S


def row(**values: object) -> dict[str, object]:
    return {"ns": "n1", "last": 100 * S, "stopped": None, "rotate_s": 60} | values


def offset(us: int = 0, uncertainty: int | None = 0) -> dict[str, object]:
    return {"ns": "n1", "offset": us, "uncertainty": uncertainty}


def test_the_lag_depends_on_the_rotation_and_on_open_files() -> None:
    assert reach_of(row(), offset(), is_open=False).lag == SILENT_AFTER_US + 60 * S
    assert reach_of(row(rotate_s=None), offset(), is_open=False).lag == SILENT_AFTER_US + ROTATE_US
    assert reach_of(row(), offset(), is_open=True).lag == SILENT_AFTER_US
    assert reach_of(row(), offset(7 * S), is_open=True).last == 93 * S
    assert [reach_of(row(), known, is_open=True).doubt for known in (offset(0, 5), offset(0, None), None)] == [
        5, CLOCK_DOUBT_US, CLOCK_DOUBT_US
    ]  # fmt: skip


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


def file(ns: str, day: int) -> ReadFile:
    return ReadFile(f"2026-11-{day:02}", ns, f"1-{day:06}", 0, 1, 2)


@pytest.mark.parametrize(
    ("last", "days", "begin"),
    [(20, 10, "2026-11-11"), (20, 1, "2026-11-20"), (20, 19, "2026-11-02"), (20, 20, None), (20, 36_500, None)],
)
def test_the_last_days_begin_at_a_midnight_and_the_day_before_is_read(last: int, days: int, begin: str | None) -> None:
    """A journal from the first of November on: its first day alone can't be observed from its beginning."""
    stored = [file(ns, day) for ns in ("n1", "n2") for day in range(1, last + 1)]
    found = last_days(stored, days)
    assert (found and exact_text(found.t0)) == (begin and f"{begin}T00:00:00.000Z")
    assert found is None or found.since < str(begin)


def test_neither_one_that_fell_silent_nor_one_that_is_ahead_moves_the_last_day() -> None:
    days = {"n1": 10, "n2": 20, "n3": 28}
    stored = [file(ns, day) for ns, last in days.items() for day in range(1, last + 1)]
    found = last_days(stored, 1)
    assert found is not None
    assert exact_text(found.t0) == "2026-11-20T00:00:00.000Z"


WAIT_S = 600  # against hangs


def test_works_run_at_the_same_time() -> None:
    """Each waits for the others."""
    meet = Barrier(AT_ONCE)
    together(*[lambda: meet.wait(WAIT_S)] * AT_ONCE)


def test_an_error_ends_the_rest_and_is_the_one_that_is_raised() -> None:
    done, failed = list[int](), Event()

    def fails() -> None:
        failed.set()
        raise OSError("no space left on device")

    def waits() -> None:
        assert failed.wait(WAIT_S)

    with pytest.raises(OSError, match="no space"):
        together(fails, *[waits] * (AT_ONCE - 1), *[partial(done.append, number) for number in range(10_000)])
    assert len(done) < 10_000
