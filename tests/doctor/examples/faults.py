"""The faults by the name of the check that finds them."""

from __future__ import annotations

from dataclasses import replace

from rocketns.doctor.facts.brokers import Clock
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import Kind, Look
from rocketns.doctor.facts.reach import Outcome, Place
from rocketns.fleet.group_view import GroupView
from rocketns.protocol.body.route import QueueData
from rocketns.protocol.codes import V5_5_0
from rocketns.protocol.topic_validator import CREATION_TOPIC, SELF_TEST_TOPIC
from tests.doctor.examples.parts import (
    BOTH,
    CLUSTER,
    GROUPS,
    NS_1,
    NS_2,
    RW,
    TOPIC,
    TOPICS,
    A,
    B,
    broker,
    down,
    fleet,
    name_server,
    reached,
)

ONLY_A = {"broker-a": {0: A}}
HALF = {topic: {"broker-a": RW} for topic in (TOPIC, CREATION_TOPIC, SELF_TEST_TOPIC)}
READ_ONLY = QueueData(8, 8, 4, 0)
OTHER_MASTER = "10.0.1.9:10911"
V4_9_7 = 407
REFUSED = f"connecting to {NS_2} failed: [Errno 111] Connect call failed ('10.0.0.2', 9876)"


def _turns() -> Facts:
    other = {"broker-a": GroupView(CLUSTER, ((0, OTHER_MASTER),), None, False)}
    return fleet(name_server(NS_1, looks=(Look(15.0, other),)), watch_s=40)


EXAMPLES: dict[str, Facts] = {
    "name-server-reachable": fleet(name_server(NS_1), down(NS_2, Outcome.REFUSED, REFUSED)),
    "name-server-kind": fleet(replace(down(A, Outcome.ANSWERED), kind=Kind.OTHER)),
    "tls": fleet(down(NS_1, Outcome.SPEAKS_TLS)),
    "no-broker": fleet(name_server(NS_1, {}, {}), name_server(NS_2, {}, {}), topic=TOPIC),
    "two-masters": _turns(),
    "broker-in-two-clusters": fleet(
        name_server(NS_1, clusters={CLUSTER: frozenset(GROUPS), "OtherCluster": frozenset({"broker-a"})})
    ),
    "slave-without-master": fleet(name_server(NS_1, HALF, {"broker-a": {1: "10.0.1.8:10911"}}), topic=TOPIC),
    "broker-address": fleet(
        name_server(NS_1, groups={"broker-a": {0: "172.17.0.3:10911"}}, topics=HALF),
        topic=TOPIC,
        addresses={"172.17.0.3:10911": reached("172.17.0.3:10911", Outcome.TIMED_OUT, Place.CONTAINER)},
    ),
    "registration-size": fleet(
        name_server(NS_1, {}, {}), topic=TOPIC, brokers=(broker("broker-a", A, topics_bytes=17_500_000, configuration={
            "namesrvAddr": NS_1, "compressedRegister": "false"}, is_announced=False),),
    ),
    "broker-registers-elsewhere": fleet(
        name_server(NS_1), name_server(NS_2, HALF, ONLY_A),
        brokers=(broker("broker-b", B, configuration={"namesrvAddr": NS_1}),),
    ),
    "misspelt": fleet(topic="orders"),
    "automatic-creation": fleet(
        name_server(NS_1, {TOPIC: BOTH, SELF_TEST_TOPIC: BOTH}), topic="Payments",
        brokers=(broker("broker-a", A, configuration={"autoCreateTopicEnable": "false"}),),
    ),
    "topic-missing": fleet(topic="Payments"),
    "topic-on-some-name-servers": fleet(
        name_server(NS_1, {**TOPICS, TOPIC: {"broker-b": RW}}),
        name_server(NS_2, {CREATION_TOPIC: HALF[TOPIC], SELF_TEST_TOPIC: HALF[TOPIC]}, ONLY_A), topic=TOPIC,
    ),
    "topic-not-registered": fleet(
        name_server(NS_1, {**TOPICS, TOPIC: {"broker-a": RW}}), topic=TOPIC,
        brokers=(broker("broker-b", B, topics={TOPIC: {"readQueueNums": 8, "writeQueueNums": 8, "perm": 6}}),),
    ),
    "topic-not-on-broker": fleet(topic=TOPIC, brokers=(broker("broker-a", A, topics={TOPIC: None}),)),
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
        broker("broker-a", A, clock=Clock(-500, 500)), broker("broker-b", B, clock=Clock(119_500, 120_500)),
        broker("broker-c", "10.0.1.3:10911", clock=Clock(-400, 600)))),
    "broker-version": fleet(client_version=V5_5_0, brokers=(broker("broker-a", A, version=V4_9_7),)),
}  # fmt: skip
