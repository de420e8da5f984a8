"""The ROCKETMQ (binary) header of a request, written here byte by byte."""

from __future__ import annotations

import struct

import pytest

from interop.harness import codes
from interop.harness.wire import JSON, ROCKETMQ, Answer, Client, frame
from tests.behaviour.calls import get_kv
from tests.behaviour.conftest import Names

OPAQUE = 7


def header(code: int, ext: bytes = b"", remark: bytes = b"") -> bytes:
    fixed = struct.pack(">hBhii", code, 0, 513, OPAQUE, 0)
    return fixed + struct.pack(">i", len(remark)) + remark + struct.pack(">i", len(ext)) + ext


def pair(key: bytes, value: bytes) -> bytes:
    """One ext pair: short key length, key, int value length, value."""
    return struct.pack(">h", len(key)) + key + struct.pack(">i", len(value)) + value


def send(client: Client, data: bytes) -> Answer:
    client.send(frame(data, b"", ROCKETMQ))
    return client.receive()


def test_a_header_of_21_bytes_is_complete(client: Client) -> None:
    """B022: a header without remark and ext."""
    data = bytes.fromhex("00000019 01000015 006a 00 0201 00000007 00000000 00000000 00000000")
    client.send(data)
    answer = client.receive()
    assert (answer.code, answer.opaque) == (codes.SUCCESS, OPAQUE)
    assert len(header(106)) == 21


def test_several_ext_pairs_and_a_remark_are_read(client: Client, names: Names) -> None:
    """B023: UTF-8 in key and value; the remark of a request is skipped."""
    namespace = names.topic("ns").encode()
    ext = pair(b"namespace", namespace) + pair(b"key", "ключ".encode()) + pair(b"value", "значение".encode())
    assert send(client, header(codes.PUT_KV_CONFIG, ext, remark="примечание".encode())).code == codes.SUCCESS
    assert get_kv(client, namespace.decode(), "ключ").ext == {"value": "значение"}


@pytest.mark.parametrize("size", [1, 2, 12, 16, 17, 20])
def test_a_header_below_the_fixed_part_closes(client: Client, size: int) -> None:
    """B030: 21 bytes is the minimum."""
    client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    client.send(frame(header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)[:size], b"", ROCKETMQ))
    assert client.is_closed_by_server()


def test_a_binary_request_gets_the_servers_own_encoding(client: Client) -> None:
    """B032: JSON by default."""
    answer = send(client, header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))
    assert (answer.serialize_type, answer.header["serializeTypeCurrentRPC"]) == (JSON, "JSON")
