"""One connection to a server that may send anything."""

from __future__ import annotations

import asyncio
import struct
from collections.abc import Awaitable, Callable

import pytest

from interop.harness import codes
from interop.harness.wire import frame, json_header
from rocketns.shadow.replaying import connection
from rocketns.shadow.replaying.connection import Connection, NoAnswerError
from tests.shadow.recording.pairs import answer, request

LOOKUP = request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": "T"})
ANSWER = answer(b"{}", opaque=1)
NOTIFICATION = frame(json_header(905, opaque=1))


def asked(sent: bytes, opaque: int | None = 1, *, within_s: float = 60.0) -> bytes:
    """What `ask` gives where the server sends this, and closes."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(LOOKUP))
        writer.write(sent)
        writer.close()

    async def ask(port: int) -> bytes:
        one = await Connection.open("127.0.0.1", port, None, within_s)
        try:
            return await one.ask(LOOKUP, opaque)
        finally:
            await one.close()

    return asyncio.run(serving(serve, ask))


async def serving(
    serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]],
    do: Callable[[int], Awaitable[bytes]],
) -> bytes:
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        return await do(server.sockets[0].getsockname()[1])


def test_the_answer_is_the_whole_frame() -> None:
    assert asked(ANSWER) == ANSWER


def test_frames_that_are_no_answer_are_passed_over() -> None:
    assert asked(NOTIFICATION + answer(b"other", opaque=2) + ANSWER) == ANSWER


def test_a_request_without_an_opaque_takes_any_answer() -> None:
    other = answer(b"{}", opaque=77)
    assert asked(NOTIFICATION + other, None) == other


@pytest.mark.parametrize(
    "sent",
    [b"", ANSWER[:-1], struct.pack(">i", -1), struct.pack(">i", 2**31 - 1), struct.pack(">i", 3) + b"abc",
     frame(b"no JSON"), b"\0\0\0\4\7\0\0\0"],
    ids=["nothing", "cut", "negative", "huge", "short", "header", "type"],
)  # fmt: skip
def test_what_is_no_answer_is_none(sent: bytes) -> None:
    with pytest.raises(NoAnswerError):
        asked(sent)


def test_frames_that_nobody_asked_for_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "UNASKED_MAX", 3)
    with pytest.raises(NoAnswerError, match="3 frames"):
        asked(NOTIFICATION * 3 + ANSWER)
