"""EMQX's client: it signs, and fails where an answer comes in two reads."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator

import pytest

from interop.harness.servers import NameServer
from interop.harness.wire import Client, frame
from tests.behaviour.clients.conftest import Found
from tests.behaviour.clients.parsers import Unreadable, erlang
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered

# Its buffer is as large as the larger of the socket's two buffers.
READ_BYTES = 256 * 1024
LOOKUPS = 200


def request(topic: str, opaque: int, *, signed: bool) -> bytes:
    """rocketmq_protocol_frame:get_routeinfo_by_topic/4: its members in this order, version 401."""
    fields = {"topic": topic}
    if signed:
        fields = {"AccessKey": "key", "topic": topic}
        digest = hmac.digest(b"secret", f"key{topic}".encode(), hashlib.sha1)
        fields = {"AccessKey": "key", "Signature": base64.b64encode(digest).decode(), "topic": topic}
    header = {"code": 105, "opaque": opaque, "extFields": fields, "flag": 0, "language": "ERLANG",
              "serializeTypeCurrentRPC": "JSON", "version": 401}  # fmt: skip
    return frame(json.dumps(header, separators=(",", ":")).encode())


def first_reads(client: Client, topic: str, *, signed: bool = False) -> Iterator[bytes]:
    """What the first read after each of many lookups gives."""
    for opaque in range(1, LOOKUPS + 1):
        client.send(request(topic, opaque, signed=signed))
        yield client.socket.recv(READ_BYTES)


@pytest.mark.parametrize("signed", [False, True], ids=["plain", "signed"])
def test_header_and_body_come_in_one_read(client: Client, found: Found, signed: bool) -> None:
    """B199: rocketmq_client parses each read; a header without its body counts as a topic that does not exist."""
    for opaque, read in enumerate(first_reads(client, found.topic, signed=signed), 1):
        header, route, rest = erlang(read)
        assert (header["code"], header["opaque"], rest) == (0, opaque, b"")
        assert route["brokerDatas"][0]["brokerAddrs"] == {"0": found.addr}
        assert (route["queueDatas"][0]["perm"], route["queueDatas"][0]["writeQueueNums"]) == (6, 8)


def test_a_missing_topic_is_a_header_alone(client: Client, names: Names) -> None:
    """B197: the client then asks for TBW102."""
    for read in first_reads(client, names.topic("missing")):
        header, route, rest = erlang(read)
        assert (header["code"], route, rest) == (17, None, b"")


def test_a_route_of_many_brokers_comes_in_one_read(own_server: NameServer, names: Names) -> None:
    """100 brokers are 20 KB, and are still written at once."""
    with own_server.connect() as client:
        for number in range(100):
            name = f"{names.broker}-{number}"
            registered(client, names, brokerName=name)
        for read in first_reads(client, names.topic()):
            assert len(erlang(read)[1]["brokerDatas"]) == 100


def test_the_reader_fails_as_the_client_does() -> None:
    """The test would see an answer in two pieces."""
    answer = frame(b'{"code":0,"opaque":1}', b'{"brokerDatas":[]}')
    assert erlang(answer[:-18])[1] is None
    with pytest.raises(Unreadable):
        erlang(answer[:-1])
