"""Invariant (g): queues and buffers stay within their limits, and the indexes of the tables within their tables."""

from __future__ import annotations

from tests.simulation.actors.nameserver import NameServerProcess
from tests.simulation.world.errors import Violation


def check_limits(process: NameServerProcess) -> None:
    """What waits, by its limit; and nothing is kept of connections that are gone."""
    controller = process.controller
    limits, counts = controller.configuration.limits, controller.facts.counts()
    transport = controller.asyncio_transport
    bounds = {
        "requests in the inbox": limits.in_flight_max * limits.connections_max,
        "unregistrations": controller.core.context.unregister_queue.capacity,
        "connections of the asyncio loop": limits.connections_max,
        "bytes in the journal's buffer": controller.configuration.journal.journal_buffer_bytes,
    }
    for name, most in bounds.items():
        if counts[name] > most:
            raise Violation(f"(g) {process.name} has {counts[name]} {name}, at most {most}")
    if transport.incoming_bytes > limits.incoming_bytes_max:
        raise Violation(f"(g) {process.name} holds {transport.incoming_bytes} bytes of unfinished frames")
    _check_connections(process)


def _check_connections(process: NameServerProcess) -> None:
    """Every live entry has an open connection, or its end is being dealt with; every connection has its socket."""
    controller = process.controller
    tables = controller.core.context.tables
    for connection, keys in tables.owned.items():
        for key in keys:
            entry = tables.broker_live_table.get(key)
            if entry is None or entry.channel is not connection:
                raise Violation(f"(g) {process.name} keeps {key} for a connection that does not have it")
    open_sockets = sum(not socket.is_closed for socket in process.sockets)
    if len(controller.asyncio_transport.connections) > open_sockets + len(controller.client._connections):
        raise Violation(f"(g) {process.name} has more connections than sockets")
