"""Requests of connections whose peers do not take their answers: they wait here until the answers are taken.

Without that, a few bytes of requests would become gigabytes of answers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from rocketns.server.peer import Channel

Item = TypeVar("Item")


class Parked(Generic[Item]):
    """At most ``bytes_max`` in all; beyond it `largest` is to be closed. A connection's requests keep their order."""

    def __init__(self, bytes_max: int) -> None:
        self._items: dict[Channel, deque[tuple[Item, int]]] = {}
        self._sizes: dict[Channel, int] = {}
        self._ready: dict[Channel, None] = {}
        self._bytes = 0
        self._bytes_max = bytes_max

    def __contains__(self, channel: Channel) -> bool:
        return channel in self._items

    @property
    def has_ready(self) -> bool:
        return bool(self._ready)

    @property
    def is_over(self) -> bool:
        return self._bytes > self._bytes_max

    def park(self, channel: Channel, item: Item, size: int) -> None:
        self._items.setdefault(channel, deque()).append((item, size))
        self._sizes[channel] = self._sizes.get(channel, 0) + size
        self._bytes += size

    def resume(self, channel: Channel) -> None:
        """Its answers were taken, or it is gone: its requests go on."""
        if channel in self._items:
            self._ready[channel] = None

    def take(self, most: int) -> Iterator[tuple[Channel, Item]]:
        """Up to ``most`` requests that may go on; the connections take turns."""
        for _ in range(most):
            channel = next(iter(self._ready), None)
            if channel is None:
                return
            del self._ready[channel]
            if not channel.is_full:
                item = self._pop(channel)
                self.resume(channel)  # before: the caller may leave off in between
                yield channel, item

    def _pop(self, channel: Channel) -> Item:
        item, size = self._items[channel].popleft()
        self._bytes -= size
        self._sizes[channel] -= size
        if not self._items[channel]:
            del self._items[channel], self._sizes[channel]
        return item

    def largest(self) -> Channel:
        """The connection of which the most bytes wait."""
        return max(self._sizes, key=self._sizes.__getitem__)

    def drop(self, channel: Channel) -> int:
        """Forget its requests; how many they were."""
        items = self._items.pop(channel, ())
        self._bytes -= self._sizes.pop(channel, 0)
        self._ready.pop(channel, None)
        return len(items)
