"""Requests over the client's connections: how answers are matched to requests, and what is ignored."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from interop.harness.wire import frame, json_header
from rocketns.client.connection import NotSentError
from rocketns.client.remoting_client import RemotingClient
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.encoding import encode_request
from tests.client.peers import CLOSED, NOBODY, WAIT_S, peer, run

Answers = Callable[[list[int]], bytes]


def request(topic: str = "T") -> tuple[int, bytes]:
    return encode_request(105, {"topic": topic}, SerializeType.JSON)


def response(opaque: int, flag: int = 1) -> bytes:
    return frame(json_header(17, {"for": str(opaque)}, opaque=opaque, flag=flag))


async def ask(client: RemotingClient, count: int, say: Answers) -> list[object]:
    """Send some requests at once to a peer that replies with given bytes; the answers by number, or errors."""
    requests = [request() for _ in range(count)]

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _, sent in requests:
            assert await reader.readexactly(len(sent)) == sent
        writer.write(say([opaque for opaque, _ in requests]))
        await writer.drain()

    async with peer(serve) as one:
        asked = (client.invoke(one.addr, opaque, sent, WAIT_S) for opaque, sent in requests)
        found = await asyncio.gather(*asked, return_exceptions=True)
    return [answer if isinstance(answer, BaseException) else answer.ext("for") == str(opaque)
            for answer, (opaque, _) in zip(found, requests, strict=True)]  # fmt: skip


def test_answers_in_any_order() -> None:
    """B248: each goes to the request with its number."""

    async def test(client: RemotingClient) -> None:
        assert await ask(client, 5, lambda opaques: b"".join(map(response, reversed(opaques)))) == [True] * 5

    run(test)


def test_frames_that_are_not_answers_are_ignored() -> None:
    """B248: these are ignored: requests, unknown numbers, and a second answer to one number."""

    async def test(client: RemotingClient) -> None:
        def say(opaques: list[int]) -> bytes:
            first = opaques[0]
            others = response(first, flag=0) + response(99_999) + response(first) * 2
            return others + response(opaques[1])

        assert await ask(client, 2, say) == [True, True]

    run(test)


@pytest.mark.parametrize(
    "garbage",
    [b"\xff" * 20, frame(b"{nonsense"), b"\0\0\0\x00", b"\0\0\0\x08\x05\0\0\0abcd"],
    ids=["length", "header", "empty", "type"],
)
def test_garbage_ends_the_connection(garbage: bytes) -> None:
    """B248: the connection closes, and every request that waits on it fails."""

    async def test(client: RemotingClient) -> None:
        for found in await ask(client, 2, lambda _: garbage):
            assert isinstance(found, NotSentError)
            assert "ended" in str(found)
        assert client._connections == {}

    run(test)


def test_no_answer_in_time() -> None:
    """B248: the connection stays for others."""

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            with pytest.raises(NotSentError, match="no answer"):
                await client.invoke(one.addr, *request(), 0.05)
            (connection,) = client._connections.values()
            assert not connection.answers

    run(test)


@pytest.mark.parametrize("addr", [CLOSED, NOBODY, "nonsense", "a\0b:1"])
def test_nobody_to_answer(addr: str) -> None:
    """B248: a failed connection is reported at once."""

    async def test(client: RemotingClient) -> None:
        with pytest.raises(NotSentError, match=r"connecting to .* failed|no answer"):
            await client.invoke(addr, *request(), WAIT_S)
        assert client._connections == {}

    run(test, connect_timeout_s=0.3)


def test_a_peer_that_ends() -> None:
    """B248: no request waits for an answer any more."""

    async def test(client: RemotingClient) -> None:
        async def hang_up(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.close()

        async with peer(hang_up) as one:
            with pytest.raises(NotSentError):
                await client.invoke(one.addr, *request(), WAIT_S)

    run(test)
