"""What happened in a seed, as its world knows it: runs of name servers, their stalls, and their tables over time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from rocketns.routeinfo.doubt import Reason
from rocketns.routeinfo.events import BrokerDown, Event
from rocketns.routeinfo.tables import RouteTables
from tests.simulation.nameserver import NameServerProcess
from tests.simulation.world import START_EPOCH_MS

Member = tuple[str, str, int, str]
Route = tuple[str, str]
Queues = tuple[int, int, int]


class View(NamedTuple):
    """The tables from ``us`` on: members of groups, those that are kept without a sign of life, queues of topics."""

    us: int
    members: frozenset[Member]
    kept: frozenset[tuple[Member, str]]
    queues: dict[Route, Queues]


class Down(NamedTuple):
    """A member left."""

    us: int
    member: Member
    cause: str


@dataclass
class Run:
    """One process of a name server that has a journal, from the moment on in which it serves. Times are epoch us.

    ``shown_by``: the record by which its journal shows what it began with, None if that took longer than its start.
    ``ends``: ``stop``, or ``lost`` without a record of its end; both if it was killed while it stopped, or stopped
    while its disk took nothing. ``stops``: from
    when until when it did not run. ``is_lossy``: records were lost while it ran. ``synced`` records are on
    the disk for sure, the last of ``synced_us``.
    """

    ns: str
    boot: int
    begun_us: int
    shown_by: int | None
    views: list[View] = field(default_factory=list)
    downs: list[Down] = field(default_factory=list)
    stops: list[tuple[int, int]] = field(default_factory=list)
    ended_us: int = 0
    ends: tuple[str, ...] = ()
    is_lossy: bool = False
    synced: int = 0
    synced_us: int = 0


def epoch_us(now_us: int) -> int:
    """The wall clock of every host at a moment of virtual time, as a journal shows it."""
    return (START_EPOCH_MS + now_us // 1000) * 1000


class Truth:
    """``runs`` in the order of their starts. Called with everything that happens to a process."""

    def __init__(self) -> None:
        self.runs: list[Run] = []
        self._open: dict[NameServerProcess, Run] = {}
        self._stopped_us: dict[NameServerProcess, int] = {}

    def began(self, process: NameServerProcess) -> None:
        """Its journal began, and it serves."""
        controller, now_us = process.controller, epoch_us(process.world.now_us)
        assert controller.journal is not None
        buffer = controller.journal.buffer
        run = Run(controller._journal_ns(), buffer._boot, now_us, None if controller.journal._work else buffer.seq)
        run.views.append(view_of(controller.core.context.tables, now_us))
        self._open[process] = run
        self.runs.append(run)

    def changed(self, process: NameServerProcess, events: Sequence[Event]) -> None:
        """Its tables changed."""
        run = self._open.get(process)
        if run is not None:
            view = view_of(process.controller.core.context.tables, epoch_us(process.world.now_us))
            run.views.append(view)
            run.downs += [
                Down(view.us, member, str(one.cause))
                for one in events
                if isinstance(one, BrokerDown) and one.broker_name is not None and one.broker_id is not None
                if (member := (one.cluster, one.broker_name, one.broker_id, one.addr)) not in view.members
            ]

    def note(self) -> None:
        """After every fault: note which processes are stopped or running."""
        for process, run in self._open.items():
            now_us = epoch_us(process.world.now_us)
            if process.is_stopped:
                self._stopped_us.setdefault(process, now_us)
            elif process in self._stopped_us:
                run.stops.append((self._stopped_us.pop(process), now_us))

    def ended(self, process: NameServerProcess) -> None:
        """The process is gone."""
        run = self._open.pop(process, None)
        if run is not None:
            journal = process.controller.journal
            assert journal is not None
            assert process.journal is not None
            run.ended_us = epoch_us(process.world.now_us)
            is_sure = process.has_stopped and process.journal.synced == len(process.journal.lines)
            run.ends = ("stop",) if is_sure else ("stop", "lost") if process.is_stopping else ("lost",)
            run.is_lossy = bool(journal.buffer.lost or journal.buffer.losses)
            run.synced = process.journal.synced
            run.synced_us = orjson.loads(process.journal.lines[run.synced - 1])["ts"] if run.synced else 0


def view_of(tables: RouteTables, now_us: int) -> View:
    """The content of the tables."""
    members = frozenset(
        (group.cluster, name, broker_id, addr)
        for name, group in tables.broker_addr_table.items()
        for broker_id, addr in group.broker_addrs.items()
    )
    queues = {
        (topic, name): (data.read_queue_nums, data.write_queue_nums, data.perm)
        for topic, brokers in tables.topic_queue_table.items()
        for name, data in brokers.items()
    }
    return View(now_us, members, frozenset(_kept(tables, members)), queues)


def _kept(tables: RouteTables, members: frozenset[Member]) -> list[tuple[Member, str]]:
    found = []
    for member in members:
        entry = tables.live(member[0], member[3])
        if entry is not None and entry.doubt is not None and entry.doubt.reason is not Reason.RESTORED:
            found.append((member, str(entry.doubt.reason)))
    return found
