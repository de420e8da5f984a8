"""What each name server answered for a topic at a moment, according to its journal, in the order of the answer.

A journal does not hold filter servers, mappings of static topics, or whether supportActingMaster was on, which the
caller says. If members of one broker name registered in several clusters, the first cluster by name is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from rocketns.journal.reading.lines import Record
from rocketns.pipeline.contract.causes import MEMBER
from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.moment.boots import Known, Snapshot, known_boots
from rocketns.pipeline.moment.told import Told

WRITE, MASTER = 2, 0
MEMBER_LIST_PREFIX = "rmq_sys_SYNC_BROKER_MEMBER_"  # of topics that show a group as it is


class Queues(NamedTuple):
    """Queue data of the topic on a broker: read and write queues, permission, system flag."""

    broker: str
    r: int | None
    w: int | None
    p: int | None
    s: int | None


class Group(NamedTuple):
    """``addrs``: broker id and address of each member, by broker id. ``acting``: it supports acting masters."""

    broker: str
    cluster: str | None
    addrs: list[tuple[int, str]]
    acting: bool | None


class Route(NamedTuple):
    """Without queues the name server answered that the topic does not exist, if it is ``known``."""

    ns: str
    known: bool
    queues: list[Queues]
    groups: list[Group]


class Change(NamedTuple):
    """``value`` None: gone."""

    seq: int
    ts: int
    value: Any


def routes_at(told: Told, topic: str, at: int, *, acting_masters: bool = False) -> list[Route]:
    """As of ``at`` (epoch us), one of each name server with any record, by name. Later records show whether a name
    server that was quiet at that moment was still up. ``told`` is in order, and has no other topic."""
    boots = known_boots(told)
    by_server: dict[str, list[Known]] = {}
    for boot in boots:
        by_server.setdefault(boot.ns, []).append(boot)
    acting = acting_masters and not topic.startswith(MEMBER_LIST_PREFIX)
    return [_route(ns, found, at, acting) for ns, found in sorted(by_server.items())]


def _route(ns: str, boots: Sequence[Known], at: int, acting_masters: bool) -> Route:
    running = next((boot for boot in reversed(boots) if _is_up(boot, at, boot is boots[-1])), None)
    if running is None:
        return Route(ns, False, [], [])
    queues = sorted(Queues(broker, *value) for broker, value in _held(_topic_changes(running), running, at).items())
    groups = _groups(boots, running, {one.broker for one in queues}, at)
    if acting_masters:
        groups = [_with_acting_master(group, queues) for group in groups]
    return Route(ns, True, queues, groups)


def _is_up(boot: Known, at: int, is_last: bool) -> bool:
    """A name server without a stop record is taken to be up for a while after its last record."""
    until = boot.t2 + (SILENT_AFTER_US if is_last and not boot.stopped else 0)
    return boot.t1 is not None and boot.t1 <= at < until


def _held(changes: Iterable[tuple[Any, Change]], boot: Known, at: int) -> dict[Any, Any]:
    """The value of each key at the moment, where it is there."""
    by_key: dict[Any, list[Change]] = {}
    for key, change in changes:
        by_key.setdefault(key, []).append(change)
    values = {key: _value(found, boot.snapshots, at) for key, found in by_key.items()}
    return {key: value for key, value in values.items() if value is not None}


def _value(changes: Sequence[Change], snapshots: Sequence[Snapshot], at: int) -> Any:
    value, latest = None, changes[0].ts
    for change in _with_found_gone(changes, snapshots):
        latest = max(latest, change.ts)  # the clock may have been set back
        if latest > at:
            break
        value = change.value
    return value


def _with_found_gone(changes: Sequence[Change], snapshots: Sequence[Snapshot]) -> Iterator[Change]:
    """An absence after a change that the next snapshot does not name: its removal was lost."""
    for number, change in enumerate(changes):
        yield change
        later = next((one for one in snapshots if one.snap > change.seq), None)
        following = changes[number + 1].seq if number + 1 < len(changes) else None
        if later is not None and (following is None or following > later.end_seq):
            yield Change(later.end_seq, later.end_ts, None)


def _counted(boot: Known) -> Iterator[Record]:
    """Of snapshots only those at which state begins."""
    begins = {snapshot.snap for snapshot in boot.snapshots}
    return (record for record in boot.records if record["ev"] != "snap" or record.get("snap") in begins)


def _topic_changes(boot: Known) -> Iterator[tuple[str, Change]]:
    for record in _counted(boot):
        if record["ev"] in ("tput", "tdel", "snap"):
            for entry in record.get("topics") or ():
                there = record["ev"] != "tdel"
                value = tuple(entry.get(name) for name in "rwps") if there else None
                yield record["broker"], Change(record["seq"], record["ts"], value)


def _member_changes(boot: Known) -> Iterator[tuple[tuple[Any, ...], Change]]:
    for record in _counted(boot):
        is_member = record.get("bid") is not None and record.get("addr") is not None
        told = record["ev"] in ("reg", "down", "snap") or record.get("timeout_ms") is not None
        if is_member and told:
            gone = record["ev"] == "down"
            yield tuple(record.get(n) for n in MEMBER), Change(record["seq"], record["ts"], None if gone else True)


def _groups(boots: Sequence[Known], running: Known, brokers: set[str], at: int) -> list[Group]:
    """Each broker with queues has a group. The group may have lost all its addresses to other groups or ids."""
    members: dict[str, list[tuple[Any, ...]]] = {}
    for member in _held(_member_changes(running), running, at):
        members.setdefault(member[1], []).append(member)
    last = _last_told(boots, at)
    groups = []
    for broker in sorted(brokers):
        found = members.get(broker, [])
        cluster = min((member[0] for member in found), default=last.get(broker, {}).get("cluster"))
        addrs = sorted((bid, addr) for _, _, bid, addr in found)
        groups.append(Group(broker, cluster, addrs, last.get(broker, {}).get("acting")))
    return groups


def _last_told(boots: Iterable[Known], at: int) -> Mapping[str, Record]:
    """The last cluster of each broker, and whether its group supports acting masters."""
    last: dict[str, Record] = {}
    for record in (record for boot in boots for record in boot.records):
        acting, cluster = record.get("acting"), record.get("cluster")
        is_member = cluster is not None and (acting is not None or record["ev"] in ("reg", "down"))
        if record["ts"] <= at and (is_member or acting is not None):
            told = last.setdefault(record["broker"], {})
            told |= {"cluster": cluster} if is_member else {}
            told |= {} if acting is None else {"acting": acting}
    return last


def _with_acting_master(group: Group, queues: Iterable[Queues]) -> Group:
    """Show the slave with the smallest id as master, in a read-only group that supports acting masters and has none."""
    writable = any(one.broker == group.broker and (one.p or 0) & WRITE for one in queues)
    has_master = any(bid == MASTER for bid, _ in group.addrs)
    if not group.acting or not group.addrs or has_master or writable:
        return group
    return group._replace(addrs=[(MASTER, group.addrs[0][1]), *group.addrs[1:]])
