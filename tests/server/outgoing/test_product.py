"""Lookups in the product environment, for the cluster-test mode."""

from __future__ import annotations

import asyncio

import pytest

from interop.harness.wire import ROCKETMQ, binary_header, decode_binary_header, frame
from rocketns.client.remoting_client import RemotingClient
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.server.outgoing import product_environment
from rocketns.server.outgoing.product_environment import ProductEnvironment
from tests.client.peers import CLOSED, answer, peer, run, serving

ROUTE = b'{"brokerDatas":[],"filterServerTable":{},"queueDatas":[]}'
LOOKUP = RemotingCommand(105, 513, 1, 0, {"topic": "T"}, None)


async def ask(
    client: RemotingClient, addrs: list[str], command: RemotingCommand = LOOKUP,
    serialize_type: SerializeType = SerializeType.JSON,
) -> Reply | None:  # fmt: skip
    found: asyncio.Future[Reply | None] = asyncio.get_running_loop().create_future()
    ProductEnvironment(client, addrs, serialize_type).ask(command, found.set_result)
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
    """B248: requests over the limit are answered at once, as not found."""
    monkeypatch.setattr(product_environment, "LOOKUPS_MAX", 2)

    async def test(client: RemotingClient) -> None:
        async with peer() as one:
            routes, answers = ProductEnvironment(client, [one.addr], SerializeType.JSON), list[Reply | None]()
            for _ in range(3):
                routes.ask(LOOKUP, answers.append)
            assert answers == [None]

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
