"""Connections that come and go: entries of the table are reused, and no answer reaches a later connection."""

from __future__ import annotations

from pathlib import Path

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import eventually
from tests.fast.reactor.test_moving import answer, carried, connection_of, reactors_of, settle
from tests.support.live import LiveServer

PLACES_MIN = 64
COME_AND_GO = 3 * PLACES_MIN


def test_the_places_of_closed_connections_are_used_again(tmp_path: Path) -> None:
    with LiveServer(tmp_path, reactors=1) as server:
        for _ in range(COME_AND_GO):
            with server.connect() as client:
                answer(client)
            eventually(lambda: carried(server) == [0], every_s=0.001)
        with server.connect() as client:
            answer(client)
            settle(server)
            assert (connection_of(server, client)._number >> 32) & 0xFFFFFF < PLACES_MIN


def test_an_answer_for_a_closed_connection_does_not_reach_the_next_one_at_its_place(tmp_path: Path) -> None:
    """Control may answer before it learns that the connection is gone."""
    with LiveServer(tmp_path, reactors=1) as server:
        with server.connect() as gone:
            answer(gone)
            settle(server)
            number = connection_of(server, gone)._number
        eventually(lambda: carried(server) == [0], every_s=0.001)
        with server.connect() as client:
            expected = answer(client)
            server.call(lambda: reactors_of(server).reply(number, 0, b"not for you"))
            settle(server)
            assert answer(client) == expected


def test_waiting_bytes_are_given_back(tmp_path: Path) -> None:
    """Bytes of handed-over frames and of control's answers are counted only while they wait."""
    body = register_body([topic_config(f"T{n}") for n in range(500)])
    with LiveServer(tmp_path) as server, server.connect() as client:
        for _ in range(20):
            client.request(103, register_ext(body=body), body)
            client.request(206)
        settle(server)
        reactors = reactors_of(server)
        assert (reactors.queued_bytes, reactors.replied_bytes, reactors.incoming_bytes) == (0, 0, 0)


def test_a_connection_that_the_loop_carried_counts_until_it_is_closed(tmp_path: Path) -> None:
    """rocketns.connectionsMax is for all transports together."""
    with LiveServer(tmp_path, reactors=1) as server:
        connections = server.controller.asyncio_transport.connections
        with server.connect() as client:
            client.send(b"\x16")  # as TLS begins
            eventually(lambda: server.call(lambda: len(connections)) == 1)
            assert reactors_of(server).connections == 1
        eventually(lambda: reactors_of(server).connections == 0)
