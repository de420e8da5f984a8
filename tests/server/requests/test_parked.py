"""Frames of a peer that does not read its answers are parked in order, and resumed together."""

from __future__ import annotations

from typing import cast

from rocketns.routeinfo.connection import Connection
from rocketns.server.requests.holders import Bounds
from rocketns.server.requests.inbox import FRAME_COST_BYTES, Waiting
from rocketns.server.requests.parked import Parked
from tests.server.requests.peers import Peer


def peer(name: str, *, is_known: bool = False) -> Connection:
    return cast(Connection, Peer(name, is_known))


def parked_within(bytes_max: int) -> Parked:
    """With a clock that moves with each look."""
    times = iter(range(1, 10_000))
    return Parked(Bounds(bytes_max, bytes_max // 8, 1), lambda: next(times))


def frame(size: int) -> Waiting:
    return Waiting(bytes(size), size, False, False)


def test_the_frames_of_a_connection_come_back_in_their_order() -> None:
    parked, a, b = parked_within(10_000), peer("a"), peer("b")
    frames = [frame(size) for size in (3, 1, 2)]
    for one in frames:
        parked.park(a, one)
    parked.park(b, frame(4))
    assert parked.take(a) == frames
    assert parked.take(a) == []
    assert parked.bytes == 4 + FRAME_COST_BYTES


def test_beyond_the_bound_the_host_with_the_most_is_named() -> None:
    parked, a, b = parked_within(10 + 3 * FRAME_COST_BYTES), peer("a"), peer("b")
    parked.park(a, frame(4))
    parked.park(b, frame(6 + FRAME_COST_BYTES))
    assert parked.first() is None
    parked.park(a, frame(1))
    assert parked.first() is b
    parked.take(b)
    assert parked.first() is None


def test_the_request_of_a_host_that_waits_longest_is_chosen() -> None:
    """Further requests do not change that, and answers that were taken do."""
    parked, a1, a2 = parked_within(5 * FRAME_COST_BYTES), peer("a1"), peer("a2")
    parked.park(a1, frame(1))
    parked.park(a2, frame(1_000))
    parked.park(a1, frame(1))
    assert parked.first() is a1
    for one in parked.take(a1):
        parked.park(a1, one)
    assert parked.first() is a2


def test_a_registered_broker_is_last() -> None:
    parked, broker, stranger = parked_within(4 * FRAME_COST_BYTES), peer("a", is_known=True), peer("b")
    parked.park(broker, frame(FRAME_COST_BYTES))
    parked.park(stranger, frame(1))
    parked.park(stranger, frame(1))
    assert parked.first() is stranger


def test_the_overhead_of_small_frames_counts() -> None:
    """A frame of 29 bytes takes about 140 bytes of memory."""
    parked, a, b = parked_within(10 * (29 + FRAME_COST_BYTES)), peer("a"), peer("b")
    for _ in range(10):
        parked.park(a, frame(29))
    assert parked.first() is None
    parked.park(b, frame(29))
    assert parked.first() is a
