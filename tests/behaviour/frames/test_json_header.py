"""The JSON header of a request: defaults, tolerated forms, and forms that close the connection."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import dumps, register_ext, topic_config, wrapper
from interop.harness.wire import Answer, Client, frame
from tests.behaviour.calls import get_kv
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered

WHOLE: dict[str, Any] = {
    "code": codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER,
    "flag": 0,
    "language": "JAVA",
    "opaque": 77,
    "serializeTypeCurrentRPC": "JSON",
    "version": 513,
}


def send_text(client: Client, header: str | bytes) -> Answer:
    client.send(frame(header.encode() if isinstance(header, str) else header))
    return client.receive()


def send(client: Client, **changed: Any) -> Answer:
    return send_text(client, json.dumps(WHOLE | changed))


def without(key: str, **changed: Any) -> str:
    return json.dumps({k: v for k, v in (WHOLE | changed).items() if k != key})


def test_a_missing_opaque_is_made_up_by_the_server(client: Client) -> None:
    """B009: the request is answered, with an opaque that the server chooses."""
    first, second = (send_text(client, without("opaque")) for _ in range(2))
    assert first.code == second.code == codes.SUCCESS
    assert isinstance(first.opaque, int)
    assert first.opaque != second.opaque


def test_a_missing_version_gets_the_oldest_route_dialect(client: Client, names: Names) -> None:
    """B010: version 0 is below 4.9.4, so map keys are not quoted."""
    registered(client, names)
    topic = {"topic": names.topic()}
    answer = send_text(client, without("version", code=codes.GET_ROUTEINFO_BY_TOPIC, extFields=topic))
    assert answer.code == codes.SUCCESS
    assert b'"brokerAddrs":{0:"' in (answer.body or b"")


def test_a_missing_version_reads_the_oldest_registration(client: Client, names: Names) -> None:
    """B010: version 0 is below 3.0.11, so the body is the bare topic wrapper."""
    fields = register_ext(names.cluster, names.broker, names.addr(), bodyCrc32=None)
    body = dumps(wrapper([topic_config(names.topic(name)) for name in "TU"]))
    client.send(frame(without("version", code=codes.REGISTER_BROKER, extFields=fields).encode(), body))
    assert client.receive().code == codes.SUCCESS
    assert names.topic("U") in client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).json()["topicList"]


def test_a_missing_flag_is_a_two_way_request(client: Client) -> None:
    """B011: the request is answered."""
    assert send_text(client, without("flag")).code == codes.SUCCESS


@pytest.mark.parametrize("header", ["{}", '{"code":null}', '{"opaque":5,"Code":206}'])
def test_a_missing_code_is_code_zero(client: Client, header: str) -> None:
    """B012: absent, null, or spelled in other letter case."""
    client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    answer = send_text(client, header)
    assert (answer.code, answer.remark) == (codes.REQUEST_CODE_NOT_SUPPORTED, " request type 0 not supported")


@pytest.mark.parametrize("value", [1, "x", None, True, 1.5, [1, {"code": 3}], {"code": 3, "opaque": 1}])
def test_unknown_keys_are_ignored(client: Client, value: object) -> None:
    """B013: unknown keys of any type, also in front of the known ones."""
    answer = send_text(client, json.dumps({"another": value} | WHOLE | {"zzz": value}))
    assert (answer.code, answer.opaque) == (codes.SUCCESS, 77)


@pytest.mark.parametrize(
    "header",
    [
        ' {\n\t"code" : 206 , "opaque" : 77 }\r\n ',
        '{"code":1,"opaque":2,"code":206,"opaque":77}',
        '{"code":206,/* why not */"opaque":77}',
        "{'code':206,'opaque':77}",
        '{"c\\u006fde":206,"opaque":77}',
    ],
    ids=["white space", "last duplicate wins", "comment", "single quotes", "escaped key"],
)
def test_the_notation_may_be_loose(client: Client, header: str) -> None:
    """B013: other deviations that the Java parser accepts."""
    answer = send_text(client, header)
    assert (answer.code, answer.opaque) == (codes.SUCCESS, 77)


@pytest.mark.parametrize(
    "quoted", [{"code": "206"}, {"opaque": "77"}, {"version": "513"}, {"flag": "0"}, {"code": 206.0}]
)
def test_numbers_may_be_quoted(client: Client, quoted: dict[str, object]) -> None:
    """B014: numbers may be strings or have a fraction of zero."""
    answer = send(client, **quoted)
    assert (answer.code, answer.opaque) == (codes.SUCCESS, 77)


def test_a_quoted_flag_counts(client: Client) -> None:
    """B014: flag "2" is oneway."""
    client.send(frame(json.dumps(WHOLE | {"flag": "2"}).encode()))
    assert client.stays_silent()


@pytest.mark.parametrize("name", ["ROCKETMQ", "PROTOBUF", None])
def test_the_header_word_wins_over_the_named_encoding(client: Client, name: str | None) -> None:
    """B015: a JSON header may claim anything."""
    answer = send(client, serializeTypeCurrentRPC=name)
    assert (answer.code, answer.header["serializeTypeCurrentRPC"]) == (codes.SUCCESS, "JSON")


@pytest.mark.parametrize("language", ["GO", "COBOL", "", None, 0, 9, 13])
def test_any_language_is_accepted(client: Client, language: object) -> None:
    """B016: unknown names, null and enum numbers."""
    assert send(client, language=language).code == codes.SUCCESS


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("123", "123"),
        ("true", "true"),
        ("false", "false"),
        ("1.50", "1.50"),
        ('{"a":1}', '{"a":1}'),
        ("-7", "-7"),
    ],
)
def test_ext_values_of_other_types_are_text(client: Client, names: Names, value: str, text: str) -> None:
    """B017: a key-value pair given as a number or a boolean is read back as its text."""
    fields = f'{{"namespace":"{names.topic("ns")}","key":"k","value":{value}}}'
    assert send_text(client, f'{{"code":{codes.PUT_KV_CONFIG},"extFields":{fields}}}').code == codes.SUCCESS
    assert get_kv(client, names.topic("ns"), "k").ext == {"value": text}


def test_a_numeric_ext_value_names_a_key(client: Client, names: Names) -> None:
    """B017: key 12 finds what was stored under "12"."""
    fields = {"namespace": names.topic("ns"), "key": 12, "value": "v"}
    assert client.request(codes.PUT_KV_CONFIG, fields).code == codes.SUCCESS
    assert client.request(codes.GET_KV_CONFIG, fields | {"key": "12"}).ext == {"value": "v"}


@pytest.mark.parametrize("field", ["namespace", "key"])
def test_a_null_ext_value_is_an_absent_field(client: Client, field: str) -> None:
    """B018: PUT_KV_CONFIG misses it."""
    answer = client.request(codes.PUT_KV_CONFIG, {"namespace": "ns", "key": "k", "value": "v"} | {field: None})
    assert (answer.code, answer.remark) == (codes.SYSTEM_ERROR, "namespace or key is null")


@pytest.mark.parametrize("fields", ["topic=T", [], ["topic", "T"]])
def test_ext_fields_that_are_no_object_close(client: Client, fields: object) -> None:
    """B019: a string or an array."""
    client.send(frame(json.dumps(WHOLE | {"extFields": fields}).encode()))
    assert client.is_closed_by_server()


@pytest.mark.parametrize("key", ["code", "opaque"])
@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**64])
def test_numbers_beyond_32_bit_close(client: Client, key: str, number: int) -> None:
    """B020: code or opaque."""
    client.send(frame(json.dumps(WHOLE | {key: number}).encode()))
    assert client.is_closed_by_server()


GOOD = json.dumps(WHOLE).encode()


@pytest.mark.parametrize(
    "header",
    [
        GOOD[:-1],
        GOOD[:20],
        b"[" + GOOD + b"]",
        b"null",
        GOOD + b"x",
        GOOD + b" {}",
        b"\xef\xbb\xbf" + GOOD,
        GOOD.replace(b"JAVA", b"\xff\xfe"),
        b"{code:206,opaque:77}",
        b"   ",
        json.dumps(WHOLE | {"language": 99}).encode(),
    ],
    ids=["without end", "cut in a key", "array", "null", "text after", "object after", "byte order mark",
         "bad UTF-8", "unquoted keys", "blank", "language 99"],
)  # fmt: skip
def test_a_broken_header_closes(client: Client, header: bytes) -> None:
    """B021: anything but one JSON object in UTF-8."""
    client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    client.send(frame(header))
    assert client.is_closed_by_server()
