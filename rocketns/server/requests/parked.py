"""The requests of connections whose peers do not take their answers. They wait here until the answers are taken.

Otherwise a few bytes of requests would become gigabytes of answers.
"""

from __future__ import annotations

from rocketns.routeinfo.connection import Connection
from rocketns.server.requests.inbox import FRAME_COST_BYTES, Waiting


class Parked:
    """Holds ``bytes_max``, where each frame counts FRAME_COST_BYTES more. Beyond it the caller closes `largest`.

    The frames of a connection keep their order.
    """

    def __init__(self, bytes_max: int) -> None:
        self._frames: dict[Connection, list[Waiting]] = {}
        self._sizes: dict[Connection, int] = {}
        self._bytes = 0
        self._bytes_max = bytes_max

    @property
    def bytes(self) -> int:
        """What all frames hold."""
        return self._bytes

    @property
    def is_over(self) -> bool:
        return self._bytes > self._bytes_max

    def park(self, connection: Connection, waiting: Waiting) -> None:
        """Add a frame behind the others of its connection."""
        self._frames.setdefault(connection, []).append(waiting)
        size = waiting.size + FRAME_COST_BYTES
        self._sizes[connection] = self._sizes.get(connection, 0) + size
        self._bytes += size

    def take(self, connection: Connection) -> list[Waiting]:
        """Remove and return all frames of a connection."""
        self._bytes -= self._sizes.pop(connection, 0)
        return self._frames.pop(connection, [])

    def largest(self) -> Connection:
        """The connection with the most waiting bytes."""
        return max(self._sizes, key=self._sizes.__getitem__)
