"""The header of an answer, and requests without an answer."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.wire import JSON, Client, eventually, frame, json_header
from tests.behaviour.calls import both_encodings, get_kv, put_kv
from tests.behaviour.conftest import Names

ONEWAY = 2


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
