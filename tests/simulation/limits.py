"""Invariants (f) and (g): lookups give the reference's bytes; queues, buffers and indexes stay within their limits."""

from __future__ import annotations

from rocketns._fast.routes.routes import topic_count
from rocketns.protocol.body import bodies
from rocketns.routeinfo import view
from tests.compiled.parts import HANDED_OVER, body_of
from tests.simulation.nameserver import NameServerProcess
from tests.simulation.plan import TOPICS
from tests.simulation.world import Violation


def check_limits(process: NameServerProcess) -> None:
    """What waits, by its limit; and nothing is kept of connections that are gone."""
    controller = process.controller
    limits, counts = controller.configuration.limits, controller.facts.counts()
    reactors = controller.reactors
    bounds = {
        "requests in the inbox": limits.in_flight_max * limits.connections_max,
        "unregistrations": controller.core.context.unregister_queue.capacity,
        "connections": limits.connections_max,
        "bytes in the journal's buffer": controller.configuration.journal.journal_buffer_bytes,
    }
    for name, most in bounds.items():
        if counts[name] > most:
            raise Violation(f"(g) {process.name} has {counts[name]} {name}, at most {most}")
    if reactors.incoming_bytes > limits.incoming_bytes_max:
        raise Violation(f"(g) {process.name} holds {reactors.incoming_bytes} bytes of unfinished frames")
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
    if controller.reactors.connections > open_sockets + len(controller.client._connections):
        raise Violation(f"(g) {process.name} has more connections than sockets")


def check_slots(process: NameServerProcess) -> None:
    """Both dialects of every topic. A topic that is handed over to control has no slot to compare."""
    controller = process.controller
    core, config = controller.core, controller.configuration.namesrv
    tables, slots = core.context.tables, core.publisher.slots
    for topic in {*TOPICS, *(topic for topic in tables.topic_queue_table if topic.isascii())}:
        route = view.pick_up_route(tables, config, topic)
        for standard in (False, True):
            compiled = body_of(slots, topic.encode(), standard)
            if compiled == HANDED_OVER and route is not None:
                continue
            reference = None if route is None else bodies.topic_route_data(route, standard=standard)
            if compiled != reference:
                raise Violation(f"(f) {topic} on {process.name}: slots {compiled!r}, reference {reference!r}")
    if topic_count(slots) != len(tables.topic_queue_table):
        raise Violation(f"(f) {process.name} has {topic_count(slots)} slots, {len(tables.topic_queue_table)} topics")
