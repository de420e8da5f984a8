"""What the HTTP ports read: which heads of requests are passed on to aiohttp, when, and when reading stops."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from unittest.mock import Mock

import pytest
from aiohttp.http_parser import HttpRequestParser
from hypothesis import given
from hypothesis import strategies as st

from rocketns.server.http.connections import HttpConnection, HttpGate
from rocketns.server.http.heads import END, FIELDS_MAX, HEAD_BYTES_MAX, refusal
from rocketns.server.http.port import HttpPort

HEAD_OF = b"GET /a HTTP/1.1\r\nHost: a\r\n%b\r\n"
PARTS = [
    b"GET", b"POST", b"CONNECT", b"FOO", b" ", b"/", b"/a?b#c", b"*", b"//a:b@[", b"http://a/", b" HTTP/1.1",
    b" HTTP/1.0", b" HTTP/2.0", b"\r\n", b"\n", b"\r", b"\t", b"\0", b"\x7f", b"\xff", b":", b": ",
    b"Host: a\r\n", b"Host:a\r\n", b"X: y\r\n", b" X: y\r\n", b"X : y\r\n",
    b"Content-Length: 0\r\n", b"Content-Length: 5\r\n", b"content-length:\r\n",
    b"Transfer-Encoding: chunked\r\n", b"Expect: 100-continue\r\n", b"Content-Encoding: gzip\r\n",
    b"Connection: Upgrade\r\n", b"Upgrade: websocket\r\n", b"Upgrade: h2c\r\n", b"Sec-WebSocket-Key1: a\r\n",
]  # fmt: skip


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (HEAD_OF % b"", None),
        (b"GET / HTTP/1.0\r\n\r\n", None),
        (HEAD_OF % b"Content-Length: 0\r\n", None),
        (HEAD_OF % b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: A\r\n", None),
        (HEAD_OF % (b"Accept: a\r\n" * (FIELDS_MAX - 1)), None),
        (HEAD_OF % (b"Accept: a\r\n" * FIELDS_MAX), 431),
        (HEAD_OF % b"Content-Length: 1\r\n", 413),
        (HEAD_OF % b"Content-Length: 0\r\nContent-Length: 0\r\n", 400),
        (HEAD_OF % b"Content-Length: 0\r\nContent-Length: 7\r\n", 413),
        (HEAD_OF % b"TRANSFER-ENCODING: chunked\r\n", 413),
        (HEAD_OF % b"Expect: 100-continue\r\n", 413),
        (HEAD_OF % b"Host: b\r\n", 400),
        (HEAD_OF % b"Content-Length : 7\r\n", 400),
        (HEAD_OF % b"X: a\nContent-Length: 7\r\n", 400),
        (HEAD_OF % b"X: a\rContent-Length: 7\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\n", 400),
        (b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
    ],
)
def test_a_request_without_a_body_is_passed_on(head: bytes, status: int | None) -> None:
    assert refusal(head) == status


@given(st.lists(st.sampled_from(PARTS) | st.binary(max_size=3), max_size=12).map(b"".join))
def test_aiohttp_finds_one_request_without_a_body_in_what_is_passed_on(middle: bytes) -> None:
    """Otherwise bytes that belong to a body could count as a request, or an error of aiohttp's could be kept."""
    for head in (b"GET / HTTP/1.1\r\n" + middle + END, HEAD_OF % middle):
        head = head[: head.find(END) + len(END)]
        if refusal(head) is None:
            parser = HttpRequestParser(Mock(), Mock(), 65_536, max_line_size=HEAD_BYTES_MAX,
                                       max_field_size=HEAD_BYTES_MAX, max_headers=FIELDS_MAX)  # fmt: skip
            [(message, payload)], _, tail = parser.feed_data(head)
            assert not message.chunked
            assert payload.is_eof()
            assert tail == b""


ROUNDS = 4  # of the loop, in which a head is passed on
GET = b"GET /%d HTTP/1.1\r\nHost: a\r\n\r\n"


class Peer:
    """A connection without a socket: what was passed on, and what was done to it."""

    def __init__(self) -> None:
        self.passed: list[bytes] = []
        self.answered = b""
        inner = Mock(data_received=self.passed.append)
        self.transport = Mock(spec=asyncio.Transport, is_closing=lambda: self.transport.close.called)
        self.transport.write = self._write
        self.transport.get_write_buffer_size.return_value = 0
        self.transport.get_extra_info.return_value = ("10.0.0.1", 1)
        self.requests = HttpConnection(HttpGate(), lambda: inner)
        self.requests.connection_made(self.transport)

    def _write(self, data: bytes) -> None:
        self.answered += data

    def sends(self, data: bytes) -> int:
        """How many bytes were read: reading ends with a paused or closed transport."""
        sent = 0
        while sent < len(data) and not self.is_paused and not self.transport.is_closing():
            buffer = self.requests.get_buffer(-1)
            part = data[sent : sent + len(buffer)]
            buffer[: len(part)] = part
            sent += len(part)
            self.requests.buffer_updated(len(part))
        return sent

    @property
    def is_paused(self) -> bool:
        calls = [call[0] for call in self.transport.method_calls if call[0] in ("pause_reading", "resume_reading")]
        return calls[-1:] == ["pause_reading"]


async def turns() -> None:
    for _ in range(ROUNDS):
        await asyncio.sleep(0)


async def test_the_next_head_waits_for_the_answer_and_for_the_peer_to_read() -> None:
    peer = Peer()
    peer.sends(GET % 1 + GET % 2 + GET % 3)
    await turns()
    assert peer.passed == [GET % 1]
    peer.requests.finish()
    assert peer.passed == [GET % 1]  # the answer is written first
    await turns()
    assert peer.passed == [GET % 1, GET % 2]
    peer.requests.pause_writing()
    peer.requests.finish()
    await turns()
    assert peer.passed == [GET % 1, GET % 2]
    peer.requests.resume_writing()
    await turns()
    assert peer.passed == [GET % 1, GET % 2, GET % 3]


async def test_no_more_is_read_than_one_head_may_have() -> None:
    peer = Peer()
    assert peer.sends(GET % 1 + b"x" * 1_000_000) == len(GET % 1) + HEAD_BYTES_MAX
    assert peer.is_paused


async def test_reading_goes_on_when_a_head_is_taken() -> None:
    peer = Peer()
    requests = GET % 1 * (2 * HEAD_BYTES_MAX // len(GET % 1))
    sent = peer.sends(requests)
    peer.requests.finish()
    await turns()
    assert not peer.is_paused
    assert peer.sends(requests[sent:]) == len(GET % 1)


async def test_a_head_without_end_and_another_protocol_are_refused() -> None:
    peer, other = Peer(), Peer()
    peer.sends(GET[:-2] + b"X: " + b"a" * HEAD_BYTES_MAX)
    assert (peer.passed, peer.answered[:12]) == ([], b"HTTP/1.1 431")
    assert other.sends(b"\x16") == 1
    assert other.answered.startswith(b"HTTP/1.1 400")
    assert other.transport.close.called


async def test_an_ended_connection_holds_nothing() -> None:
    peer = Peer()
    peer.sends(GET % 1 + b"x" * HEAD_BYTES_MAX)
    peer.requests.connection_lost(None)
    assert (peer.requests._received, peer.requests.transport) == (b"", None)


class QuietPort(HttpPort):
    """It has no requests. Its thread waits when its loop is closed."""

    def __init__(self) -> None:
        super().__init__("port", "port", ("127.0.0.1", 0), HttpGate(), None, ipv4_only=True, chosen_by="")
        self.is_closed, self.may_end = threading.Event(), threading.Event()
        self._close, self._loop.close = self._loop.close, self._close_and_wait  # type: ignore[method-assign]

    async def set_up(self) -> Callable[[], asyncio.Protocol]:
        return asyncio.Protocol

    def _close_and_wait(self) -> None:
        self._close()
        self.is_closed.set()
        self.may_end.wait()


def test_a_port_can_be_called_between_the_end_of_its_loop_and_that_of_its_thread() -> None:
    port = QuietPort()
    port.serve()
    port.call(port._ready.set)
    port.call(port._stopping.set)
    port.is_closed.wait()
    port.call(print)
    port.may_end.set()
    port.stop()
