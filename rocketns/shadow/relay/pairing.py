"""Requests with both answers: equal ones are counted, others go to the judge. Answers that stay out are noticed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Protocol

from rocketns.shadow.pairs import Pair, bounded
from rocketns.shadow.relay.counts import RelayCounts
from rocketns.shadow.relay.frames.frame import Asked, Frame

# rocketns serves, and did not answer: the upstream's answer goes out so long after it came.
OWN_WITHIN_S = 1.0
# A pair of which one answer came is given up then, and judged as missing the other.
PAIR_WITHIN_S = 10.0
# Looked at in one sweep; further ones wait for the next.
SWEPT_MAX = 10_000

# Whether the judge had room for the pair.
Judge = Callable[[Pair], bool]


class Answers(Protocol):
    """Those of one connection. ``is_known``: the judge has had a pair of it, by whose first one it names clients."""

    number: int
    peer: str
    is_known: bool

    def forget(self, asked: Asked, /) -> None: ...
    def fall_back(self, asked: Asked, /) -> None: ...


class Pairing:
    """Of all connections. ``sends_all``: equal pairs go to the judge as well, which records them. ``wall`` and ``now``
    are the clocks, in seconds. `take_equal` gives the equal pairs of each request code.
    """

    def __init__(self, counts: RelayCounts, judge: Judge, now: Callable[[], float], wall: Callable[[], float], *,
                 sends_all: bool = False) -> None:  # fmt: skip
        self.counts = counts
        self._judge = judge
        self._equal: dict[int, int] = {}
        self.now, self._wall = now, wall
        self._sends_all = sends_all
        # Those with one of the two answers, the oldest first.
        self._half: dict[Asked, tuple[float, Answers]] = {}

    def answered(self, answers: Answers, asked: Asked) -> None:
        """One of the answers, or the second one, ended."""
        if asked.up_at is None or asked.own_at is None:
            self._half[asked] = (self.now(), answers)
            return
        self._half.pop(asked, None)
        self._compare(answers, asked)
        answers.forget(asked)

    def forget(self, asked: Asked) -> None:
        """Its connection is gone, or one of its answers cannot come any more: there is nothing to compare."""
        self._half.pop(asked, None)

    def sweep(self) -> None:
        """Call it a few times a second."""
        now = self.now()
        for asked, (since, answers) in list(islice(self._half.items(), SWEPT_MAX)):
            if now - since < OWN_WITHIN_S:
                break
            if asked.serve and not asked.is_sent and asked.up_at is not None:
                answers.fall_back(asked)
            if now - since >= PAIR_WITHIN_S:
                self._half.pop(asked, None)
                self._compare(answers, asked)
                answers.forget(asked)

    def waits_since(self, moment: float) -> bool:
        """Whether an answer that came until then still waits for the other one."""
        oldest = next(iter(self._half.values()), None)
        return oldest is not None and oldest[0] <= moment

    def take_equal(self) -> dict[int, int]:
        """By request code, since the last call: pairs that were not sent to the judge because they are equal."""
        taken, self._equal = self._equal, {}
        return taken

    def _compare(self, answers: Answers, asked: Asked) -> None:
        counts, request = self.counts, asked.request
        up, own = _data(asked.up, asked.up_at), _data(asked.own, asked.own_at)
        is_equal = up is not None and up == own
        if is_equal:
            counts.equal += 1
            if request.parts is None or (answers.is_known and not self._sends_all):
                self._count_equal(asked)
                return
        if asked.is_doubtful or request.parts is None or _is_lost(asked.up) or _is_lost(asked.own):
            counts.skipped += 1
            return
        ago_ms = round((self.now() - asked.at) * 1000)
        pair = Pair(answers.number, answers.peer, round(self._wall() * 1000) - ago_ms, request.data(), up, own,
                    _ms(asked.at, asked.up_at), _ms(asked.at, asked.own_at))  # fmt: skip
        is_taken = bounded(pair) and self._judge(pair)
        answers.is_known |= is_taken
        if is_taken:
            counts.judged += 1
        elif is_equal:
            self._count_equal(asked)
        else:
            counts.skipped += 1

    def _count_equal(self, asked: Asked) -> None:
        self._equal[asked.code] = self._equal.get(asked.code, 0) + 1


def _data(frame: Frame | None, ended: float | None) -> bytes | None:
    return None if frame is None or ended is None or frame.parts is None else frame.data()


def _is_lost(frame: Frame | None) -> bool:
    """Whether it came, and there was no room to keep it."""
    return frame is not None and frame.parts is None


def _ms(begin: float, end: float | None) -> float | None:
    return None if end is None else (end - begin) * 1000
