"""Where a run with --days begins."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rocketns.pipeline.batch.horizon import STEP_DAYS, horizon, last_day
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.storage.events.manifest import Day, Range

NOVEMBER = [f"2026-11-{number:02}" for number in range(1, 31)]


def stored(files: Mapping[str, Mapping[str, int]]) -> dict[str, Day]:
    """Of each day, by name server, the last sequence number of its only boot."""
    return {dt: Day("", {ns: [Range(1, 1, high)] for ns, high in told.items()}) for dt, told in files.items()}


def days_of_two(days: list[str]) -> dict[str, dict[str, int]]:
    return {dt: {"n1": number, "n2": number} for number, dt in enumerate(days, 1)}


def begins(days: list[str], wanted: int) -> str | None:
    found = horizon(stored(days_of_two(days)), wanted)
    return found and exact_text(found.t0)


def test_it_has_the_days_asked_for_and_less_than_a_step_more() -> None:
    for last in range(20, 31):
        begin = begins(NOVEMBER[:last], 10)
        assert begin is not None
        assert 10 <= last - int(begin[8:10]) + 1 < 10 + STEP_DAYS


def test_the_beginning_moves_once_in_a_step() -> None:
    moved = [begins(NOVEMBER[:last], 3) for last in range(10, 10 + 2 * STEP_DAYS)]
    assert len(set(moved)) == 3
    assert all(begin is not None and begin.endswith("T00:00:00.000Z") for begin in moved)


def test_the_day_before_the_beginning_is_read_for_the_state_at_midnight() -> None:
    found = horizon(stored(days_of_two(NOVEMBER)), 10)
    assert found is not None
    assert (exact_text(found.t0)[:10], found.since) == ("2026-11-19", "2026-11-18")


@pytest.mark.parametrize("days", [11, 30, 36_500])
def test_nothing_is_left_out_of_a_journal_that_begins_later(days: int) -> None:
    assert begins(NOVEMBER[18:], days) is None


def test_neither_a_clock_that_is_ahead_nor_a_silent_name_server_decides() -> None:
    files = days_of_two(NOVEMBER[:20])
    files["2026-11-03"]["n3"] = 1
    assert last_day(stored(files)) == "2026-11-20"
    files["2027-12-24"] = {"n3": 2}
    assert last_day(stored(files)) == "2026-11-20"


def test_a_file_of_a_wrong_day_does_not_decide_after_a_file_of_the_right_one_came() -> None:
    files = {"2026-11-02": {"n1": 3}, "2026-11-01": {"n1": 1}, "2027-12-24": {"n1": 2}}
    assert last_day(stored(files)) == "2026-11-02"
