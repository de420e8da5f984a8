"""Bodies and headers that are small on the wire, and large, deep or slow once decoded."""

from __future__ import annotations

import struct
import zlib
from contextlib import ExitStack

import pytest

from interop.harness import codes
from interop.harness.payloads import register_ext
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client, frame, json_header
from rocketns.protocol.bounds import INFLATED_BYTES_MAX, LENIENT_BYTES_MAX
from tests.behaviour.steps import assert_decode_failed
from tests.hostile.bytes.dear import PACKED_LITTLE
from tests.hostile.conftest import StartServer
from tests.hostile.watch import MB, costs_at_most
from tests.hostile.witness import Witness

SMALL_GROWTH = 24 * MB
INFLATING_GROWTH = 32 * MB  # inflated memory is freed at once, and only what is read is inflated
SLOWEST_CPU_S = 1.0  # the most expensive frames take some 0.1 s, and several are sent
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


def assert_refused(server: NameServer, body: bytes, growth_max: int, *, times: int = 2) -> None:
    """The registration is refused each time, others are served meanwhile, and memory stays within the limit."""
    with costs_at_most(server, growth_max), Witness(server, SLOWEST_CPU_S), Client(server.port, timeout_s=60) as client:
        for _ in range(times):
            assert_decode_failed(register(client, body, compressed="true"))


@pytest.mark.parametrize("name", HOSTILE_SECTIONS)
def test_hostile_counts_in_a_compressed_body(shared_server: NameServer, name: str) -> None:
    """B129: counts and lengths beyond the body: code 1, and no memory is reserved for them."""
    assert_refused(shared_server, zlib.compress(HOSTILE_SECTIONS[name]), SMALL_GROWTH, times=20)


EMPTY = bytes(INFLATED_BYTES_MAX - 100)  # blocks of no bytes


@pytest.mark.parametrize("before", [COUNT_MAX, NO_TOPICS + COUNT_MAX], ids=["topics", "mappings"])
def test_a_compressed_body_of_millions_of_empty_blocks(server: NameServer, before: bytes) -> None:
    """B129: no topic and no mapping may be empty, so the first one refuses the body and the rest costs nothing."""
    assert_refused(server, zlib.compress(VERSION + before + EMPTY, PACKED_LITTLE), INFLATING_GROWTH)


@pytest.mark.parametrize("inflated", [INFLATED_BYTES_MAX - MB, INFLATED_BYTES_MAX + MB, 256 * MB])
def test_a_body_that_inflates_without_end(server: NameServer, inflated: int) -> None:
    """B129: a body that inflates to a thousand times its size, below and above the limit of inflated bytes."""
    assert_refused(server, zlib_bomb(inflated), INFLATING_GROWTH)


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


@pytest.mark.parametrize("depth", [100, 200, 300, 1_025, 20_000])
@pytest.mark.parametrize("kind", NESTED)
def test_deep_nesting(shared_server: NameServer, kind: str, depth: int) -> None:
    """B020, B134: both parsers refuse nesting by its type or its depth, before any stack runs out."""
    with costs_at_most(shared_server, SMALL_GROWTH), Witness(shared_server, rounds_min=1):
        send_nested(shared_server, nested(kind, depth))


@pytest.mark.parametrize("kind", ["arrays", "objects"])
def test_nesting_as_deep_as_the_parser_takes(shared_server: NameServer, kind: str) -> None:
    """B020, B134: one level less than the parser refuses. Python's own stack is shorter."""
    with costs_at_most(shared_server, SMALL_GROWTH), Witness(shared_server, rounds_min=1):
        for depth in (900, 980, 1_023):
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
    "texts": b"{'a':[" + b"''," * (LENIENT_BYTES_MAX // 3 - 10) + b"1]}",
    "arrays": b"{'a':[" + (b"[" * 120 + b"]" * 120 + b",") * (LENIENT_BYTES_MAX // 241) + b"1]}",
    "keys": b"{" + b"".join(b"'%06d':1," % n for n in range(LENIENT_BYTES_MAX // 11 - 2)) + b"'a':1}",
    "escapes": b"{'a':'" + b"\\x41" * (LENIENT_BYTES_MAX // 4 - 10) + b"'}",
    "comments": b"{'a':1" + b"/**/" * (LENIENT_BYTES_MAX // 4 - 10) + b"}",
}


@pytest.mark.parametrize("kind", SLOW_JSON)
def test_slow_json_at_its_limit(shared_server: NameServer, kind: str) -> None:
    """B134: the longest text that only the lenient parser accepts: slow, and others are served in between."""
    body = SLOW_JSON[kind]
    assert LENIENT_BYTES_MAX - 300 < len(body) <= LENIENT_BYTES_MAX
    with (
        costs_at_most(shared_server, SMALL_GROWTH),
        Witness(shared_server, SLOWEST_CPU_S, rounds_min=2),
        shared_server.connect() as client,
    ):
        client.send(frame(json_header(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "t"}), body) * 3)
        assert [client.receive().code for _ in range(3)] == [codes.SUCCESS] * 3


def test_slow_headers_on_many_connections(shared_server: NameServer) -> None:
    """B021: the cost of one turn of reading does not grow with the number of peers that send slow headers."""
    header = b'{"code":206,"opaque":1,\'a\':[' + b"1," * (LENIENT_BYTES_MAX // 2 - 100) + b"1]}"
    with Witness(shared_server), ExitStack() as stack:
        clients = [stack.enter_context(Client(shared_server.port, timeout_s=60)) for _ in range(10)]
        for client in clients:
            client.send(frame(header))
        assert all(is_answered_or_closed(client) for client in clients)


def test_slow_json_beyond_its_limit(server: NameServer) -> None:
    """B134: 16 MB that only the lenient parser could read are refused without parsing."""
    body = b"{'a':[" + b"1," * (7 * MB) + b"1]}"
    with costs_at_most(server, 128 * MB), Witness(server, SLOWEST_CPU_S, rounds_min=2):
        assert register_topic(server, body).code == codes.SYSTEM_ERROR


def test_the_largest_bodies_of_the_smallest_values(server: NameServer) -> None:
    """B134: a frame of 16 MB with five million empty lists is refused before any list is created."""
    body = b'{"queueDatas":0,"a":[' + b"[]," * (5 * MB) + b"[]]}"
    with costs_at_most(server, 80 * MB), Witness(server, SLOWEST_CPU_S, rounds_min=2):
        assert {register_topic(server, body).code for _ in range(2)} == {codes.SYSTEM_ERROR}


def register_topic(server: NameServer, body: bytes) -> Answer:
    with Client(server.port, timeout_s=60) as client:
        return client.request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "t"}, body)


def test_an_answer_that_does_not_fit_its_header(start_server: StartServer) -> None:
    """A value of 3 MB with six bytes a character in an answer: its reader gets code 1, others notice nothing."""
    server = start_server()
    fields = {"namespace": "ns", "key": "k"}
    with costs_at_most(server, 128 * MB), Witness(server, SLOWEST_CPU_S), Client(server.port, timeout_s=60) as client:
        put = client.request(codes.PUT_KV_CONFIG, fields | {"value": "\x01" * (3 * MB)}, binary=True)
        assert put.code == codes.SUCCESS
        answer = client.request(codes.GET_KV_CONFIG, fields)
        assert (answer.code, answer.body) == (codes.SYSTEM_ERROR, None)
        assert answer.remark
