"""Lookups in the product environment, for the cluster-test mode: whom they ask, and the line of those that wait."""

from __future__ import annotations

import asyncio
import logging

import pytest

from rocketns.client.remoting_client import RemotingClient
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.server import product_environment
from rocketns.server.product_environment import LOOKUP_CHARACTERS_MAX, ProductEnvironment
from tests.client.peers import CLOSED, answer, peer, remoting, serving

ROUTE = b'{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}'
HOST, OTHER = "127.0.0.1", "127.0.0.2"
LOOKUP = RemotingCommand(105, 513, 1, 0, {"topic": "T"}, None)


async def ask(
    client: RemotingClient, addrs: list[str], command: RemotingCommand = LOOKUP,
    serialize_type: SerializeType = SerializeType.JSON,
) -> Reply | None:  # fmt: skip
    found: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
    ProductEnvironment(client, addrs, serialize_type).ask(command, HOST, found.set_result)
    return await found


def route(request: RemotingCommand, body: bytes = ROUTE, code: int = 0) -> bytes:
    return answer(request, code, body)


@pytest.mark.parametrize("code", [17, 1])
async def test_a_topic_that_the_first_server_lacks_is_not_asked_of_the_second(code: int) -> None:
    """B248: the first answer counts."""
    async with (
        remoting() as client,
        peer(serving(lambda request: route(request, b"", code))) as one,
        peer(serving(route)) as two,
    ):
        assert await ask(client, [one.addr, two.addr]) is None
        assert two.connections == []


@pytest.mark.parametrize("body", [b"null", b"[" * 9999])
async def test_an_answer_that_is_no_route(body: bytes) -> None:
    """B248: it is treated like no answer."""
    async with (
        remoting() as client,
        peer(serving(lambda request: route(request, body))) as one,
        peer(serving(route)) as two,
    ):
        assert await ask(client, [one.addr]) is None
        assert await ask(client, [one.addr, two.addr]) is not None


async def test_lookups_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """B248: what is over the limit of waiting ones is answered at once, as not found."""
    monkeypatch.setattr(product_environment, "LOOKUPS_MAX", 2)
    monkeypatch.setattr(product_environment, "SENT_MAX", 3)
    async with remoting() as client, peer() as one:
        routes, answers = ProductEnvironment(client, [one.addr], SerializeType.JSON), list[Reply | None]()
        for _ in range(6):
            routes.ask(LOOKUP, HOST, answers.append)
        assert answers == [None]


@pytest.mark.parametrize(
    ("characters", "is_asked"), [(LOOKUP_CHARACTERS_MAX, True), (LOOKUP_CHARACTERS_MAX + 1, False)]
)
async def test_a_large_lookup_does_not_wait(characters: int, is_asked: bool) -> None:
    """B248: it is answered at once, as not found: lookups that wait hold little memory."""
    large = RemotingCommand(105, 513, 1, 0, {"topic": "T", "more": "x" * (characters - len("topicTmore"))}, None)
    async with remoting() as client, peer(serving(route)) as one:
        assert (await ask(client, [one.addr], large) is not None) == is_asked
        assert len(one.connections) == is_asked


async def test_lines_about_failures_are_bounded(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However many lookups there are. The next line says how many had none."""
    monkeypatch.setattr(product_environment, "LOG_EVERY_S", 3600.0)  # a busy machine may be slow
    async with remoting() as client:
        routes = ProductEnvironment(client, [CLOSED], SerializeType.JSON)
        with caplog.at_level(logging.INFO, "rocketns.product"):
            for wanted in (20, 1):
                found = [asyncio.get_running_loop().create_future() for _ in range(wanted)]
                for future in found:
                    routes.ask(LOOKUP, HOST, future.set_result)
                assert await asyncio.gather(*found) == [None] * wanted
                monkeypatch.setattr(routes._lines, "_logged", None)
        lines = [message for message in caplog.messages if message.startswith("get route info")]
        assert len(lines) == 2
        assert lines[-1].endswith(" (19 more failed since the last such line)")


async def test_hosts_take_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    """However many lookups the first one has waiting: where no more may wait, its latest one makes room."""
    monkeypatch.setattr(product_environment, "SENT_MAX", 1)
    monkeypatch.setattr(product_environment, "LOOKUPS_MAX", 4)
    async with remoting() as client, peer(serving(route)) as one:
        routes, answered = ProductEnvironment(client, [one.addr], SerializeType.JSON), list[str]()
        done = asyncio.Event()

        def note(who: str) -> None:
            answered.append(who)
            if len(answered) == 7:
                done.set()

        for number in range(6):
            routes.ask(LOOKUP, HOST, lambda reply, number=number: note(f"{number}{'' if reply else ' refused'}"))
        routes.ask(LOOKUP, OTHER, lambda _: note("other"))
        await done.wait()
        assert answered == ["5 refused", "4 refused", "0", "1", "2", "other", "3"]
