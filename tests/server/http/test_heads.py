"""Which heads of requests are passed on to aiohttp, and which are refused."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from aiohttp.http_parser import SINGLETON_HEADERS, HttpRequestParser
from hypothesis import given
from hypothesis import strategies as st

from rocketns.server.http.heads import END, FIELDS_MAX, HEAD_BYTES_MAX, HOST, LENGTH, ONCE, TEXTS, refusal, refused

GET = b"GET /a HTTP/1.1\r\nHost: a\r\n%b\r\n"
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
        (GET % b"", None),
        (b"GET / HTTP/1.0\r\n\r\n", None),
        (b"HEAD /?a=%b3#c HTTP/1.1\r\nhost:\r\n\r\n", None),
        (GET % b"Content-Length: 0\r\n", None),
        (GET % b"Upgrade: h2c\r\nConnection: Upgrade, HTTP2-Settings\r\nHTTP2-Settings: A\r\n", None),
        (GET % (b"Accept: a\r\n" * (FIELDS_MAX - 1)), None),
        (GET % (b"Accept: a\r\n" * FIELDS_MAX), 431),
        (GET % b"Content-Length: 1\r\n", 413),
        (GET % b"content-length: 0x\r\n", 413),
        (GET % b"Content-Length: 0\r\nContent-Length: 0\r\n", 400),
        (GET % b"Content-Length: 0\r\nContent-Length: 7\r\n", 413),
        (GET % b"TRANSFER-ENCODING: chunked\r\n", 413),
        (GET % b"Transfer-Encoding: identity\r\n", 413),
        (GET % b"Expect: 100-continue\r\n", 413),
        (GET % b"Host: b\r\n", 400),
        (GET % b"Content-Length : 7\r\n", 400),
        (GET % b" Content-Length: 7\r\n", 400),
        (GET % b"X: a\nContent-Length: 7\r\n", 400),
        (GET % b"X: a\rContent-Length: 7\r\n", 400),
        (GET % b"X: \0\r\n", 400),
        (b"GET / HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\n", 400),
        (b"GET  / HTTP/1.1\r\nHost: a\r\n\r\n", 400),
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
    for head in (b"GET / HTTP/1.1\r\n" + middle + END, GET % middle):
        head = head[: head.find(END) + len(END)]
        if refusal(head) is None:
            parser = HttpRequestParser(Mock(), Mock(), 65_536, max_line_size=HEAD_BYTES_MAX,
                                       max_field_size=HEAD_BYTES_MAX, max_headers=FIELDS_MAX)  # fmt: skip
            [(message, payload)], _, tail = parser.feed_data(head)
            assert not message.chunked
            assert payload.is_eof()
            assert tail == b""


def test_headers_that_aiohttp_accepts_once_are_accepted_once() -> None:
    names = {name.lower().encode() for name in SINGLETON_HEADERS}
    assert names <= ONCE | {b"transfer-encoding"}
    assert {HOST, LENGTH} <= ONCE


def test_a_refusal_is_a_whole_answer() -> None:
    for status in TEXTS:
        head, _, body = refused(status).partition(END)
        assert head.startswith(b"HTTP/1.1 %d " % status)
        assert b"\r\nConnection: close\r\n" in head
        assert b"\r\nContent-Length: %d" % len(body) in head
