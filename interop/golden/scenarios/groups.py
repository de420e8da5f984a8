"""The effect of a group's members, permissions and data versions on its topics."""

from __future__ import annotations

from typing import Any

from interop.golden.steps import Scenario
from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_body, topic_config

TOPICS = [topic_config("T1", perm=7), topic_config("T2", perm=6)]
SYNC = "rmq_sys_SYNC_BROKER_MEMBER_broker-a"
GROUP = {"clusterName": "C1", "brokerName": "broker-a"}


def member(identity: int, **more: Any) -> dict[str, Any]:
    """Header fields of one broker of broker-a with acting master enabled."""
    address = f"10.0.0.{identity + 1}:10911"
    return {"addr": address, "broker_id": identity, "enableActingMaster": "true"} | more


def leaving(identity: int, **more: str) -> dict[str, str]:
    """Header fields of an unregistration."""
    return GROUP | {"brokerAddr": f"10.0.0.{identity + 1}:10911", "brokerId": str(identity)} | more


def acting_master() -> Scenario:
    s = Scenario("acting-master", "A slave that stands in for its master", {"supportActingMaster": "true"})
    body = register_body([*TOPICS, topic_config(SYNC, 1, 1, 1)])
    s.register("first slave", "B151: topics without the write bit", body, header=member(2))
    s.both_dialects("shown as id 0", "B207", "T1")
    s.register("second slave, smaller id", "B151", body, header=member(1))
    s.both_dialects("the smallest id is shown as 0", "B207", "T1")
    s.route("the members' own topic", "B210: real ids", SYNC)
    s.ask("cluster info", "B216: real ids", codes.GET_BROKER_CLUSTER_INFO)
    s.ask("members", "B217: real ids", codes.GET_BROKER_MEMBER_GROUP, GROUP)
    s.register("master", "B153: permissions are back", body, header=member(0))
    s.both_dialects("with a master", "B153", "T1")
    s.ask("the master leaves", "B178", codes.UNREGISTER_BROKER, leaving(0))
    s.route("the write bit goes", "B185, B207", "T1", until=b'"perm":5')
    s.route("of every topic", "B185, B207", "T2")
    s.ask("switch acting masters off", "B242", codes.UPDATE_NAMESRV_CONFIG, body=b"supportActingMaster=false\n")
    s.both_dialects("real ids", "B209", "T1")
    return s


def writable_slave() -> Scenario:
    s = Scenario("slave-without-acting", "Slaves that do not act: who may register topics",
                 {"supportActingMaster": "true"})  # fmt: skip
    body = register_body(TOPICS)
    s.register("old slave", "B149: no topics", body, header=member(1, enableActingMaster=None))
    s.route("nothing", "B149", "T1")
    s.register("the same, acting false", "B150: full permission", body, header=member(1, enableActingMaster="false"))
    s.both_dialects("not rewritten", "B150, B208", "T1")
    s.register("a larger id", "B152", register_body([topic_config("T3"), topic_config("T4")]), header=member(2))
    s.route("brings no topics", "B152", "T3")
    s.both_dialects("the last registration says who acts, but the topic is writable", "B208", "T2")
    return s


def permissions() -> Scenario:
    s = Scenario("permissions", "Write permission wiped and added, and how long that lasts")
    every = [topic_config(f"P{perm}", perm=perm) for perm in range(8)]
    name = {"brokerName": "broker-a"}
    s.register("every permission", "B109", register_body(every))
    s.ask("wipe", "B219: all are counted", codes.WIPE_WRITE_PERM_OF_BROKER, name)
    for perm in range(8):
        s.route(f"{perm} after the wipe", "B219", f"P{perm}")
    s.ask("wipe again", "B219: counted again", codes.WIPE_WRITE_PERM_OF_BROKER, name, binary=True)
    s.register("same data version", "B147: stays wiped", register_body(every))
    s.route("wiped", "B147", "P7")
    s.ask("add", "B220", codes.ADD_WRITE_PERM_OF_BROKER, name)
    for perm in (0, 1, 5, 7):
        s.route(f"{perm} after the addition", "B220: always 6", f"P{perm}", version=400)
    s.register("new data version", "B148: as sent", register_body(every, data_version(2)))
    s.route("as sent", "B148", "P7")
    s.ask("a topic goes", "B222", codes.DELETE_TOPIC_IN_NAMESRV, {"topic": "P7"})
    s.route("it is gone", "B222", "P7")
    s.register("same data version again", "B146: it comes back", register_body(every, data_version(2)))
    s.route("it is back", "B146", "P7")
    return s


def data_versions() -> Scenario:
    s = Scenario("data-versions", "QUERY_DATA_VERSION and heartbeats of a known broker")
    known = leaving(0)
    version = data_version(3, 1000, 2)
    s.register("a broker", "B109", register_body(TOPICS, version))

    def query(name: str, shows: str, ext: dict[str, str], body: bytes, **how: Any) -> None:
        s.ask(name, shows, codes.QUERY_DATA_VERSION, ext, body, **how)

    query("same", "B008, B168", known, dumps(version))
    query("same, binary header, old client", "B168", known, dumps(version), binary=True, version=0)
    query("other counter", "B168", known, dumps(data_version(4, 1000, 2)))
    query("other time", "B169", known, dumps(data_version(3, 1001, 2)))
    query("other state version", "B169", known, dumps(data_version(3, 1000, 1)))
    query("unknown address", "B168", known | {"brokerAddr": "10.9.9.9:1"}, dumps(version))
    query("no body", "B170", known, b"")
    query("wrong name and id", "B171", known | {"brokerName": "x", "brokerId": "9"}, dumps(version))
    query("bad body", "B172", known, b"{", free_remark=True)
    query("no address", "B172", {"clusterName": "C1"}, dumps(version), free_remark=True)
    query("no cluster", "B172", {"brokerAddr": "10.0.0.1:10911"}, dumps(version), free_remark=True)
    s.ask("heartbeat", "B174", codes.BROKER_HEARTBEAT, known)
    s.ask("heartbeat of another cluster", "B176", codes.BROKER_HEARTBEAT, known | {"clusterName": "C2"})
    s.ask("heartbeat without address", "B175", codes.BROKER_HEARTBEAT, {"clusterName": "C1"}, free_remark=True)
    lower = register_body(TOPICS, data_version(9, 9000, 1))
    rival = {"addr": "10.0.0.9:10911"}
    s.register("a rival of a lower state version", "B155: ignored", lower, header=rival)
    s.route("the first stays", "B155", "T1")
    query("the rival is unknown", "B155", known | {"brokerAddr": rival["addr"]}, dumps(version))
    s.register("a rival of the same state version", "B156: replaces", register_body(TOPICS, version), header=rival)
    s.route("the second is there", "B156", "T1")
    query("the replaced one is still known", "B191", known, dumps(version))
    return s


def unregistration() -> Scenario:
    s = Scenario("unregistration", "Brokers that leave: by request, with a wrong id, and with their connection")
    body = register_body(TOPICS)
    plain = {"enableActingMaster": "false"}
    s.register("master", "B109", body, header=member(0, **plain))
    s.register("slave", "B113", body, header=member(1, **plain))
    s.ask("the master leaves", "B178", codes.UNREGISTER_BROKER, leaving(0))
    left = b'"brokerAddrs":{1:"10.0.0.2:10911"}'
    s.ask("its slave stays", "B179", codes.GET_BROKER_MEMBER_GROUP, GROUP, until=left)
    s.route("permissions stay", "B186", "T1")
    s.ask("heartbeat of one that left", "B177", codes.BROKER_HEARTBEAT, leaving(0))
    s.ask("does not bring it back", "B177", codes.GET_BROKER_CLUSTER_INFO)
    s.ask("the slave leaves under a wrong id", "B180", codes.UNREGISTER_BROKER, leaving(1, brokerId="7"), binary=True)
    nothing = b'{"brokerAddrTable":{},"clusterAddrTable":{}}'
    s.ask("nothing is left", "B179, B180", codes.GET_BROKER_CLUSTER_INFO, until=nothing)
    s.ask("no topics either", "B179", codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    s.register("on its own connection", "B109", body, connection="broker")
    s.route("its route, from another", "B109", "T1")
    s.close("the connection closes", "B187", "broker")
    s.route("no route", "B187", "T1", until=b'"code":17')
    s.ask("nothing is left after that", "B187", codes.GET_BROKER_CLUSTER_INFO, until=nothing)
    return s
