"""Which topics a broker name has, so that what changes all of them does not walk through the topics of others; and how
many routes topics, static-topic mappings and filter servers count as.

Each is one route, and one more for each 256 characters of its names: so a number of routes bounds memory.
`queue_table.routes_of` counts many topics at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rocketns.protocol.body.route import TopicQueueMappingInfo
from rocketns.protocol.codes import SYS_FLAG_UNIT, SYS_FLAG_UNIT_SUB
from rocketns.protocol.names import utf8_bytes

GONE_MIN = 64
UNIT_FLAGS = SYS_FLAG_UNIT | SYS_FLAG_UNIT_SUB
CHARACTERS_BITS = 8
# Eight numbers of a mapping take less than 1 KB.
IDS_BITS = 3


@dataclass(slots=True)
class BrokerTopics:
    """``names`` has each topic of the broker, and ``gone`` more: topics that it lost, or has twice.

    A list takes 9 bytes a topic, and a set 50. ``routes`` is their number as the limits count it. ``unit_topics`` are
    those with a system flag of `UNIT_FLAGS` on the broker, in the order in which they came: a walk is twice as fast.
    ``measured`` of the names are counted in ``measured_bytes``: see `name_bytes`.
    """

    names: list[str] = field(default_factory=list)
    gone: int = 0
    routes: int = 0
    unit_topics: dict[str, None] = field(default_factory=dict)
    measured: int = field(default=0, compare=False)
    measured_bytes: int = field(default=0, compare=False)

    def lose(self, topic: str, broker_name: str, routes: int, topics: Mapping[str, Mapping[str, object]]) -> None:
        """The broker lost a topic. ``topics`` is the table without it."""
        self.routes -= routes
        self.unit_topics.pop(topic, None)
        self.gone += 1
        if self.gone > GONE_MIN + len(self.names) // 2:
            self.tidy(broker_name, topics)

    def tidy(self, broker_name: str, topics: Mapping[str, Mapping[str, object]]) -> None:
        """Leave out removed topics. Whoever reads the former list may go on reading it."""
        if self.gone:
            self.names = [topic for topic in dict.fromkeys(self.names) if broker_name in topics.get(topic, ())]
            self.gone = self.measured = self.measured_bytes = 0

    def name_bytes(self) -> int:
        """The names as UTF-8, after `tidy`. Names are measured once, when somebody asks for the first time."""
        self.measured_bytes += sum(map(utf8_bytes, self.names[self.measured :]))
        self.measured = len(self.names)
        return self.measured_bytes


def routes_of_name(name: str | None) -> int:
    """A topic on one broker, or a filter server."""
    return 1 if name is None else 1 + (len(name) >> CHARACTERS_BITS)


def routes_of_servers(servers: Iterable[str | None]) -> int:
    """The filter servers of a broker."""
    return sum(map(routes_of_name, servers))


def routes_of_mapping(topic: str, info: TopicQueueMappingInfo) -> int:
    """A static-topic mapping of a broker."""
    characters = sum(len(text) for text in (topic, info.topic, info.bname, info.scope) if text is not None)
    return 1 + (characters >> CHARACTERS_BITS) + (len(info.curr_id_map or ()) >> IDS_BITS)
