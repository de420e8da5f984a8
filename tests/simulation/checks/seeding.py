"""Invariant (e), of seeds: what was read from another name server is what that one has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rocketns.routeinfo.doubt import Reason
from tests.simulation.actors.nameserver import NameServer, NameServerProcess
from tests.simulation.checks.restoring import routes_of
from tests.simulation.world.errors import Violation


def check_seeded(
    process: NameServerProcess, servers: Sequence[NameServer], changed_us: Mapping[NameServer, int]
) -> None:
    """The process serves. If no table changed while it read them, its routes are those of one of the others.

    Mappings of brokers that are gone stay where they are, and are not read.
    """
    tables = process.controller.core.context.tables
    doubts = [entry.doubt for entry in tables.broker_live_table.values()]
    if not any(doubt is not None and doubt.reason is Reason.SEEDED for doubt in doubts):
        return
    others = [one.process for one in servers if one is not process.server and one.process is not None and one.serves]
    began_us = process.started_us
    were_quiet = all(changed_us.get(one.server, 0) < began_us and one.started_us < began_us for one in others)
    if not others or len(others) < len(servers) - 1 or not were_quiet:
        return
    routes = routes_of(tables)[:3]
    known = [routes_of(one.controller.core.context.tables)[:3] for one in others]
    if routes not in known:
        raise Violation(f"(e) {process.name} was seeded with {routes}, the others have {known}")
