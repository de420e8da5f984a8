"""Questions whose answers differed, until both servers are asked again. It has no clock: times are arguments."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from rocketns.shadow.comparing.cases import ReadRequest
from rocketns.shadow.comparing.comparing import Finding
from rocketns.shadow.pairs import Pair

ASK_AFTER_S = 1.0
# Between two questions, for the upstream's sake: a wide route takes 2 ms of a Java server.
PAUSE_S = 0.02
# Of REQUEST_BYTES_MAX each; pairs with other questions are skipped.
WAITING_MAX = 1_000


@dataclass(slots=True)
class Waiting:
    """``times`` pairs asked it and differed; ``pair`` is the first of them, without its answers. ``asks`` are the
    requests that are sent instead of it, and then ``pair`` has its answers."""

    question: str
    request: ReadRequest
    pair: Pair
    finding: Finding
    due_s: float
    asks: tuple[bytes, ...] = ()
    times: int = 1


class Questions:
    """In the order in which they are due. A question that is being asked is not here any more."""

    def __init__(self) -> None:
        self._waiting: dict[str, Waiting] = {}
        self._order: deque[str] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(
        self, question: str, request: ReadRequest, pair: Pair, finding: Finding, now_s: float,
        asks: tuple[bytes, ...] = (),
    ) -> bool:  # fmt: skip
        """Whether there was room."""
        known = self._waiting.get(question)
        if known is not None:
            known.times += 1
            return True
        if len(self._waiting) >= WAITING_MAX:
            return False
        kept = pair if asks else pair._replace(upstream=None, own=None)
        self._waiting[question] = Waiting(question, request, kept, finding, now_s + ASK_AFTER_S, asks)
        self._order.append(question)
        return True

    def take_due(self, now_s: float) -> Waiting | None:
        """The next one whose time has come."""
        if not self._order or self._waiting[self._order[0]].due_s > now_s:
            return None
        return self._waiting.pop(self._order.popleft())

    def next_s(self) -> float | None:
        """When the next one is due; None if none waits."""
        return self._waiting[self._order[0]].due_s if self._order else None
