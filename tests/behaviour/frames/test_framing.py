"""The frame of a request: lengths, header word, fragments, and which frames close the connection."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version, dumps
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, Client, binary_header, frame, json_header
from tests.behaviour.calls import both_encodings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered

FRAME_LENGTH_MAX = 16_777_212  # 16 MiB with the four bytes of the length itself
HEADER = json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER)


def length_and_word(length: int, word: int = 0) -> bytes:
    return struct.pack(">iI", length, word)


def answers(client: Client) -> bool:
    return client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code == codes.SUCCESS


def test_a_frame_is_length_word_header_and_body(client: Client) -> None:
    """B001: the length field does not count its own four bytes, in requests and in answers."""
    client.send(bytes.fromhex("0000001b00000017") + b'{"code":206,"opaque":7}')
    length, word = struct.unpack(">iI", client.socket.recv(8, socket.MSG_PEEK | socket.MSG_WAITALL))
    answer = client.receive()
    assert (answer.code, answer.opaque) == (codes.SUCCESS, 7)
    assert word == len(answer.header_bytes)
    assert length == 4 + word + len(answer.body or b"")
    assert client.stays_silent(0.05)


@both_encodings
def test_a_body_of_no_bytes_is_no_body(client: Client, names: Names, binary: bool) -> None:
    """B002: QUERY_DATA_VERSION without a body says "changed" though the stored version would be equal."""
    registered(client, names)
    fields = {"clusterName": names.cluster, "brokerAddr": names.addr()}
    same = client.request(322, fields, dumps(data_version()), binary=binary)
    empty = client.request(322, fields, b"", binary=binary)
    assert same.ext == {"changed": "false"}
    assert empty.ext == {"changed": "true"}


@pytest.mark.parametrize("kind", [2, 127, 128, 255])
def test_an_unknown_encoding_closes_the_connection(client: Client, kind: int) -> None:
    """B004: the header word's high byte is neither 0 nor 1."""
    client.send(frame(HEADER, b"", kind))
    assert client.is_closed_by_server()


def test_the_largest_frame_is_processed(client: Client) -> None:
    """B042: a length of 16777212 is legal once all bytes are there."""
    client.send(frame(HEADER, bytes(FRAME_LENGTH_MAX - 4 - len(HEADER))))
    assert client.receive().code == codes.SUCCESS
    assert answers(client)


@pytest.mark.parametrize("length", [FRAME_LENGTH_MAX + 1, FRAME_LENGTH_MAX + 5, 2**31 - 1, -1, -(2**31)])
def test_a_longer_or_negative_length_closes_at_once(client: Client, length: int) -> None:
    """B043, B044: from 16777213 on. The server does not wait for the body."""
    assert answers(client)
    client.send(struct.pack(">i", length))
    assert client.is_closed_by_server()


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_a_length_without_room_for_the_header_word_closes(client: Client, length: int) -> None:
    """B045: closed once the frame of 0 to 3 bytes is complete."""
    assert answers(client)
    client.send(struct.pack(">i", length) + bytes(length))
    assert client.is_closed_by_server()


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("excess", [1, 1000, 0xFFFFFF - len(HEADER)])
def test_a_header_longer_than_its_frame_closes(client: Client, excess: int, kind: int) -> None:
    """B046: also where the bytes of the following frame would have filled it."""
    word = kind << 24 | (len(HEADER) + excess)
    client.send(length_and_word(4 + len(HEADER), word) + HEADER + frame(HEADER))
    assert client.is_closed_by_server()


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("body", [b"", b"x" * 40])
def test_an_empty_header_closes(client: Client, kind: int, body: bytes) -> None:
    """B047: a header length of 0, with a body or without."""
    assert answers(client)
    client.send(frame(b"", body, kind))
    assert client.is_closed_by_server()


@both_encodings
def test_a_frame_may_come_byte_by_byte(client: Client, binary: bool) -> None:
    """B048: a fragment may have any size."""
    data = frame(binary_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER), b"", ROCKETMQ) if binary else frame(HEADER)
    for at in range(len(data)):
        client.send(data[at : at + 1])
    assert client.receive().code == codes.SUCCESS


@pytest.mark.parametrize("cut", [3, 4, 8, 11, 12, 13, len(frame(HEADER)) - 1])
def test_a_frame_may_be_cut_anywhere(client: Client, cut: int) -> None:
    """B048: two frames in two segments; the server has seen the first segment before the second is sent."""
    data = frame(HEADER) + frame(json_header(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, opaque=2))
    client.send(data[:cut])
    assert client.stays_silent(0.05)
    client.send(data[cut:])
    assert {client.receive().opaque, client.receive().opaque} == {1, 2}


def test_a_truncated_frame_waits_for_the_rest(client: Client) -> None:
    """B049: the socket stays open, and the frame is processed when it is complete."""
    data = frame(HEADER, b"body")
    client.send(data[:-1])
    assert client.stays_silent()
    client.send(data[-1:])
    assert client.receive().code == codes.SUCCESS


@pytest.mark.parametrize("cut", [2, 6, 30])
def test_a_truncated_frame_and_the_end_close_silently(client: Client, cut: int) -> None:
    """B050: nothing is sent before the connection closes."""
    client.send(frame(HEADER)[:cut])
    client.socket.shutdown(socket.SHUT_WR)
    assert client.is_closed_by_server()


def test_a_first_frame_below_twelve_bytes_gets_no_reaction(client: Client) -> None:
    """B051: protocol detection wants 12 bytes; the ten of this frame are answered after the next ones."""
    smallest = frame(b"{}")
    client.send(smallest)
    assert client.stays_silent()
    client.send(smallest)
    assert [client.receive().code, client.receive().code] == [
        codes.REQUEST_CODE_NOT_SUPPORTED,
        codes.REQUEST_CODE_NOT_SUPPORTED,
    ]
    client.send(smallest)
    assert client.receive().code == codes.REQUEST_CODE_NOT_SUPPORTED


def test_http_text_closes(client: Client) -> None:
    """B052: its first four bytes read as a huge length."""
    client.send(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert client.is_closed_by_server()


def test_a_bad_frame_closes_only_its_own_connection(server: NameServer, client: Client) -> None:
    """B046: other connections are not affected."""
    with server.connect() as bad:
        bad.send(length_and_word(10, 500) + bytes(10))
        assert bad.is_closed_by_server()
    assert answers(client)


def test_the_frame_limit_is_an_option_of_the_process(start_server: Callable[..., NameServer]) -> None:
    """B053: com.rocketmq.remoting.frameMaxLength counts the length field too."""
    server = start_server(options=["-Dcom.rocketmq.remoting.frameMaxLength=1024"])
    with server.connect() as client:
        client.send(frame(HEADER, bytes(1020 - 4 - len(HEADER))))
        assert client.receive().code == codes.SUCCESS
        client.send(struct.pack(">i", 1021))
        assert client.is_closed_by_server()
