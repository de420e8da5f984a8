"""How far frames have taken effect, and the lookups that wait for it, on a loop whose time the test moves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rocketns.server.requests import arrivals as module
from rocketns.server.requests.arrivals import DEFERRED_MAX, DEFERRED_OF_HOST_MAX, DEFERRED_S_MAX, Arrivals, Batch


class Loop:
    def __init__(self) -> None:
        self.now_s = 100.0
        self.calls: list[tuple[float, Callable[[], object]]] = []

    def time(self) -> float:
        return self.now_s

    def call_at(self, when_s: float, call: Callable[[], object]) -> None:
        self.calls.append((when_s, call))

    def call_later(self, delay_s: float, call: Callable[[], object]) -> None:
        self.call_at(self.now_s + delay_s, call)

    def pass_s(self, seconds: float) -> None:
        self.now_s += seconds
        due = [call for call in self.calls if call[0] <= self.now_s]
        self.calls = [call for call in self.calls if call not in due]
        for _, call in due:
            call()


@pytest.fixture
def loop(monkeypatch: pytest.MonkeyPatch) -> Loop:
    made = Loop()
    monkeypatch.setattr(module.asyncio, "get_running_loop", lambda: made)
    return made


def done(batch: Batch) -> None:
    batch.waiting -= 1


def test_a_frame_is_applied_when_all_before_it_are_done() -> None:
    arrivals = Arrivals()
    first, second = arrivals.add(), arrivals.add()
    arrivals.advance()
    done(arrivals.add())
    arrivals.advance()
    assert arrivals.applied == 0
    done(first)
    arrivals.advance()
    assert arrivals.applied == 0
    done(second)
    arrivals.advance()
    assert arrivals.applied == 3


def test_frames_of_the_present_turn_are_applied_when_they_are_done() -> None:
    arrivals = Arrivals()
    batch = arrivals.add()
    done(batch)
    arrivals.advance()
    assert arrivals.applied == 1


def test_a_lookup_waits_for_the_frames_before_it_and_not_for_later_ones(loop: Loop) -> None:
    arrivals, answered = Arrivals(), [0]
    registration, lookup = arrivals.add(), arrivals.add()
    done(lookup)
    assert arrivals.defer(lookup, "client", lambda: answered.append(1))
    arrivals.advance()
    arrivals.add()
    arrivals.advance()
    assert answered == [0]
    done(registration)
    arrivals.advance()
    assert answered == [0, 1]


def test_a_lookup_waits_20_ms_at_most(loop: Loop) -> None:
    arrivals, answered = Arrivals(), [0]
    registration = arrivals.add()
    arrivals.defer(registration, "client", lambda: answered.append(1))
    loop.pass_s(DEFERRED_S_MAX / 2)
    arrivals.defer(registration, "client", lambda: answered.append(2))
    loop.pass_s(DEFERRED_S_MAX / 2)
    assert answered == [0, 1]
    loop.pass_s(DEFERRED_S_MAX / 2)
    assert answered == [0, 1, 2]
    assert not loop.calls


def test_a_lookup_does_not_wait_when_nothing_came_before_it() -> None:
    arrivals = Arrivals()
    lookup = arrivals.add()
    done(lookup)
    assert not arrivals.defer(lookup, "client", lambda: None)


def test_few_lookups_of_a_host_wait(loop: Loop) -> None:
    arrivals = Arrivals()
    registration = arrivals.add()
    assert all(arrivals.defer(registration, "greedy", lambda: None) for _ in range(DEFERRED_OF_HOST_MAX))
    assert not arrivals.defer(registration, "greedy", lambda: None)
    assert arrivals.defer(registration, "modest", lambda: None)
    done(registration)
    arrivals.advance()
    assert arrivals.defer(arrivals.add(), "greedy", lambda: None)


def test_few_lookups_of_all_hosts_wait(loop: Loop) -> None:
    arrivals = Arrivals()
    registration = arrivals.add()
    assert all(arrivals.defer(registration, f"host {number}", lambda: None) for number in range(DEFERRED_MAX))
    assert not arrivals.defer(registration, "one more", lambda: None)
