"""The two bounded queues in front of the processors: route look-ups, and everything else.

Java has a thread pool behind each, so that neither starves the other; here the control takes from both in turn.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

from rocketns.config import NamesrvConfig
from rocketns.protocol.codes import RequestCode

Item = TypeVar("Item")


class Inbox(Generic[Item]):
    """Waiting requests. A capacity of 0 or less still lets one wait, as a pool's free thread would."""

    def __init__(self, config: NamesrvConfig) -> None:
        self._client: deque[Item] = deque()
        self._default: deque[Item] = deque()
        self._client_max = max(1, config.client_request_thread_pool_queue_capacity)
        self._default_max = max(1, config.default_thread_pool_queue_capacity)

    def __len__(self) -> int:
        return len(self._client) + len(self._default)

    def submit(self, code: int, item: Item) -> bool:
        """Queue a request by its code; False where its queue is full."""
        is_lookup = code == RequestCode.GET_ROUTEINFO_BY_TOPIC
        queue, limit = (self._client, self._client_max) if is_lookup else (self._default, self._default_max)
        if len(queue) >= limit:
            return False
        queue.append(item)
        return True

    def take(self, most: int) -> Iterator[Item]:
        """Up to ``most`` requests, alternating between the queues while both have some."""
        taken = 0
        while taken < most and (self._client or self._default):
            for queue in (self._client, self._default):
                if queue and taken < most:
                    taken += 1
                    yield queue.popleft()
