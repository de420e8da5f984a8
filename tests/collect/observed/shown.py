"""What a name server shows: random states, the answers that show them, and what tables and journal must hold then."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from rocketns.collect.observing import Observed
from rocketns.protocol.body.route import BrokerData, QueueData, TopicQueueMappingInfo, TopicRouteData
from rocketns.routeinfo.events import Event

BROKERS, CLUSTERS, TOPICS = ("b1", "b2", "b\ud800"), ("c1", "c2"), ("t1", "t2", 't"\\', "t\ud83d")
ADDRS = tuple(f"10.0.0.{number}:10911" for number in range(1, 6))
# Each broker has it, so the filter servers of each are visible.
COMMON = "common"


@dataclass(frozen=True)
class Shown:
    """The state of a name server. ``filters``: filter servers by address."""

    groups: dict[str, BrokerData] = field(default_factory=dict)
    queues: dict[str, dict[str, QueueData]] = field(default_factory=dict)
    mappings: dict[str, dict[str, TopicQueueMappingInfo]] = field(default_factory=dict)
    filters: dict[str, list[str | None]] = field(default_factory=dict)

    def route(self, topic: str) -> TopicRouteData | None:
        """The answer to a lookup."""
        if topic not in self.queues:
            return None
        groups = [self.groups[name].copy() for name in self.queues[topic]]
        servers = {addr: self.filters.get(addr) for group in groups for addr in group.broker_addrs.values()}
        return TopicRouteData(
            list(self.queues[topic].items()), groups, servers, dict(self.mappings.get(topic, {})) or None
        )

    def answered_groups(self) -> dict[str, BrokerData]:
        return {name: group.copy() for name, group in self.groups.items()}

    def expected(self) -> dict[str, Any]:
        """As `tests.journal.replay.State.shown`."""
        groups = {name: (one.cluster, one.zone_name, one.enable_acting_master, one.broker_addrs)
                  for name, one in self.groups.items()}  # fmt: skip
        clusters: dict[str | None, set[str]] = {}
        for name, one in self.groups.items():
            clusters.setdefault(one.cluster, set()).add(name)
        filters = {(one.cluster, addr): self.filters[addr] for one in self.groups.values()
                   for addr in one.broker_addrs.values() if self.filters.get(addr)}  # fmt: skip
        return {"topics": self.queues, "mappings": self.mappings, "groups": groups, "clusters": clusters,
                "lives": {}, "filters": filters}  # fmt: skip


def read_all(observed: Observed, shown: Shown) -> list[Event]:
    """A whole round: groups, names, and the route of each topic."""
    events = observed.groups(shown.answered_groups()) + observed.topic_names(list(shown.queues))
    return events + [event for topic in shown.queues for event in observed.route(topic, shown.route(topic))]


_queues = st.builds(QueueData, *(st.sampled_from((0, 4, 8)) for _ in range(4)))


@st.composite
def groups(draw: st.DrawFn) -> dict[str, BrokerData]:
    """An address has one id in a group, and may be in several groups."""
    found = {}
    for name in draw(st.lists(st.sampled_from(BROKERS), unique=True)):
        addrs = draw(st.lists(st.sampled_from(ADDRS), min_size=1, max_size=3, unique=True))
        ids = draw(st.lists(st.integers(0, 3), min_size=len(addrs), max_size=len(addrs), unique=True))
        zone, acting = draw(st.sampled_from((None, "z"))), draw(st.booleans())
        found[name] = BrokerData(
            draw(st.sampled_from(CLUSTERS)), name, dict(zip(ids, addrs, strict=True)), zone, acting
        )
    return found


@st.composite
def states(draw: st.DrawFn) -> Shown:
    """A state without contradictions."""
    found = draw(groups())
    if not found:
        return Shown()
    brokers = st.sampled_from(list(found))
    queues = {topic: draw(st.dictionaries(brokers, _queues, min_size=1))
              for topic in draw(st.lists(st.sampled_from(TOPICS), unique=True))}  # fmt: skip
    queues[COMMON] = {name: draw(_queues) for name in found}
    mappings: dict[str, dict[str, TopicQueueMappingInfo]] = {}
    for topic in draw(st.lists(st.sampled_from(list(queues)), unique=True, max_size=2)):
        name = draw(st.sampled_from(list(queues[topic])))
        ids = draw(st.dictionaries(st.integers(0, 3), st.integers(0, 3), max_size=2))
        mappings[topic] = {name: TopicQueueMappingInfo(topic, name, ids, epoch=draw(st.integers(0, 2)), total_queues=4)}
    filters = draw(
        st.dictionaries(st.sampled_from(ADDRS), st.lists(st.sampled_from(("f1:1", "f2:1", None)), min_size=1))
    )
    return Shown(found, queues, mappings, filters)
