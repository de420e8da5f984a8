"""Requests of admin tools: topics, lists, switches and the configuration."""

from __future__ import annotations

from typing import Any

from interop.golden.steps import Scenario
from interop.harness import codes
from interop.harness.payloads import dumps, register_body, topic_config

LISTED = ("body.topicList",)
UPDATE, SHOW = codes.UPDATE_NAMESRV_CONFIG, codes.GET_NAMESRV_CONFIG


def queue(broker: str | None, **more: int) -> dict[str, Any]:
    """QueueData."""
    return {"brokerName": broker, "perm": 6, "readQueueNums": 1, "topicSysFlag": 0, "writeQueueNums": 2} | more


def topics() -> Scenario:
    s = Scenario("topics", "Topics registered and deleted by admin tools, and lists of them")
    for number, cluster in ((1, "C1"), (2, "C2")):
        flags = [topic_config(f"flag-{flag}", flag=flag) for flag in range(4)]
        header = {"cluster": cluster, "broker": f"broker-{number}", "addr": f"10.0.{number}.1:10911"}
        s.register(f"broker {number}", "B109", register_body([*flags, topic_config(f"only-{number}")]), header=header)
    s.ask("unit topics", "B233", codes.GET_UNIT_TOPIC_LIST, unordered=LISTED)
    s.ask("with unit subscription", "B233", codes.GET_HAS_UNIT_SUB_TOPIC_LIST, unordered=LISTED)
    s.ask("with unit subscription only", "B233", codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, unordered=LISTED)
    s.ask("topics of C1", "B230", codes.GET_TOPICS_BY_CLUSTER, {"cluster": "C1"}, unordered=LISTED)
    s.ask("topics of every cluster", "B221", codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, unordered=LISTED)
    s.ask("system topics' names", "B232", codes.GET_TOPICS_BY_CLUSTER, {"cluster": "none"})

    def put(name: str, shows: str, body: bytes, topic: str = "N", **how: Any) -> None:
        s.ask(name, shows, codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": topic}, body, **how)

    put("on a known broker", "B225", dumps({"queueDatas": [queue("broker-1")]}))
    s.both_dialects("its route", "B225", "N")
    put("on an unknown broker", "B226", dumps({"queueDatas": [queue("broker-1"), queue("none")]}), "N2")
    s.route("is not there", "B226", "N2")
    mixed = [queue("broker-2"), queue("none"), queue("broker-1", perm=4)]
    put("up to an unknown broker", "B227", dumps({"queueDatas": mixed}))
    s.route("the first was taken", "B227", "N", unordered=("body.brokerDatas", "body.queueDatas"))
    put("numbers left out", "B225: 0", dumps({"queueDatas": [{"brokerName": "broker-1"}]}), "N3")
    s.route("numbers of 0", "B225", "N3")
    for name, body in {"none": b"", "empty list": b'{"queueDatas":[]}', "null": b"null"}.items():
        put(f"nothing to register: {name}", "B228", body, "N4")
    put("bad JSON", "B229", b"{", "N4", free_remark=True)
    s.route("nothing registered", "B228, B229", "N4")
    delete = codes.DELETE_TOPIC_IN_NAMESRV
    s.ask("delete in one cluster", "B223", delete, {"topic": "flag-0", "clusterName": "C1"})
    s.route("the other's stays", "B223", "flag-0")
    s.ask("delete everywhere", "B222", delete, {"topic": "flag-1"}, binary=True)
    s.route("gone", "B222", "flag-1")
    s.ask("delete in no known cluster", "B224", delete, {"topic": "flag-2", "clusterName": "none"})
    s.route("stays", "B224", "flag-2", unordered=("body.brokerDatas", "body.queueDatas"))
    return s


def switched_off() -> Scenario:
    s = Scenario("switched-off", "Switches that refuse requests",
                 {"enableTopicList": "false", "enableAllTopicList": "false", "needWaitForService": "true",
                  "waitSecondsForService": 86400})  # fmt: skip
    s.register("a broker", "B109", register_body([topic_config("T1"), topic_config("T2")]))
    s.ask("all topics", "B221", codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    s.ask("topics of a cluster", "B231", codes.GET_TOPICS_BY_CLUSTER, {"cluster": "C1"})
    s.ask("unit topics", "B231", codes.GET_UNIT_TOPIC_LIST)
    s.ask("with unit subscription", "B231", codes.GET_HAS_UNIT_SUB_TOPIC_LIST)
    s.ask("with unit subscription only", "B231", codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST, binary=True)
    s.ask("system topics", "B232: never refused", codes.GET_SYSTEM_TOPIC_LIST_FROM_NS, unordered=LISTED)
    s.route("a route", "B205", "T1")
    s.route("a route, old client, binary", "B205", "T1", version=0, binary=True)
    s.ask("no more waiting", "B242", UPDATE, body=b"needWaitForService=false")
    s.route("a route at once", "B206, B242", "T1")
    s.ask("lists on", "B242", UPDATE, body=b"enableTopicList = true\nenableAllTopicList: TRUE\n")
    s.ask("all topics again", "B221, B242", codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, unordered=LISTED)
    return s


def configuration() -> Scenario:
    s = Scenario("configuration", "The configuration shown and changed", {"customUnknown": "abc", "customEmpty": ""})
    s.ask("at start", "B234, B247", SHOW)
    s.ask("no body", "B240", UPDATE)
    s.ask("a number, a switch and a text", "B235", UPDATE,
          body=b"waitSecondsForService=7\norderMessageEnable=true\nproductEnvName=  spaced \n")  # fmt: skip
    s.ask("bad numbers", "B237", UPDATE, body=b"waitSecondsForService=abc\nserverWorkerThreads=4.5\n")
    s.ask("a switch that is no boolean", "B235: false", UPDATE, body=b"enableTopicList=yes")
    s.ask("unknown key", "B236", UPDATE, body=b"notThere=1\n")
    s.ask("extra key of the file", "B235", UPDATE, body=b"customUnknown=changed\n")
    s.ask("shown", "B234, B235, B236, B237", SHOW, binary=True, version=0)
    for key in ("configBlackList", "configStorePath", "kvConfigPath", "rocketmqHome"):
        s.ask(f"forbidden {key}", "B238", UPDATE, body=f"{key}=x\n".encode())
    s.ask("forbidden and allowed", "B238", UPDATE, body=b"productEnvName=no\nkvConfigPath=x\n")
    s.ask("bad escape", "B239", UPDATE, body=b"productEnvName=\\u12\n")
    syntax = b"# c\n! c\n  productEnvName : one \\\n   two\\u00fc\\ttab\\\\\nenableTopicList true\n"
    s.ask("comments, separators, continuation, escapes", "B241", UPDATE, body=syntax)
    s.ask("shown after that", "B241", SHOW)
    s.ask("raw UTF-8 is read as Latin-1", "B241", UPDATE, body="productEnvName=ü😀\n".encode())
    s.ask("the last duplicate wins", "B241", UPDATE, body=b"waitSecondsForService=1\nwaitSecondsForService=2\n")
    s.ask("shown in the end", "B234, B241", SHOW)
    return s


def topics_follow_registration() -> Scenario:
    s = Scenario("delete-with-registration", "Topics that a broker no longer names are removed",
                 {"deleteTopicWithBrokerRegistration": "true"})  # fmt: skip
    first, last = topic_config("T1"), topic_config("T2")
    s.register("two topics", "B109", register_body([first, last]))
    s.register("one of them, same data version", "B159", register_body([first]))
    s.route("the other is gone", "B159", "T2")
    s.route("the one stays", "B159", "T1")
    mapping = {"T3": {"bname": "broker-a", "currIdMap": {"0": 0}, "topic": "T3", "totalQueues": 1}}
    s.register("with a static topic", "B160", register_body([last], mapping=mapping))
    s.route("nothing is removed", "B160", "T1")
    return s
