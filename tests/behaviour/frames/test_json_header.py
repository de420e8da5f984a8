"""The JSON header of a request: defaults, tolerated forms, and forms that close the connection."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import dumps, register_ext, topic_config, wrapper
from interop.harness.wire import Answer, Client, frame
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


def test_a_quoted_flag_counts(client: Client) -> None:
    """B014: flag "2" is oneway."""
    client.send(frame(json.dumps(WHOLE | {"flag": "2"}).encode()))
    assert client.stays_silent()


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
        json.dumps(WHOLE | {"extFields": ["topic", "T"]}).encode(),
        json.dumps(WHOLE | {"opaque": 2**31}).encode(),
    ],
    ids=["without end", "cut in a key", "array", "null", "text after", "object after", "byte order mark",
         "bad UTF-8", "unquoted keys", "blank", "language 99", "array as fields", "beyond 32 bit"],
)  # fmt: skip
def test_a_broken_header_closes(client: Client, header: bytes) -> None:
    """B019, B020, B021: anything but one JSON object in UTF-8 whose values a request can have."""
    client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    client.send(frame(header))
    assert client.is_closed_by_server()
