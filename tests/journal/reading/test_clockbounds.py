"""What a word of the operator about all clocks (``--clocks``) says of one. Times are s."""

from __future__ import annotations

import pytest

from rocketns.journal.reading.clockbounds import Known, bounded, bounded_days, contradicts

S = 1_000_000


def known(method: str, offset: float, uncertainty: float | None) -> Known:
    return Known(method, round(offset * S), None if uncertainty is None else round(uncertainty * S))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (known("none", 0, None), known("given", 0, 2)),
        (known("observed", 0, None), known("observed", 0, 2)),
        (known("observed", 1, 200), known("observed", 1, 3)),
        (known("heartbeats", 0.5, None), known("given", 0.5, 2.5)),
    ],
    ids=["no samples", "watched, no samples", "watched, far between", "heartbeats of no known period"],
)
def test_the_word_bounds_a_clock_that_nothing_better_bounds(before: Known, after: Known) -> None:
    assert bounded(before, 2 * S) == after


@pytest.mark.parametrize(
    "clock",
    [known("reference", 0, 0), known("versions", 0.4, 0.02), known("observed", 0.4, 1), known("observed", 0, 0)],
    ids=["reference", "versions", "watched", "the only clock"],
)
def test_what_is_known_better_stays(clock: Known) -> None:
    assert bounded(clock, 2 * S) == clock


@pytest.mark.parametrize(("within", "off"), [(2, 1), (0.1, 0.6), (28, 1), (29, 29.5)])
def test_the_word_tells_which_multiple_of_the_period_an_offset_of_heartbeats_has(within: float, off: float) -> None:
    """0.5 s fits, and so do 30.5 s and -29.5 s, which may be 1 s less."""
    assert bounded(known("heartbeats", 0.5, 30), round(within * S)) == known("given", 0.5, off)


@pytest.mark.parametrize(
    "clock",
    [known("versions", -12, 0.02), known("observed", 12, 5), known("heartbeats", 12, 30)],
    ids=["versions", "watched", "heartbeats"],
)
def test_a_clock_that_was_measured_to_be_off_by_more_stays_as_measured(clock: Known) -> None:
    assert contradicts(clock, 2 * S)
    assert bounded(clock, 2 * S) == clock


def test_days_keep_their_offsets() -> None:
    days = [("1", "n1", 0, 0, 0, "reference", "n1", 0), ("1", "n2", 0, 0, 0, "none", "n1", None)]
    assert bounded_days(days, 5) == [days[0], ("1", "n2", 0, 0, 0, "given", "n1", 5)]


def test_days_stay_as_they_are_if_nothing_was_said() -> None:
    days = [("1", "n2", 0, 0, 0, "none", "n1", None)]
    assert bounded_days(days, None) == days
