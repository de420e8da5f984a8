"""The ROCKETMQ (binary) header of a request, written here byte by byte."""

from __future__ import annotations

import struct

import pytest

from interop.harness import codes
from interop.harness.wire import JSON, ROCKETMQ, Answer, Client, frame
from tests.behaviour.calls import get_kv
from tests.behaviour.conftest import Names

OPAQUE = 7


def header(
    code: int,
    ext: bytes = b"",
    *,
    ext_length: int | None = None,
    remark: bytes = b"",
    remark_length: int | None = None,
) -> bytes:
    """A binary header with any values in its two length fields."""
    fixed = struct.pack(">hBhii", code, 0, 513, OPAQUE, 0)
    remark_size = len(remark) if remark_length is None else remark_length
    ext_size = len(ext) if ext_length is None else ext_length
    return fixed + struct.pack(">i", remark_size) + remark + struct.pack(">i", ext_size) + ext


def pair(key: bytes, value: bytes, *, key_length: int | None = None, value_length: int | None = None) -> bytes:
    """One ext pair: short key length, key, int value length, value."""
    key_size = len(key) if key_length is None else key_length
    value_size = len(value) if value_length is None else value_length
    return struct.pack(">h", key_size) + key + struct.pack(">i", value_size) + value


def send(client: Client, data: bytes, body: bytes = b"") -> Answer:
    client.send(frame(data, body, ROCKETMQ))
    return client.receive()


def closes(client: Client, data: bytes, body: bytes = b"") -> bool:
    client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)
    client.send(frame(data, body, ROCKETMQ))
    return client.is_closed_by_server()


def test_a_header_of_21_bytes_is_complete(client: Client) -> None:
    """B022: a header without remark and ext."""
    data = bytes.fromhex("00000019 01000015 006a 00 0201 00000007 00000000 00000000 00000000")
    client.send(data)
    answer = client.receive()
    assert (answer.code, answer.opaque) == (codes.SUCCESS, OPAQUE)
    assert len(header(106)) == 21


def test_an_ext_pair_has_a_short_and_an_int_length(client: Client) -> None:
    """B023: the topic is read."""
    start = bytes.fromhex("00000028 01000024 0069 00 0201 00000007 00000000 00000000")
    data = start + bytes.fromhex("0000000f 0005 746f706963 00000004 6e6f7065")
    client.send(data)
    answer = client.receive()
    assert answer.code == codes.TOPIC_NOT_EXIST
    assert "for the topic: nope\n" in (answer.remark or "")


def test_several_ext_pairs_and_a_remark_are_read(client: Client, names: Names) -> None:
    """B023: UTF-8 in key and value; the remark of a request is skipped."""
    namespace = names.topic("ns").encode()
    ext = pair(b"namespace", namespace) + pair(b"key", "ключ".encode()) + pair(b"value", "значение".encode())
    assert send(client, header(codes.PUT_KV_CONFIG, ext, remark="примечание".encode())).code == codes.SUCCESS
    assert get_kv(client, namespace.decode(), "ключ").ext == {"value": "значение"}


@pytest.mark.parametrize("empty", ["namespace", "key"])
def test_an_empty_value_is_null(client: Client, empty: str) -> None:
    """B024: an empty value counts as an absent field."""
    fields = {"namespace": b"ns", "key": b"k", "value": b"v"} | {empty: b""}
    answer = send(client, header(codes.PUT_KV_CONFIG, b"".join(pair(k.encode(), v) for k, v in fields.items())))
    assert (answer.code, answer.remark) == (codes.SYSTEM_ERROR, "namespace or key is null")


def test_an_empty_kv_value_is_not_stored(client: Client, names: Names) -> None:
    """B024: the stored value is null, and null cannot be read back."""
    ext = pair(b"namespace", names.topic("ns").encode()) + pair(b"key", b"k") + pair(b"value", b"")
    assert send(client, header(codes.PUT_KV_CONFIG, ext)).code == codes.SUCCESS
    assert get_kv(client, names.topic("ns"), "k").code == 22


@pytest.mark.parametrize("language", [14, 127, 128, 255])
def test_an_unknown_language_is_accepted(client: Client, language: int) -> None:
    """B025: a name server ignores this byte."""
    data = bytearray(header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))
    data[2] = language
    assert send(client, bytes(data)).code == codes.SUCCESS


@pytest.mark.parametrize("code", [-1, -3, -32768, 0, 32767])
def test_the_code_is_signed(client: Client, code: int) -> None:
    """B026: the remark of the refusal shows the negative number."""
    answer = send(client, header(code))
    assert (answer.code, answer.remark) == (codes.REQUEST_CODE_NOT_SUPPORTED, f" request type {code} not supported")


@pytest.mark.parametrize("length", [37, 1000, 2**31 - 1])
@pytest.mark.parametrize("body", [b"", b"x" * 2000])
def test_an_ext_length_above_the_header_length_closes(client: Client, length: int, body: bytes) -> None:
    """B027: the header has 36 bytes; a body long enough to fill the gap changes nothing."""
    data = header(105, pair(b"topic", b"nope"), ext_length=length)
    assert len(data) == 36
    assert closes(client, data, body)


@pytest.mark.parametrize("length", [-1, -(2**31)])
def test_a_negative_ext_length_is_no_ext(client: Client, length: int) -> None:
    """B028: the topic is not read."""
    answer = send(client, header(105, ext_length=length))
    assert answer.code == codes.TOPIC_NOT_EXIST
    assert "for the topic: null\n" in (answer.remark or "")


@pytest.mark.parametrize("length", [-1, -(2**31), 25, 2**31 - 1])
@pytest.mark.parametrize("body", [b"", b"x" * 100])
def test_a_bad_remark_length_closes(client: Client, length: int, body: bytes) -> None:
    """B029: negative, or above the header length of 24."""
    data = header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, remark=b"abc", remark_length=length)
    assert len(data) == 24
    assert closes(client, data, body)


@pytest.mark.parametrize("size", [1, 2, 12, 16, 17, 20])
def test_a_header_below_the_fixed_part_closes(client: Client, size: int) -> None:
    """B030: 21 bytes is the minimum."""
    assert closes(client, header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)[:size])


@pytest.mark.parametrize(
    "ext",
    [
        pair(b"topic", b"nope", value_length=16),
        pair(b"topic", b"nope", value_length=2**31 - 1),
        pair(b"topic", b"nope", value_length=-1),
        pair(b"topic", b"nope", key_length=16),
        pair(b"topic", b"nope", key_length=-1),
        pair(b"topic", b"nope")[:-5],
    ],
    ids=["value too long", "value huge", "value negative", "key too long", "key negative", "no value"],
)
@pytest.mark.parametrize("body", [b"", b"x" * 100])
def test_a_bad_length_in_an_ext_pair_closes(client: Client, ext: bytes, body: bytes) -> None:
    """B031: longer than the ext area, or negative."""
    assert closes(client, header(105, ext), body)


def test_a_binary_request_gets_the_servers_own_encoding(client: Client) -> None:
    """B032: JSON by default."""
    answer = send(client, header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER))
    assert (answer.serialize_type, answer.header["serializeTypeCurrentRPC"]) == (JSON, "JSON")
