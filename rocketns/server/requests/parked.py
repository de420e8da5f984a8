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
