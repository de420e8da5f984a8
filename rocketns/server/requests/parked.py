"""The requests of connections whose peers do not take their answers. They wait here until the answers are taken.

Otherwise a few bytes of requests would become gigabytes of answers.
"""

from __future__ import annotations

from collections.abc import Callable

from rocketns.routeinfo.connection import Connection
from rocketns.server.requests.holders import Bounds, Holders
from rocketns.server.requests.inbox import FRAME_COST_BYTES, Waiting


class Parked:
    """Holds ``bounds.total_max`` bytes, where each frame counts FRAME_COST_BYTES more. Beyond them `first` is to
    be closed.

    The frames of a connection keep their order.
    """

    def __init__(self, bounds: Bounds, now_ms: Callable[[], int]) -> None:
        self._frames: dict[Connection, list[Waiting]] = {}
        self._sizes: dict[Connection, int] = {}
        self._holders: Holders[Connection] = Holders(bounds, now_ms)

    @property
    def bytes(self) -> int:
        """What all frames hold."""
        return self._holders.total

    def park(self, connection: Connection, waiting: Waiting) -> None:
        """Add a frame behind the others of its connection."""
        self._frames.setdefault(connection, []).append(waiting)
        size = self._sizes.get(connection, 0) + waiting.size + FRAME_COST_BYTES
        self._sizes[connection] = size
        self._holders.hold(connection, size)

    def take(self, connection: Connection) -> list[Waiting]:
        """Remove and return all frames of a connection."""
        if self._sizes.pop(connection, 0):
            self._holders.hold_none(connection)
        return self._frames.pop(connection, [])

    def first(self) -> Connection | None:
        """The connection to be closed, if there are too many bytes. Its frames wait for the longest time."""
        return self._holders.first()


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
