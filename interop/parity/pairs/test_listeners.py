"""Which server a frame came from."""

from __future__ import annotations

import os
import socket
import subprocess
import sys

from interop.harness.ports import free_port
from interop.harness.wire import frame, json_header
from interop.parity.pairs.listeners import Listeners

ARRIVES_WITHIN_S = 60.0
FRAME = frame(json_header(307))
# Opens a connection when it is told from where and to where, and keeps it until its input ends.
OTHER = """
import sys
from interop.parity.pairs.test_listeners import tell
kept = tell(int(input()), int(input()))
sys.stdin.read()
"""


def tell(source: int, there: int) -> socket.socket:
    """A connection from a port to another one, with a frame on it."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    connection.bind(("127.0.0.1", source))
    connection.connect(("127.0.0.1", there))
    connection.sendall(FRAME)
    return connection


def test_a_frame_is_its_senders_though_another_server_connects_from_the_same_port() -> None:
    """Linux gives one port to two connections that go to different addresses."""
    source, ours = free_port(), os.getpid()
    with subprocess.Popen([sys.executable, "-c", OTHER], stdin=subprocess.PIPE, text=True) as other:
        listeners = Listeners(2, [ours, other.pid])
        with tell(source, listeners.ports[0]):
            assert other.stdin is not None
            other.stdin.write(f"{source}\n{listeners.ports[1]}\n")
            other.stdin.flush()
            found = {pid: listeners.take(pid, 1, ARRIVES_WITHIN_S) for pid in (other.pid, ours)}
        listeners.close()
    assert found == {ours: [(0, FRAME)], other.pid: [(1, FRAME)]}
