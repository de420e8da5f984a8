"""Limits of one turn of a connection: bytes of answers, and memory for waiting input."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.wire import eventually, frame, json_header
from tests.fast.clients import CLIENTS, look_up
from tests.fast.reactor.test_moving import answer, reactors_of, settle, still
from tests.support.live import LiveServer

TURN_BYTES_MAX = 256 * 1024  # turns.pyx
WIDE = 60  # brokers of one topic: its answer is some 10 KB
LOOK_UPS = 200  # fewer than a turn has frames, and all of them fit into one `recv`
IN_FLIGHT_MAX = 100
SMALL_INPUT_MAX = 4096  # connection.pyx


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    settings = {"rocketns.inFlightMax": IN_FLIGHT_MAX, "serverSocketSndBufSize": 0}  # the system's buffers: megabytes
    with LiveServer(tmp_path, reactors=1, **settings) as started:
        still(started)
        yield started


def test_answers_of_one_turn_are_bounded_by_bytes(server: LiveServer) -> None:
    """A pipeline with large answers gets only a few of them in each round of the loop, so others are served between."""
    with server.connect() as client:
        for number in range(WIDE):
            body = register_body([topic_config("wide"), topic_config("other")])
            client.request(103, register_ext(broker=f"b{number}", addr=f"10.0.0.{number}:1", body=body), body)
        size = len(answer(client, "wide"))
        settle(server)
        before = sum(reactors_of(server).rounds)
        client.send(look_up(CLIENTS[0], "wide") * LOOK_UPS)
        for _ in range(LOOK_UPS):
            client.receive_frame()
        rounds = sum(reactors_of(server).rounds) - before
    assert rounds >= LOOK_UPS * size // (TURN_BYTES_MAX + size)


def test_the_rest_of_a_burst_keeps_no_large_buffer(server: LiveServer) -> None:
    """Requests that waited and end in the middle of a frame: only the unfinished frame and little else is kept."""
    request = frame(json_header(9999), bytes(500))
    unfinished = request[:50]
    with server.connect() as client:
        with server.held_still():
            client.send(request * 2 * IN_FLIGHT_MAX + unfinished)
        for _ in range(2 * IN_FLIGHT_MAX):
            client.receive()
        settle(server)
        eventually(lambda: reactors_of(server).incoming_bytes <= SMALL_INPUT_MAX + len(unfinished))
