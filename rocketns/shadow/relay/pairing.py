"""Open requests, their two answers, and the pairs that these make: equal ones are counted, others go to the judge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice

from rocketns.shadow.pairs import PAIR_BYTES_MAX, Pair
from rocketns.shadow.relay.frames import Account, FrameHead, RelayedFrame

ASKED_BYTES = 1_000  # what an open request costs in addition to its bytes
OPEN_MAX = 4_096  # open requests of a connection; further ones end the oldest
SAME_MAX = 64  # of them with the same opaque, which are looked through one by one
# A pair of which one answer came is given up then, and judged as missing the other.
PAIR_WITHIN_S = 10.0
# Looked at in one sweep; further ones wait for the next.
SWEPT_MAX = 10_000

# Whether the judge had room for the pair.
Judge = Callable[[Pair], bool]


@dataclass(slots=True)
class RelayCounts:
    """Since the start, but for ``open``. Outcomes of pairs that differ are the judge's."""

    connections: int = 0
    open: int = 0
    refused: int = 0  # connections beyond the limit
    requests: int = 0
    oneway: int = 0  # they have no answer to compare
    equal: int = 0  # both answers have the same bytes
    judged: int = 0  # pairs handed to the judge
    skipped: int = 0  # pairs that were not compared for lack of room, of a half, or of a judge
    left: int = 0  # requests that are not compared: their connection ended before both servers had answered
    abandoned: int = 0  # connections to the half that did not keep up, or ended
    reopened: int = 0
    tls: int = 0  # connections passed unread
    garbage: int = 0  # connections whose bytes are no frames

    def items(self) -> dict[str, int]:
        """By name."""
        return asdict(self)


class Asked:
    """A request. ``up`` and ``own`` are the answers; the times of the answers are None until they came.

    ``is_doubtful``: which answer belongs to which of several requests with one opaque is not known. ``is_lost``: one
    of its answers found no room.
    """

    __slots__ = ("at", "code", "is_doubtful", "is_lost", "is_over", "opaque", "own", "own_at", "request", "up", "up_at")

    def __init__(self, request: bytes, head: FrameHead, at: float) -> None:
        self.request, self.opaque, self.code, self.at = request, head.opaque, head.code, at
        self.up: bytes | None = None
        self.own: bytes | None = None
        self.up_at: float | None = None
        self.own_at: float | None = None
        self.is_doubtful = self.is_lost = self.is_over = False

    @property
    def charged_bytes(self) -> int:
        """In the account of its connection."""
        return ASKED_BYTES + len(self.request) + len(self.up or b"") + len(self.own or b"")


class OpenRequests:
    """Those of one connection. Peers reuse opaques, also of requests that are open: those are answered in their order.

    ``is_introduced``: the judge has had a pair of this connection, by whose first one it names clients.
    """

    def __init__(self, number: int, peer: str, account: Account, pairing: Pairing) -> None:
        self.number, self.peer, self.is_introduced = number, peer, False
        self._account, self._pairing, self._counts = account, pairing, pairing.counts
        self._by_opaque: dict[int, list[Asked]] = {}
        self.count = 0

    def __iter__(self) -> Iterator[Asked]:
        return iter([asked for same in self._by_opaque.values() for asked in same])

    def add(self, head: FrameHead, request: bytes) -> bool:
        """A request whose bytes are in the account. Whether there is room for it."""
        same = self._by_opaque.get(head.opaque, [])
        if len(same) >= SAME_MAX or not self._account.charge(ASKED_BYTES):
            return False
        asked = Asked(request, head, self._pairing.now())
        if same:
            same[-1].is_doubtful = asked.is_doubtful = True
        self._by_opaque.setdefault(head.opaque, same).append(asked)
        self.count += 1
        if self.count > OPEN_MAX:
            self._counts.skipped += 1
            self.forget(next(iter(self._by_opaque.values()))[0])
        return True

    def answer(self, frame: RelayedFrame, *, own: bool) -> None:
        """A frame of a server: the answer to the oldest request with its opaque that this server has not answered."""
        head, data = frame
        same = self._by_opaque.get(head.opaque, []) if head is not None and head.is_answer else []
        asked = next((one for one in same if (one.own_at if own else one.up_at) is None), None)
        if asked is None:
            self._account.release(len(data or b""))
            if head is None and data is None:
                self.forget_all(skipped=True)  # it may answer any of them
            return
        asked.is_lost |= data is None
        if own:
            asked.own, asked.own_at = data, self._pairing.now()
        else:
            asked.up, asked.up_at = data, self._pairing.now()
        self._pairing.answered(self, asked)

    def forget(self, asked: Asked) -> None:
        """The request is over: keep nothing of it."""
        if asked.is_over:
            return
        asked.is_over = True
        self._pairing.forget(asked)
        self._account.release(asked.charged_bytes)
        same = self._by_opaque[asked.opaque]
        same.remove(asked)
        if not same:
            del self._by_opaque[asked.opaque]
        self.count -= 1

    def forget_all(self, *, skipped: bool = False) -> None:
        """All requests are over."""
        self._forget(list(self), skipped=skipped)

    def without_half(self, *, skipped: bool = True) -> None:
        """The half answers nothing more."""
        self._forget([asked for asked in self if asked.own_at is None], skipped=skipped)

    def without_upstream(self) -> None:
        """The upstream answers nothing more."""
        self._forget([asked for asked in self if asked.up_at is None], skipped=False)

    def _forget(self, gone: list[Asked], *, skipped: bool) -> None:
        self._counts.skipped += len(gone) * skipped
        self._counts.left += len(gone) * (not skipped)
        for asked in gone:
            self.forget(asked)


class Pairing:
    """Of all connections. ``wall`` and ``now`` are the clocks, in seconds. `drain_equal` gives the equal pairs of each
    request code."""

    def __init__(self, counts: RelayCounts, judge: Judge, now: Callable[[], float], wall: Callable[[], float]) -> None:
        self.counts = counts
        self._judge = judge
        self._equal: Counter[int] = Counter()
        self.now, self._wall = now, wall
        # Those with one of the two answers, the oldest first.
        self._half: dict[Asked, tuple[float, OpenRequests]] = {}

    def answered(self, requests: OpenRequests, asked: Asked) -> None:
        """One of the answers, or the second one, came."""
        if asked.up_at is None or asked.own_at is None:
            self._half[asked] = (self.now(), requests)
            return
        self._compare(requests, asked)
        requests.forget(asked)

    def forget(self, asked: Asked) -> None:
        """There is nothing to compare."""
        self._half.pop(asked, None)

    def sweep(self) -> None:
        """Call it a few times a second."""
        now = self.now()
        for asked, (since, requests) in list(islice(self._half.items(), SWEPT_MAX)):
            if now - since < PAIR_WITHIN_S:
                break
            self._compare(requests, asked)
            requests.forget(asked)

    def drain_equal(self) -> Counter[int]:
        """By request code, since the last call: pairs that were not sent to the judge because they are equal."""
        equal, self._equal = self._equal, Counter()
        return equal

    def _compare(self, requests: OpenRequests, asked: Asked) -> None:
        counts = self.counts
        is_equal = asked.up is not None and asked.up == asked.own
        counts.equal += is_equal
        if is_equal and requests.is_introduced:
            self._equal[asked.code] += 1
            return
        if not is_equal and (asked.is_doubtful or asked.is_lost):
            counts.skipped += 1
            return
        at_ms = round((self._wall() - self.now() + asked.at) * 1000)
        pair = Pair(requests.number, requests.peer, at_ms, asked.request, asked.up, asked.own,
                    _ms(asked.at, asked.up_at), _ms(asked.at, asked.own_at))  # fmt: skip
        is_accepted = pair.frame_bytes <= PAIR_BYTES_MAX and self._judge(pair)
        requests.is_introduced |= is_accepted
        if is_accepted:
            counts.judged += 1
        elif is_equal:
            self._equal[asked.code] += 1
        else:
            counts.skipped += 1


def _ms(begin: float, end: float | None) -> float | None:
    return None if end is None else (end - begin) * 1000
