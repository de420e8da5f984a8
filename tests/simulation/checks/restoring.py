"""Invariant (e) for routes: a start restores the former routes, except for records that the disk lost.

The tables after each change are remembered with the number of its last record. A start must give those of the last
record that is on the disk. This does not read a record's content, so it shares nothing with the code that restores.
"""

from __future__ import annotations

from dataclasses import dataclass

import orjson

from rocketns.routeinfo.doubt import Reason
from rocketns.routeinfo.tables import RouteTables
from tests.simulation.actors.nameserver import NameServer, NameServerProcess
from tests.simulation.checks.journals import lines_of
from tests.simulation.world.errors import Violation

ENTRIES_MAX = 2_000

Routes = tuple[
    dict[str, dict[str, tuple[int, ...]]], dict[tuple[str, int], str], dict[str, tuple[object, bool]],
    dict[str, dict[str | None, object]],
]  # fmt: skip


def routes_of(tables: RouteTables) -> Routes:
    """Topics with queues, members, the switches of their groups, and mappings of static topics.

    A group without members is not in the journal.
    """
    groups = {name: group for name, group in tables.broker_addr_table.items() if group.broker_addrs}
    return (
        {topic: {name: tuple(data) for name, data in queues.items()}
         for topic, queues in tables.topic_queue_table.items()},
        {(name, broker_id): addr for name, group in groups.items() for broker_id, addr in group.broker_addrs.items()},
        {name: (group.zone_name, group.enable_acting_master) for name, group in groups.items()},
        {topic: dict(mappings) for topic, mappings in tables.topic_queue_mapping_info_table.items() if mappings},
    )  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """The routes after a change. Its records are those after ``before``, up to ``seq``."""

    boot: int
    before: int
    seq: int
    routes: Routes


class History:
    """The routes of one name server over all its processes."""

    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._boots: list[int] = []
        self._lossy: set[int] = set()
        self._seeded: set[int] = set()

    def began(self, process: NameServerProcess) -> None:
        """The process serves: compare what it restored, which is then what it has before its first record."""
        journal = process.controller.journal
        routes = routes_of(process.controller.core.context.tables)
        doubts = [entry.doubt for entry in process.controller.core.context.tables.broker_live_table.values()]
        is_seeded = any(doubt is not None and doubt.reason is Reason.SEEDED for doubt in doubts)
        if is_seeded:
            pass  # `check_seeded` compares them
        elif process.controller.configuration.restore.restore:
            self._compare(process.server, routes)
        elif any(routes):
            raise Violation(f"(e) {process.name} does not restore, and began with {routes}")
        if journal is not None:
            self._boots.append(journal.buffer._boot)
            self._entries.append(Entry(self._boots[-1], 0, 0, routes))
            if is_seeded:
                self._seeded.add(self._boots[-1])

    def changed(self, process: NameServerProcess, before: int) -> None:
        """The tables changed, by a batch of events whose records follow the record ``before``."""
        journal = process.controller.journal
        if journal is not None:
            boot = journal.buffer._boot
            routes = routes_of(process.controller.core.context.tables)
            self._entries.append(Entry(boot, before, journal.buffer.seq, routes))
            if journal.buffer.lost or journal.buffer.losses:
                self._lossy.add(boot)
            del self._entries[:-ENTRIES_MAX]

    def _compare(self, server: NameServer, routes: Routes) -> None:
        boot, seq = self._last_record(server)
        if boot is None or boot in self._lossy or (boot in self._seeded and not _has_snapshot(server, boot)):
            return
        entries = [entry for entry in self._entries if entry.boot == boot]
        last = [entry for entry in entries if entry.seq <= seq][-1:]
        if not last or any(entry.before < seq < entry.seq for entry in entries):
            return  # the disk has a part of the last change
        expected = last[0].routes
        if not expected[1]:  # without a broker nothing is restored, but mappings stay where they are
            expected = ({}, {}, {}, {})
        if routes != expected:
            raise Violation(f"(e) {server.name} restored {routes}, at record {seq} there were {expected}")

    def _last_record(self, server: NameServer) -> tuple[int | None, int]:
        """The last process with a record on the disk, and the record's number."""
        for boot in reversed(self._boots):
            found = lines_of(server, boot)
            if found:
                return boot, orjson.loads(found[-1])["seq"]
        return None, 0


def _has_snapshot(server: NameServer, boot: int) -> bool:
    """Whether the disk has a whole snapshot of that process. Without one, partly seeded routes are not restored."""
    return any(b'"end":true' in line for line in lines_of(server, boot))
