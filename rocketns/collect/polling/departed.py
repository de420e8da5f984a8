"""Topics of brokers that are gone, so that they are the first to be asked for when their broker comes back."""

from __future__ import annotations

from collections.abc import Collection

from rocketns.collect.polling.limits import DEPARTED_TOPICS_MAX


class Departed:
    """At most DEPARTED_TOPICS_MAX names. Beyond it the broker that went first is forgotten."""

    def __init__(self) -> None:
        self._topics: dict[str, tuple[str, ...]] = {}
        self._count = 0

    def put(self, broker_name: str, topics: Collection[str]) -> None:
        """The broker went, or lost these topics."""
        known = self._topics.pop(broker_name, ())
        self._topics[broker_name] = (*known, *topics)
        self._count += len(topics)
        while self._count > DEPARTED_TOPICS_MAX:
            self.take(next(iter(self._topics)))

    def take(self, broker_name: str) -> tuple[str, ...]:
        """What it had; it is forgotten."""
        topics = self._topics.pop(broker_name, ())
        self._count -= len(topics)
        return topics
