"""Name servers and brokers of the examples: a well fleet of two name servers and two brokers, and changes of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import Kind, NameServerFacts
from rocketns.doctor.facts.options import Options
from rocketns.doctor.facts.reach import AddressFacts, Outcome, Place
from rocketns.fleet.group_view import GroupView
from rocketns.protocol.body.route import BrokerData, QueueData, TopicRouteData
from rocketns.protocol.codes import V5_5_0
from rocketns.protocol.topic_validator import CREATION_TOPIC, SELF_TEST_TOPIC

NS_1, NS_2 = "10.0.0.1:9876", "10.0.0.2:9876"
A, B = "10.0.1.1:10911", "10.0.1.2:10911"
CLUSTER = "DefaultCluster"
TOPIC = "Orders"
RW = QueueData(8, 8, 6, 0)
BOTH = {"broker-a": RW, "broker-b": RW}
TOPICS = {TOPIC: BOTH, CREATION_TOPIC: BOTH, SELF_TEST_TOPIC: BOTH}
GROUPS = {"broker-a": {0: A}, "broker-b": {0: B}}

Topics = Mapping[str, Mapping[str, QueueData]]


def name_server(
    addr: str, topics: Topics = TOPICS, groups: Mapping[str, Mapping[int, str]] = GROUPS, **more: Any
) -> NameServerFacts:
    """What a Java name server with these topics and groups says; it was asked for each topic of the examples."""
    asked = dict.fromkeys((TOPIC, "orders", "Payments", CREATION_TOPIC, SELF_TEST_TOPIC))
    routes = {topic: route(topics[topic], groups) if topic in topics else None for topic in (*asked, *topics)}
    views = {name: GroupView(CLUSTER, tuple(sorted(addrs.items())), None, False) for name, addrs in groups.items()}
    return replace(
        NameServerFacts(addr, Outcome.ANSWERED, kind=Kind.JAVA, version=V5_5_0, groups=views, routes=routes,
                        clusters={CLUSTER: frozenset(groups)}, topics=frozenset(topics)),
        **more,
    )  # fmt: skip


def route(queues: Mapping[str, QueueData], groups: Mapping[str, Mapping[int, str]]) -> TopicRouteData:
    """The route of a topic with these queues."""
    brokers = [BrokerData(CLUSTER, name, dict(groups.get(name, {}))) for name in queues]
    return TopicRouteData(list(queues.items()), brokers, {})


def down(addr: str, outcome: Outcome, error: str = "") -> NameServerFacts:
    """A name server that cannot be read."""
    return NameServerFacts(addr, outcome, error, (addr.rpartition(":")[0],))


def broker(name: str, addr: str, **more: Any) -> BrokerFacts:
    """A master of the fleet."""
    return replace(BrokerFacts(name, 0, CLUSTER, addr, version=V5_5_0), **more)


def reached(addr: str, outcome: Outcome, place: Place) -> AddressFacts:
    """An address that was tried."""
    return AddressFacts(addr, (addr.rpartition(":")[0],), place, outcome, 0.4)


def fleet(*name_servers: NameServerFacts, topic: str | None = None, **more: Any) -> Facts:
    """Facts of these name servers; without one, of two that are well. ``more`` are fields of Facts or of Options."""
    given = name_servers or (name_server(NS_1), name_server(NS_2))
    facts = {name: more.pop(name) for name in ("addresses", "brokers") if name in more}
    options = Options(tuple(one.addr for one in given), (topic,) if topic else (), **more)
    return Facts(options, given, **facts)
