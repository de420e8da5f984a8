"""REGISTER_BROKER: bodies of every protocol version, refused bodies, and the master named in the answer."""

from __future__ import annotations

import zlib
from typing import Any

from interop.golden.steps import Scenario
from interop.harness import codes
from interop.harness.payloads import compressed_body, data_version, dumps, register_body, topic_config, wrapper

TOPICS = [topic_config("T1", perm=7), topic_config("T2", read=4, write=2, flag=3)]
SLAVE = {"addr": "10.0.0.2:10911", "broker_id": 1}
LISTS = ("body.topicList",)
TABLES = ("body.brokerAddrTable", "body.clusterAddrTable", "body.clusterAddrTable.*")


def uncompressed(stream: bytes) -> bytes:
    """The content of a zlib stream in one that compresses nothing, so that every zlib makes the same bytes."""
    return zlib.compress(zlib.decompress(stream), 0)


def master_and_slave() -> Scenario:
    s = Scenario("master-and-slave", "A group grows from its slave to its master; every view of it")
    body = register_body(TOPICS)
    s.register("slave without master", "B115", body, header=SLAVE)
    s.register("master", "B005, B006, B008, B109", body)
    s.register("slave with its master", "B113", body, header=SLAVE)
    s.ask("cluster info", "B090, B216", codes.GET_BROKER_CLUSTER_INFO)
    s.ask("cluster info for an old client", "B216", codes.GET_BROKER_CLUSTER_INFO, version=0, binary=True)
    for version in (0, 36, 37, 400, 401, 513):
        s.route(f"route, version {version}", "B198, B199, B201", "T1", version=version)
        s.route(f"route, version {version}, binary", "B198, B199, B201", "T1", version=version, binary=True)
    s.route("standard JSON wanted", "B200", "T2", version=0, ext={"acceptStandardJsonOnly": "true"})
    s.route("standard JSON wanted in capitals", "B085", "T2", version=0, ext={"acceptStandardJsonOnly": "TRUE"})
    s.route("standard JSON not wanted", "B085", "T2", version=0, ext={"acceptStandardJsonOnly": "1"})
    names = {"clusterName": "C1", "brokerName": "broker-a"}
    s.ask("members", "B090, B217", codes.GET_BROKER_MEMBER_GROUP, names)
    s.ask("members, another cluster", "B218", codes.GET_BROKER_MEMBER_GROUP, names | {"clusterName": "other"})
    s.ask("members, no cluster", "B217", codes.GET_BROKER_MEMBER_GROUP, {"brokerName": "broker-a"}, binary=True)
    s.ask("all topics", "B221", codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, unordered=LISTS)
    s.ask("topics of the cluster", "B230", codes.GET_TOPICS_BY_CLUSTER, {"cluster": "C1"}, unordered=LISTS)
    s.ask("system topics", "B232", codes.GET_SYSTEM_TOPIC_LIST_FROM_NS, unordered=("body.topicList",))
    s.register("master without HA address", "B109", body, header={"haServerAddr": None})
    s.register("slave learns only the address", "B114", body, header=SLAVE)
    s.register("slave under another cluster", "B115: its master is not live there", body,
               header=SLAVE | {"cluster": "C2"})  # fmt: skip
    s.ask("a name in two clusters", "B158", codes.GET_BROKER_CLUSTER_INFO, unordered=TABLES)
    s.register("the slave becomes master", "B154", body, header={"addr": SLAVE["addr"], "broker_id": 0})
    s.ask("one id for an address", "B154", codes.GET_BROKER_MEMBER_GROUP, names)
    return s


def bodies_of_every_age() -> Scenario:
    s = Scenario("registration-bodies", "Bodies of brokers of every version; each registers topics of its own name")
    version = data_version()

    def register(name: str, shows: str, body: bytes, peer: int, **more: Any) -> None:
        broker = f"broker-{name}"
        address = f"10.0.1.{len(s.steps)}:10911"
        header = {"broker": broker, "addr": address, "enableActingMaster": None} | more
        s.register(f"register {name}", shows, body, header=header, version=peer)
        s.both_dialects(f"route of {name}", shows, f"{name}-1")

    def topics(name: str) -> list[dict[str, Any]]:
        return [topic_config(f"{name}-{i}", read=i, write=i + 1, perm=6) for i in (1, 2)]

    for peer in (0, 36):
        register(f"bare{peer}", "B122", dumps(wrapper(topics(f"bare{peer}"), version)), peer)
    for peer in (37, 400, 401, 513, 700):
        register(f"body{peer}", "B123, B124", register_body(topics(f"body{peer}"), version), peer)
    short = uncompressed(compressed_body(topics("z400"), version, mapping=None))
    register("z400", "B128", short, 400, compressed="true")
    register("z513", "B126", uncompressed(compressed_body(topics("z513"), version)), 513, compressed="TRUE")
    register("nocrc", "B120", register_body(topics("nocrc")), 513, bodyCrc32=None)
    register("zerocrc", "B120", register_body(topics("zerocrc")), 513, bodyCrc32="0")
    register("badcrc", "B084, B120", register_body(topics("badcrc")), 513, bodyCrc32="x")
    few = [{"topicName": f"few-{i}"} for i in (1, 2)]
    register("few", "B136: 16 queues, permission 6", register_body(few), 513)
    swapped = dict(zip(("a", "b"), topics("swapped"), strict=True))
    other = {"topicConfigSerializeWrapper": wrapper([], version) | {"topicConfigTable": swapped}}
    register("swapped", "B137: the name counts, not the key", dumps(other), 513)
    quoted = register_body(topics("quoted")).replace(b'"perm":6', b'"perm":"4"')
    register("quoted", "B014: a number in quotes", quoted, 513)
    return s


def refused() -> Scenario:
    s = Scenario("registration-refused", "Registrations that fail or store nothing, and what stays untouched")
    good = register_body(TOPICS)
    crc = str((zlib.crc32(good) & 0x7FFFFFFF) ^ 1)
    s.register("wrong checksum", "B121", good, header={"bodyCrc32": crc})
    s.register("checksum without a body", "B121", b"", header={"bodyCrc32": "5"})
    stream = uncompressed(compressed_body(TOPICS))
    short = uncompressed(compressed_body(TOPICS, mapping=None))
    bad: dict[str, tuple[bytes, dict[str, Any], int]] = {
        "B129: plain JSON marked compressed": (good, {"compressed": "true"}, 513),
        "B127: no mapping count": (short, {"compressed": "true"}, 513),
        "B129: cut zlib": (stream[:-20], {"compressed": "true"}, 513),
        "B133: null": (b"null", {}, 513),
        "B134: no JSON": (b'{"filterServerList":[', {}, 513),
        "B135: a null topic": (good.replace(b'"T2":{', b'"T0":null,"T2":{'), {}, 513),
        "B141: no broker id": (good, {"brokerId": None}, 513),
        "B141: bad broker id": (good, {"brokerId": "x"}, 513),
        "B125: negative version": (good, {}, -1),
    }
    for shows, (body, header, version) in bad.items():
        s.register(shows.split(": ")[1], shows, body, header=header, version=version, free_remark=True)
    s.ask("nothing is stored", "B121, B134", codes.GET_BROKER_CLUSTER_INFO)
    one = register_body(TOPICS[:1])
    s.register("one topic of an unknown broker", "B110", one)
    s.route("its topic is unknown", "B110", "T1")
    s.register("no topic", "B112", register_body([]))
    s.register("one topic of a known broker", "B111", one)
    s.route("its topic", "B111", "T1")
    s.register("no cluster", "B142", good, header={"clusterName": None, "broker": "broker-x"})
    s.route("is not stored", "B142", "T2")
    return s


def lenient() -> Scenario:
    s = Scenario("registration-nulls", "Missing and null parts of a body, and the data version that remains")
    broker = {"brokerName": "broker-a", "brokerAddr": "10.0.0.1:10911", "clusterName": "C1", "brokerId": "0"}
    s.register("no body", "B131", b"")
    s.ask("its data version", "B131", codes.QUERY_DATA_VERSION, broker, dumps(data_version()))
    s.register("topics", "B109", register_body(TOPICS))
    s.register("null topic table", "B138: topics stay", register_body(TOPICS).replace(
        dumps(wrapper(TOPICS)["topicConfigTable"]), b"null"))  # fmt: skip
    s.route("its route", "B138", "T1")
    s.register("null data version", "B140", register_body(TOPICS).replace(dumps(data_version()), b"null"))
    s.ask("is unknown", "B140", codes.QUERY_DATA_VERSION, broker, dumps(data_version()))
    s.register("numbers as strings", "B014", register_body(TOPICS, {"counter": "7", "timestamp": "8"}))  # type: ignore[dict-item]
    s.ask("data version without a state version", "B168", codes.QUERY_DATA_VERSION, broker, dumps(data_version()))
    s.register(
        "heartbeat timeout of no number", "B166", register_body(TOPICS), header={"heartbeatTimeoutMillis": "abc"}
    )
    s.register("negative broker id", "B145", register_body(TOPICS), header={"broker_id": -3})
    s.ask("shows as it is", "B145", codes.GET_BROKER_MEMBER_GROUP, broker)
    s.both_dialects("and in a route", "B145", "T1")
    return s
