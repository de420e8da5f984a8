"""The examples of the checks in docs/doctor.md: ``python -m tests.doctor.page`` writes them again.

Likewise in docs/zh/doctor.md, in Chinese. Each example is a fault of a fleet of two name servers and two brokers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rocketns.doctor.facts import (
    AddressFacts,
    BrokerClock,
    BrokerFacts,
    DoctorOptions,
    FleetFacts,
    IpScope,
    LaterGroups,
    NameServerFacts,
    Reaction,
    ServerKind,
)
from rocketns.doctor.finding import Health
from rocketns.doctor.output import finding_lines
from rocketns.doctor.report import run
from rocketns.fleet.group_view import GroupView
from rocketns.languages import use
from rocketns.protocol.body.route import BrokerData, QueueData, TopicRouteData
from rocketns.protocol.codes import V5_5_0
from rocketns.protocol.names import CREATION_TOPIC, SELF_TEST_TOPIC
from tests.check.source import ROOT

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
        NameServerFacts(addr, Reaction.ANSWERED, kind=ServerKind.JAVA, version=V5_5_0, groups=views, routes=routes,
                        clusters={CLUSTER: frozenset(groups)}, topics=frozenset(topics)),
        **more,
    )  # fmt: skip


def route(queues: Mapping[str, QueueData], groups: Mapping[str, Mapping[int, str]]) -> TopicRouteData:
    """The route of a topic with these queues."""
    brokers = [BrokerData(CLUSTER, name, dict(groups.get(name, {}))) for name in queues]
    return TopicRouteData(list(queues.items()), brokers, {})


def down(addr: str, outcome: Reaction, error: str = "") -> NameServerFacts:
    """A name server that cannot be read."""
    return NameServerFacts(addr, outcome, error, (addr.rpartition(":")[0],))


def broker(name: str, addr: str, **more: Any) -> BrokerFacts:
    """A master of the fleet."""
    return replace(BrokerFacts(name, 0, CLUSTER, addr, version=V5_5_0), **more)


def reached(addr: str, outcome: Reaction, scope: IpScope) -> AddressFacts:
    """An address that was tried."""
    return AddressFacts(addr, (addr.rpartition(":")[0],), scope, outcome)


def fleet(*name_servers: NameServerFacts, topic: str | None = None, **more: Any) -> FleetFacts:
    """Facts of these name servers; without one, of two that are well. ``more`` are fields of Facts or of Options."""
    given = name_servers or (name_server(NS_1), name_server(NS_2))
    facts = {name: more.pop(name) for name in ("addresses", "brokers") if name in more}
    options = DoctorOptions(tuple(one.addr for one in given), (topic,) if topic else (), **more)
    return FleetFacts(options, given, **facts)


ONLY_A = {"broker-a": {0: A}}
HALF = {topic: {"broker-a": RW} for topic in (TOPIC, CREATION_TOPIC, SELF_TEST_TOPIC)}
READ_ONLY = QueueData(8, 8, 4, 0)
OTHER_MASTER = "10.0.1.9:10911"
V4_9_7 = 407
REFUSED = f"connecting to {NS_2} failed: [Errno 111] Connect call failed ('10.0.0.2', 9876)"


def _turns() -> FleetFacts:
    other = {"broker-a": GroupView(CLUSTER, ((0, OTHER_MASTER),), None, False)}
    return fleet(name_server(NS_1, looks=(LaterGroups(15.0, other),)), watch_s=40)


EXAMPLES: dict[str, FleetFacts] = {
    "name-server-reachable": fleet(name_server(NS_1), down(NS_2, Reaction.REFUSED, REFUSED)),
    "name-server-kind": fleet(replace(down(A, Reaction.ANSWERED), kind=ServerKind.OTHER)),
    "tls": fleet(down(NS_1, Reaction.SPEAKS_TLS)),
    "no-broker": fleet(name_server(NS_1, {}, {}), name_server(NS_2, {}, {}), topic=TOPIC),
    "two-masters": _turns(),
    "broker-in-two-clusters": fleet(
        name_server(NS_1, clusters={CLUSTER: frozenset(GROUPS), "OtherCluster": frozenset({"broker-a"})})
    ),
    "slave-without-master": fleet(name_server(NS_1, HALF, {"broker-a": {1: "10.0.1.8:10911"}}), topic=TOPIC),
    "broker-address": fleet(
        name_server(NS_1, groups={"broker-a": {0: "172.17.0.3:10911"}}, topics=HALF),
        topic=TOPIC,
        addresses={"172.17.0.3:10911": reached("172.17.0.3:10911", Reaction.TIMED_OUT, IpScope.CONTAINER)},
    ),
    "registration-size": fleet(
        name_server(NS_1, {}, {}), topic=TOPIC, brokers=(broker("broker-a", A, topics_bytes=17_500_000, configuration={
            "namesrvAddr": NS_1, "compressedRegister": "false"}, is_announced=False),),
    ),
    "name-server-list": fleet(brokers=(broker("broker-a", A, configuration={"namesrvAddr": f"{NS_1},{NS_2}"}),)),
    "broker-registers-elsewhere": fleet(
        name_server(NS_1), name_server(NS_2, HALF, ONLY_A),
        brokers=(broker("broker-b", B, configuration={"namesrvAddr": NS_1}),),
    ),
    "topic-missing": fleet(
        name_server(NS_1, {TOPIC: BOTH, SELF_TEST_TOPIC: BOTH}), topic="orders",
        brokers=(broker("broker-a", A, configuration={"autoCreateTopicEnable": "false"}),),
    ),
    "topic-on-some-name-servers": fleet(
        name_server(NS_1, {**TOPICS, TOPIC: {"broker-b": RW}}),
        name_server(NS_2, {CREATION_TOPIC: HALF[TOPIC], SELF_TEST_TOPIC: HALF[TOPIC]}, ONLY_A), topic=TOPIC,
    ),
    "topic-not-registered": fleet(
        name_server(NS_1, {**TOPICS, TOPIC: {"broker-a": RW}}), topic=TOPIC,
        brokers=(broker("broker-b", B, topics={TOPIC: {"readQueueNums": 8, "writeQueueNums": 8, "perm": 6}}),),
    ),
    "topic-not-on-broker": fleet(topic=TOPIC, brokers=(broker("broker-a", A, topics={TOPIC: None}),)),
    "order-configuration": fleet(
        name_server(NS_1, order={TOPIC: "broker-a:8;broker-b"}, configuration={"orderMessageEnable": "true"}),
        topic=TOPIC,
    ),
    "permission-wiped": fleet(
        name_server(NS_1, {**TOPICS, TOPIC: {"broker-a": READ_ONLY},
                           SELF_TEST_TOPIC: {"broker-a": READ_ONLY, "broker-b": RW}}), topic=TOPIC,
    ),
    "topic-read-only": fleet(
        name_server(NS_1, {**TOPICS, TOPIC: {"broker-a": READ_ONLY, "broker-b": READ_ONLY}}), topic=TOPIC
    ),
    "name-servers-agree": fleet(name_server(NS_1), name_server(NS_2, HALF, ONLY_A)),
    "broker-id-moves": fleet(name_server(NS_1, groups={"broker-a": {0: A}, "broker-old": {0: A}})),
    "few-queues": fleet(
        name_server(NS_1, {**TOPICS, TOPIC: {"broker-a": QueueData(4, 4, 6, 0)}}), topic=TOPIC
    ),
    "group": fleet(
        groups=("orders-consumer",), topic=TOPIC,
        brokers=(broker("broker-a", A, consumers={"orders-consumer": None}, groups={"orders-consumer": {}},
                        topics={TOPIC: {}}),),
    ),
    "clocks": fleet(brokers=(
        broker("broker-a", A, clock=BrokerClock(-500, 500)), broker("broker-b", B, clock=BrokerClock(119_500, 120_500)),
        broker("broker-c", "10.0.1.3:10911", clock=BrokerClock(-400, 600)))),
    "broker-version": fleet(client_version=V5_5_0, brokers=(broker("broker-a", A, version=V4_9_7),)),
}  # fmt: skip
PAGES = {"en": ROOT / "docs" / "doctor.md", "zh": ROOT / "docs" / "zh" / "doctor.md"}
_EXAMPLE = re.compile(r"^(### ([a-z-]+)\n\n[^\n]+\n\n)```text\n.*?\n```\n", re.MULTILINE | re.DOTALL)


def example_lines(name: str) -> list[str]:
    """What the doctor prints of the example's fault."""
    report = run(EXAMPLES[name])
    one = next(one for one in report.findings if one.check == name and one.state is Health.ILL)
    return [line for _colour, line in finding_lines(1, one)]


def written(language: str) -> str:
    """The page as it should be: below the heading of each check, its example in place of the one that is there."""

    def shown(found: re.Match[str]) -> str:
        return "\n".join((f"{found[1]}```text", *example_lines(found[2]), "```", ""))

    use(language)
    try:
        return _EXAMPLE.sub(shown, PAGES[language].read_text("utf-8"))
    finally:
        use("en")


def headings(language: str) -> list[str]:
    """The checks that the page has, in its order."""
    return [found[2] for found in _EXAMPLE.finditer(PAGES[language].read_text("utf-8"))]


def main() -> None:
    """Write the pages."""
    for language, path in PAGES.items():
        if Path(path).exists():
            path.write_text(written(language), "utf-8")


if __name__ == "__main__":
    main()
