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


class Epochs:
    """Epochs up to ``applied`` are."""

    applied = 0

    def is_applied(self, epoch: int) -> bool:
        return epoch <= self.applied


def deferred_of(epochs: Epochs) -> DeferredLookups:
    return DeferredLookups(cast(Reactors, epochs))


def nothing() -> None:
    """No answer is looked at."""


@pytest.mark.usefixtures("loop")
def test_lookups_wait_for_their_epoch_and_not_for_later_ones() -> None:
    epochs, answered = Epochs(), [0]
    deferred = deferred_of(epochs)
    assert deferred.defer(1, "client", lambda: answered.append(1))
    assert deferred.defer(2, "client", lambda: answered.append(2))
    deferred.answer_due()
    assert answered == [0]
    epochs.applied = 1
    deferred.answer_due()
    assert answered == [0, 1]


def test_a_lookup_waits_20_ms_at_most(loop: Loop) -> None:
    deferred, answered = deferred_of(Epochs()), [0]
    deferred.defer(1, "client", lambda: answered.append(1))
    loop.pass_s(DEFERRED_S_MAX / 2)
    deferred.defer(1, "client", lambda: answered.append(2))
    loop.pass_s(DEFERRED_S_MAX / 2)
    assert answered == [0, 1]
    loop.pass_s(DEFERRED_S_MAX / 2)
    assert answered == [0, 1, 2]
    assert not loop.calls


@pytest.mark.usefixtures("loop")
def test_few_lookups_of_a_host_wait() -> None:
    epochs = Epochs()
    deferred = deferred_of(epochs)
    assert all(deferred.defer(1, "greedy", nothing) for _ in range(DEFERRED_OF_HOST_MAX))
    assert not deferred.defer(1, "greedy", nothing)
    assert deferred.defer(1, "modest", nothing)
    epochs.applied = 1
    deferred.answer_due()
    assert deferred.defer(2, "greedy", nothing)


@pytest.mark.usefixtures("loop")
def test_few_lookups_of_all_hosts_wait() -> None:
    deferred = deferred_of(Epochs())
    assert all(deferred.defer(1, f"host {number}", nothing) for number in range(DEFERRED_MAX))
    assert not deferred.defer(1, "one more", nothing)
