"""The stream of server-sent events, whose readers are limited and slow nobody down; and the files of the page."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress
from typing import Any

import orjson
import pytest

from interop.harness.wire import eventually
from rocketns.admin.api import paging
from rocketns.admin.page import RANGES_MAX, chosen, stream
from rocketns.server.http import connections
from tests.admin.conftest import Broker, Managed

REQUEST = b"GET /api/v1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "PERIOD_S", 0.02)


def read_until(connection: socket.socket, *wanted: bytes) -> bytes:
    """All that comes until one of them has come."""
    got = b""
    while not any(one in got for one in wanted):
        part = connection.recv(65_536)
        assert part, got
        got += part
    return got


def read_beats(connection: socket.socket) -> Any:
    """The first heartbeats. Whoever reads late has other messages behind them."""
    mark = b"event: beats\ndata: "
    line = read_until(connection, mark).partition(mark)[2]
    line = line if b"\n" in line else line + read_until(connection, b"\n")
    return orjson.loads(line.split(b"\n")[0])


def test_heartbeats_and_changes_come_as_they_happen(managed: Managed) -> None:
    with Broker(managed, "a") as broker, managed.http.connect() as reader:
        broker.register()
        reader.sendall(REQUEST)
        read_until(reader, b"event: status")
        managed.advance(1_000)
        broker.beat()
        heard = [[broker.name, 0, managed.clock.now().epoch_ms]]
        eventually(lambda: read_beats(reader) == heard)
        broker.unregister()
        assert b"10.0.0.1:10911 is gone" in read_until(reader, b"it said that it stops")


def test_more_readers_than_the_limit_are_refused_and_the_others_and_probes_go_on(managed: Managed) -> None:
    with ExitStack() as stack:
        for _ in range(connections.STREAMS_MAX):
            reader = stack.enter_context(managed.http.connect())
            reader.sendall(REQUEST)
            read_until(reader, b"event: status")
        assert managed.http.ask("/api/v1/stream").status == 503
        assert managed.http.ask("/livez").status == 200
    eventually(lambda: _is_open(managed))


def test_one_host_with_all_streams_gives_one_up_for_another_host(managed: Managed) -> None:
    """Until both have the same number: then the newest one waits."""
    port = managed.http.port
    with ExitStack() as stack:

        def reader(host: str) -> socket.socket:
            opened = stack.enter_context(socket.create_connection(("127.0.0.1", port), 60, (host, 0)))
            opened.sendall(REQUEST)
            return opened

        greedy = [reader("127.0.0.2") for _ in range(connections.STREAMS_MAX)]
        for one in greedy:
            read_until(one, b"event: status")
        read_until(reader("127.0.0.3"), b"event: status")
        with suppress(ConnectionResetError):
            while greedy[0].recv(65_536):
                pass
        assert b" 503 " in reader("127.0.0.2").recv(100)
        for _ in range(connections.STREAMS_MAX // 2 - 1):
            read_until(reader("127.0.0.3"), b"event: status")
        assert b" 503 " in reader("127.0.0.3").recv(100)


def _is_open(managed: Managed) -> bool:
    with managed.http.connect() as reader:
        reader.sendall(REQUEST)
        return b" 200 " in reader.recv(100)


def test_more_news_than_a_message_may_have_is_a_gap(managed: Managed, monkeypatch: pytest.MonkeyPatch) -> None:
    """Names of control characters take six bytes each. Whoever reads is told to read everything again."""
    monkeypatch.setattr(stream, "PERIOD_S", 0.5)
    monkeypatch.setattr(stream, "MESSAGE_BYTES_MAX", 20_000)
    with managed.http.connect() as reader:
        reader.sendall(REQUEST)
        read_until(reader, b"event: status")
        with Broker(managed, "\x01" * 300, cluster="\x02" * 300) as broker:
            broker.register([f"{number}" + "\x03" * 300 for number in range(9)])
            got = read_until(reader, b"event: gap", b"event: changes")
    assert b"event: gap" in got


def test_long_names_are_cut_in_heartbeats(managed: Managed) -> None:
    with Broker(managed, "b" * 4_000) as broker, managed.http.connect() as reader:
        broker.register()
        reader.sendall(REQUEST)
        read_until(reader, b"event: status")
        managed.advance(1_000)
        broker.beat()
        beats = read_beats(reader)
    assert beats[0][0] == "b" * paging.NAME_CHARACTERS_MAX + "… (cut, 4000 characters)"


def test_a_page_is_served_under_its_own_names_only_with_a_strict_policy(managed: Managed) -> None:
    policy = managed.http.ask("/").headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert managed.http.ask("/page/main.js").headers["content-type"].startswith("text/javascript")
    for path in ("/page/", "/page/index.html", "/page/../files.py", "/page/%2e%2e/files.py", "/page/main.js/"):
        assert managed.http.ask(path).status == 404


@pytest.mark.parametrize(
    ("asked", "accepted", "language"),
    [
        (None, "", "en"),
        (None, "zh-CN,zh;q=0.9,en;q=0.8", "zh"),
        (None, "fr, ZH-Hant-TW;q=0.7, en;q=0.2", "zh"),
        (None, "zh;q=0, en", "en"),
        (None, "de," * RANGES_MAX + "zh", "en"),
        ("en", "zh", "en"),
        ("fr", "zh", "zh"),
    ],
)
def test_the_first_language_that_the_page_speaks(asked: str | None, accepted: str, language: str) -> None:
    assert chosen(asked, accepted) == language


def test_the_page_is_in_the_language_that_was_asked_for(managed: Managed) -> None:
    assert b'<html lang="en">' in managed.http.ask("/").body
    answer = managed.http.ask("/?lang=zh")
    assert b'<html lang="zh-CN">' in answer.body
    assert answer.headers["vary"] == "Accept-Language"
