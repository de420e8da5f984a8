"""Control's queue is full: which connections may still hand over a frame, and when the others continue."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from interop.harness.codes import REQUEST_CODE_NOT_SUPPORTED
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns.server.requests.inbox import WAITING_BYTES_MAX
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.fast.reactor.test_moving import reactors_of
from tests.hostile.witness import MB
from tests.support.live import LiveServer

FIRST_FRAME_BYTES_MAX = 256 * 1024  # turns.pyx: of a connection that has no other frame at control
SMALL = frame(json_header(9999), bytes(200_000))
LARGE = frame(json_header(9999), bytes(FIRST_FRAME_BYTES_MAX))
CROWD = WAITING_BYTES_MAX // len(SMALL) + 8  # connections with a small frame each: more bytes than may wait


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with LiveServer(tmp_path, reactors=1) as started:
        yield started


@contextmanager
def crowded(server: LiveServer) -> Iterator[list[Client]]:
    """Control is blocked inside the block, and the first frame of each of these connections waits for it."""
    reactors = reactors_of(server)
    with ExitStack() as stack:
        crowd = [stack.enter_context(server.connect()) for _ in range(CROWD)]
        with server.held_still():
            for client in crowd:
                client.send(SMALL)
            eventually(lambda: reactors.queued_bytes >= CROWD * len(SMALL))
            yield crowd


def test_the_first_frame_of_every_connection_gets_to_control(server: LiveServer) -> None:
    """Also above the limit for waiting bytes: a quarter of incomingBytesMax is reserved for first frames."""
    with ExitStack() as stack:
        with crowded(server):
            newcomer = stack.enter_context(server.connect())
            before = reactors_of(server).queued_bytes
            newcomer.send(SMALL)
            eventually(lambda: reactors_of(server).queued_bytes >= before + len(SMALL))
        assert newcomer.receive().code == REQUEST_CODE_NOT_SUPPORTED


def test_a_registered_broker_has_room_of_its_own(server: LiveServer) -> None:
    """For a frame of any size, while none of its frames is at control: half of incomingBytesMax."""
    reactors = reactors_of(server)
    with server.connect() as broker:
        registered(broker, Names())
        with crowded(server):
            before = reactors.queued_bytes
            broker.send(LARGE * 2)
            eventually(lambda: reactors.queued_bytes >= before + len(LARGE))
            eventually(lambda: reactors.incoming_bytes >= len(LARGE))
            assert reactors.queued_bytes < before + 2 * len(LARGE)
        assert [broker.receive().code for _ in range(2)] == [REQUEST_CODE_NOT_SUPPORTED] * 2


def test_registered_brokers_take_half_of_the_total(tmp_path: Path) -> None:
    """Beyond it their frames wait like those of others."""
    limit = 32 * MB
    with LiveServer(tmp_path, 1, **{"rocketns.incomingBytesMax": limit}) as server, ExitStack() as stack:
        reactors = reactors_of(server)
        brokers = [stack.enter_context(server.connect()) for _ in range(5)]
        for broker in brokers:
            registered(broker, Names())
        with server.held_still():
            for number, broker in enumerate(brokers):
                broker.send(frame(json_header(9999), bytes(limit // 8)))
                sent = (number + 1) * limit // 8
                eventually(lambda sent=sent: reactors.queued_bytes + reactors.incoming_bytes > sent)
            eventually(lambda: reactors.incoming_bytes > limit // 8)
            eventually(lambda: reactors.queued_bytes > limit // 2)
            assert reactors.queued_bytes <= limit // 2 + MB
        assert [broker.receive().code for broker in brokers] == [REQUEST_CODE_NOT_SUPPORTED] * len(brokers)


def test_all_who_wait_for_room_go_on_when_control_caught_up(server: LiveServer) -> None:
    """Frames too large for the reserve, of connections that have no other frame at control."""
    reactors = reactors_of(server)
    with ExitStack() as stack:
        with crowded(server):
            waiting = [stack.enter_context(server.connect()) for _ in range(3)]
            for client in waiting:
                client.send(LARGE)
            eventually(lambda: reactors.incoming_bytes >= len(waiting) * len(LARGE))
            assert reactors.queued_bytes < CROWD * len(SMALL) + len(LARGE)
        assert [client.receive().code for client in waiting] == [REQUEST_CODE_NOT_SUPPORTED] * len(waiting)
