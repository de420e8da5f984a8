"""Lookups in the product environment, for the cluster-test mode."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import pytest

from interop.harness.wire import ROCKETMQ, binary_header, decode_binary_header, frame
from rocketns.client.remoting_client import RemotingClient
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.server.outgoing import product_environment
from rocketns.server.outgoing.product_environment import LOOKUP_CHARACTERS_MAX, ProductEnvironment
from tests.client.peers import CLOSED, answer, peer, run, serving

ROUTE = b'{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}'
LOOKUP = RemotingCommand(105, 513, 1, 0, {"topic": "T"}, None)


@dataclass(frozen=True, eq=False)
class Asker:
    """A connection that looks up a topic."""

    host: str = "127.0.0.1"
    announced: str = ""

    @property
    def place(self) -> tuple[str, str]:
        return self.host, self.announced or self.host


async def ask(
    client: RemotingClient, addrs: list[str], command: RemotingCommand = LOOKUP,
    serialize_type: SerializeType = SerializeType.JSON,
) -> Reply | None:  # fmt: skip
    found: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
    ProductEnvironment(client, addrs, serialize_type).ask(command, Asker(), found.set_result)
    return await found


def route(request: RemotingCommand, body: bytes = ROUTE, code: int = 0) -> bytes:
    return answer(request, code, body)


def test_a_route_that_is_found() -> None:
    """B248: a found route is answered with success."""

    async def test(client: RemotingClient) -> None:
        async with peer(serving(route)) as one:
            assert await ask(client, [one.addr]) == Reply(body=ROUTE)

    run(test)


@pytest.mark.parametrize("code", [17, 1])
def test_a_topic_that_the_first_server_lacks_is_not_asked_of_the_second(code: int) -> None:
    """B248: the first answer counts."""

    async def test(client: RemotingClient) -> None:
        async with peer(serving(lambda request: route(request, b"", code))) as one, peer(serving(route)) as two:
            assert await ask(client, [one.addr, two.addr]) is None
            assert two.connections == []

    run(test)


def test_a_name_server_that_is_not_there() -> None:
    """B248: the next address is asked."""

    async def test(client: RemotingClient) -> None:
        async with peer(serving(route)) as one:
            assert await ask(client, [CLOSED, "nonsense", one.addr]) is not None
            assert await ask(client, [CLOSED]) is None
            assert await ask(client, []) is None

    run(test)


@pytest.mark.parametrize("body", [b"nonsense", b"null", b'{"brokerDatas":5}', b'{"queueDatas":[{}]}', b"[" * 9999])
def test_an_answer_that_is_no_route(body: bytes) -> None:
    """B248: it is treated like no answer."""

    async def test(client: RemotingClient) -> None:
        async with peer(serving(lambda request: route(request, body))) as one, peer(serving(route)) as two:
            assert await ask(client, [one.addr]) is None
            assert await ask(client, [one.addr, two.addr]) is not None

    run(test)


def test_an_unforeseen_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """B248: the client still gets an answer."""

    def fail(_body: bytes) -> None:
        raise RuntimeError("unforeseen")

    monkeypatch.setattr(product_environment, "decode_topic_route_data", fail)

    async def test(client: RemotingClient) -> None:
        async with peer(serving(route)) as one:
            assert await ask(client, [one.addr]) is None

    run(test)


def test_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    """B248: waiting for an answer ends after five seconds."""
    assert product_environment.TIMEOUT_S == 5
    monkeypatch.setattr(product_environment, "TIMEOUT_S", 0.05)

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            assert await ask(client, [one.addr]) is None

    run(test)


def test_lookups_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """B248: what is over the limit of waiting ones is answered at once, as not found."""
    monkeypatch.setattr(product_environment, "LOOKUPS_MAX", 2)
    monkeypatch.setattr(product_environment, "SENT_MAX", 3)

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            routes, answers = ProductEnvironment(client, [one.addr], SerializeType.JSON), list[Reply | None]()
            for _ in range(6):
                routes.ask(LOOKUP, Asker(), answers.append)
            assert answers == [None]

    run(test)


def test_a_lookup_that_has_waited_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """B248: with one sent at a time, all are answered."""
    monkeypatch.setattr(product_environment, "SENT_MAX", 1)

    async def test(client: RemotingClient) -> None:
        async with peer(serving(route)) as one:
            routes = ProductEnvironment(client, [one.addr], SerializeType.JSON)
            found = [asyncio.get_running_loop().create_future() for _ in range(3)]
            for future in found:
                routes.ask(LOOKUP, Asker(), future.set_result)
            assert await asyncio.gather(*found) == [Reply(body=ROUTE)] * 3

    run(test)


@pytest.mark.parametrize(
    ("characters", "is_asked"), [(LOOKUP_CHARACTERS_MAX, True), (LOOKUP_CHARACTERS_MAX + 1, False)]
)
def test_a_large_lookup_does_not_wait(characters: int, is_asked: bool) -> None:
    """B248: it is answered at once, as not found: lookups that wait hold little memory."""
    large = RemotingCommand(105, 513, 1, 0, {"topic": "T", "more": "x" * (characters - len("topicTmore"))}, None)

    async def test(client: RemotingClient) -> None:
        async with peer(serving(route)) as one:
            assert (await ask(client, [one.addr], large) is not None) == is_asked
            assert len(one.connections) == is_asked

    run(test)


def test_lines_about_failures_are_bounded(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many lookups there are. The next line says how many had none."""
    monkeypatch.setattr(product_environment, "LOG_INTERVAL_S", 3600.0)  # a busy machine may be slow

    async def test(client: RemotingClient) -> None:
        routes = ProductEnvironment(client, [CLOSED], SerializeType.JSON)
        with caplog.at_level(logging.INFO, "rocketns.product"):
            for wanted in (20, 1):
                found = [asyncio.get_running_loop().create_future() for _ in range(wanted)]
                for future in found:
                    routes.ask(LOOKUP, Asker(), future.set_result)
                assert await asyncio.gather(*found) == [None] * wanted
                routes._logged_s = None
        lines = [message for message in caplog.messages if message.startswith("get route info")]
        assert len(lines) == 2
        assert lines[-1].endswith(" (19 more failed since the last such line)")

    run(test)


def test_without_a_topic() -> None:
    """B248: no name server is asked."""

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            assert await ask(client, [one.addr], RemotingCommand(105, 513, 1, 0, None, None)) is None
            assert one.connections == []

    run(test)


def test_the_question_in_binary() -> None:
    """B033, B248: if ROCKETMQ is the serialize type. The answer may have either encoding."""

    async def test(client: RemotingClient) -> None:
        questions = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            data = await reader.readexactly(int.from_bytes(await reader.readexactly(4)))
            questions.append((data[0], decode_binary_header(data[4:])))
            opaque = questions[0][1]["opaque"]
            writer.write(frame(binary_header(0, opaque=opaque, flag=1), ROUTE, ROCKETMQ))

        async with peer(serve) as one:
            assert await ask(client, [one.addr], serialize_type=SerializeType.ROCKETMQ) == Reply(body=ROUTE)
        ((kind, header),) = questions
        assert (kind, header["code"], header["extFields"]["topic"]) == (ROCKETMQ, 105, "T")

    run(test)
