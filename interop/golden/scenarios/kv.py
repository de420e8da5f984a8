"""KV configuration, and the effect of the order configuration in it."""

from __future__ import annotations

from interop.golden.scenarios.basics import AWKWARD
from interop.golden.steps import Scenario
from interop.harness import codes
from interop.harness.payloads import register_body, topic_config

ORDER = "ORDER_TOPIC_CONFIG"
VALUES = {
    "plain": "broker-a:4;broker-b:4",
    "empty": "",
    "control characters": "\x00\x01\x07\b\t\n\x0b\f\r\x0e\x1b\x1f",
    "quotes": "\"double\" 'single' \\back\\ /slash/",
    "html": "<b>&amp;</b>",
    "DEL and C1": "\x7f\x80\x85\x9f",
    "line separators": "\u2028\u2029",
    "byte order mark": "\ufeff",
    "other scripts": "ü ß € 中文 עברית",
    "emoji": "😀👩‍🚀",
    "JSON": '{"a":[1,null]}',
    "everything": AWKWARD,
}


def kv_values() -> Scenario:
    s = Scenario("kv-values", "Values of every kind, put and read back in both ways")
    for name, value in VALUES.items():
        where = {"namespace": name, "key": "k"}
        s.ask(f"put {name}", "B094, B097", codes.PUT_KV_CONFIG, where | {"value": value})
        s.ask(f"get {name}", "B088, B089, B098", codes.GET_KV_CONFIG, where)
        s.ask(f"list {name}", "B088, B089, B103", codes.GET_KVLIST_BY_NAMESPACE, where)
    where = {"namespace": AWKWARD, "key": AWKWARD}
    s.ask("miss a key with every kind of character", "B099", codes.GET_KV_CONFIG, where)
    s.ask("miss a namespace of the same kind", "B104", codes.GET_KVLIST_BY_NAMESPACE, where)
    s.ask("put under a key of the same kind", "B094", codes.PUT_KV_CONFIG, where | {"value": AWKWARD}, binary=True)
    s.ask("list it", "B103", codes.GET_KVLIST_BY_NAMESPACE, where)
    return s


def kv_life() -> Scenario:
    s = Scenario("kv-life", "Put, replace, delete; what is missing and what fails")
    first, second = {"namespace": "n", "key": "k1"}, {"namespace": "n", "key": "k2"}
    table = ("body.table",)
    s.ask("get from nothing", "B099", codes.GET_KV_CONFIG, first)
    s.ask("list nothing", "B104", codes.GET_KVLIST_BY_NAMESPACE, first)
    s.ask("delete from nothing", "B101", codes.DELETE_KV_CONFIG, first)
    s.ask("still no namespace", "B104", codes.GET_KVLIST_BY_NAMESPACE, first)
    s.ask("put", "B094", codes.PUT_KV_CONFIG, first | {"value": "1"})
    s.ask("put another", "B094", codes.PUT_KV_CONFIG, second | {"value": "2"})
    s.ask("replace", "B094", codes.PUT_KV_CONFIG, first | {"value": "one"}, binary=True, version=0)
    s.ask("get the replaced", "B098", codes.GET_KV_CONFIG, first, binary=True, version=0)
    s.ask("list both", "B103", codes.GET_KVLIST_BY_NAMESPACE, first, unordered=table)
    s.ask("put no value", "B096", codes.PUT_KV_CONFIG, {"namespace": "n", "key": "k3"})
    s.ask("get no value", "B096", codes.GET_KV_CONFIG, {"namespace": "n", "key": "k3"})
    s.ask("list without it", "B087, B096", codes.GET_KVLIST_BY_NAMESPACE, first, unordered=table)
    s.ask("delete no value", "B101", codes.DELETE_KV_CONFIG, {"namespace": "n", "key": "k3"})
    s.ask("delete", "B101", codes.DELETE_KV_CONFIG, first)
    s.ask("delete again", "B101", codes.DELETE_KV_CONFIG, first)
    s.ask("get the deleted", "B099", codes.GET_KV_CONFIG, first)
    s.ask("delete the last", "B102", codes.DELETE_KV_CONFIG, second)
    s.ask("an empty namespace stays", "B102", codes.GET_KVLIST_BY_NAMESPACE, first)
    s.ask("put without key", "B095", codes.PUT_KV_CONFIG, {"namespace": "n", "value": "v"})
    s.ask("put without namespace", "B095", codes.PUT_KV_CONFIG, {"key": "k", "value": "v"})
    s.ask("put with empty names", "B094", codes.PUT_KV_CONFIG, {"namespace": "", "key": "", "value": "v"})
    s.ask("get with empty names", "B098", codes.GET_KV_CONFIG, {"namespace": "", "key": ""})
    s.ask("get without key", "B100", codes.GET_KV_CONFIG, {"namespace": "n"})
    s.ask("get without namespace", "B100", codes.GET_KV_CONFIG, {"key": "k"})
    s.ask("list without namespace", "B104", codes.GET_KVLIST_BY_NAMESPACE, {})
    return s


def order_configuration() -> Scenario:
    s = Scenario("order-configuration", "Order configuration in routes and in the answers to brokers",
                 {"orderMessageEnable": "true"})  # fmt: skip
    body = register_body([topic_config("T1"), topic_config("T2")])
    where = {"namespace": ORDER, "key": "T1"}
    s.register("before there is any", "B117: no body", body)
    s.route("a route before there is any", "B203", "T1")
    s.ask("put", "B094", codes.PUT_KV_CONFIG, where | {"value": "broker-a:4"})
    s.register("with one", "B116: the whole namespace", body)
    s.both_dialects("an ordered topic", "B201, B203", "T1")
    s.route("a topic of which nothing is said", "B203", "T2")
    s.route("without a broker it is no route", "B197", "T3")
    s.ask("a value of every kind of character", "B088, B089", codes.PUT_KV_CONFIG, where | {"value": AWKWARD})
    s.both_dialects("it shows in the route", "B088, B089, B203", "T1")
    s.register("and in the answer to a broker", "B116", body)
    s.ask("an empty value", "B097", codes.PUT_KV_CONFIG, where | {"value": ""})
    s.route("shows as well", "B203", "T1")
    s.ask("delete", "B102", codes.DELETE_KV_CONFIG, where)
    s.register("an empty namespace", "B118: an empty table", body)
    s.route("a route after the deletion", "B203", "T1")
    s.ask("switch the routes' part off", "B242", codes.UPDATE_NAMESRV_CONFIG, body=b"orderMessageEnable=false\n")
    s.ask("put again", "B094", codes.PUT_KV_CONFIG, where | {"value": "broker-a:4"})
    s.route("not in the route", "B204", "T1")
    s.register("but told to brokers", "B116", body)
    off = b"returnOrderTopicConfigToBroker=false\n"
    s.ask("switch the brokers' part off", "B242", codes.UPDATE_NAMESRV_CONFIG, body=off)
    s.register("not told to brokers", "B119", body)
    return s
