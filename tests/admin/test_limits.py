"""Limits that no peer of the management port can exceed."""

from __future__ import annotations

import gc
import socket
import threading
from contextlib import ExitStack

import pytest
from aiohttp import web

from interop.harness.wire import eventually
from rocketns.server.http import connections
from tests.admin.conftest import Managed

LIVEZ = b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n"


def test_hanging_connections_do_not_shut_out_a_probe(managed: Managed) -> None:
    with ExitStack() as stack:
        for number in range(3 * connections.CONNECTIONS_MAX):
            connection = stack.enter_context(managed.http.connect())
            connection.sendall(b"GET /livez HTTP/1.1\r\n" * (number % 2))
        assert managed.http.ask("/livez").status == 200
        assert managed.admin is not None
        assert managed.admin.gate.connections <= connections.CONNECTIONS_MAX
        assert managed.admin.gate.closed_full >= 2 * connections.CONNECTIONS_MAX


def test_connections_of_one_host_do_not_end_that_of_another(managed: Managed) -> None:
    """A probe that takes a moment to send its request is not closed because another host opens many connections."""
    with ExitStack() as stack:
        probe = stack.enter_context(managed.http.connect())
        for _ in range(2 * connections.CONNECTIONS_MAX):
            stack.enter_context(socket.create_connection(("127.0.0.1", managed.http.port), 60, ("127.0.0.2", 0)))
        assert managed.http.ask("/livez").status == 200  # all of these are accepted
        probe.sendall(LIVEZ)
        assert probe.recv(1 << 16).startswith(b"HTTP/1.1 200")


def test_a_crowd_that_comes_at_once_waits_in_the_kernel(managed: Managed) -> None:
    """Beyond the kernel's queue a probe would be dropped, and come again after a second."""
    assert managed.admin is not None
    assert managed.http.ask("/livez").status == 200  # while it begins to serve, asyncio's own queue counts
    goes_on = threading.Event()
    managed.admin._loop.call_soon_threadsafe(goes_on.wait, 60)
    with ExitStack() as stack:
        stack.callback(goes_on.set)
        for _ in range(3 * connections.CONNECTIONS_MAX):
            stack.enter_context(socket.create_connection(("127.0.0.1", managed.http.port), 10, ("127.0.0.2", 0)))


@pytest.mark.parametrize(
    "data",
    [
        b"GET /" + b"a" * 100_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\n" + b"X-Many: a\r\n" * 10_000 + b"\r\n",
        b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"\x00\x00\x00\x75\x00\x00\x00\x71" + b'{"code":105}',
    ],
    ids=["line", "headers", "smuggled", "remoting"],
)
def test_a_bad_request_is_refused_and_its_connection_closed_without_a_line_in_the_log(
    managed: Managed, data: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    answer = managed.http.raw(data)
    assert answer.startswith(b"HTTP/1.") or not answer
    assert b" 200 " not in answer[:20]
    assert managed.http.ask("/livez").status == 200
    assert not [one for one in caplog.records if one.levelname == "ERROR"]


def test_requests_in_parts_and_one_after_the_other_are_answered_in_order(managed: Managed) -> None:
    """The second one in pieces; the third after line ends, with an upgrade that is ignored; the last is refused."""
    parts = [b"GET /livez HTTP/1.1\r\nHost: localhost\r\n\r\nGET /noth", b"ing HTTP/1.1\r\nHost: localhost\r", b"\n\r",
             b"\n\r\n\r\nGET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
             b"GET /livez HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\nx"]  # fmt: skip
    with managed.http.connect() as connection:
        for part in parts:
            connection.sendall(part)
        with connection.makefile("rb") as answers:
            got = answers.read()
    assert [part[:3] for part in got.split(b"HTTP/1.1 ")[1:]] == [b"200", b"404", b"200", b"413"]


@pytest.mark.parametrize(("query", "status"), [("topic=T&as=no-view", 404), ("topic=T", 404), ("topic=T&x=1", 400)])
def test_a_refused_request_is_not_kept_until_a_collection(managed: Managed, query: str, status: int) -> None:
    """An error that something refers to keeps the frames that it passed, and so the request with its connection."""
    gc.collect()
    gc.disable()
    try:
        assert {managed.http.ask(f"/api/v1/route?{query}").status for _ in range(20)} == {status}
        assert sum(isinstance(one, web.BaseRequest) for one in gc.get_objects()) < 5
    finally:
        gc.enable()


def test_an_answer_says_nothing_of_versions_and_is_not_framed_or_cached(managed: Managed) -> None:
    headers = managed.http.ask("/livez").headers
    assert headers["server"] == "rocketns"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    assert "default-src 'self'" in headers["content-security-policy"]


def test_a_peer_that_reads_nothing_is_closed(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    """It sends requests and reads no answers, which are large. Neither answers nor requests pile up."""
    monkeypatch.setattr(connections, "STALLED_S_MAX", 0.3)
    requests = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 1_000_000
    with managed.http.connect() as connection, pytest.raises(ConnectionError):
        connection.sendall(requests)
    assert managed.admin is not None
    assert managed.admin.gate.closed_late == 1
    assert managed.http.ask("/livez").status == 200


def test_the_largest_unread_answers_are_closed_first(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "UNSENT_BYTES_MAX", 2_000_000)
    admin = managed.admin
    assert admin is not None
    ask = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n"
    with ExitStack() as stack:
        hungry = [stack.enter_context(managed.http.connect()) for _ in range(connections.CONNECTIONS_MAX // 2)]
        for one in hungry:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4_096)
            one.sendall(ask * 500)
        eventually(lambda: admin.gate.closed_unread > 0)
        # Until it looks again, others may leave more.
        eventually(
            lambda: sum(one.unsent_bytes for one in [*admin.gate._guards.values()]) <= connections.UNSENT_BYTES_MAX
        )
        assert managed.http.ask("/livez").status == 200
