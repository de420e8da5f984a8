"""rocketns.nameBytesMax: every name of every request, at the bound and one byte beyond it."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import compressed_body, dumps, register_body, register_ext, topic_config, wrapper
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client
from rocketns.config.limits import NAME_BYTES_MAX
from rocketns.protocol.bounds import REPEATED_BYTES_MAX
from tests.behaviour.conftest import Names
from tests.behaviour.steps import assert_decode_failed, register_with, registered
from tests.behaviour.views import ask_route, topic_list
from tests.hostile.conftest import StartServer

EXCEPTION = "org.apache.rocketmq.remoting.exception.RemotingCommandException: "
TOO_LONG = f" has {NAME_BYTES_MAX + 1} bytes, more than rocketns.nameBytesMax={NAME_BYTES_MAX}"
BROKER = register_ext("NameBounds", "bounds", "10.9.9.8:1", body=register_body([topic_config("T")]))
KEY = {"namespace": "n", "key": "k", "value": "v"}

FIELDS: dict[int, dict[str, str]] = {
    codes.PUT_KV_CONFIG: KEY,
    codes.GET_KV_CONFIG: KEY,
    codes.DELETE_KV_CONFIG: KEY,
    codes.GET_KVLIST_BY_NAMESPACE: {"namespace": "n"},
    codes.REGISTER_BROKER: {
        name: BROKER[name] for name in ("brokerName", "brokerAddr", "clusterName", "haServerAddr")
    } | {"__ZONE_NAME": "z"},
    codes.UNREGISTER_BROKER: {name: BROKER[name] for name in ("brokerName", "brokerAddr", "clusterName")},
    codes.GET_ROUTEINFO_BY_TOPIC: {"topic": "t"},
    codes.WIPE_WRITE_PERM_OF_BROKER: {"brokerName": "b"},
    codes.ADD_WRITE_PERM_OF_BROKER: {"brokerName": "b"},
    codes.DELETE_TOPIC_IN_NAMESRV: {"topic": "t", "clusterName": "c"},
    codes.REGISTER_TOPIC_IN_NAMESRV: {"topic": "t"},
    codes.GET_TOPICS_BY_CLUSTER: {"cluster": "c"},
    codes.QUERY_DATA_VERSION: {"brokerAddr": "a", "clusterName": "c"},
    codes.BROKER_HEARTBEAT: {"brokerAddr": "a", "clusterName": "c"},
    codes.GET_BROKER_MEMBER_GROUP: {"brokerName": "b", "clusterName": "c"},
}  # fmt: skip

OLD_VERSION = 0  # sends the wrapper alone
UMLAUT = "\u00fc"


def name_of(size: int) -> str:
    """Characters of two bytes and, for an odd size, one of one byte."""
    return UMLAUT * (size // 2) + "x" * (size % 2)


def ask(client: Client, code: int, fields: dict[str, str], *, binary: bool = False) -> Answer:
    if code == codes.REGISTER_BROKER:
        body = register_body([topic_config("T")])
        return client.request(code, register_ext("NameBounds", "bounds", "10.9.9.8:1", 0, body) | fields, body,
                              binary=binary)  # fmt: skip
    return client.request(code, fields, binary=binary)


def is_refused(answer: Answer, what: str) -> bool:
    return (answer.code, answer.remark) == (codes.SYSTEM_ERROR, f"{EXCEPTION}{what}{TOO_LONG}")


def every_field() -> Iterator[Any]:
    for code, fields in FIELDS.items():
        for field in fields:
            if field != "value":
                yield pytest.param(code, field, id=f"{code}-{field}")


@pytest.mark.parametrize("binary", [False, True], ids=["json", "binary"])
@pytest.mark.parametrize(("code", "field"), [*every_field()])
def test_a_name_in_a_header(shared_server: NameServer, code: int, field: str, binary: bool) -> None:
    """Refused beyond the bound, with an answer; the connection is of use afterwards."""
    with shared_server.connect() as client:
        beyond = ask(client, code, FIELDS[code] | {field: name_of(NAME_BYTES_MAX + 1)}, binary=binary)
        assert is_refused(beyond, field), beyond.remark
        taken = ask(client, code, FIELDS[code] | {field: name_of(NAME_BYTES_MAX)}, binary=binary)
        assert "nameBytesMax" not in (taken.remark or "")


def two_topics(name: str) -> list[dict[str, Any]]:
    """A broker that is not known yet registers more than one."""
    return [topic_config(name), topic_config("U")]


def body_of(place: str, name: str) -> bytes:
    """A registration with this name in one place of its body."""
    topics, filters, mapping = two_topics("T"), [], {}
    if place == "a topic":
        topics = two_topics(name)
    elif place == "a filter server":
        filters = [name]
    else:
        info = {"topic": "M", "bname": "b", "scope": "s", "currIdMap": {}} | {place: name}
        mapping = {name if place == "key" else "M": info}
    return register_body(topics, filters=filters, mapping=mapping)


PLACES = ("a topic", "a filter server", "key", "topic", "bname", "scope")

FORMS = {
    "as brokers write it": lambda body: body,
    "with blanks": lambda body: body.replace(b":{", b" : {"),
    "with escapes": lambda body: body.replace(UMLAUT.encode(), b"\\u00fc"),
    "lenient": lambda body: body[:-1] + b",'x':1}",
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("form", FORMS)
def test_a_name_in_a_registration(shared_server: NameServer, form: str, place: str) -> None:
    names = Names()
    what = place if place.startswith("a ") else "a text of a static-topic mapping"
    with shared_server.connect() as client:
        beyond = register_with(client, names, FORMS[form](body_of(place, name_of(NAME_BYTES_MAX + 1))))
        assert_decode_failed(beyond)
        assert (beyond.remark or "").endswith(f", {what}{TOO_LONG}")
        assert register_with(client, names, FORMS[form](body_of(place, name_of(NAME_BYTES_MAX)))).code == codes.SUCCESS


def test_a_topic_whose_key_is_short(shared_server: NameServer) -> None:
    """The name counts, not the key; that has a bound too."""
    short, long = dumps(topic_config("T")), dumps(topic_config(name_of(NAME_BYTES_MAX + 1)))
    body = register_body([topic_config("T")]).replace(short, long)
    with shared_server.connect() as client:
        assert_decode_failed(register_with(client, Names(), body))
        assert_decode_failed(register_with(client, Names(), body.replace(b"{}", b" {}")))


def compressed(client: Client, size: int) -> Answer:
    return register_with(client, Names(), compressed_body(two_topics(name_of(size))), compressed="true")


def of_bytes_that_are_no_text(client: Client, size: int) -> Answer:
    """Each becomes a character of three bytes."""
    name = b"y" * (size // 3) + b"x" * (size % 3)
    inflated = zlib.decompress(compressed_body(two_topics(name.decode())))
    body = zlib.compress(inflated.replace(name, name.replace(b"y", b"\xff")))
    return register_with(client, Names(), body, compressed="true")


def before_3_0_11(client: Client, size: int) -> Answer:
    return register_with(client, Names(), dumps(wrapper(two_topics(name_of(size)))), peer_version=OLD_VERSION)


def filter_server(client: Client, size: int) -> Answer:
    body = compressed_body(two_topics("T"), filters=(name_of(size),))
    return register_with(client, Names(), body, compressed="true")


def mapping(client: Client, size: int) -> Answer:
    body = compressed_body(two_topics("T"), mapping=[{"topic": name_of(size)}])
    return register_with(client, Names(), body, compressed="true")


def broker_of_217(client: Client, size: int) -> Answer:
    body = dumps({"queueDatas": [{"brokerName": name_of(size)}]})
    return client.request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "t"}, body)


def zone_of_a_lookup(client: Client, size: int) -> Answer:
    registered(client, names := Names())
    return ask_route(client, names.topic("T"), __ZONE_MODE="true", __ZONE_NAME=name_of(size))


@pytest.mark.parametrize(
    "ask_with",
    [compressed, of_bytes_that_are_no_text, before_3_0_11, filter_server, mapping, broker_of_217, zone_of_a_lookup],
)
def test_other_names(shared_server: NameServer, ask_with: Callable[[Client, int], Answer]) -> None:
    with shared_server.connect() as client:
        assert ask_with(client, NAME_BYTES_MAX).code == codes.SUCCESS
        assert "nameBytesMax" in (ask_with(client, NAME_BYTES_MAX + 1).remark or "")


def test_other_texts_may_be_long(shared_server: NameServer) -> None:
    """A KV value, a field that no class of the request has, and a language."""
    text = name_of(NAME_BYTES_MAX + 1)
    with shared_server.connect() as client:
        assert client.request(codes.PUT_KV_CONFIG, KEY | {"value": text}).code == codes.SUCCESS
        for fields in ({"clusterName": text}, {"x": text}):
            answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "t"} | fields, language=text)
            assert answer.code == codes.TOPIC_NOT_EXIST


def test_the_bound_is_a_property(start_server: StartServer) -> None:
    server = start_server({"rocketns.nameBytesMax": 5000})
    names = Names()
    with server.connect() as client:
        registered(client, names, two_topics("x" * 5000))
        assert "x" * 5000 in topic_list(client, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
        answer = client.request(codes.DELETE_TOPIC_IN_NAMESRV, {"topic": "x" * 5001})
        assert (answer.remark or "").endswith("topic has 5001 bytes, more than rocketns.nameBytesMax=5000")


@pytest.mark.parametrize("compressed", [False, True], ids=["plain", "compressed"])
def test_names_of_a_broker_count_once_a_topic(shared_server: NameServer, compressed: bool) -> None:
    """The bytes of the broker's names as JSON, times its topics: 16 MiB and no more."""
    names = Names()
    name = "\x01" * 600  # six bytes each as JSON
    size = sum(map(len, (dumps(name), dumps(names.cluster), dumps(names.addr(1)))))
    most = REPEATED_BYTES_MAX // size
    with shared_server.connect() as client:
        for count, code in ((most + 1, codes.SYSTEM_ERROR), (most, codes.SUCCESS)):
            topics = [topic_config(f"T{number}") for number in range(count)]
            body = (compressed_body if compressed else register_body)(topics)
            answer = register_with(client, names, body, brokerName=name, compressed=str(compressed).lower())
            assert answer.code == code, answer.remark


def test_static_topics_and_brokers_of_a_topic_repeat_names_too(shared_server: NameServer) -> None:
    """The broker's name once for each mapping; of 217 the topic, once for each broker that the body names."""
    mapping = {f"M{number}": {"topic": f"M{number}", "bname": "b"} for number in range(5_000)}
    body = register_body(two_topics("T"), mapping=mapping)
    queues = dumps({"queueDatas": [{"brokerName": "b"}] * 5_000})
    with shared_server.connect() as client:
        for length, code in ((3_300, codes.SUCCESS), (3_400, codes.SYSTEM_ERROR)):
            assert register_with(client, Names(), body, brokerName="b" * length).code == code
            assert client.request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "t" * length}, queues).code == code
