"""Invariant (f): a lookup by the compiled slots gives the bytes of the Python reference."""

from __future__ import annotations

from rocketns.protocol.body import bodies
from rocketns.routeinfo import view
from tests.compiled.parts import HANDED_OVER, body_of, topic_count
from tests.simulation.actors.nameserver import NameServerProcess
from tests.simulation.plan.deployment import TOPICS
from tests.simulation.world.errors import Violation


def check_slots(process: NameServerProcess) -> None:
    """Both dialects of every topic. A topic that is handed over to control has no slot to compare."""
    controller = process.controller
    core, config = controller.core, controller.configuration.namesrv
    tables, slots = core.context.tables, core.publisher.slots
    for topic in TOPICS:
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
