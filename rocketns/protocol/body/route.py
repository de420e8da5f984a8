"""The parts of a route as values: the beans of Java's protocol.route and protocol.statictopic, and DataVersion.

And the order configuration of a topic, which routes carry to clients: ``broker:queues;broker:queues``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

from rocketns.javatext import parse_int
from rocketns.protocol.codes import METADATA_SCOPE_GLOBAL

QUEUE_DATA_KINDS_MAX = 4096
# A client makes an object for each queue of the number.
ORDER_QUEUES_MAX = 65_536
SHOWN_CHARACTERS_MAX = 100


class DataVersion(NamedTuple):
    """The version of a broker's topics: they count as changed if it differs. The timestamp is in epoch ms."""

    state_version: int
    timestamp: int
    counter: int | None


class QueueData(NamedTuple):
    """One broker's queues of one topic; the broker's name is the key it is stored under."""

    read_queue_nums: int
    write_queue_nums: int
    perm: int
    topic_sys_flag: int

    def with_perm(self, perm: int) -> QueueData:
        return queue_data(self.read_queue_nums, self.write_queue_nums, perm, self.topic_sys_flag)


@lru_cache(maxsize=QUEUE_DATA_KINDS_MAX)
def queue_data(read: int, write: int, perm: int, sys_flag: int) -> QueueData:
    """A shared QueueData: tables hold millions of entries, of which only a few differ."""
    return QueueData(read, write, perm, sys_flag)


class TopicConfig(NamedTuple):
    """The part of Java's TopicConfig that a name server uses."""

    topic_name: str | None
    queues: QueueData


class TopicTable(Mapping[str, TopicConfig]):
    """A registration's topics by table key.

    The key is nearly always the topic's name. A table of 10,000 topics is therefore two dicts, without an object for
    each topic: ``queues`` by key, and ``renamed``, the names that differ from their keys, in no particular order.
    ``topics`` counts also the ``known`` ones, which were left out because the tables already hold them unchanged.
    """

    __slots__ = ("queues", "renamed", "topics")

    def __init__(self, queues: dict[str, QueueData], renamed: Mapping[str, str | None], known: int = 0) -> None:
        self.queues = queues
        self.renamed = renamed
        self.topics = len(queues) + known

    @classmethod
    def of(cls, topics: Iterable[tuple[str, TopicConfig]]) -> TopicTable:
        """From pairs of key and topic. Of two pairs with one key, the later counts."""
        table = dict(topics)
        renamed = {key: topic.topic_name for key, topic in table.items() if topic.topic_name != key}
        return cls({key: topic.queues for key, topic in table.items()}, renamed)

    def __getitem__(self, key: str) -> TopicConfig:
        return TopicConfig(self.renamed.get(key, key), self.queues[key])

    def __iter__(self) -> Iterator[str]:
        return iter(self.queues)

    def __len__(self) -> int:
        return len(self.queues)

    def __repr__(self) -> str:
        return f"TopicTable({dict(self)!r})"


@dataclass(slots=True, frozen=True)
class TopicQueueMappingInfo:
    """A static topic's queues on one broker (RIP-21)."""

    topic: str | None = None
    bname: str | None = None
    curr_id_map: dict[int, int] | None = field(default_factory=dict)
    dirty: bool = False
    epoch: int = 0
    scope: str | None = METADATA_SCOPE_GLOBAL
    total_queues: int = 0


@dataclass(slots=True)
class BrokerData:
    """A broker group: broker id → address. ``cluster`` is that of its first registration."""

    cluster: str | None
    broker_name: str
    broker_addrs: dict[int, str]
    zone_name: str | None = None
    enable_acting_master: bool = False

    def copy(self) -> BrokerData:
        return BrokerData(
            self.cluster, self.broker_name, dict(self.broker_addrs), self.zone_name, self.enable_acting_master
        )


@dataclass(slots=True)
class TopicRouteData:
    """The route of a topic: queue data by broker name, the broker groups, and parts that only some topics have.

    ``filter_server_table`` maps an address to its filter servers; None, for an address without any, is not written.
    """

    queue_datas: list[tuple[str, QueueData]]
    broker_datas: list[BrokerData]
    filter_server_table: dict[str, list[str | None] | None]
    topic_queue_mapping_by_broker: dict[str | None, TopicQueueMappingInfo] | None = None
    order_topic_conf: str | None = None


def order_conf_mistake(text: str) -> str | None:
    """The first part that clients cannot read, in quotes and cut; None where they can read all of it.

    As MQClientInstance.topicRouteData2TopicPublishInfo splits it. There one wrong part fails every lookup of the topic.
    """
    for part in text.rstrip(";").split(";") if text.strip(";") else ():
        words = part.rstrip(":").split(":")  # String.split leaves out the empty texts at the end
        queues = parse_int(words[1]) if len(words) > 1 else None
        if queues is None or not 0 <= queues <= ORDER_QUEUES_MAX:
            return repr(part[:SHOWN_CHARACTERS_MAX])
    return None
