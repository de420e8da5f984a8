"""The end of the observation: the latest moment that every live name server has reached; plain values, no Spark."""

from __future__ import annotations

import pytest

from rocketns.pipeline.batch.observing import Extent, Reach, by_own_clocks, common_end, observed, reach_of, too_short
from rocketns.pipeline.contract.defaults import CLOCK_DOUBT_US, ROTATE_US, SILENT_AFTER_US
from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.contract.frames import Observation

S = 1_000_000
VISIBLE, WAITING = SILENT_AFTER_US, SILENT_AFTER_US + ROTATE_US


def reach(ns: str, last_s: float, *, stopped: bool = False, lag: int = WAITING, doubt: int = 0) -> Reach:
    return Reach(ns, round(last_s * S), stopped, lag, doubt)


def test_the_end_is_what_every_live_name_server_has_reached() -> None:
    """n2's file is closed up to ten minutes later."""
    assert common_end([reach("n1", 1000), reach("n2", 430), reach("n3", 700)]) == 430 * S


def test_a_name_server_that_is_too_far_behind_is_not_waited_for() -> None:
    assert common_end([reach("n1", 1000), reach("n2", 270), reach("n3", 700)]) == 700 * S


def test_a_name_server_whose_open_file_was_read_is_silent_after_two_minutes() -> None:
    assert common_end([reach("n1", 1000), reach("n2", 881, lag=VISIBLE)]) == 881 * S
    assert common_end([reach("n1", 1000), reach("n2", 879, lag=VISIBLE)]) == 1000 * S


def test_a_stopped_name_server_is_complete() -> None:
    assert common_end([reach("n1", 1000), reach("n2", 990, stopped=True)]) == 1000 * S
    assert common_end([reach("n1", 1000, stopped=True), reach("n2", 1200, stopped=True)]) == 1200 * S


def test_a_clock_that_may_be_ahead_makes_nobody_silent() -> None:
    ahead = reach("n1", 1150, lag=VISIBLE, doubt=CLOCK_DOUBT_US)
    assert common_end([ahead, reach("n2", 1000, lag=VISIBLE), reach("n3", 1001, lag=VISIBLE)]) == 1000 * S


def row(**values: object) -> dict[str, object]:
    return {"ns": "n1", "last": 100 * S, "stopped": None, "rotate_s": 60} | values


def offset(method: str, us: int = 0, reference: str = "n9") -> dict[str, object]:
    return {"ns": "n1", "offset": us, "method": method, "reference": reference}


def test_the_lag_depends_on_the_rotation_and_on_open_files() -> None:
    assert reach_of(row(), offset("versions"), is_open=False).lag == SILENT_AFTER_US + 60 * S
    assert reach_of(row(rotate_s=None), offset("versions"), is_open=False).lag == SILENT_AFTER_US + ROTATE_US
    assert reach_of(row(), offset("versions"), is_open=True).lag == SILENT_AFTER_US


def test_reach_is_by_the_corrected_clock() -> None:
    assert reach_of(row(), offset("versions", 7 * S), is_open=True).last == 93 * S


@pytest.mark.parametrize(
    ("known", "doubt"),
    [
        (offset("versions"), 0),
        (offset("none", reference="n1"), 0),
        (offset("heartbeats"), CLOCK_DOUBT_US),
        (offset("none"), CLOCK_DOUBT_US),
        (None, CLOCK_DOUBT_US),
    ],
)
def test_only_versions_show_a_clock_for_certain(known: dict[str, object] | None, doubt: int) -> None:
    assert reach_of(row(), known, is_open=True).doubt == doubt


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


@pytest.mark.parametrize(
    ("t0", "t1", "said"),
    [
        (91, None, "is empty"),
        (91, 95, "no record"),
        (1, 9, "no record"),
        (50, 40, "is empty"),
    ],
)
def test_a_time_that_the_journals_do_not_have_is_refused(t0: int, t1: int | None, said: str) -> None:
    with pytest.raises(BadInput, match=said):
        observed(t0 * S, None if t1 is None else t1 * S, 10 * S, 90 * S)


def test_clocks_are_estimated_up_to_the_newest_end_and_not_up_to_a_stray_record() -> None:
    known = Extent(10 * S, 10**15, ("1970-01-01",), frozenset())
    ends = [row(), row(last=120 * S)]
    assert by_own_clocks(None, None, known, ends) == Observation(10 * S, 120 * S + 1)
    assert by_own_clocks(20 * S, 50 * S, known, ends) == Observation(20 * S, 50 * S)
