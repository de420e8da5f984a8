"""Hosts take turns in the handshake thread, and so do the connections of a host."""

from __future__ import annotations

from collections import deque

from hypothesis import given
from hypothesis import strategies as st

from tests.compiled.turns import Waiting

FEW = st.integers(0, 7)


def test_a_host_with_many_handshakes_has_no_more_turns_than_another() -> None:
    waiting = Waiting()
    for number in range(50):
        waiting.want(number, 1)
    for number in range(50, 55):
        waiting.want(number, 2)
    assert sorted(waiting.take() for _ in range(10)) == [*range(5), *range(50, 55)]


class Model:
    """Connection n is of host n modulo 3. A host with none left has no turn; others go behind it after each."""

    def __init__(self) -> None:
        self.hosts = deque[int]()
        self.lines: dict[int, list[int]] = {0: [], 1: [], 2: []}

    def want(self, number: int) -> None:
        line, host = self.lines[number % 3], number % 3
        if number not in line:
            line.append(number)
            if host not in self.hosts:
                self.hosts.append(host)

    def leave(self, number: int) -> None:
        line = self.lines[number % 3]
        if number in line:
            line.remove(number)
            if not line:
                self.hosts.remove(number % 3)

    def take(self) -> int | None:
        if not self.hosts:
            return None
        host = self.hosts.popleft()
        number = self.lines[host].pop(0)
        if self.lines[host]:
            self.hosts.append(host)
        return number


@given(st.lists(st.tuples(st.sampled_from(["want", "leave", "take", "take"]), FEW), max_size=60))
def test_turns_are_those_of_a_simple_model(steps: list[tuple[str, int]]) -> None:
    waiting, model, known = Waiting(), Model(), set[int]()
    for step, number in steps:
        if step == "want":
            waiting.want(number, number % 3)
            model.want(number)
            known.add(number)
        elif step == "leave" and number in known:
            waiting.leave(number)
            model.leave(number)
        elif step == "take":
            assert waiting.take() == model.take()
