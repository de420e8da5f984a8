"""Periodic jobs, driven by a clock that the test moves."""

from __future__ import annotations

import pytest

from rocketns.server.jobs import Jobs


def runs(first_ms: int, every_ms: int, instants: list[int]) -> list[int]:
    """Those of the given instants at which a job runs."""
    jobs, now, ran = Jobs(), [0], []
    jobs.add("job", lambda: ran.append(now[0]), first_ms=first_ms, every_ms=every_ms)
    for instant in instants:
        now[0] = instant
        jobs.run_due(instant)
    return ran


def test_a_job_runs_when_due_and_then_at_its_rate() -> None:
    assert runs(100, 50, list(range(0, 301, 10))) == [100, 150, 200, 250, 300]


def test_a_late_look_does_not_shift_the_rate() -> None:
    assert runs(100, 50, [130, 149, 150, 199, 200]) == [130, 150, 200]


def test_missed_runs_are_not_made_up_for_one_by_one() -> None:
    """However many intervals have passed, one check runs a job once."""
    assert runs(100, 50, [99, 100_000, 100_000]) == [100_000]


@pytest.mark.parametrize("every_ms", [1, 0, -5])
def test_an_interval_is_at_least_a_millisecond(every_ms: int) -> None:
    assert runs(0, every_ms, [0, 0, 1, 2, 2]) == [0, 1, 2]


def test_a_job_that_fails_is_logged_and_stays(caplog: pytest.LogCaptureFixture) -> None:
    jobs, ran = Jobs(), []

    def fail() -> None:
        ran.append("failing")
        raise ValueError("boom")

    jobs.add("failing", fail, first_ms=0, every_ms=10)
    jobs.add("other", lambda: ran.append("other"), first_ms=0, every_ms=10)
    for now_ms in (0, 10):
        jobs.run_due(now_ms)
    assert ran == ["failing", "other"] * 2
    assert [(record.getMessage(), record.exc_info is not None) for record in caplog.records] == [
        ("job failing failed", True)
    ] * 2


def test_the_next_job_is_known() -> None:
    jobs = Jobs()
    jobs.add("a", lambda: None, first_ms=70, every_ms=100)
    jobs.add("b", lambda: None, first_ms=50, every_ms=30)
    assert jobs.next_due_ms() == 50
    jobs.run_due(50)
    assert jobs.next_due_ms() == 70
    jobs.run_due(80)
    assert jobs.next_due_ms() == 110


def test_a_job_may_add_another() -> None:
    jobs, ran = Jobs(), []
    jobs.add("a", lambda: jobs.add("b", lambda: ran.append("b"), first_ms=1, every_ms=9), first_ms=0, every_ms=1_000)
    jobs.run_due(0)
    jobs.run_due(1)
    assert ran == ["b"]


def test_a_job_added_beside_another_wants_no_look_of_its_own() -> None:
    jobs: Jobs = Jobs()
    ran: list[str] = []
    jobs.add("first", lambda: ran.append("first"), first_ms=1000, every_ms=1000)
    jobs.run_due(2500)
    jobs.add("second", lambda: ran.append("second"), first_ms=jobs.due_ms("first"), every_ms=1000)
    jobs.run_due(jobs.next_due_ms())
    assert ran == ["first", "first", "second"]
    assert jobs.next_due_ms() == 4000
