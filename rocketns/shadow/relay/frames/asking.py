"""The open requests of one connection, and the answers of both servers to each."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.shadow.relay.frames.budget import Account
from rocketns.shadow.relay.frames.frame import Asked

ASKED_BYTES = 1_000  # what an open request costs in addition to its bytes
OPEN_MAX = 4_096  # open requests of a connection
SAME_MAX = 64  # of them with the same opaque, which are looked through one by one


class OpenRequests:
    """By opaque. Peers reuse opaques, also of requests that are open: those are answered in their order."""

    def __init__(self, account: Account) -> None:
        self._account = account
        self._first: dict[int, Asked] = {}
        self.withheld = 0  # requests that `withholds`
        self.count = 0

    def __iter__(self) -> Iterator[Asked]:
        """The oldest first, but for those that share an opaque."""
        for asked in list(self._first.values()):
            one: Asked | None = asked
            while one is not None:
                following = one.after
                yield one
                one = following

    def add(self, asked: Asked) -> bool:
        """Whether there is room for it."""
        known = self._first.get(asked.opaque)
        last = None if known is None else _last(known)
        if (known is not None and last is None) or not self._account.take(ASKED_BYTES):
            return False
        if last is None:
            self._first[asked.opaque] = asked
        else:
            self._follow(last, asked)
        self.count += 1
        self.withheld += asked.serve
        return True

    def _follow(self, last: Asked, asked: Asked) -> None:
        """Whose answers go out is the same for both: nobody can tell them apart."""
        last.after = asked
        last.is_doubtful = asked.is_doubtful = True
        asked.serve = last.serve

    def find(self, opaque: int, *, own: bool) -> Asked | None:
        """The oldest one that this server has not begun to answer."""
        asked = self._first.get(opaque)
        while asked is not None and (asked.own if own else asked.up) is not None:
            asked = asked.after
        return asked

    def oldest(self) -> Asked | None:
        """The one that is open for longest."""
        return next(iter(self._first.values()), None)

    def remove(self, asked: Asked) -> None:
        """It is over. Its frames are the caller's to release."""
        if asked.is_over:
            return
        self.withheld -= asked.withholds
        asked.is_over = True
        self.count -= 1
        self._account.give(ASKED_BYTES)
        first = self._first[asked.opaque]
        if first is asked:
            if asked.after is None:
                del self._first[asked.opaque]
            else:
                self._first[asked.opaque] = asked.after
            return
        while first.after is not asked:
            assert first.after is not None
            first = first.after
        first.after = asked.after

    def let_pass(self, asked: Asked) -> None:
        """From now on the upstream's answer goes out."""
        self.withheld -= asked.withholds
        asked.serve = False

    def let_serve(self, asked: Asked) -> None:
        """From now on rocketns' answer goes out: the upstream is gone."""
        asked.serve = True
        self.withheld += asked.withholds

    def note_upstream(self, asked: Asked, now: float) -> None:
        """The upstream's answer ended."""
        self.withheld -= asked.withholds
        asked.up_at = now


def _last(asked: Asked) -> Asked | None:
    """The last one with its opaque; None if there are SAME_MAX."""
    for _ in range(SAME_MAX - 1):
        if asked.after is None:
            return asked
        asked = asked.after
    return None
