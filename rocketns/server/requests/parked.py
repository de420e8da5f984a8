"""Frames of connections whose peers do not take their answers: they wait here until the answers are taken.

Without that, a few bytes of requests would become gigabytes of answers.
"""

from __future__ import annotations

from rocketns.server.requests.host import Channel
from rocketns.server.requests.inbox import FRAME_COST_BYTES, Waiting


class Parked:
    """At most ``bytes_max`` in all, each frame counted with FRAME_COST_BYTES more; beyond it `largest` is to be closed.

    A connection's frames keep their order.
    """

    def __init__(self, bytes_max: int) -> None:
        self._frames: dict[Channel, list[Waiting]] = {}
        self._sizes: dict[Channel, int] = {}
        self._bytes = 0
        self._bytes_max = bytes_max

    @property
    def is_over(self) -> bool:
        return self._bytes > self._bytes_max

    def park(self, channel: Channel, waiting: Waiting) -> None:
        """Add a frame behind those of the same connection."""
        self._frames.setdefault(channel, []).append(waiting)
        size = waiting.size + FRAME_COST_BYTES
        self._sizes[channel] = self._sizes.get(channel, 0) + size
        self._bytes += size

    def take(self, channel: Channel) -> list[Waiting]:
        """Remove and return all frames of a connection."""
        self._bytes -= self._sizes.pop(channel, 0)
        return self._frames.pop(channel, [])

    def largest(self) -> Channel:
        """The connection of which the most bytes wait."""
        return max(self._sizes, key=self._sizes.__getitem__)
