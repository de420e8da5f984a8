"""Requests whose answers nobody takes wait, in their order, and go on in turns."""

from __future__ import annotations

from typing import cast

from rocketns.server.parked import Parked
from rocketns.server.peer import Channel


class Peer:
    """As much of a channel as counts here."""

    def __init__(self) -> None:
        self.is_full = True


def peer() -> Channel:
    return cast(Channel, Peer())


def parked(*channels: Channel) -> Parked[int]:
    waiting: Parked[int] = Parked(100)
    for channel in channels:
        for number in range(3):
            waiting.park(channel, number, 10)
    return waiting


def test_nothing_goes_on_while_answers_are_not_taken() -> None:
    a = peer()
    waiting = parked(a)
    assert list(waiting.take(9)) == []
    waiting.resume(a)
    assert list(waiting.take(9)) == []
    assert not waiting.has_ready
    assert a in waiting


def test_it_goes_on_in_its_order_and_in_turns() -> None:
    a, b = peer(), peer()
    waiting = parked(a, b)
    for one in (a, b):
        cast(Peer, one).is_full = False
        waiting.resume(one)
    assert list(waiting.take(4)) == [(a, 0), (b, 0), (a, 1), (b, 1)]
    assert list(waiting.take(9)) == [(a, 2), (b, 2)]
    assert a not in waiting


def test_a_turn_that_ends_early_leaves_the_rest_ready() -> None:
    a = peer()
    waiting = parked(a)
    cast(Peer, a).is_full = False
    waiting.resume(a)
    assert [next(waiting.take(9))[1] for _ in range(3)] == [0, 1, 2]


def test_a_peer_that_stops_taking_again_waits_again() -> None:
    a = peer()
    waiting = parked(a)
    cast(Peer, a).is_full = False
    waiting.resume(a)
    taken = []
    for _, number in waiting.take(9):
        taken.append(number)
        cast(Peer, a).is_full = True
    assert taken == [0]


def test_the_one_of_which_most_waits_is_known_and_may_be_dropped() -> None:
    a, b = peer(), peer()
    waiting = parked(a, b)
    waiting.park(b, 3, 50)
    assert (waiting.is_over, waiting.largest()) == (True, b)
    assert waiting.drop(b) == 4
    assert (waiting.is_over, b in waiting, waiting.drop(b)) == (False, False, 0)
