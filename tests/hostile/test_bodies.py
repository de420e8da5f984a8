"""Bodies and headers that are small on the wire, and large, deep or slow once decoded."""

from __future__ import annotations

import struct
import zlib

import pytest

from interop.harness import codes
from interop.harness.payloads import register_ext
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client, frame, json_header
from rocketns.protocol.bounds import INFLATED_BYTES_MAX, LENIENT_BYTES_MAX
from tests.behaviour.steps import assert_decode_failed
from tests.hostile.conftest import StartServer
from tests.hostile.witness import MB, Witness, leaves_nothing

# zlib's level at which even zeros stay within INFLATED_RATIO_MAX.
PACKED_LITTLE = 1
COUNT_MAX = struct.pack(">i", 2**31 - 1)


def block(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


VERSION = block(b'{"counter":1}')
NO_TOPICS = struct.pack(">i", 0) + block(b"[]")

HOSTILE_SECTIONS = {
    "nothing behind the count of topics": VERSION + COUNT_MAX,
    "nothing behind the count of mappings": VERSION + NO_TOPICS + COUNT_MAX,
    "a line longer than the body": VERSION + struct.pack(">i", 1) + COUNT_MAX + b"x",
    "a line of negative length": VERSION + struct.pack(">ii", 1, -1),
    "a version longer than the body": COUNT_MAX + b"{}",
    "a version of negative length": struct.pack(">i", -(2**31)) + b"{}",
    "a filter list longer than the body": VERSION + struct.pack(">i", 0) + COUNT_MAX,
    "no version": b"",
    "deeply nested mapping": VERSION + NO_TOPICS + struct.pack(">i", 1) + block(b"[" * 9000),
}


def register(client: Client, body: bytes, **ext: object) -> Answer:
    fields = register_ext("HostileCluster", "hostile", "10.9.9.9:1", 0, body, **ext)
    return client.request(codes.REGISTER_BROKER, fields, body)


def assert_refused(server: NameServer, body: bytes, *, times: int = 2) -> None:
    """The registration is refused each time, others are served meanwhile, and no connection stays."""
    with leaves_nothing(server), Witness(server), Client(server.port, timeout_s=60) as client:
        for _ in range(times):
            assert_decode_failed(register(client, body, compressed="true"))


def test_hostile_counts_in_a_compressed_body(shared_server: NameServer) -> None:
    """B129: counts and lengths beyond the body: code 1, and no memory is reserved for them."""
    for body in HOSTILE_SECTIONS.values():
        assert_refused(shared_server, zlib.compress(body), times=20)


EMPTY = zlib.compress(VERSION + COUNT_MAX + bytes(INFLATED_BYTES_MAX - 100), PACKED_LITTLE)  # blocks of no bytes
NO_MAPPINGS = zlib.compress(VERSION + NO_TOPICS + COUNT_MAX + bytes(INFLATED_BYTES_MAX - 100), PACKED_LITTLE)


def test_a_body_that_inflates_without_end(server: NameServer) -> None:
    """B129: to a thousand times its size, below and above the limit of inflated bytes.

    No topic and no mapping may be empty, so the first one refuses the body and the rest costs nothing.
    """
    bombs = map(zlib_bomb, (INFLATED_BYTES_MAX - MB, INFLATED_BYTES_MAX + MB, 256 * MB))
    for body in (EMPTY, NO_MAPPINGS, *bombs):
        assert_refused(server, body)


def zlib_bomb(size: int) -> bytes:
    """One block of blanks with a correct length."""
    deflater = zlib.compressobj(1)
    parts = [deflater.compress(struct.pack(">i", size))]
    parts += [deflater.compress(b" " * MB) for _ in range(size // MB)]
    return b"".join([*parts, deflater.flush()])


NESTED = {
    "arrays": (b"[", b"]"),
    "objects": (b'{"a":', b"}"),
    "lenient arrays": (b"[//\n", b"]"),
    "lenient objects": (b"{'a':", b"}"),
}


BODY_PLACES = (b"%b", b'{"topicConfigSerializeWrapper":%b}', b'{"filterServerList":[%b]}')
HEADER_PLACES = (b'{"code":101,"extFields":{"key":%b},"opaque":1}', b'{"code":%b,"opaque":1}', b"%b")


def nested(kind: str, depth: int) -> bytes:
    opening, closing = NESTED[kind]
    return opening * depth + (b"1" if opening.endswith(b":") else b"") + closing * depth


@pytest.mark.parametrize("kind", NESTED)
def test_deep_nesting(shared_server: NameServer, kind: str) -> None:
    """B020, B134: both parsers refuse nesting by its type or its depth, before any stack runs out."""
    with leaves_nothing(shared_server), Witness(shared_server, rounds_min=1):
        for depth in (200, 900, 980, 1_023, 1_025, 20_000):
            send_nested(shared_server, nested(kind, depth))


def send_nested(server: NameServer, value: bytes) -> None:
    """As a body and inside one, as a header and inside one."""
    with server.connect() as client:
        for place in BODY_PLACES:
            assert register(client, place % value, compressed="false").code in (codes.SUCCESS, codes.SYSTEM_ERROR)
        assert client.request(codes.QUERY_DATA_VERSION, {"clusterName": "c", "brokerAddr": "a"}, value).code <= 1
        assert client.request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "t"}, value).code <= 1
    for place in HEADER_PLACES:
        with server.connect() as client:
            client.send(frame(place % value))
            assert is_answered_or_closed(client)


def is_answered_or_closed(client: Client) -> bool:
    try:
        return client.receive().code >= 0
    except ConnectionError:
        return True


SLOW_JSON = {
    "numbers": b"{'a':[" + b"1," * (LENIENT_BYTES_MAX // 2 - 10) + b"1]}",
    "arrays": b"{'a':[" + (b"[" * 120 + b"]" * 120 + b",") * (LENIENT_BYTES_MAX // 241) + b"1]}",
    "keys": b"{" + b"".join(b"'%06d':1," % n for n in range(LENIENT_BYTES_MAX // 11 - 2)) + b"'a':1}",
    "escapes": b"{'a':'" + b"\\x41" * (LENIENT_BYTES_MAX // 4 - 10) + b"'}",
}


@pytest.mark.parametrize("kind", SLOW_JSON)
def test_slow_json_at_its_limit(shared_server: NameServer, kind: str) -> None:
    """B134: the longest text that only the lenient parser accepts: slow, and others are served in between."""
    body = SLOW_JSON[kind]
    assert LENIENT_BYTES_MAX - 300 < len(body) <= LENIENT_BYTES_MAX
    with (
        leaves_nothing(shared_server),
        Witness(shared_server, rounds_min=2),
        shared_server.connect() as client,
    ):
        client.send(frame(json_header(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "t"}), body) * 3)
        assert [client.receive().code for _ in range(3)] == [codes.SUCCESS] * 3


BEYOND = {
    "lenient": b"{'a':[" + b"1," * (7 * MB) + b"1]}",
    "small values": b'{"queueDatas":0,"a":[' + b"[]," * (5 * MB) + b"[]]}",
}


@pytest.mark.parametrize("body", BEYOND.values(), ids=BEYOND)
def test_json_beyond_its_limits(server: NameServer, body: bytes) -> None:
    """B134: 16 MB that only the lenient parser could read, or five million empty lists: refused without parsing."""
    with leaves_nothing(server), Witness(server, rounds_min=2):
        assert register_topic(server, body).code == codes.SYSTEM_ERROR


def register_topic(server: NameServer, body: bytes) -> Answer:
    with Client(server.port, timeout_s=60) as client:
        return client.request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "t"}, body)


def test_an_answer_that_does_not_fit_its_header(start_server: StartServer) -> None:
    """A value of 3 MB with six bytes a character in an answer: its reader gets code 1, others notice nothing."""
    server = start_server()
    fields = {"namespace": "ns", "key": "k"}
    with leaves_nothing(server), Witness(server), Client(server.port, timeout_s=60) as client:
        put = client.request(codes.PUT_KV_CONFIG, fields | {"value": "\x01" * (3 * MB)}, binary=True)
        assert put.code == codes.SUCCESS
        answer = client.request(codes.GET_KV_CONFIG, fields)
        assert (answer.code, answer.body) == (codes.SYSTEM_ERROR, None)
        assert answer.remark
