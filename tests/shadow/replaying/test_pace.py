"""Times between requests, by a clock that a test moves."""

from __future__ import annotations

import asyncio

from rocketns.shadow.replaying.choosing import Pace


class Clock:
    """Its sleep ends at once, when its time is over."""

    def __init__(self) -> None:
        self.now_s = 100.0
        self.slept: list[float] = []

    def now(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


def sent_at(clock: Clock, pace: Pace, *at_ms: int, takes_s: float = 0.0) -> list[float]:
    """Seconds from the beginning at which requests that were recorded so go out. Each takes so long."""

    async def steps() -> list[float]:
        times = []
        for one in at_ms:
            await pace.step(one)
            times.append(round(clock.now_s - 100.0, 6))
            clock.now_s += takes_s
        return times

    return asyncio.run(steps())


def test_without_a_rate_nothing_waits() -> None:
    clock = Clock()
    assert sent_at(clock, Pace(clock.now, clock.sleep), 0, 5_000, 10_000) == [0.0, 0.0, 0.0]
    assert clock.slept == []


def test_a_rate_spreads_requests_evenly() -> None:
    clock = Clock()
    assert sent_at(clock, Pace(clock.now, clock.sleep, per_second=10), 0, 0, 0) == [0.0, 0.1, 0.2]


def test_a_rate_that_was_missed_is_not_caught_up() -> None:
    clock = Clock()
    assert sent_at(clock, Pace(clock.now, clock.sleep, per_second=10), 0, 0, 0, takes_s=0.5) == [0.0, 0.5, 1.0]


def test_as_recorded_keeps_the_times_between_requests() -> None:
    clock = Clock()
    pace = Pace(clock.now, clock.sleep, as_recorded=True)
    assert sent_at(clock, pace, 50_000, 50_250, 52_000, takes_s=0.1) == [0.0, 0.25, 2.0]


def test_as_recorded_catches_up_with_a_slow_answer() -> None:
    clock = Clock()
    pace = Pace(clock.now, clock.sleep, as_recorded=True)
    assert sent_at(clock, pace, 0, 1_000, 3_000, takes_s=2.5) == [0.0, 2.5, 5.0]
