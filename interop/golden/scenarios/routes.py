"""Routes of more than one broker, and their other members: filter servers, static topics, zones."""

from __future__ import annotations

from typing import Any

from interop.golden.steps import Scenario
from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_body, topic_config, wrapper

TOPICS = [topic_config("T1", perm=7), topic_config("T2", read=4, write=2)]
# Java lists both in the hash order of broker names.
LISTS = ("body.brokerDatas", "body.queueDatas")


def broker(number: int, **more: Any) -> dict[str, Any]:
    """Header fields of the master of the group broker-<number>."""
    return {"broker": f"broker-{number}", "addr": f"10.0.{number}.1:10911"} | more


def many_brokers() -> Scenario:
    s = Scenario("many-brokers", "Topics on several brokers, and a group with many ids")
    for number in (3, 1, 2, 10):
        s.register(f"broker {number}", "B109", register_body(TOPICS), header=broker(number))
    s.both_dialects("four brokers", "B198, B199", "T1", lists=LISTS)
    for identity in (1, 2, 10, 100):
        slave = broker(1, addr=f"10.0.1.{identity + 1}:10911", broker_id=identity)
        s.register(f"slave {identity}", "B113", register_body(TOPICS), header=slave)
    members = {"clusterName": "C1", "brokerName": "broker-1"}
    s.ask("members", "B090, B217", codes.GET_BROKER_MEMBER_GROUP, members,
          unordered=("body.brokerMemberGroup.brokerAddrs",))  # fmt: skip
    s.route("many ids, standard JSON", "B091: sorted as numbers", "T2", unordered=LISTS)
    s.route("many ids, default JSON", "B090", "T2", version=400, unordered=(*LISTS, "body.brokerDatas.*.brokerAddrs"))
    tables = ("body.brokerAddrTable.*.brokerAddrs", "body.brokerAddrTable", "body.clusterAddrTable.*")
    s.ask("cluster info", "B216", codes.GET_BROKER_CLUSTER_INFO, unordered=tables)
    return s


def filter_servers() -> Scenario:
    s = Scenario("filter-servers", "Filter servers of brokers in routes")
    servers = ["10.0.1.1:1001", "10.0.1.1:1000"]
    s.register("with filter servers", "B161", register_body(TOPICS, filters=servers), header=broker(1))
    s.both_dialects("a route", "B202", "T1")
    s.register("null", "B161: as it was", register_body(TOPICS, filters=None), header=broker(1))
    s.route("after null", "B161, B202", "T1")
    s.register("bare body of an old broker", "B122: as it was", register_body(TOPICS), header=broker(1), version=36)
    s.route("after a bare body", "B122, B161, B202", "T1")
    s.register("a broker without any", "B161", register_body(TOPICS), header=broker(2))
    s.route("only the first has some", "B202", "T1", unordered=LISTS)
    s.register("other ones", "B161", register_body(TOPICS, filters=servers[:1]), header=broker(2))
    s.both_dialects("both have some", "B202", "T1", lists=LISTS, maps=("body.filterServerTable",))
    s.register("an empty list", "B161: none", register_body(TOPICS), header=broker(1))
    s.route("after an empty list", "B202", "T1", unordered=LISTS)
    return s


def mapping_info(epoch: int, queues: dict[str, int], **more: Any) -> dict[str, Any]:
    """TopicQueueMappingInfo of T1 on broker-1."""
    return {"bname": "broker-1", "currIdMap": queues, "dirty": False, "epoch": epoch, "scope": "__global__",
            "topic": "T1", "totalQueues": 8} | more  # fmt: skip


def static_topics() -> Scenario:
    s = Scenario("static-topics", "Static topic mappings: numeric keys, epochs that JavaScript could not hold")
    epochs = (0, 2**53 - 1, 2**53, -(2**53) + 1, -(2**53), 2**63 - 1, -(2**63))
    for number, epoch in enumerate(epochs, 1):
        mapping = {"T1": mapping_info(epoch, {"0": 0, "1": 1})}
        body = register_body(TOPICS, data_version(number), mapping=mapping)
        s.register(f"epoch {epoch}", "B162", body, header=broker(1))
        s.both_dialects(f"epoch {epoch}", "B092, B162", "T1")
    late = {"T1": mapping_info(99, {})}
    same = register_body(TOPICS, data_version(len(epochs)), mapping=late)
    s.register("same data version", "B163", same, header=broker(1))
    s.route("as it was", "B163", "T1")
    queues = {str(k): v for k, v in ((10, 1), (2, 2), (-3, 3), (0, 4), (1, 5))}
    odd = {"T1": mapping_info(1, queues, dirty=True, scope='"s"', totalQueues=0)}
    s.register("queue ids in no order", "B162", register_body(TOPICS, data_version(20), mapping=odd), header=broker(1))
    s.route("sorted as numbers", "B091", "T1")
    s.route("unquoted", "B090", "T1", version=400, unordered=("body.topicQueueMappingByBroker.*.currIdMap",))
    bare = {"T1": {"bname": "broker-1", "scope": None}}
    s.register("only a name", "B162", register_body(TOPICS, data_version(21), mapping=bare), header=broker(1))
    s.both_dialects("defaults of the rest", "B087, B162", "T1")
    second = {"T1": mapping_info(5, {"0": 0}, bname="broker-2")}
    s.register("a second broker", "B162", register_body(TOPICS, mapping=second), header=broker(2))
    s.both_dialects("two brokers", "B162", "T1", lists=LISTS, maps=("body.topicQueueMappingByBroker",))
    old = dumps(wrapper(TOPICS, mapping={"T2": mapping_info(5, {"0": 0}, bname="broker-3", topic="T2")}))
    s.register("a mapping in a bare body of an old broker", "B122", old, header=broker(3), version=36)
    s.route("is not read", "B122", "T2", unordered=LISTS)
    return s


def zones() -> Scenario:
    s = Scenario("zones", "Zone mode: whose brokers are left, always in default JSON")
    in_zone = {1: "z1", 2: "Z1", 3: "z2", 4: None}
    for number, zone in in_zone.items():
        body = register_body(TOPICS, filters=[f"10.0.{number}.1:1000"] if number < 4 else [])
        s.register(f"broker {number} in zone {zone}", "B157", body, header=broker(number, __ZONE_NAME=zone))
    filters = ("body.filterServerTable",)
    s.both_dialects("without zone mode", "B214", "T1", lists=LISTS, maps=filters)

    def asked(name: str, shows: str, mode: str, zone: str, **how: Any) -> None:
        s.route(name, shows, "T1", ext={"__ZONE_MODE": mode, "__ZONE_NAME": zone}, **how)

    asked("zone z1", "B211", "true", "z1", unordered=LISTS + filters)
    asked("zone z2", "B211: one broker, unquoted key", "true", "z2")
    asked("zone z2 in capitals", "B085, B211", "TRUE", "Z2")
    asked("zone z2, old client, binary", "B211", "true", "z2", version=400, binary=True)
    asked("no broker in the zone", "B212: empty lists", "true", "nowhere")
    asked("blank zone", "B214", "true", " ", unordered=LISTS)
    asked("zone mode false", "B214", "false", "z2", unordered=LISTS)
    standard = {"acceptStandardJsonOnly": "true", "__ZONE_MODE": "true", "__ZONE_NAME": "z2"}
    s.route("standard JSON wanted", "B215: still unquoted", "T1", ext=standard)
    s.register("a group without master", "B115", register_body(TOPICS), header=broker(5, broker_id=1))
    asked("is in every zone", "B213", "true", "z2", unordered=LISTS)
    mapping = {"T1": mapping_info(2**60, {"0": 0, "1": 1}, bname="broker-3")}
    body = register_body(TOPICS, data_version(2), mapping=mapping)
    s.register("a mapping", "B162", body, header=broker(3, __ZONE_NAME="z2"))
    asked("the epoch is unquoted", "B092, B211", "true", "z2", unordered=LISTS)
    s.register("zone left out", "B157: cleared", body, header=broker(3))
    s.ask("no zone name", "B157", codes.GET_BROKER_CLUSTER_INFO,
          unordered=("body.brokerAddrTable", "body.clusterAddrTable.*"))  # fmt: skip
    return s
