"""``make soak``: its complaints, and a run of some seconds."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.soak.long.report import complaints
from tests.soak.long.run import KILLED, LONG_LIVED, Outcome, soak
from tests.soak.long.timeline import SETTLES_S, Timeline
from tests.soak.long.watching import Sample, growth_percent_an_hour

HOUR_S = 3600.0


def samples(first: int, growth_an_hour: float) -> list[Sample]:
    """An hour of samples with this growth, and a jump just before its first half is over."""
    return [
        Sample(at, int(first * (1 + growth_an_hour * at / HOUR_S)) if at > 1_780 else first // 2, 20, 7, 1.0)
        for at in range(0, int(HOUR_S) + 1, 10)
    ]


def outcome(those: list[Sample], faults: list[str] | None = None, seconds: float = HOUR_S) -> Outcome:
    return Outcome(seconds, those, {LONG_LIVED: Counter(), KILLED: Counter()}, Counter(), faults or [], [])


def test_growth_is_the_slope_of_the_samples() -> None:
    assert growth_percent_an_hour(samples(100_000_000, 0.0)[180:], "rss") == pytest.approx(0.0, abs=0.01)
    assert growth_percent_an_hour(samples(100_000_000, 0.10)[180:], "rss") == pytest.approx(9.5, abs=0.2)


def test_a_process_that_grows_is_complained_of_and_its_warm_up_is_not() -> None:
    assert complaints(outcome(samples(100_000_000, 0.0)), 60) == []
    assert complaints(outcome(samples(100_000_000, 0.02)), 60) == ["memory grew by 1.97 % an hour"]


def test_the_last_hour_of_a_long_run_is_judged() -> None:
    """What grew before is warm-up; what grows in that hour is not."""
    before = [Sample(at, 10**8 // 2 + 10_000 * at, 20, 7, 1.0) for at in range(0, 3_000, 10)]
    for growth, said in ((0.0, []), (0.02, ["memory grew by 1.95 % an hour"])):
        last = [Sample(3_000 + at, int(10**8 * (1 + growth * at / HOUR_S)), 20, 7, 1.0) for at in range(0, 6_001, 10)]
        assert complaints(outcome([*before, *last], seconds=9_000), 150) == said


def test_a_fault_and_an_early_end_are_complained_of() -> None:
    assert complaints(outcome(samples(10**8, 0.0), ["Fault: torn"]), 60) == ["Fault: torn"]
    assert complaints(outcome(samples(10**8, 0.0), seconds=600), 60) == ["it ended after 10.0 minutes"]


def test_only_a_disturbance_of_its_kind_and_time_explains_a_failure() -> None:
    timeline = Timeline()
    with timeline.during("killed"):
        assert timeline.explains("killed", since=0.0)
        assert not timeline.explains("disk full", since=0.0)
    ended = timeline.past[0].ends
    assert ended is not None
    assert timeline.explains("killed", since=ended + SETTLES_S - 1)
    assert not timeline.explains("killed", since=ended + SETTLES_S + 1)


@pytest.mark.timeout(120)
def test_a_soak_of_some_seconds_has_nothing_to_complain_of(tmp_path: Path) -> None:
    done = soak(tmp_path, seconds=8.0, seed=3, kill_every_s=3.0)
    assert complaints(done, minutes=8.0 / 60) == []
    assert done.disturbed[KILLED]["killed"]
    assert all(count for name, count in done.answers.items() if name.startswith(LONG_LIVED))
    assert done.answers[f"{KILLED}: Reader"]
