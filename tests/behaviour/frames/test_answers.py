"""The header of an answer: its keys and their order, flag, opaque, language and version; requests without an answer."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.payloads import dumps, register_body, register_ext
from interop.harness.wire import JSON, Client, eventually, frame, json_header
from tests.behaviour.calls import both_encodings, get_kv, put_kv
from tests.behaviour.conftest import Names

ONEWAY = 2
NO_FIELDS = {"brokerName": "nobody", "topic": "none", "namespace": "none", "key": "none"}
# Codes whose answer is a success, and whose Java handler makes no response header object.
WITHOUT_EXT = [100, 102, 104, 106, 206, 216, 217, 224, 304, 311, 312, 313, 318, 319, 901, 904]
# The other codes, with the result of a request that names nothing known.
WITH_EXT = {101: 22, 103: 0, 205: 0, 322: 0, 327: 0}


def fields_of(names: Names, body: bytes = b"") -> dict[str, str]:
    """Fields that any of the requests accepts."""
    return (
        NO_FIELDS
        | {"value": "v", "namespace": names.topic("ns")}
        | register_ext(names.cluster, names.broker, names.addr(), body=body)
    )


def body_of(code: int) -> bytes:
    return register_body([]) if code == codes.REGISTER_BROKER else b""


def test_the_shortest_answer_byte_for_byte(client: Client) -> None:
    """B005, B006, B007: a success without body has five keys and the encoding's name."""
    client.send(frame(json_header(codes.UPDATE_NAMESRV_CONFIG, opaque=106)))
    expected = b'{"code":0,"flag":1,"language":"JAVA","opaque":106,"serializeTypeCurrentRPC":"JSON","version":513}'
    assert client.receive_frame() == frame(expected)


@pytest.mark.parametrize(
    ("code", "optional"),
    [
        (codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, []),
        (codes.GET_ROUTEINFO_BY_TOPIC, ["remark"]),
        (codes.WIPE_WRITE_PERM_OF_BROKER, ["extFields"]),
        (codes.GET_KV_CONFIG, ["extFields", "remark"]),
    ],
)
@both_encodings
def test_the_keys_of_an_answer_are_in_alphabetical_order(
    client: Client, code: int, optional: list[str], binary: bool
) -> None:
    """B005: compact; extFields and remark, if any, are in their places."""
    answer = client.request(code, NO_FIELDS, binary=binary)
    always = ["code", "flag", "language", "opaque", "serializeTypeCurrentRPC", "version"]
    assert list(answer.header) == sorted(always + optional)
    assert answer.header_bytes == dumps(answer.header)


@pytest.mark.parametrize("code", [*(c for c in WITHOUT_EXT if c != 901), 103, 205, 322, 327])
def test_a_success_has_no_remark(client: Client, names: Names, code: int) -> None:
    """B006: the key is absent, not empty; 901 is the exception, and tested with its own row."""
    body = body_of(code)
    answer = client.request(code, fields_of(names, body), body)
    assert answer.code == codes.SUCCESS
    assert "remark" not in answer.header


@pytest.mark.parametrize("code", [*WITHOUT_EXT, 105, 219, 9999])
def test_no_ext_fields_where_the_answer_has_no_header_class(client: Client, names: Names, code: int) -> None:
    """B007: neither in success nor in failure."""
    assert "extFields" not in client.request(code, fields_of(names)).header


@pytest.mark.parametrize(("code", "result"), WITH_EXT.items())
@both_encodings
def test_ext_fields_where_the_answer_has_a_header_class(
    client: Client, names: Names, code: int, result: int, binary: bool
) -> None:
    """B008: 101 and 103 have an empty object here."""
    body = body_of(code)
    answer = client.request(code, fields_of(names, body), body, binary=binary)
    assert answer.code == result
    expected = {205: {"wipeTopicCount": "0"}, 322: {"changed": "true"}, 327: {"addTopicCount": "0"}}
    assert answer.ext == expected.get(code, {})
    assert (b'"extFields":{}' in answer.header_bytes) == (code in {101, 103})


@pytest.mark.parametrize("flag", [0, 4, 8, 0x7FFFFFFC, -4])
@both_encodings
def test_the_flag_of_an_answer_is_one(client: Client, flag: int, binary: bool) -> None:
    """B035: other bits of the request are not copied."""
    answer = client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, flag=flag, binary=binary)
    assert answer.header["flag"] == 1


@pytest.mark.parametrize("opaque", [0, -1, 1, 2**31 - 1, -(2**31)])
@pytest.mark.parametrize("code", [codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, codes.GET_ROUTEINFO_BY_TOPIC, 9999])
@both_encodings
def test_the_opaque_is_copied(client: Client, code: int, opaque: int, binary: bool) -> None:
    """B036: negatives included, and the same number twice."""
    for _ in range(2):
        assert client.request(code, opaque=opaque, binary=binary).opaque == opaque


@pytest.mark.parametrize("version", [0, 37, 400, 612, 32767])
@both_encodings
def test_language_and_version_are_the_servers_own(client: Client, version: int, binary: bool) -> None:
    """B037: the answer's language does not depend on the request."""
    language = 9 if binary else "GO"
    answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, version=version, language=language, binary=binary)
    assert (answer.header["language"], answer.header["version"], answer.serialize_type) == ("JAVA", 513, JSON)


@both_encodings
def test_a_oneway_request_is_executed_without_an_answer(client: Client, names: Names, binary: bool) -> None:
    """B038: the value is stored, and the next answer belongs to the next request."""
    fields = {"namespace": names.topic("ns"), "key": "k", "value": "oneway"}
    client.post(codes.PUT_KV_CONFIG, fields, binary=binary, flag=ONEWAY)
    eventually(lambda: get_kv(client, names.topic("ns"), "k").ext == {"value": "oneway"})
    assert client.stays_silent(0.1)


@pytest.mark.parametrize(
    ("code", "ext"),
    [
        (codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "none"}),
        (codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, None),
        (codes.GET_KV_CONFIG, {"namespace": "none", "key": "none"}),
        (codes.REGISTER_BROKER, {"clusterName": "none"}),
        (9999, None),
    ],
    ids=["route", "list", "not found", "failing", "unknown"],
)
@pytest.mark.parametrize("flag", [ONEWAY, 6])
def test_a_oneway_request_is_never_answered(client: Client, code: int, ext: dict[str, str] | None, flag: int) -> None:
    """B038, B039: a oneway request gets no answer, be it success, failure or "not supported"."""
    client.post(code, ext, flag=flag)
    assert client.stays_silent(0.15)


@pytest.mark.parametrize("flag", [1, 3, 5])
@both_encodings
def test_a_frame_with_the_response_bit_is_dropped(client: Client, names: Names, flag: int, binary: bool) -> None:
    """B040: the frame answers no request of this server. Its request is not executed, the connection stays open."""
    put_kv(client, names.topic("ns"), "k", "before")
    client.post(
        codes.PUT_KV_CONFIG, {"namespace": names.topic("ns"), "key": "k", "value": "x"}, flag=flag, binary=binary
    )
    assert client.stays_silent(0.1)
    assert get_kv(client, names.topic("ns"), "k").ext == {"value": "before"}


def test_pipelined_requests_are_all_answered(client: Client) -> None:
    """B041: each request is answered once, in any order, and each answer has its request's opaque."""
    codes_of = {n: codes.GET_ROUTEINFO_BY_TOPIC if n % 2 else n for n in range(10_000, 10_600)}
    client.send(b"".join(frame(json_header(code, {"topic": f"none-{n}"}, opaque=n)) for n, code in codes_of.items()))
    got = {answer.opaque: answer.remark for answer in (client.receive() for _ in codes_of)}
    assert got.keys() == codes_of.keys()
    for n, remark in got.items():
        assert (f"for the topic: none-{n}\n" if n % 2 else f"request type {n} not supported") in (remark or "")
    assert client.stays_silent(0.1)
