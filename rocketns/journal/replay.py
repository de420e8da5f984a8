"""Records → routes, as the contract in journal/record.py defines them: for a start, `explain` and the journal's tests.

A record that breaks the contract changes nothing and is counted in ``refused``: the file may be damaged or forged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from rocketns._fast.routes.queue_table import put_known
from rocketns.journal.lines import Record, int_of, long_of
from rocketns.journal.record import KINDS
from rocketns.protocol.body.route import DataVersion, QueueData, TopicQueueMappingInfo, queue_data
from rocketns.routeinfo.prior_routes import PriorBroker, PriorLive, PriorRoutes

QUEUE_KINDS_MAX = 4096


class NoRecordError(ValueError):
    """A text has another type than the contract says, or is missing."""


class ReadQueues(NamedTuple):
    """The column ``topics``, already read: queues by topic."""

    by_topic: dict[str, QueueData]


class Replay:
    """`apply` takes the records of all boots in their order.

    ``last_broker`` is the broker named by the last record of a request: where a journal breaks off, the other records
    of that request may be missing. ``watched_epoch_ms``: where the last record is the ``stop`` of an observer, when it
    last read the name server. ``looked_epoch_ms`` and ``no_topics``: what an observer's snapshots say of topics.
    """

    def __init__(self) -> None:
        self.routes = PriorRoutes()
        self.refused = 0
        self.last_broker: str | None = None
        self.ended_epoch_ms = 0
        self.watched_epoch_ms: int | None = None
        self.looked_epoch_ms: int | None = None
        self.no_topics = False
        self._names: dict[str, str] = {}

    def apply(self, record: Record) -> None:
        """Apply one record. Never raises."""
        applier = _APPLIERS.get(record.get("ev"))  # type: ignore[arg-type]
        if applier is None:
            return
        try:
            self.ended_epoch_ms = long_of(record["ts"]) // 1000
            self.watched_epoch_ms = None
            applier(self, record)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            self.refused += 1

    def _start(self, record: Record) -> None:
        """A server that restored its routes began with the routes of the records before. Another one began empty."""
        if not record.get("restored"):
            self.routes = PriorRoutes()
            self.looked_epoch_ms, self.no_topics = None, False
        self.last_broker = None

    def _stop(self, record: Record) -> None:
        if record.get("since") is not None:
            self.watched_epoch_ms = long_of(record["since"]) // 1000

    def _reg(self, record: Record) -> None:
        self._put_member(self._broker(record), record, self.ended_epoch_ms)

    def _hb(self, record: Record) -> None:
        name = self._broker(record)
        if "timeout_ms" in record:
            self._put_member(name, record, self.ended_epoch_ms, keeps_filters=True)
            return
        broker = self._member(name, record)
        if broker is not None:
            broker.live.data_version, broker.live.seen_epoch_ms = _version(record), self.ended_epoch_ms
            if "fs" in record:
                broker.live.filter_servers = _filter_servers(record)

    def _down(self, record: Record) -> None:
        name = self._broker(record)
        self.routes.remove_broker(name, long_of(record["bid"]), _text(record["cluster"]), _addr(record["addr"]))

    def _doubt(self, record: Record) -> None:
        broker = self._member(self._broker(record), record)
        if broker is not None and record.get("seen") is not None:
            broker.live.seen_epoch_ms = long_of(record["seen"])

    def _group(self, record: Record) -> None:
        group = self.routes.put_group(self._broker(record), self._name(record["gcluster"]))
        group.zone_name, group.enable_acting_master = _text_or_none(record.get("zone")), bool(record["acting"])

    def _tput(self, record: Record) -> None:
        name = self._broker(record)
        put_known(self.routes.topics, name, _queues(record["topics"]))

    def _tdel(self, record: Record) -> None:
        name = self._broker(record)
        for topic in [_text(one["t"]) for one in record["topics"]]:
            self.routes.delete_topic(name, topic)

    def _map(self, record: Record) -> None:
        self._broker(record)
        self._put_mappings(record)

    def _snap(self, record: Record) -> None:
        """Each record of a snapshot is true at its own place, so it may be applied at any time."""
        if "addr" in record:
            self._put_member(self._name(record["broker"]), record, self._seen(record))
        elif "maps" in record:
            self._put_mappings(record)
        elif "topics" in record:
            put_known(self.routes.topics, self._name(record["broker"]), _queues(record["topics"]))
        elif "live" in record:
            self._live(record)
        elif record.get("end"):
            looked = record.get("looked")
            self.looked_epoch_ms = None if looked is None else long_of(looked) // 1000
            self.no_topics = bool(record.get("no_topics"))

    def _seen(self, record: Record) -> int:
        seen = record.get("seen")
        return self.ended_epoch_ms if seen is None else long_of(seen)

    def _broker(self, record: Record) -> str:
        self.last_broker = self._name(record["broker"])
        return self.last_broker

    def _name(self, name: Any) -> str:
        """One object for all equal names: tables hold millions of references to them."""
        return self._names.setdefault(_text(name), name)

    def _member(self, name: str, record: Record) -> PriorBroker | None:
        group = self.routes.groups.get(name)
        broker = None if group is None else group.brokers.get(record["bid"])
        return broker if broker is not None and broker.addr == record["addr"] else None

    def _put_member(self, name: str, record: Record, seen_epoch_ms: int, *, keeps_filters: bool = False) -> None:
        cluster, addr, broker_id = self._name(record["cluster"]), _addr(record["addr"]), long_of(record["bid"])
        group_cluster = self._name(record.get("gcluster", cluster))
        entry, servers = _entry(record, seen_epoch_ms), _filter_servers(record)
        switches = _text_or_none(record.get("zone")), bool(record["acting"])
        live = self.routes.put_broker(name, broker_id, cluster, addr, group_cluster)
        live.put(*entry)
        if "fs" in record or not keeps_filters:
            live.filter_servers = servers
        group = self.routes.groups[name]
        group.zone_name, group.enable_acting_master = switches

    def _live(self, record: Record) -> None:
        cluster, addr = self._name(record["cluster"]), _addr(record["live"])
        entry, servers = _entry(record, self._seen(record)), _filter_servers(record)
        live = self.routes.lives.setdefault((cluster, addr), PriorLive())
        live.put(*entry)
        live.filter_servers = servers
        self.routes.drop_unused_live(cluster, addr)

    def _put_mappings(self, record: Record) -> None:
        for one in record["maps"]:
            info = _mapping(one)
            self.routes.mappings.setdefault(_text(one["t"]), {})[info.bname] = info


# `Reading` judges files by their ``open``.
_APPLIERS: dict[str, Callable[[Replay, Record], None]] = {
    name: getattr(Replay, f"_{name}") for name, kind in KINDS.items() if kind.restoring and name != "open"
}


def _text(value: Any) -> str:
    if type(value) is not str:
        raise NoRecordError("no text")
    return value


def _addr(value: Any) -> str:
    if not value:
        raise NoRecordError("an empty address")
    return _text(value)


def _text_or_none(value: Any) -> str | None:
    if value is not None and type(value) is not str:
        raise NoRecordError("no text")
    return value


def _version(record: Record) -> DataVersion | None:
    if "dvt" not in record:
        return None
    counter = record.get("dvc")
    return DataVersion(long_of(record["dvs"]), long_of(record["dvt"]), None if counter is None else long_of(counter))


def _entry(record: Record, seen_epoch_ms: int) -> tuple[int | None, str | None, DataVersion | None, int, str | None]:
    """The arguments of `PriorLive.put`."""
    timeout_ms = record.get("timeout_ms")
    return (
        None if timeout_ms is None else long_of(timeout_ms), _text_or_none(record.get("ha")), _version(record),
        seen_epoch_ms, _text_or_none(record.get("from_host")),
    )  # fmt: skip


def _filter_servers(record: Record) -> list[str | None]:
    return [_text_or_none(one) for one in record.get("fs", ())]


def _queues(listed: list[Record] | ReadQueues) -> dict[str, QueueData]:
    if isinstance(listed, ReadQueues):
        return listed.by_topic
    queues = {one["t"]: _queue_data(one["r"], one["w"], one["p"], one["s"]) for one in listed}
    "".join(queues)  # a TypeError where one is no text
    return queues


@lru_cache(maxsize=QUEUE_KINDS_MAX)
def _queue_data(read: Any, write: Any, perm: Any, sys_flag: Any) -> QueueData:
    return queue_data(int_of(read), int_of(write), int_of(perm), int_of(sys_flag))


def _mapping(mapping: Record) -> TopicQueueMappingInfo:
    ids = mapping.get("ids")
    return TopicQueueMappingInfo(
        topic=_text_or_none(mapping.get("n")),
        bname=_text_or_none(mapping.get("b")),
        curr_id_map=None if ids is None else {int_of(key): int_of(value) for key, value in ids},
        dirty=bool(mapping.get("d")),
        epoch=long_of(mapping.get("e", 0)),
        scope=_text_or_none(mapping.get("sc")),
        total_queues=int_of(mapping.get("q", 0)),
    )
