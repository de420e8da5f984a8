"""Replays a journal into a state as a restart does, and checks that its records keep the contract."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from rocketns.journal import record
from rocketns.journal.replay import Replay
from rocketns.protocol.body.route import QueueData
from rocketns.routeinfo.prior_routes import PriorBroker, PriorRoutes
from rocketns.routeinfo.tables import RouteTables

Record = dict[str, Any]
# The column ``cause`` of ``down`` and ``tdel``, and of ``tput``.
DOWN_CAUSES = (
    "unregister", "expired", "unconfirmed", "refused", "channel_close", "channel_exception", "channel_idle",
    "conflict", "admin", "register", "observed",
)  # fmt: skip
TPUT_CAUSES = ("register", "heartbeat", "topic", "perm", *DOWN_CAUSES[:8], "observed")
CAUSES = {"down": DOWN_CAUSES, "tput": TPUT_CAUSES, "tdel": DOWN_CAUSES}
TYPES = {"long": int, "int": int, "string": str, "boolean": bool}


def parsed(data: bytes) -> list[Record]:
    """Whole lines only; anything else is an error."""
    assert not data or data.endswith(b"\n"), "a torn line"
    return [orjson.loads(line) for line in data.splitlines()]


def kinds(records: Iterable[Record]) -> list[str]:
    """The kinds of the records without seals."""
    return [one["ev"] for one in records if one["ev"] != "seal"]


def check_columns(one: Record) -> None:
    """A record has the columns of its kind, each of its type, and no nulls."""
    assert {"boot", "seq", "ts", "ev"} <= one.keys()
    assert one.keys() <= {"boot", "seq", "ts", "ev", *record.KINDS[one["ev"]].columns}, one
    for name, value in one.items():
        kind = TYPES.get(record.COLUMNS[name])
        assert kind is None or type(value) is kind, f"{name} in {one}"
    for topic in one.get("topics", ()):
        assert topic.keys() == ({"t"} if one["ev"] == "tdel" else record.TOPIC_FIELDS.keys())
    assert len(one.get("topics", ())) <= record.TOPICS_IN_RECORD_MAX
    assert one.get("cause") in (None, *CAUSES.get(one["ev"], ()))


@dataclass
class State:
    """A reader's state, built by the code that a restart uses. Each record is checked before it is applied.

    A ``tput`` may say what is known: topics that waited for room are recorded as they are then, see `DeferredTopics`.
    ``lenient``: the reader began in the middle of a boot, so records may remove things it has not seen.
    """

    lenient: bool = False
    replay: Replay = field(default_factory=Replay)
    kv: dict[tuple[str, str], str] = field(default_factory=dict)
    snapshot_ended: bool = False

    @property
    def topics(self) -> dict[str, dict[str, QueueData]]:
        return self.replay.routes.topics

    def apply(self, records: Iterable[Record]) -> State:
        for one in records:
            getattr(self, f"_{one['ev']}", lambda _one: None)(one)
            self.replay.apply(one)
            assert not self.replay.refused, f"refused: {one}"
        return self

    def _start(self, _one: Record) -> None:
        self.kv = {}

    def _reg(self, one: Record) -> None:
        assert self.lenient or self._member(one) is None, f"it is there: {one}"

    def _member(self, one: Record) -> PriorBroker | None:
        group = self.replay.routes.groups.get(one["broker"])
        return None if group is None else group.brokers.get(one["bid"])

    def _check_there(self, one: Record) -> None:
        told = self._member(one)
        assert self.lenient or told is not None, f"not there: {one}"
        assert told is None or (told.cluster, told.addr) == (one["cluster"], one["addr"]), f"another one: {one}"

    _hb = _down = _doubt = _check_there

    def _tdel(self, one: Record) -> None:
        for topic in one["topics"]:
            assert self.lenient or one["broker"] in self.topics.get(topic["t"], {}), f"not there: {topic}"

    def _group(self, one: Record) -> None:
        assert self.lenient or "acting" in one or one["broker"] in self.replay.routes.groups, f"not there: {one}"

    def _kv(self, one: Record) -> None:
        self.kv.pop((one["ns_key"], one["key"]), None)
        if "val" in one:
            self.kv[one["ns_key"], one["key"]] = one["val"]

    def _snap(self, one: Record) -> None:
        if one.get("end"):
            self.snapshot_ended = True
        elif "key" in one:
            self.kv[one["ns_key"], one["key"]] = one["val"]

    def check(self, tables: RouteTables) -> None:
        """Check that the journal has exactly what the server's tables hold."""
        shown, expected = self.shown(), shown_tables(tables)
        for what in expected:
            assert shown[what] == expected[what], f"other {what}: {shown[what]} instead of {expected[what]}"

    def shown(self) -> dict[str, Any]:
        """What the journal tells, to compare it."""
        routes = self.replay.routes
        groups = {name: (group.cluster, group.zone_name, group.enable_acting_master,
                         {broker_id: broker.addr for broker_id, broker in group.brokers.items()})
                  for name, group in routes.groups.items()}  # fmt: skip
        lives = {key: (live.data_version, live.ha_server_addr, live.timeout_ms)
                 for key, live in routes.lives.items() if live.timeout_ms is not None}  # fmt: skip
        filters = {key: live.filter_servers for key, live in routes.lives.items() if live.filter_servers}
        return {"topics": routes.topics, "mappings": routes.mappings, "groups": groups, "clusters": clusters(routes),
                "lives": lives, "filters": filters}  # fmt: skip


def clusters(routes: PriorRoutes) -> dict[str, set[str]]:
    """Which names a cluster lists after a start: those of its groups and of its members, as `filling.fill` does."""
    listed: dict[str, set[str]] = {}
    for name, group in routes.groups.items():
        for cluster in (group.cluster, *(broker.cluster for broker in group.brokers.values())):
            listed.setdefault(cluster, set()).add(name)
    return listed


def shown_tables(tables: RouteTables) -> dict[str, Any]:
    """The same of a server's tables."""
    groups = {name: (group.cluster, group.zone_name, group.enable_acting_master, group.broker_addrs)
              for name, group in tables.broker_addr_table.items()}  # fmt: skip
    lives = {key: (entry.data_version, entry.ha_server_addr, entry.timeout_ms)
             for key, entry in tables.broker_live_table.items()}  # fmt: skip
    return {"topics": tables.topic_queue_table, "mappings": tables.topic_queue_mapping_info_table, "groups": groups,
            "clusters": tables.cluster_addr_table, "lives": lives, "filters": tables.filter_server_table}  # fmt: skip


def check_sequence(records: list[Record]) -> None:
    """Check one boot: sequence numbers without a gap, except for those counted by ``drop`` records."""
    expected = 1
    for one in records:
        lost = one.get("lost", 0)
        assert one["seq"] == expected + lost, f"expected {expected} after {lost} lost: {one}"
        expected = one["seq"] + 1
