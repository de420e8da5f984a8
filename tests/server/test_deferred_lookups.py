"""Lookups that control defers, on a loop whose time the test moves."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import pytest

from rocketns._fast.reactor.reactors import Reactors
from rocketns.server.control import answering
from rocketns.server.control.answering import (
    DEFERRED_MAX,
    DEFERRED_OF_HOST_MAX,
    DEFERRED_S_MAX,
    DeferredLookups,
)


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
    monkeypatch.setattr(answering.asyncio, "get_running_loop", lambda: made)
    return made


class Frames:
    """Whether all have taken effect."""

    is_applied = False


def deferred_of(frames: Frames) -> DeferredLookups:
    return DeferredLookups(cast(Reactors, frames))


def nothing() -> None:
    """No answer is looked at."""


@pytest.mark.usefixtures("loop")
def test_lookups_wait_until_all_frames_have_taken_effect() -> None:
    frames, answered = Frames(), [0]
    deferred = deferred_of(frames)
    assert deferred.defer("client", lambda: answered.append(1))
    assert deferred.defer("client", lambda: answered.append(2))
    deferred.answer_due()
    assert answered == [0]
    frames.is_applied = True
    deferred.answer_due()
    assert answered == [0, 1, 2]


def test_a_lookup_waits_20_ms_at_most(loop: Loop) -> None:
    deferred, answered = deferred_of(Frames()), [0]
    deferred.defer("client", lambda: answered.append(1))
    loop.pass_s(DEFERRED_S_MAX / 2)
    deferred.defer("client", lambda: answered.append(2))
    loop.pass_s(DEFERRED_S_MAX / 2)
    assert answered == [0, 1]
    loop.pass_s(DEFERRED_S_MAX / 2)
    assert answered == [0, 1, 2]
    assert not loop.calls


@pytest.mark.usefixtures("loop")
def test_few_lookups_of_a_host_wait() -> None:
    frames = Frames()
    deferred = deferred_of(frames)
    assert all(deferred.defer("greedy", nothing) for _ in range(DEFERRED_OF_HOST_MAX))
    assert not deferred.defer("greedy", nothing)
    assert deferred.defer("modest", nothing)
    frames.is_applied = True
    deferred.answer_due()
    assert deferred.defer("greedy", nothing)


@pytest.mark.usefixtures("loop")
def test_few_lookups_of_all_hosts_wait() -> None:
    deferred = deferred_of(Frames())
    assert all(deferred.defer(f"host {number}", nothing) for number in range(DEFERRED_MAX))
    assert not deferred.defer("one more", nothing)
