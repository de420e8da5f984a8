"""An empty server, and every form of request header."""

from __future__ import annotations

from interop.golden.steps import Scenario
from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_body, topic_config
from interop.harness.wire import ROCKETMQ, binary_header, json_header

VERSIONS = (0, 36, 37, 400, 401, 513)
WITHOUT_FIELDS = (
    codes.GET_KV_CONFIG,
    codes.PUT_KV_CONFIG,
    codes.DELETE_KV_CONFIG,
    codes.UNREGISTER_BROKER,
    codes.GET_ROUTEINFO_BY_TOPIC,
    codes.GET_BROKER_CLUSTER_INFO,
    codes.WIPE_WRITE_PERM_OF_BROKER,
    codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
    codes.DELETE_TOPIC_IN_NAMESRV,
    codes.REGISTER_TOPIC_IN_NAMESRV,
    codes.GET_KVLIST_BY_NAMESPACE,
    codes.GET_TOPICS_BY_CLUSTER,
    codes.GET_SYSTEM_TOPIC_LIST_FROM_NS,
    codes.GET_UNIT_TOPIC_LIST,
    codes.GET_HAS_UNIT_SUB_TOPIC_LIST,
    codes.GET_HAS_UNIT_SUB_UNUNIT_TOPIC_LIST,
    codes.UPDATE_NAMESRV_CONFIG,
    codes.ADD_WRITE_PERM_OF_BROKER,
    codes.GET_BROKER_MEMBER_GROUP,
)
AWKWARD = "a\"b\\c\td\ne\x01f/<>&'ü€😀\x7f\x85\u2028"


def empty_server() -> Scenario:
    s = Scenario("empty-server", "What a server answers that has no broker: every code without and with fields")
    for code in WITHOUT_FIELDS:
        s.ask(f"{code} without extFields", "B007, B008, B082: which answers have extFields", code)
    for code in (codes.REGISTER_BROKER, codes.QUERY_DATA_VERSION, codes.BROKER_HEARTBEAT):
        s.ask(f"{code} without extFields", "B079: a handler that fails", code, free_remark=True)
        s.ask(f"{code} with empty extFields", "B079: a handler that fails", code, {}, free_remark=True)
    for code in (0, 107, 300, 905, 1001, 9999, 32767, 2147483647, -1):
        s.ask(f"unknown code {code}", "B012, B076, B249: not supported", code)
    s.ask("unknown negative code in a binary header", "B026", -3, binary=True)
    broker = {"brokerName": "broker-a", "brokerAddr": "10.0.0.1:10911", "clusterName": "C1", "brokerId": "0"}
    s.ask("heartbeat of an unknown broker", "B174", codes.BROKER_HEARTBEAT, broker)
    s.ask("data version of an unknown broker", "B168", codes.QUERY_DATA_VERSION, broker, dumps(data_version()))
    s.ask("unregistration of an unknown broker", "B183", codes.UNREGISTER_BROKER, broker)
    s.ask("members of an unknown group", "B217", codes.GET_BROKER_MEMBER_GROUP, broker)
    s.ask("wipe of an unknown broker", "B219", codes.WIPE_WRITE_PERM_OF_BROKER, {"brokerName": "none"})
    s.ask("add of an unknown broker", "B220", codes.ADD_WRITE_PERM_OF_BROKER, {"brokerName": "none"})
    s.ask("topics of an unknown cluster", "B230", codes.GET_TOPICS_BY_CLUSTER, {"cluster": "none"})
    s.ask("deletion in an unknown cluster", "B224", codes.DELETE_TOPIC_IN_NAMESRV, {"topic": "T", "clusterName": "C"})
    return s


def unknown_topics() -> Scenario:
    s = Scenario("unknown-topics", "TOPIC_NOT_EXIST for every kind of client")
    for version in VERSIONS:
        s.route(f"version {version}, JSON header", "B197", "nope", version=version)
        s.route(f"version {version}, binary header", "B197, B032", "nope", version=version, binary=True)
    for topic in ("", "%RETRY%group", "null", AWKWARD, "x" * 300):
        s.route(f"topic {topic[:12]!a}", "B088, B089, B197: the topic in the remark", topic)
        s.route(f"topic {topic[:12]!a}, binary header", "B024, B197", topic, binary=True)
    s.route("standard JSON wanted", "B200: no route", "nope", version=0, ext={"acceptStandardJsonOnly": "true"})
    s.route("zone wanted", "B211: no route", "nope", ext={"__ZONE_MODE": "true", "__ZONE_NAME": "z"})
    s.ask("no topic field", "B083, B197", codes.GET_ROUTEINFO_BY_TOPIC, {"other": "x"})
    return s


def header_forms() -> Scenario:
    s = Scenario("header-forms", "Request headers of every accepted form; what a header meant shows in the answer")
    put = codes.PUT_KV_CONFIG
    for opaque in (0, -1, 2147483647, -2147483648):
        s.ask(f"opaque {opaque}", "B036", codes.GET_BROKER_CLUSTER_INFO, opaque=opaque)
        s.ask(f"opaque {opaque}, binary", "B036", codes.GET_BROKER_CLUSTER_INFO, opaque=opaque, binary=True)
    for flag in (4, 8, -4):
        s.ask(f"flag {flag}", "B035: request bits are not copied", codes.GET_BROKER_CLUSTER_INFO, flag=flag)
    minimal = b'{"code":106,"opaque":7}'
    s.raw("code and opaque only", "B010, B011", minimal)
    s.raw("no code", "B012", b'{"opaque":8,"version":513}')
    s.raw("null code", "B012", b'{"code":null,"opaque":8}')
    s.raw("unknown keys", "B013", b'{"a":1,"b":[{"c":null}],"code":106,"d":{"e":"f"},"opaque":9}')
    s.raw("numbers as strings", "B014", b'{"code":"106","flag":"0","opaque":"10","version":"513"}')
    s.raw("number with a fraction of zero", "B014", b'{"code":106.0,"opaque":11}')
    s.raw("the header word wins", "B015", b'{"code":106,"opaque":12,"serializeTypeCurrentRPC":"ROCKETMQ"}')
    s.raw("unknown language", "B016", b'{"code":106,"language":"COBOL","opaque":13}')
    s.raw("null language", "B016", b'{"code":106,"language":null,"opaque":14}')
    s.raw("white space", "B013", b' {\t"code" : 106 ,\r\n "opaque" : 15 } ')
    s.raw("a key twice", "B013: the last one wins", b'{"code":1,"code":106,"opaque":16}')
    values = b'{"namespace":"n","key":"%s","value":%s}'
    for i, text in enumerate((b"5", b"1.50", b"true", b"false", b'"x"', b'{"a":1}', b'"\\u00fc\\n"', b"null")):
        ext = values % (b"k%d" % i, text)
        s.raw(f"ext value {text.decode()}", "B017, B018", b'{"code":%d,"extFields":%s,"opaque":17}' % (put, ext))
        s.ask(f"read back {text.decode()}", "B017, B018", codes.GET_KV_CONFIG, {"namespace": "n", "key": f"k{i}"})
    fields = {"namespace": "n", "key": "empty", "value": ""}
    s.ask("empty value, binary", "B024: as if it were not there", put, fields, binary=True)
    s.ask("read back", "B024", codes.GET_KV_CONFIG, fields, binary=True)
    s.ask("access control fields", "B251", codes.GET_KV_CONFIG, fields | {"AccessKey": "a", "Signature": "s"})
    binary = binary_header(106, opaque=18)
    s.raw("binary, negative ext length", "B028", binary[:-4] + b"\xff\xff\xff\xff", serialize_type=ROCKETMQ)
    s.raw("binary, unknown language", "B025", binary[:2] + b"\x63" + binary[3:], serialize_type=ROCKETMQ)
    s.raw("binary, with a remark", "B023", binary_header(106, opaque=19, remark=b"hello"), serialize_type=ROCKETMQ)
    s.ask("binary, with a body", "B086", 106, body=b"ignored", binary=True)
    return s


def oneway_and_responses() -> Scenario:
    s = Scenario("oneway", "Frames that get no answer: the next answer on the connection is the next request's")
    topics = [topic_config("T1"), topic_config("T2")]
    body = register_body(topics)
    s.tell("oneway unknown code", "B039", 9999)
    s.raw("a response", "B040: dropped", json_header(0, flag=1, opaque=2), answered=False)
    s.raw("a oneway response", "B040: dropped", json_header(106, flag=3, opaque=3), answered=False)
    s.tell("oneway registration without fields", "B038", codes.REGISTER_BROKER)
    s.register("oneway registration", "B038, B165", body, flag=2, answered=False)
    s.route("its route", "B165", "T1", until=b'"code":0')
    return s
