"""Memory that strangers' bytes take at the HTTP ports, while their connections live and when they have gone."""

from __future__ import annotations

import socket
from contextlib import ExitStack, suppress

import pytest

from interop.harness.wire import eventually
from tests.hostile.ports.conftest import Ports
from tests.hostile.watch import MB, Watch, costs_at_most

# Both HTTP ports have threads of their own, with reactors and without.

PATHS = {"management": b"/livez", "addresses": b"/rocketmq/nsaddr"}
BODY = b"x" * MB
WAVES, IN_WAVE = 3, 64
LIVING = 60  # fewer than either port keeps
GROWTH_MAX = 24 * MB
LIVING_GROWTH_MAX = 8 * MB
HEADS = {
    "a length": b"GET %b HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1048576\r\n\r\n",
    "chunks": b"POST %b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n100000\r\n",
    "an upgrade": b"GET %b HTTP/1.1\r\nHost: localhost\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "a tunnel": b"CONNECT a:1 HTTP/1.1\r\nHost: localhost\r\nX: %b\r\n\r\n",
    "nothing": b"GET %b HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "no end": b"GET %b HTTP/1.1\r\nHost: localhost\r\nX: ",
}


def sent(port: int, data: bytes) -> socket.socket:
    """A connection that was sent as much of this as the server takes before it closes or waits."""
    peer = socket.create_connection(("127.0.0.1", port), 60)
    peer.setblocking(False)
    with suppress(OSError):
        while data:
            data = data[peer.send(data) :]
    return peer


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("name", PATHS)
def test_waves_of_connections_with_a_megabyte_leave_nothing(ports: Ports, name: str, head: bytes) -> None:
    """With large tables the garbage collector runs rarely, so it must not be what frees a connection."""
    data = head % PATHS[name] + BODY
    with costs_at_most(ports.server, GROWTH_MAX):
        for _ in range(WAVES):
            with ExitStack() as stack:
                for _ in range(IN_WAVE):
                    peer = stack.enter_context(sent(ports.by_name[name], data))
                    peer.setblocking(True)
                    with suppress(OSError):
                        peer.recv(1)


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
@pytest.mark.parametrize("name", PATHS)
def test_connections_that_stay_hold_a_few_kilobytes_each(ports: Ports, name: str, head: bytes) -> None:
    """The server reads a head, and then only as much as one more head may have."""
    watch = Watch(ports.server)
    with ExitStack() as stack:
        peers = [stack.enter_context(sent(ports.by_name[name], head % PATHS[name] + BODY)) for _ in range(LIVING)]
        eventually(lambda: all(is_answered_or_closed(peer) for peer in peers))
        growth = watch.peak_growth()
    assert growth <= LIVING_GROWTH_MAX, f"{growth / MB:.1f} MB for {LIVING} connections"


def is_answered_or_closed(peer: socket.socket) -> bool:
    try:
        peer.recv(1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
