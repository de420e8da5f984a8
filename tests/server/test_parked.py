"""Frames whose answers nobody takes wait, in their order, and go back together."""

from __future__ import annotations

from typing import cast

from rocketns.server.inbox import Waiting
from rocketns.server.parked import Parked
from rocketns.server.peer import Channel

A, B = (cast(Channel, name) for name in ("a", "b"))


def frame(size: int) -> Waiting:
    return Waiting(bytes(size), size, False, False)


def test_the_frames_of_a_connection_come_back_in_their_order() -> None:
    parked = Parked(100)
    frames = [frame(size) for size in (3, 1, 2)]
    for one in frames:
        parked.park(A, one)
    parked.park(B, frame(4))
    assert parked.take(A) == frames
    assert parked.take(A) == []


def test_beyond_the_bound_the_largest_is_named() -> None:
    parked = Parked(10)
    parked.park(A, frame(4))
    parked.park(B, frame(6))
    assert not parked.is_over
    parked.park(A, frame(1))
    assert parked.is_over
    assert parked.largest() is B
    parked.take(B)
    assert not parked.is_over
    assert parked.largest() is A
