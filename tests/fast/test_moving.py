"""Connections that move to another reactor: no frame is lost, and control knows their new numbers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns._fast.reactor.reactors import Reactors
from rocketns.routeinfo.events import Cause
from rocketns.server.reactors.balancer import ALL, GATHER_AFTER, Balancer
from rocketns.server.reactors.reactor_connection import ReactorConnection
from rocketns.server.reactors.reactor_transport import ReactorTransport
from rocketns.server.reactors.usage import Usage
from tests.compiled.parts import has_handled_all, is_settled
from tests.fast.lookups import CLIENTS, look_up
from tests.support.ended import is_ended
from tests.support.inprocess import TimedServer
from tests.support.live import LiveServer
from tests.timed.steps import SECOND, pass_time

CLIENTS_AT_ONCE = 8


def reactors_of(server: LiveServer | TimedServer) -> Reactors:
    reactors = server.controller.reactors
    assert reactors is not None
    return reactors


def transport_of(server: LiveServer | TimedServer) -> ReactorTransport:
    transport = server.controller.reactor_transport
    assert transport is not None
    return transport


def balancer_of(server: LiveServer | TimedServer) -> Balancer:
    balancer = server.controller.balancer
    assert balancer is not None
    return balancer


def show(server: LiveServer, shares: list[float], idle: float, times: int = 1) -> None:
    """Feed this many windows with this load."""
    balancer = balancer_of(server)

    def balance() -> None:
        balancer.read_usage = lambda: Usage(shares, idle)
        for _ in range(times):
            balancer.run()
        balancer.read_usage = lambda: None

    server.call(balance)
    settle(server)


def settle(server: LiveServer | TimedServer) -> None:
    """Wait until reactors and control have handled all messages."""
    eventually(lambda: server.call(lambda: is_settled(reactors_of(server))), every_s=0.001)
    server.call(lambda: None)


def move(server: LiveServer | TimedServer, source: int, target: int, thousandths: int = ALL) -> list[int]:
    """The number of connections of each reactor afterwards."""
    server.call(lambda: reactors_of(server).give(source, target, thousandths, 0))
    settle(server)
    return carried(server)


def carried(server: LiveServer | TimedServer) -> list[int]:
    return reactors_of(server).carried()


def answer(client: Client, topic: str = "T", opaque: int = 7) -> bytes:
    client.send(look_up(CLIENTS[0], topic, opaque))
    return client.receive_frame()


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    """A server with two reactors that are balanced only when a test does it."""
    with LiveServer(tmp_path) as started:
        still(started)
        yield started


def still(server: LiveServer) -> None:
    def keep() -> None:
        balancer_of(server).read_usage = lambda: None

    server.call(keep)


@pytest.fixture
def clients(server: LiveServer) -> Iterator[list[Client]]:
    made = [server.connect() for _ in range(CLIENTS_AT_ONCE)]
    for client in made:
        answer(client)
    settle(server)
    yield made
    for client in made:
        client.close()


def connection_of(server: LiveServer, client: Client) -> ReactorConnection:
    host, port = client.socket.getsockname()[:2]
    channels = server.call(lambda: list(transport_of(server)._connections.values()))
    return next(one for one in channels if one.address == f"{host}:{port}")


def test_a_busy_reactor_spreads_and_a_calm_one_gathers(server: LiveServer, clients: list[Client]) -> None:
    assert carried(server) == [CLIENTS_AT_ONCE, 0]
    show(server, [1.0, 0.0], 1.0)
    assert carried(server) == [CLIENTS_AT_ONCE // 2, CLIENTS_AT_ONCE // 2]
    for client in clients:
        answer(client)
    assert all(sum(counts) for counts in reactors_of(server).counters())
    show(server, [0.2, 0.2], 1.0, GATHER_AFTER)
    assert carried(server) == [CLIENTS_AT_ONCE, 0]
    for client in clients:
        answer(client)


@pytest.mark.usefixtures("clients")
def test_new_connections_are_dealt_to_the_reactors_in_use(server: LiveServer) -> None:
    show(server, [1.0, 0.0], 1.0)
    more = [server.connect() for _ in range(4)]
    for client in more:
        answer(client)
    assert carried(server) == [CLIENTS_AT_ONCE // 2 + 2] * 2
    for client in more:
        client.close()


def moved_about(server: LiveServer) -> Iterator[None]:
    """Each step moves all movable connections to the other reactor, and does not wait for the move."""
    for source, target in itertools.cycle([(0, 1), (1, 0)]):
        server.call(partial(reactors_of(server).give, source, target, ALL, 0))
        yield


@given(st.lists(st.sampled_from(["lookup", "other", "half", "move"]), min_size=2, max_size=25))
@settings(deadline=None)
def test_a_stream_over_two_reactors_is_answered_in_its_order(streaming: LiveServer, steps: list[str]) -> None:
    """Each frame is answered once, with moves between and inside frames. Lookups keep their order, and so do others."""
    asked: dict[str, list[int]] = {"lookup": [], "other": []}
    moves, rest = moved_about(streaming), b""
    with streaming.connect() as client:
        for opaque, step in enumerate(steps):
            if step == "move":
                next(moves)
                continue
            asked["other" if step == "other" else "lookup"].append(opaque)
            one = frame(json_header(206, opaque=opaque)) if step == "other" else look_up(CLIENTS[0], "T", opaque)
            cut = len(one) // 2 if step == "half" else len(one)
            client.send(rest + one[:cut])
            rest = one[cut:]
        client.send(rest)
        answers = [client.receive() for _ in range(sum(map(len, asked.values())))]
    assert [one.opaque for one in answers if one.code == 17] == asked["lookup"]
    assert [one.opaque for one in answers if one.code != 17] == asked["other"]


@pytest.fixture(scope="module")
def streaming(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    with LiveServer(tmp_path_factory.mktemp("moving")) as started:
        still(started)
        yield started


def test_a_connection_with_a_part_of_a_frame_stays(server: LiveServer) -> None:
    with server.connect() as client:
        answer(client)
        whole = look_up(CLIENTS[0], "T", 8)
        client.send(whole[:9])
        eventually(lambda: reactors_of(server).incoming_bytes == 9)
        assert move(server, 0, 1) == [1, 0]
        client.send(whole[9:])
        assert b'"opaque":8,' in client.receive_frame()
        assert move(server, 0, 1) == [0, 1]


def test_a_connection_with_a_request_at_control_stays(server: LiveServer) -> None:
    """Its next lookups must not overtake that request."""
    reactors = reactors_of(server)
    with server.connect() as client:
        answer(client)
        settle(server)
        with server.held_still():
            client.send(frame(json_header(206, opaque=1)) + look_up(CLIENTS[0], "T", 2))
            eventually(lambda: reactors.has_news)
            reactors.give(0, 1, ALL, 0)
            eventually(lambda: has_handled_all(reactors))
            assert carried(server) == [1, 0]
        assert [client.receive().opaque for _ in range(2)] == [1, 2]


def has_answered(server: LiveServer, lookups: int) -> bool:
    return server.answered_by_reactors() == lookups


def test_a_connection_with_answers_that_are_not_taken_stays(server: LiveServer) -> None:
    with server.connect() as broker, server.connect() as client:
        body = register_body([topic_config("T"), topic_config("U")])
        for number in range(150):
            broker.request(103, register_ext(broker=f"b{number}", addr=f"10.0.0.{number}:1", body=body), body)
        asked = 0
        while not reactors_of(server).outgoing_bytes:  # one at a time, so that no request waits as input
            client.send(look_up(CLIENTS[0], "T", asked))
            asked += 1
            eventually(partial(has_answered, server, asked), every_s=0.001)
        assert move(server, 0, 1) == [1, 1]
        assert [client.receive().opaque for _ in range(asked)] == list(range(asked))
        eventually(lambda: move(server, 0, 1) == [0, 2])


def test_a_broker_that_moved_is_registered_until_it_closes(server: LiveServer) -> None:
    with server.connect() as client:
        with server.connect() as broker:
            body = register_body([topic_config("T"), topic_config("U")])
            assert broker.request(103, register_ext(body=body), body).code == 0
            assert move(server, 0, 1) == [0, 2]
            assert b'"code":0' in answer(client)
            assert broker.request(103, register_ext(body=body), body).code == 0
        eventually(lambda: b'"code":17' in answer(client))


@pytest.mark.parametrize("ends", ["abort", "close"])
def test_control_ends_a_connection_that_moves_just_then(server: LiveServer, ends: str) -> None:
    """A message sent to the old number is sent again to the new one."""
    with server.connect() as client:
        answer(client)
        settle(server)
        channel, reactors = connection_of(server, client), reactors_of(server)

        def end() -> None:
            reactors.give(0, 1, ALL, 0)
            if ends == "abort":
                channel.abort(Cause.EXPIRED)
            else:
                channel.close("a test")

        server.call(end)
        assert client.is_closed_by_server()
    settle(server)
    assert carried(server) == [0, 0]
    assert server.call(lambda: transport_of(server)._connections) == {}


@pytest.fixture
def timed_server(tmp_path: Path) -> Iterator[TimedServer]:
    started = TimedServer(tmp_path, {"rocketns.reactors": 2})
    yield started
    started.stop()


def test_only_connections_with_traffic_make_reactors_even(timed_server: TimedServer) -> None:
    with timed_server.connect() as old, timed_server.connect() as new:
        answer(old)
        timed_server.advance(5 * SECOND)
        answer(new)
        settle(timed_server)
        timed_server.call(lambda: reactors_of(timed_server).give(0, 1, ALL, SECOND))
        settle(timed_server)
        assert carried(timed_server) == [1, 1]
        old.close()
        eventually(lambda: carried(timed_server) == [0, 1])


def test_the_idle_limit_goes_with_a_connection(timed_server: TimedServer) -> None:
    """B060: a move does not count as traffic."""
    with timed_server.connect() as client:
        answer(client)
        pass_time(timed_server, 119 * SECOND)
        assert move(timed_server, 0, 1) == [0, 1]
        assert not is_ended(client)
        timed_server.advance(SECOND)
        assert client.is_closed_by_server()
