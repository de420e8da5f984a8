"""What reactors have for control is delivered in the turns of hosts, while the test blocks control."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from interop.harness.wire import Client, eventually, frame, json_header
from tests.support.live import LiveServer

CHURNING, NEW, OTHER = "127.0.0.2", "127.0.0.3", "127.0.0.4"
OF_HOST_AT_ONCE = 8  # reactors.pyx
CHURNED = 60


def churn(server: LiveServer, connections: int = CHURNED) -> None:
    """Connections that send a request and end. Control is blocked, so all that they leave waits for it."""
    for number in range(connections):
        queued = server.reactors.queued_bytes
        with Client(server.port, source=CHURNING) as client:
            client.send(frame(json_header(206, opaque=number)))
            eventually(lambda queued=queued: server.reactors.queued_bytes > queued, every_s=0.001)
    eventually(lambda: server.reactors.connections == 0, every_s=0.001)


def test_a_new_peer_does_not_wait_for_what_others_have_left(tmp_path: Path) -> None:
    with LiveServer(tmp_path, reactors=1) as server:
        transport = server.transport
        came: list[str] = []
        opened = transport.opened

        def note(number: int, host: int, is_tls: bool, peer: tuple[str, str | None, bytes, int]) -> None:
            came.append(peer[0].rpartition(":")[0])
            opened(number, host, is_tls, peer)

        transport.opened = note  # type: ignore[method-assign]
        with server.held_still():
            churn(server)
            queued = server.reactors.queued_bytes
            client = Client(server.port, source=NEW)
            client.send(frame(json_header(206)))
            eventually(lambda: server.reactors.queued_bytes > queued, every_s=0.001)
        with client:
            assert client.receive().code == 0
        assert came.index(NEW) <= OF_HOST_AT_ONCE


def test_the_messages_of_a_connection_keep_their_order(tmp_path: Path) -> None:
    """Whatever the turns are, a request comes after the connection was opened, and before it ended."""
    with LiveServer(tmp_path, reactors=1) as server:
        with server.held_still():
            churn(server)
        eventually(lambda: not server.call(lambda: server.reactors.has_news))
        transport = server.transport
        assert (transport.opened_total, sum(transport.endings.values())) == (CHURNED, CHURNED)
        with server.connect() as client:
            assert client.request(206).code == 0


def be_refused(server: LiveServer, connections: int) -> None:
    """Connections that control never knew, of which it is only told."""
    for _ in range(connections):
        with Client(server.port, source=CHURNING) as client:
            client.send(b"PROXY nobody\r\n")
            assert client.is_closed_by_server()


@pytest.mark.parametrize("leave", [churn, be_refused])
def test_a_host_whose_ends_control_has_not_seen_is_turned_away(
    tmp_path: Path, leave: Callable[[LiveServer, int], None]
) -> None:
    """So its connections that control has not taken note of are bounded, and other hosts get in."""
    maximum = 20
    with LiveServer(tmp_path, reactors=1, **{"rocketns.connectionsMax": maximum}) as server:
        with server.held_still():
            leave(server, maximum // 2 + 1)
            eventually(lambda: server.reactors.connections == 0, every_s=0.001)
            with Client(server.port, source=CHURNING) as client:
                assert client.is_closed_by_server()
            assert server.reactors.turned_away == 1
            with Client(server.port, source=OTHER) as other:
                other.send(frame(json_header(206)))
                eventually(lambda: server.reactors.connections == 1, every_s=0.001)
        eventually(lambda: not server.call(lambda: server.reactors.has_news))
        with Client(server.port, source=CHURNING) as client:
            assert client.request(206).code == 0
