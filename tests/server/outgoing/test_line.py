"""The line of what waits: turns, and whose item is given up."""

from __future__ import annotations

import pytest

from rocketns.server.outgoing.product_environment import Line
from tests.server.outgoing.test_product import Asker


def given_up(most: int, askers: list[Asker]) -> list[int | None]:
    """What each of these, one after the other, makes a line of ``most`` give up."""
    line: Line[int] = Line(most)
    return [line.put(asker, number) for number, asker in enumerate(askers)]


def test_connections_take_turns() -> None:
    """However much the first one has waiting."""
    line: Line[int] = Line(9)
    one, two = Asker(), Asker()
    for number, asker in enumerate([one, one, one, two, two]):
        line.put(asker, number)
    assert [line.take() for _ in range(6)] == [0, 3, 1, 4, 2, None]


def test_who_has_the_most_gives_up_its_newest() -> None:
    """Also to a connection of the same host."""
    one, two = Asker(), Asker()
    assert given_up(4, [one, one, one, one, two]) == [None] * 4 + [3]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
def test_among_equals_the_newcomer_gives_up_its_own(host: str) -> None:
    """Of one host, or of two."""
    one, two = Asker(), Asker(host)
    assert given_up(2, [one, two, two]) == [None, None, 2]


def test_a_host_of_many_connections_gives_way_to_another_host() -> None:
    """However little each of them has waiting."""
    *_, last = given_up(5, [*(Asker() for _ in range(5)), Asker("127.0.0.2")])
    assert last in range(5)


def test_what_was_taken_leaves_room() -> None:
    """It is not counted any more."""
    line: Line[int] = Line(1)
    asker = Asker()
    assert [line.put(asker, 0), line.take(), line.put(asker, 1), line.put(asker, 2)] == [None, 0, None, 2]


def test_hosts_take_turns() -> None:
    """However many connections the first one has."""
    line: Line[int] = Line(9)
    for number in range(4):
        line.put(Asker(), number)
    line.put(Asker("127.0.0.2"), 4)
    line.put(Asker(), 5)
    assert [line.take() for _ in range(7)] == [0, 4, 1, 2, 3, 5, None]


def test_announced_hosts_make_no_room() -> None:
    """A peer may announce any host. Its socket's counts."""
    honest = Asker("127.0.0.2")
    *_, last = given_up(4, [honest, honest, *(Asker(announced=f"10.0.0.{number}") for number in range(3))])
    assert last not in (0, 1)


def test_turns_go_on_behind_one_that_was_given_up() -> None:
    one, two = Asker(), Asker("127.0.0.2")
    line: Line[int] = Line(1)
    assert [line.put(one, 0), line.put(two, 1), line.take(), line.take()] == [None, 1, 0, None]
