"""Frames of connections whose peers do not take their answers: they wait here until the answers are taken.

Without that, a few bytes of requests would become gigabytes of answers.
"""

from __future__ import annotations

from rocketns.routeinfo.connection import Connection
from rocketns.server.requests.inbox import FRAME_COST_BYTES, Waiting


class Parked:
    """At most ``bytes_max`` in all, each frame counted with FRAME_COST_BYTES more; beyond it `largest` is to be closed.

    A connection's frames keep their order.
    """

    def __init__(self, bytes_max: int) -> None:
        self._frames: dict[Connection, list[Waiting]] = {}
        self._sizes: dict[Connection, int] = {}
        self._bytes = 0
        self._bytes_max = bytes_max

    @property
    def is_over(self) -> bool:
        return self._bytes > self._bytes_max

    def park(self, connection: Connection, waiting: Waiting) -> None:
        """Add a frame behind those of the same connection."""
        self._frames.setdefault(connection, []).append(waiting)
        size = waiting.size + FRAME_COST_BYTES
        self._sizes[connection] = self._sizes.get(connection, 0) + size
        self._bytes += size

    def take(self, connection: Connection) -> list[Waiting]:
        """Remove and return all frames of a connection."""
        self._bytes -= self._sizes.pop(connection, 0)
        return self._frames.pop(connection, [])

    def largest(self) -> Connection:
        """The connection of which the most bytes wait."""
        return max(self._sizes, key=self._sizes.__getitem__)
