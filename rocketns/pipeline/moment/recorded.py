"""What the records around a moment tell: of each boot its numbers and times, and the records that show one topic.

Most records are heartbeats and lookups, of which only number and time are kept, so a day of a large fleet has room in
memory. Heartbeats of the last hours are kept whole, as samples of the clocks.

What each name server answered for a topic at a moment, according to its journal, in the order of the answer.

Without filter servers and mappings of static topics. A journal does not hold whether supportActingMaster was on, so the
caller says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, NamedTuple

from rocketns.journal.lines import Record
from rocketns.journal.record import KINDS, MEMBER
from rocketns.journal.replay import Replay
from rocketns.pipeline import boots
from rocketns.pipeline.boots import Mark
from rocketns.pipeline.clocks.looks import is_short
from rocketns.pipeline.contract.defaults import SILENT_AFTER_US

# Of these kinds and of heartbeats that state attributes, the whole record.
_SHOWING = frozenset(name for name, kind in KINDS.items() if kind.restoring is not None) - {"hb"}
_HEARD = frozenset(("reg", "hb", "down"))

Boot = tuple[str, int]  # name server, boot
Day = tuple[str, str]  # dt, name server


@dataclass
class Recorded:
    """``marks``: of every record, and ``records``: those that show state, by boot; both in any order until ``sorted``.
    ``heard``: for the clocks. ``days``: those that have a record of a name server. ``last``: the
    latest time."""

    marks: dict[Boot, dict[int, Mark]] = field(default_factory=dict)
    records: dict[Boot, list[Record]] = field(default_factory=dict)
    heard: list[Record] = field(default_factory=list)
    days: set[Day] = field(default_factory=set)
    last: int = 0

    def add(self, records: Iterable[Record], topic: str, heard_from: int) -> None:
        """Of topics only this one is kept, and of heartbeats those from this time (us) on. A record that came already
        is passed over."""
        for record in records:
            boot = record["ns"], record["boot"]
            marks = self.marks.setdefault(boot, {})
            if record["seq"] in marks:
                continue
            marks[record["seq"]] = Mark(record["seq"], record["ts"], record["dt"])
            self.days.add((record["dt"], record["ns"]))
            self.last = max(self.last, record["ts"])
            self._keep(boot, record, topic, heard_from)

    def _keep(self, boot: Boot, record: Record, topic: str, heard_from: int) -> None:
        ev = record["ev"]
        if not _names_its_broker(record):
            return
        if ev in _HEARD and record["ts"] >= heard_from:
            self.heard.append(record)
        if ev == "tput" and record["ts"] >= heard_from and is_short(record):
            self.heard.append({**record})  # with all its topics
        if ev in _SHOWING or (ev == "hb" and states_attributes(record)):
            if record.get("topics"):
                record["topics"] = [one for one in record["topics"] if one and one.get("t") == topic]
            given = {name: value for name, value in record.items() if value is not None}
            self.records.setdefault(boot, []).append(given)

    def sorted(self) -> Recorded:
        """These records in the order of ``seq``."""
        marks = {boot: dict(sorted(found.items())) for boot, found in self.marks.items()}
        records = {boot: sorted(found, key=itemgetter("seq")) for boot, found in self.records.items()}
        return Recorded(marks, records, self.heard, self.days, self.last)

    def boots(self) -> list[boots.Boot]:
        """Each boot, in the order of name server and boot. It must be sorted."""
        return [
            boots.of_records(*boot, [*self.marks[boot].values()], self.records.get(boot, []))
            for boot in sorted(self.marks)
        ]

    def shown(self) -> list[Record]:
        """The records that show state, of all boots."""
        return [record for records in self.records.values() for record in records]

    def corrected(self, offsets: Mapping[Day, int]) -> Recorded:
        """These records by the reference's clock. ``offsets``: us that a clock is ahead on a day."""

        def shifted(record: Record) -> Record:
            offset = offsets.get((record["dt"], record["ns"]), 0)
            return {
                **record,
                **{name: record[name] - offset for name in ("ts", "since") if record.get(name) is not None},
            }

        marks = {
            (ns, boot): {seq: m._replace(ts=m.ts - offsets.get((m.dt, ns), 0)) for seq, m in found.items()}
            for (ns, boot), found in self.marks.items()
        }
        records = {boot: [shifted(record) for record in found] for boot, found in self.records.items()}
        return Recorded(marks, records, [], self.days, self.last)

    def until(self, at: int) -> Recorded:
        """Without what comes after this time."""
        marks = {boot: {seq: m for seq, m in found.items() if m.ts <= at} for boot, found in self.marks.items()}
        records = {boot: [r for r in found if r["ts"] <= at] for boot, found in self.records.items()}
        return Recorded(
            {boot: found for boot, found in marks.items() if found}, records, [], self.days, min(self.last, at)
        )


def _names_its_broker(record: Mapping[str, Any]) -> bool:
    """Whether a record of a member has its whole key, and one of topics or of a group a broker: it may be damaged."""
    is_member = record.get("addr") is not None or record["ev"] in ("reg", "hb", "down")
    tells = bool(record.get("topics")) or record.get("acting") is not None
    needed = MEMBER if is_member else ("broker",) if tells else ()
    return all(record.get(name) is not None for name in needed)


def states_attributes(record: Mapping[str, Any]) -> bool:
    """Whether a heartbeat tells more than that the broker lives."""
    return record.get("timeout_ms") is not None or record.get("acting") is not None


WRITE, MASTER = 2, 0
MEMBER_LIST_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"  # of topics that show a group as it is


class Queues(NamedTuple):
    """Queue data of the topic on a broker: read and write queues, permission, system flag."""

    broker: str
    r: int
    w: int
    p: int
    s: int


class Group(NamedTuple):
    """``addrs``: broker id and address of each member, by broker id. ``acting``: it supports acting masters."""

    broker: str
    cluster: str | None
    addrs: list[tuple[int, str]]
    acting: bool | None


class Route(NamedTuple):
    """Without queues the name server answered that the topic does not exist, if it is ``known``. ``no_topics``: it was
    watched, but did not list its topics."""

    ns: str
    known: bool
    queues: list[Queues]
    groups: list[Group]
    no_topics: bool = False


def routes_at(recorded: Recorded, topic: str, at: int, *, acting_masters: bool = False) -> list[Route]:
    """The routes at ``at`` (epoch us), one for each name server with any record, by name. Later records show whether a
    name server that was quiet at that moment was still up. ``recorded`` is in order, and has no other topic."""
    by_server: dict[str, list[boots.Boot]] = {}
    for boot in recorded.boots():
        by_server.setdefault(boot.ns, []).append(boot)
    acting = acting_masters and not topic.startswith(MEMBER_LIST_PREFIX)
    return [_route(found, recorded, topic, at, acting) for _, found in sorted(by_server.items())]


def _route(found: Sequence[boots.Boot], recorded: Recorded, topic: str, at: int, acting_masters: bool) -> Route:
    ns = found[0].ns
    running = next((boot for boot in reversed(found) if _is_up(boot, at, boot is found[-1])), None)
    if running is None:
        return Route(ns, False, [], [])
    if running.said.no_topics:
        return Route(ns, False, [], [], no_topics=True)
    replayed = _replayed(running, recorded.records.get((ns, running.boot), []), at)
    queues = sorted(Queues(broker, *data) for broker, data in replayed.routes.topics.get(topic, {}).items())
    groups = [_group(one.broker, replayed) for one in queues]
    if acting_masters:
        groups = [_with_acting_master(group, queues) for group in groups]
    return Route(ns, True, queues, groups)


def _is_up(boot: boots.Boot, at: int, is_last: bool) -> bool:
    """A name server without a stop record is taken to be up for a while after its last record."""
    stopped, begin = boot.said.stop_ts is not None, boot.known_from
    until = boot.until + (SILENT_AFTER_US if is_last and not stopped else 0)
    return begin is not None and begin < boot.until and begin <= at < until


def _replayed(boot: boots.Boot, records: Sequence[Record], at: int) -> Replay:
    """The routes of the boot at the moment. Only snapshots count at which state begins. If neither such a snapshot nor
    a record after its begin names a thing, its removal was lost: it is removed at the end of the snapshot."""
    begins = {snapshot.snap for snapshot in boot.snapshots}
    ends = {(snapshot.snap, snapshot.end_seq) for snapshot in boot.snapshots}
    replays, latest = [Replay()], dict[tuple[Any, ...], int]()
    for record in records:
        subject, snap = tuple(record.get(name) for name in MEMBER), record.get("snap")
        latest[subject] = max(latest.get(subject, 0), record["ts"])  # the clock may have been set back
        if latest[subject] > at or (record["ev"] == "snap" and snap not in begins):
            continue
        if record["ev"] == "snap" and record.get("part") == 0:
            replays.append(Replay())
        for replay in replays:
            replay.apply(record)
        if (snap, record["seq"]) in ends:
            replays = replays[-1:]
    return replays[0]


def _group(broker: str, replayed: Replay) -> Group:
    """Each broker with queues has a group, unless its records are missing."""
    group = replayed.routes.groups.get(broker)
    if group is None:
        return Group(broker, None, [], None)
    addrs = sorted((bid, one.addr) for bid, one in group.brokers.items())
    return Group(broker, group.cluster, addrs, group.enable_acting_master)


def _with_acting_master(group: Group, queues: Iterable[Queues]) -> Group:
    """Show the slave with the smallest id as master, in a read-only group that supports acting masters and has none."""
    writable = any(one.broker == group.broker and one.p & WRITE for one in queues)
    has_master = any(bid == MASTER for bid, _ in group.addrs)
    if not group.acting or not group.addrs or has_master or writable:
        return group
    return group._replace(addrs=[(MASTER, group.addrs[0][1]), *group.addrs[1:]])
