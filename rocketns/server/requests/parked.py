"""The requests of connections whose peers do not take their answers. They wait here until the answers are taken.

Otherwise a few bytes of requests would become gigabytes of answers.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from rocketns.routeinfo.connection import Connection
from rocketns.server.requests.inbox import FRAME_COST_BYTES, Waiting


@dataclass(slots=True)
class _ParkedFrames:
    """Of one connection. ``account``: its host, and whether a broker had registered from it at the first frame."""

    account: tuple[bool, str]
    frames: list[Waiting] = field(default_factory=list)
    size: int = 0


class Parked:
    """Holds ``bytes_max`` bytes, where each frame counts FRAME_COST_BYTES more. Beyond them `first` is to be closed.

    The frames of a connection keep their order.
    """

    def __init__(self, bytes_max: int) -> None:
        self._bytes_max = bytes_max
        self._parked: dict[Connection, _ParkedFrames] = {}  # the one that waits for longest first
        self._bytes_of: Counter[tuple[bool, str]] = Counter()
        self.bytes = 0

    def park(self, connection: Connection, waiting: Waiting) -> None:
        """Add a frame behind the others of its connection."""
        parked = self._parked.get(connection)
        if parked is None:
            parked = self._parked[connection] = _ParkedFrames((connection.is_known, connection.host))
        parked.frames.append(waiting)
        self._count(parked, waiting.size + FRAME_COST_BYTES)

    def take(self, connection: Connection) -> list[Waiting]:
        """Remove and return all frames of a connection."""
        parked = self._parked.pop(connection, None)
        if parked is None:
            return []
        self._count(parked, -parked.size)
        if not self._bytes_of[parked.account]:
            del self._bytes_of[parked.account]
        return parked.frames

    def _count(self, parked: _ParkedFrames, change: int) -> None:
        parked.size += change
        self._bytes_of[parked.account] += change
        self.bytes += change

    def first(self) -> Connection | None:
        """The connection to be closed, if there are too many bytes: of the host with the most, the one whose frames
        wait for longest. Registered brokers' come first only if they hold more than half.
        """
        if self.bytes <= self._bytes_max:
            return None
        of_brokers = sum(size for (is_known, _), size in self._bytes_of.items() if is_known)
        is_known = of_brokers > self._bytes_max // 2
        largest = max((one for one in self._bytes_of if one[0] == is_known), key=self._bytes_of.__getitem__)
        return next(connection for connection, parked in self._parked.items() if parked.account == largest)


class Gate:
    """``is_closed`` between `close` and `open`. ``bytes`` of frames wait, where each counts FRAME_COST_BYTES more."""

    def __init__(self) -> None:
        self.bytes = 0
        self.is_closed = False
        self._frames: dict[Connection, list[Waiting]] = {}

    def close(self) -> None:
        self.is_closed = True

    def holds(self, connection: Connection, waiting: Waiting) -> bool:
        """Whether a frame must wait: also a lookup behind a frame that does."""
        return self.is_closed and (not waiting.is_lookup or connection in self._frames)

    def keep(self, connection: Connection, frames: list[Waiting]) -> None:
        """Add frames behind the others of their connection."""
        self._frames.setdefault(connection, []).extend(frames)
        self.bytes += sum(waiting.size + FRAME_COST_BYTES for waiting in frames)

    def open(self) -> list[tuple[Connection, list[Waiting]]]:
        """Everything that waited, by connection, in the order of arrival."""
        frames, self._frames, self.bytes, self.is_closed = self._frames, {}, 0, False
        return list(frames.items())
