"""Frames of a peer that does not read its answers are parked in order, and resumed together."""

from __future__ import annotations

from typing import cast

from rocketns.routeinfo.connection import Connection
from rocketns.server.requests.inbox import FRAME_COST_BYTES, Waiting
from rocketns.server.requests.parked import Parked

A, B = (cast(Connection, name) for name in ("a", "b"))


def frame(size: int) -> Waiting:
    return Waiting(bytes(size), size, False, False)


def test_the_frames_of_a_connection_come_back_in_their_order() -> None:
    parked = Parked(10_000)
    frames = [frame(size) for size in (3, 1, 2)]
    for one in frames:
        parked.park(A, one)
    parked.park(B, frame(4))
    assert parked.take(A) == frames
    assert parked.take(A) == []


def test_beyond_the_bound_the_largest_is_named() -> None:
    parked = Parked(10 + 3 * FRAME_COST_BYTES)
    parked.park(A, frame(4))
    parked.park(B, frame(6 + FRAME_COST_BYTES))
    assert not parked.is_over
    parked.park(A, frame(1))
    assert parked.is_over
    assert parked.largest() is B
    parked.take(B)
    assert not parked.is_over
    assert parked.largest() is A


def test_what_small_frames_take_beside_their_own_bytes_counts() -> None:
    """A frame of 29 bytes takes about 140 bytes of memory."""
    parked = Parked(10 * (29 + FRAME_COST_BYTES))
    for _ in range(10):
        parked.park(A, frame(29))
    assert not parked.is_over
    parked.park(B, frame(29))
    assert parked.is_over
    assert parked.largest() is A
