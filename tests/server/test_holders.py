"""Which connection is closed, or loses its parked requests, first when all together hold too many bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from hypothesis import given
from hypothesis import strategies as st

from rocketns.routeinfo.connection import Connection
from rocketns.server.requests.holders import PROGRESS_BYTES, Bounds, Holders
from rocketns.server.requests.inbox import FRAME_COST_BYTES, Waiting
from rocketns.server.requests.largest import Largest
from rocketns.server.requests.parked import Parked


@dataclass(eq=False)
class Peer:
    """``host`` is what stands before the number in its name."""

    name: str
    is_known: bool = False

    @property
    def host(self) -> str:
        return self.name.rstrip("0123456789")


LIMIT = 16_000
PARTS = 8
SHARE = LIMIT // PARTS
LISTED_MIN = 10


class Scene:
    """Holders with a clock, and what they told of their changes."""

    def __init__(self) -> None:
        self.now_ms = 1
        self.told: dict[tuple[bool, object], tuple[int, int]] = {}
        self.holders: Holders[Peer] = Holders(Bounds(LIMIT, SHARE, LISTED_MIN), lambda: self.now_ms, str, self._changed)

    def _changed(self, is_known: bool, host: object, change: int, oldest_ms: int) -> None:
        held, _ = self.told.get((is_known, host), (0, 0))
        self.told[is_known, host] = (held + change, oldest_ms)

    def hold(self, peer: Peer, size: int, moved: int = 0) -> Peer:
        """A millisecond later than what happened before."""
        self.now_ms += 1
        self.holders.hold(peer, size, moved)
        return peer


def test_a_host_over_its_share_loses_its_connection_without_progress() -> None:
    """Not the largest, not the first to come, and not whoever made no progress for longest on another host."""
    scene = Scene()
    scene.hold(Peer("small"), SHARE)
    a1, a2, a3 = (scene.hold(Peer(f"a{number}"), 5_000) for number in range(3))
    scene.hold(a1, 5_100, PROGRESS_BYTES)
    assert scene.holders.first() is a2
    scene.hold(a2, 5_050, PROGRESS_BYTES - 1)
    assert scene.holders.first() is a2, "a trickle is no progress"
    scene.hold(a2, 5_051, 1)
    assert scene.holders.first() is a3


def test_progress_alone_decides_among_small_hosts() -> None:
    scene = Scene()
    peers = [scene.hold(Peer(host), SHARE - 1) for host in "abcdefghi"]
    assert len(peers) == PARTS + 1
    assert scene.holders.first() is peers[0]
    scene.hold(peers[0], SHARE, PROGRESS_BYTES)
    assert scene.holders.first() is peers[1]


def test_known_brokers_that_hold_more_than_half_are_first() -> None:
    """So strangers who register first leave half of the limit to newcomers."""
    scene = Scene()
    known = scene.hold(Peer("a", is_known=True), LIMIT // 2 + 1)
    scene.hold(Peer("b"), LIMIT // 2)
    assert scene.holders.first() is known


def test_a_peer_that_registers_is_no_stranger_any_more() -> None:
    """It held more than all others, and would be the first of them."""
    scene = Scene()
    broker = scene.hold(Peer("a"), LIMIT // 2)
    scene.hold(Peer("b"), LIMIT // 4)
    broker.is_known = True
    scene.hold(broker, LIMIT // 2)
    stranger = scene.hold(Peer("c"), LIMIT // 4 + 1)
    assert scene.holders.first() is stranger


def test_a_connection_that_holds_little_is_not_closed() -> None:
    scene = Scene()
    scene.hold(Peer("a1"), LISTED_MIN - 1)
    large = scene.hold(Peer("a2"), LIMIT)
    assert scene.holders.first() is large


def test_no_progress_for_a_time() -> None:
    """Also those who hold little. Whoever was kept waiting has its whole time again."""
    scene = Scene()
    a, b, c = (scene.hold(Peer(name), size) for name, size in (("a", 5), ("b", 500), ("c", 500)))
    since_ms = scene.now_ms
    scene.now_ms += 1
    assert scene.holders.without_progress(since_ms, 10) == [a, b, c]
    assert scene.holders.without_progress(since_ms, 2) == [a, b]
    assert scene.holders.without_progress(since_ms - 1, 10) == [a, b]
    scene.holders.renew(a)
    scene.hold(c, 600, PROGRESS_BYTES)
    assert scene.holders.without_progress(since_ms, 10) == [b]
    scene.holders.hold_none(b)
    assert scene.holders.without_progress(since_ms, 10) == []


STEP = st.tuples(
    st.integers(0, 7), st.one_of(st.just(0), st.integers(0, 5_000)), st.integers(0, 2 * PROGRESS_BYTES), st.booleans()
)


@given(st.lists(STEP, max_size=80))
def test_reported_changes_add_up_to_the_bytes_held(steps: list[tuple[int, int, int, bool]]) -> None:
    """Against a plain table: sums by host, and the longest time without progress."""
    scene, peers = Scene(), [Peer(f"{'abc'[number % 3]}{number}") for number in range(8)]
    held = dict.fromkeys(peers, 0)
    for number, size, moved, is_known in steps:
        peer = peers[number]
        peer.is_known = is_known if size != held[peer] else peer.is_known
        scene.hold(peer, size, moved)
        held[peer] = size
        assert scene.holders.total == sum(held.values())
    sums: dict[tuple[bool, object], int] = {}
    for (known, host), (told, oldest_ms) in scene.told.items():
        sums[known, host] = told
        oldest = scene.holders.oldest_of(known, host)
        assert oldest_ms == scene.holders.oldest_ms_of(known, host)
        assert (oldest is None) == (oldest_ms == 0)
    assert sum(sums.values()) == scene.holders.total
    for host in "abc":
        assert sum(sums.get((known, host), 0) for known in (False, True)) == sum(
            size for peer, size in held.items() if peer.host == host
        )


CHANGES = st.lists(st.tuples(st.integers(0, 20), st.one_of(st.just(0), st.integers(0, 1 << 24))), max_size=200)


@given(CHANGES)
def test_the_largest_is_known(changes: list[tuple[int, int]]) -> None:
    largest: Largest[int] = Largest()
    held: dict[int, int] = {}
    for key, size in changes:
        assert largest.hold(key, size) == size - held.get(key, 0)
        held[key] = size
        key_found, most = largest.largest()
        assert most == max(held.values())
        assert key_found is None if most == 0 else held[key_found or 0] == most
        assert largest.total == sum(held.values())


def test_among_sixty_near_equals_the_largest_is_chosen() -> None:
    largest: Largest[int] = Largest()
    for key in range(60):
        largest.hold(key, 600 + key)
    assert largest.largest() == (59, 659)


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
