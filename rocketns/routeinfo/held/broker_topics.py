"""Which topics a broker name has: so that what changes all of them does not walk through the topics of others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

GONE_MIN = 64


@dataclass(slots=True)
class BrokerTopics:
    """``names`` has each topic of the broker, and ``gone`` more: topics that it lost, or has twice.

    A list takes 9 bytes a topic, and a set 50. ``routes`` is their number as the limits count it.
    """

    names: list[str] = field(default_factory=list)
    gone: int = 0
    routes: int = 0

    def lose(self, broker_name: str, routes: int, topics: Mapping[str, Mapping[str, object]]) -> None:
        """The broker lost a topic. ``topics`` is the table without it."""
        self.routes -= routes
        self.gone += 1
        if self.gone > GONE_MIN + len(self.names) // 2:
            self.tidy(broker_name, topics)

    def tidy(self, broker_name: str, topics: Mapping[str, Mapping[str, object]]) -> None:
        """Leave out removed topics. Whoever reads the former list may go on reading it."""
        if self.gone:
            self.names = [topic for topic in dict.fromkeys(self.names) if broker_name in topics.get(topic, ())]
            self.gone = 0
