"""Control has as many bytes waiting as it may: who gets a frame to it all the same, and when the others go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from interop.harness.codes import REQUEST_CODE_NOT_SUPPORTED
from interop.harness.wire import Client, eventually, frame, json_header
from rocketns.server.requests.inbox import WAITING_BYTES_MAX
from tests.fast.reactor.test_moving import reactors_of
from tests.soak.live import LiveServer

FIRST_FRAME_BYTES_MAX = 256 * 1024  # turns.pyx: such a frame of a connection without another one at control
SMALL = frame(json_header(9999), bytes(200_000))
LARGE = frame(json_header(9999), bytes(FIRST_FRAME_BYTES_MAX))
CROWD = WAITING_BYTES_MAX // len(SMALL) + 8  # connections with a small frame each, more than may wait in all


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    with LiveServer(tmp_path, reactors=1) as started:
        yield started


@contextmanager
def crowded(server: LiveServer) -> Iterator[list[Client]]:
    """Control is held still inside, and each of these connections has its first frame there."""
    reactors = reactors_of(server)
    with ExitStack() as stack:
        crowd = [stack.enter_context(server.connect()) for _ in range(CROWD)]
        with server.held_still():
            for client in crowd:
                client.send(SMALL)
            eventually(lambda: reactors.queued_bytes >= CROWD * len(SMALL))
            yield crowd


def test_the_first_frame_of_every_connection_gets_to_control(server: LiveServer) -> None:
    """Beyond the bound for what waits, too: a quarter of incomingBytesMax is reserved for first frames."""
    with ExitStack() as stack:
        with crowded(server):
            newcomer = stack.enter_context(server.connect())
            before = reactors_of(server).queued_bytes
            newcomer.send(SMALL)
            eventually(lambda: reactors_of(server).queued_bytes >= before + len(SMALL))
        assert newcomer.receive().code == REQUEST_CODE_NOT_SUPPORTED


def test_all_who_wait_for_room_go_on_when_control_caught_up(server: LiveServer) -> None:
    """Frames that are too large to go first, of connections that have nothing else at control."""
    reactors = reactors_of(server)
    with ExitStack() as stack:
        with crowded(server):
            waiting = [stack.enter_context(server.connect()) for _ in range(3)]
            for client in waiting:
                client.send(LARGE)
            eventually(lambda: reactors.incoming_bytes >= len(waiting) * len(LARGE))
            assert reactors.queued_bytes < CROWD * len(SMALL) + len(LARGE)
        assert [client.receive().code for client in waiting] == [REQUEST_CODE_NOT_SUPPORTED] * len(waiting)
