"""How many connections the server opens: in all, to one host, and for one notification."""

from __future__ import annotations

from contextlib import ExitStack

from interop.harness.wire import Client, eventually
from rocketns.server.publishing.min_broker_notifier import RECEIVERS_MAX
from tests.hostile.conftest import StartServer
from tests.hostile.outgoing.listeners import ON, Listener, announce, connect_from
from tests.hostile.witness import Witness

# Connections that the server opens are on control's loop, with reactors and without.

HOST, OTHER = "127.0.0.2", "127.0.0.3"


def listeners_of(stack: ExitStack, count: int, host: str = HOST) -> list[Listener]:
    return [stack.enter_context(Listener(host)) for _ in range(count)]


def notify(client: Client, group: str, listeners: list[Listener]) -> None:
    """Make them brokers of a group, then let a lower id join: all of them are to be told."""
    for broker_id, one in enumerate(listeners, 1):
        announce(client, group, one.addr, broker_id)
    announce(client, group, "127.0.0.9:1")


def accepted(listeners: list[Listener]) -> int:
    return sum(one.accepted for one in listeners)


def test_connections_to_one_host(start_server: StartServer) -> None:
    """rocketns.outgoingConnectionsPerHostMax: what would need more is dropped. Another host has its own."""
    server = start_server(ON | {"rocketns.outgoingConnectionsPerHostMax": 4})
    with ExitStack() as stack, connect_from(server.port, HOST) as client, connect_from(server.port, OTHER) as other:
        many, one = listeners_of(stack, 20), listeners_of(stack, 1, OTHER)
        notify(client, "many", many)
        notify(other, "one", one)
        eventually(lambda: (accepted(one), accepted(many)) == (1, 4))
        with Witness(server):
            pass
        assert accepted(many) == 4


def test_receivers_of_one_notification(start_server: StartServer) -> None:
    """One request opens no more connections than that, however many brokers its group has."""
    server = start_server(ON | {"rocketns.outgoingConnectionsPerHostMax": 1_000})
    with ExitStack() as stack, connect_from(server.port, HOST) as client:
        many = listeners_of(stack, RECEIVERS_MAX + 6)
        notify(client, "many", many)
        eventually(lambda: accepted(many) == RECEIVERS_MAX)
        with Witness(server):
            assert accepted(many) == RECEIVERS_MAX


def test_connections_in_all(start_server: StartServer) -> None:
    """rocketns.outgoingConnectionsMax: the one that was idle for longest makes room."""
    server = start_server(ON | {"rocketns.outgoingConnectionsMax": 2})
    with ExitStack() as stack, connect_from(server.port, HOST) as client:
        listeners = listeners_of(stack, 4)
        for number, one in enumerate(listeners):
            notify(client, f"g{number}", [one])
            eventually(lambda one=one: one.accepted == 1)
        eventually(lambda: [one.ended for one in listeners] == [1, 1, 0, 0])
