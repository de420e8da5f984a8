"""Lookups in the product environment, for the cluster-test mode: whom they ask, and the line of those that wait."""

from __future__ import annotations

import asyncio
import logging
from dataclasses import dataclass

import pytest

from rocketns.client.remoting_client import RemotingClient
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import RemotingCommand, Reply
from rocketns.server.outgoing import product_environment
from rocketns.server.outgoing.product_environment import LOOKUP_CHARACTERS_MAX, Line, ProductEnvironment
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


@pytest.mark.parametrize("code", [17, 1])
def test_a_topic_that_the_first_server_lacks_is_not_asked_of_the_second(code: int) -> None:
    """B248: the first answer counts."""

    async def test(client: RemotingClient) -> None:
        async with peer(serving(lambda request: route(request, b"", code))) as one, peer(serving(route)) as two:
            assert await ask(client, [one.addr, two.addr]) is None
            assert two.connections == []

    run(test)


@pytest.mark.parametrize("body", [b"null", b"[" * 9999])
def test_an_answer_that_is_no_route(body: bytes) -> None:
    """B248: it is treated like no answer."""

    async def test(client: RemotingClient) -> None:
        async with peer(serving(lambda request: route(request, body))) as one, peer(serving(route)) as two:
            assert await ask(client, [one.addr]) is None
            assert await ask(client, [one.addr, two.addr]) is not None

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
    monkeypatch.setattr(product_environment, "LOG_EVERY_S", 3600.0)  # a busy machine may be slow

    async def test(client: RemotingClient) -> None:
        routes = ProductEnvironment(client, [CLOSED], SerializeType.JSON)
        with caplog.at_level(logging.INFO, "rocketns.product"):
            for wanted in (20, 1):
                found = [asyncio.get_running_loop().create_future() for _ in range(wanted)]
                for future in found:
                    routes.ask(LOOKUP, Asker(), future.set_result)
                assert await asyncio.gather(*found) == [None] * wanted
                monkeypatch.setattr(routes._lines, "_logged", None)
        lines = [message for message in caplog.messages if message.startswith("get route info")]
        assert len(lines) == 2
        assert lines[-1].endswith(" (19 more failed since the last such line)")

    run(test)


def given_up(most: int, askers: list[Asker]) -> list[int | None]:
    """What each of these, one after the other, makes a line of ``most`` give up."""
    line: Line[int] = Line(most)
    return [line.put(asker, number) for number, asker in enumerate(askers)]


def test_connections_take_turns() -> None:
    """However much the first one has waiting."""
    line: Line[int] = Line(9)
    one, two = Asker(), Asker()
    for number, asker in enumerate([one, one, one, two, two]):
        line.put(asker, number)
    assert [line.take() for _ in range(6)] == [0, 3, 1, 4, 2, None]


def test_who_has_the_most_gives_up_its_newest() -> None:
    """Also to a connection of the same host."""
    one, two = Asker(), Asker()
    assert given_up(4, [one, one, one, one, two]) == [None] * 4 + [3]


@pytest.mark.parametrize("host", ["127.0.0.1", "127.0.0.2"])
def test_among_equals_the_newcomer_gives_up_its_own(host: str) -> None:
    """Of one host, or of two."""
    one, two = Asker(), Asker(host)
    assert given_up(2, [one, two, two]) == [None, None, 2]


def test_a_host_of_many_connections_gives_way_to_another_host() -> None:
    """However little each of them has waiting."""
    *_, last = given_up(5, [*(Asker() for _ in range(5)), Asker("127.0.0.2")])
    assert last in range(5)


def test_hosts_take_turns() -> None:
    """However many connections the first one has."""
    line: Line[int] = Line(9)
    for number in range(4):
        line.put(Asker(), number)
    line.put(Asker("127.0.0.2"), 4)
    line.put(Asker(), 5)
    assert [line.take() for _ in range(7)] == [0, 4, 1, 2, 3, 5, None]


def test_announced_hosts_make_no_room() -> None:
    """A peer may announce any host. Its socket's counts."""
    honest = Asker("127.0.0.2")
    *_, last = given_up(4, [honest, honest, *(Asker(announced=f"10.0.0.{number}") for number in range(3))])
    assert last not in (0, 1)


def test_turns_go_on_behind_one_that_was_given_up() -> None:
    one, two = Asker(), Asker("127.0.0.2")
    line: Line[int] = Line(1)
    assert [line.put(one, 0), line.put(two, 1), line.take(), line.take()] == [None, 1, 0, None]
