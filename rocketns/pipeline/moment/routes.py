"""What each name server answered for a topic at a moment, according to its journal, in the order of the answer.

Without filter servers and mappings of static topics. A journal does not hold whether supportActingMaster was on, so the
caller says it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from rocketns.journal.reading.boots import Known
from rocketns.journal.reading.replay import Replay
from rocketns.journal.record import MEMBER
from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.moment.recorded import Recorded

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
    by_server: dict[str, list[Known]] = {}
    for boot in recorded.boots():
        by_server.setdefault(boot.ns, []).append(boot)
    acting = acting_masters and not topic.startswith(MEMBER_LIST_PREFIX)
    return [_route(ns, found, topic, at, acting) for ns, found in sorted(by_server.items())]


def _route(ns: str, boots: Sequence[Known], topic: str, at: int, acting_masters: bool) -> Route:
    running = next((boot for boot in reversed(boots) if _is_up(boot, at, boot is boots[-1])), None)
    if running is None:
        return Route(ns, False, [], [])
    if running.no_topics:
        return Route(ns, False, [], [], no_topics=True)
    replayed = _replayed(running, at)
    queues = sorted(Queues(broker, *data) for broker, data in replayed.routes.topics.get(topic, {}).items())
    groups = [_group(one.broker, replayed) for one in queues]
    if acting_masters:
        groups = [_with_acting_master(group, queues) for group in groups]
    return Route(ns, True, queues, groups)


def _is_up(boot: Known, at: int, is_last: bool) -> bool:
    """A name server without a stop record is taken to be up for a while after its last record."""
    until = boot.t2 + (SILENT_AFTER_US if is_last and not boot.stopped else 0)
    return boot.t1 is not None and boot.t1 <= at < until


def _replayed(boot: Known, at: int) -> Replay:
    """The routes of the boot at the moment. Only snapshots count at which state begins. If neither such a snapshot nor
    a record after its begin names a thing, its removal was lost: it is removed at the end of the snapshot."""
    begins = {snapshot.snap for snapshot in boot.snapshots}
    ends = {(snapshot.snap, snapshot.end_seq) for snapshot in boot.snapshots}
    replays, latest = [Replay()], dict[tuple[Any, ...], int]()
    for record in boot.records:
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
