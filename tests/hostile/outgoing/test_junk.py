"""What a broker's address sends where nobody asked for anything: it is neither kept nor read for long."""

from __future__ import annotations

import math
import socket
import struct
import time
from contextlib import ExitStack

from interop.harness.wire import eventually, frame, json_header
from rocketns.client.places import REST_S
from tests.hostile.conftest import StartServer
from tests.hostile.outgoing.listeners import ON, Listener, announce, connect_from
from tests.hostile.watch import MB, costs_at_most
from tests.hostile.witness import Witness

# Connections that the server opens are on control's loop, with reactors and without.

HOSTS = 4
EACH = 8
UNFINISHED = struct.pack(">iI", 16 * MB - 4, 100)
# What a connection may send before it is ended, and what the two kernels may hold of it.
JUNK_MAX = 12 * MB


def hand_over(connection: socket.socket) -> None:
    connection.sendall(UNFINISHED + json_header(0, opaque=7, flag=1).ljust(100) + bytes(15 * MB))
    while connection.recv(65_536):
        pass


def test_unfinished_frames_of_many_brokers(start_server: StartServer) -> None:
    """32 connections hand over 15 MB each of a frame that never ends. None of it is kept."""
    server = start_server(ON)
    with costs_at_most(server, 48 * MB), Witness(server), ExitStack() as stack:
        listeners = []
        for number in range(HOSTS):
            host = f"127.0.0.{number + 2}"
            client = stack.enter_context(connect_from(server.port, host))
            some = [stack.enter_context(Listener(host, hand_over)) for _ in range(EACH)]
            for broker_id, one in enumerate(some, 1):
                announce(client, f"g{number}", one.addr, broker_id)
            announce(client, f"g{number}", "127.0.0.1:1")
            listeners += some
        eventually(lambda: all(one.ended for one in listeners))
        assert [one.accepted for one in listeners] == [1] * len(listeners)


class Flood:
    """Sends small frames that nobody asked for, as long as they are taken."""

    def __init__(self) -> None:
        self.bytes = 0

    def __call__(self, connection: socket.socket) -> None:
        small = frame(json_header(0, opaque=7, flag=1)) * 1_000
        while True:
            self.bytes += connection.send(small)


def test_floods_of_small_frames(start_server: StartServer) -> None:
    """Each connection is ended after few of them, and its address is not tried again at once."""
    server = start_server(ON)
    with Witness(server, rounds_min=50, slowest_cpu_s=1.0), ExitStack() as stack:
        floods = [Flood() for _ in range(HOSTS)]
        listeners, clients = [], []
        for number, flood in enumerate(floods):
            host = f"127.0.0.{number + 2}"
            clients.append(stack.enter_context(connect_from(server.port, host)))
            listeners.append(stack.enter_context(Listener(host, flood)))
            announce(clients[-1], f"g{number}", listeners[-1].addr, 9)
            announce(clients[-1], f"g{number}", "127.0.0.1:1", 8)
        eventually(lambda: all(one.ended for one in listeners))
        assert max(flood.bytes for flood in floods) <= JUNK_MAX
        began_s = time.monotonic()
        for number, client in enumerate(clients):
            for broker_id in range(7, 0, -1):
                announce(client, f"g{number}", "127.0.0.1:1", broker_id)
        with Witness(server):
            pass
        assert max(one.accepted for one in listeners) <= 1 + tries_in(time.monotonic() - began_s)


def tries_in(seconds: float) -> int:
    """How often an address that failed once may be tried: perhaps at once, then it rests for two seconds, for four, and
    so on."""
    return 1 + int(math.log2(1 + seconds / (2 * REST_S)))
