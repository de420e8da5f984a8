"""Anybody may reach the HTTP port. How much one connection, and all of them together, can hold."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import selectors
import socket
from collections.abc import Awaitable, Callable
from http import HTTPStatus

import pytest

from rocketns.addressserver import http
from rocketns.addressserver.http import ACCEPTED_PER_S_MAX, CONNECTIONS_MAX, LATE_S_MAX, Accepting, make_protocols
from rocketns.addressserver.listing import Listed
from rocketns.server.http.heads import HEAD_BYTES_MAX
from rocketns.server.listening import bind

GET = b"GET /rocketmq/nsaddr HTTP/1.1\r\nHost: a\r\n\r\n"
WAIT_S = 50.0
WAITING, TIMER_LATE_S = 500, 0.003
LISTED = Listed(("ns-1:9876",))

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[bytes], Awaitable[Streams]]


def run(test: Callable[[Connect], Awaitable[None]], listed: Listed = LISTED) -> None:
    """Run a test with the HTTP side alone; ``connect`` opens a connection and sends its first bytes."""

    async def serving() -> None:
        listening = bind("127.0.0.1", 0)
        listening.listen()
        listening.socket.setblocking(False)
        accepting = Accepting(listening.socket, make_protocols(lambda: listed))
        task = asyncio.ensure_future(accepting.run())
        opened: list[Streams] = []

        async def connect(first: bytes) -> Streams:
            opened.append(await asyncio.open_connection(*listening.address))
            opened[-1][1].write(first)
            return opened[-1]

        try:
            await asyncio.wait_for(test(connect), 60)
            assert not task.done()
        finally:
            task.cancel()
            accepting.close()
            listening.socket.close()
            for _, writer in opened:
                writer.close()

    asyncio.run(serving())


async def rest(streams: Streams) -> bytes:
    """Everything the server sends before it closes the connection."""
    try:
        return await asyncio.wait_for(streams[0].read(), WAIT_S)
    except ConnectionResetError:
        return b""


def status(answer: bytes) -> bytes:
    return answer.partition(b"\r\n")[0]


def test_a_request_that_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "CONNECTION_S", 0.2)

    async def test(connect: Connect) -> None:
        for first in (b"G", GET[:-2], b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\n"):
            streams = await connect(first)
            await rest(streams)
            assert streams[0].at_eof() or streams[0].exception()

    run(test)


def test_the_oldest_connection_makes_room_for_a_new_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are answered although other peers hold all connections."""
    monkeypatch.setattr(http, "CONNECTION_S", WAIT_S)

    async def test(connect: Connect) -> None:
        held = [await connect(b"GET /") for _ in range(CONNECTIONS_MAX)]
        assert status(await rest(await connect(GET))) == b"HTTP/1.1 200 OK"
        assert await rest(held[0]) == b""
        last = held[-1]
        last[1].write(GET[5:])
        assert (await rest(last)).startswith(b"HTTP/1.1 ")

    run(test)


@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (GET * 1000, b"HTTP/1.1 200 OK"),
        (b"GET /" + b"a" * 2 * HEAD_BYTES_MAX + b" HTTP/1.1\r\n\r\n", b"HTTP/1.1 431 Request Header Fields Too Large"),
        (GET[:-2] + b"A: " + b"a" * 2 * HEAD_BYTES_MAX + b"\r\n\r\n",
         b"HTTP/1.1 431 Request Header Fields Too Large"),
        (b"\0\xff garbage\r\n\r\n", b"HTTP/1.1 400 Bad Request"),
        (b"POST /rocketmq/nsaddr HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n" + b"x" * 10_000,
         b"HTTP/1.1 413 " + HTTPStatus.REQUEST_ENTITY_TOO_LARGE.phrase.encode()),
        (GET[:-2] + b"Connection: Upgrade\r\nUpgrade: h2c\r\n\r\n", b"HTTP/1.1 200 OK"),
    ],
    ids=["many at once", "long path", "long header", "garbage", "endless body", "upgrade"],
)  # fmt: skip
def test_odd_requests_get_one_answer_and_no_log_line(
    sent: bytes, answered: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    async def test(connect: Connect) -> None:
        answer = await rest(await connect(sent))
        assert status(answer) in (answered, b"")  # a reset may arrive before the answer if input is unread
        assert answer.count(b"HTTP/1.") <= 1
        assert status(await rest(await connect(GET))) == b"HTTP/1.1 200 OK"

    run(test)
    assert [record.message for record in caplog.records if record.name != "asyncio"] == []


class LateLoop(asyncio.SelectorEventLoop):
    """Its clock stands while anything is ready, and each of its timers is late by TIMER_LATE_S."""

    def __init__(self) -> None:
        self.now_s = 0.0
        selector = selectors.DefaultSelector()
        self._select = selector.select
        selector.select = self._select_late  # type: ignore[method-assign]
        super().__init__(selector)

    def time(self) -> float:
        return self.now_s

    def _select_late(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        found = self._select(0)
        if not found and timeout:
            self.now_s += timeout + TIMER_LATE_S
        return found


def test_late_timers_do_not_make_the_queue_in_the_kernel_longer() -> None:
    """Who comes behind WAITING others waits as long as the stated rate says, also where nobody came for an hour."""
    listening = bind("127.0.0.1", 0)
    listening.listen()
    listening.socket.setblocking(False)
    answered_s: list[float] = []
    loop = LateLoop()

    are_answered = asyncio.Event()

    def listed() -> Listed:
        answered_s.append(loop.now_s)
        if len(answered_s) == WAITING:
            are_answered.set()
        return LISTED

    async def serve() -> None:
        accepting = asyncio.ensure_future(Accepting(listening.socket, make_protocols(listed)).run())
        await asyncio.sleep(3_600)
        with contextlib.ExitStack() as stack:
            for _ in range(WAITING):
                stack.enter_context(socket.create_connection(listening.address)).sendall(GET)
            await are_answered.wait()
        accepting.cancel()

    loop.run_until_complete(serve())
    loop.close()
    listening.socket.close()
    stated_s = WAITING / ACCEPTED_PER_S_MAX
    assert stated_s - 2 * LATE_S_MAX <= answered_s[-1] - answered_s[0] <= stated_s + 2 * LATE_S_MAX


def test_a_list_that_is_kept_says_so() -> None:
    async def test(connect: Connect) -> None:
        head, _, body = (await rest(await connect(GET))).partition(b"\r\n\r\n")
        assert (status(head), body) == (b"HTTP/1.1 200 OK", b"ns-1:9876")
        assert b"\r\nX-Rocketns-Kept-Seconds: 34\r\n" in head

    run(test, Listed(("ns-1:9876",), 34.2))


def test_a_list_of_ready_name_servers_says_nothing() -> None:
    async def test(connect: Connect) -> None:
        assert b"Kept" not in await rest(await connect(GET))

    run(test)


def test_a_lack_of_open_files_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "ACCEPT_AGAIN_S", 0.01)
    failing = [OSError(24, "Too many open files")] * 3
    loop_class = asyncio.SelectorEventLoop
    accept = loop_class.sock_accept

    async def sock_accept(loop: asyncio.SelectorEventLoop, listening: socket.socket) -> tuple[socket.socket, object]:
        if failing:
            raise failing.pop()
        return await accept(loop, listening)

    monkeypatch.setattr(loop_class, "sock_accept", sock_accept)

    async def test(connect: Connect) -> None:
        assert status(await rest(await connect(GET))) == b"HTTP/1.1 200 OK"
        assert failing == []

    run(test)
