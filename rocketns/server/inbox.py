"""The two bounded queues in front of the processors: route look-ups, and everything else.

Java has a thread pool behind each, so that neither starves the other; here the control takes from both in turn.
Within a queue the connections take turns too, so that one that asks for much delays the others by one request each,
and a full queue is full only for connections that have a request in it: who asks one thing at a time always may.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

from rocketns.config import NamesrvConfig
from rocketns.protocol.codes import RequestCode

Key = TypeVar("Key", bound=Hashable)
Item = TypeVar("Item")


class Inbox(Generic[Key, Item]):
    """Waiting requests by connection, at most ``bytes_max`` of frames in all."""

    def __init__(self, config: NamesrvConfig, bytes_max: int) -> None:
        self._client = _TurnQueue[Key, tuple[Item, int]](config.client_request_thread_pool_queue_capacity)
        self._default = _TurnQueue[Key, tuple[Item, int]](config.default_thread_pool_queue_capacity)
        self._order = deque((self._client, self._default))
        self._bytes = 0
        self._bytes_max = bytes_max

    def __len__(self) -> int:
        return len(self._client) + len(self._default)

    def submit(self, code: int, key: Key, item: Item, size: int) -> bool:
        """Queue a request of ``size`` bytes by its code; False where its queue is full."""
        queue = self._client if code == RequestCode.GET_ROUTEINFO_BY_TOPIC else self._default
        if self._bytes + size > self._bytes_max or not queue.add(key, (item, size)):
            return False
        self._bytes += size
        return True

    def take(self, most: int) -> Iterator[tuple[Key, Item]]:
        """Up to ``most`` requests with their connections, alternating between the queues while both have some."""
        for _ in range(min(most, len(self))):
            self._order.rotate()
            queue = self._order[0] if self._order[0] else self._order[1]
            key, (item, size) = queue.pop()
            self._bytes -= size
            yield key, item


class _TurnQueue(Generic[Key, Item]):
    """First come, first served for one key; the keys take turns."""

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._turns: deque[Key] = deque()
        self._waiting: dict[Key, deque[Item]] = {}
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def add(self, key: Key, item: Item) -> bool:
        waiting = self._waiting.get(key)
        if waiting is None:
            self._turns.append(key)
            waiting = self._waiting[key] = deque()
        elif self._size >= self._capacity:
            return False
        self._size += 1
        waiting.append(item)
        return True

    def pop(self) -> tuple[Key, Item]:
        key = self._turns.popleft()
        waiting = self._waiting[key]
        item = waiting.popleft()
        if waiting:
            self._turns.append(key)
        else:
            del self._waiting[key]
        self._size -= 1
        return key, item
