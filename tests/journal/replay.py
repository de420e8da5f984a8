"""Replays a journal into a state, and checks that its records keep the contract. Independent of the writer's code."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import orjson

from rocketns.journal import record
from rocketns.routeinfo.tables import RouteTables

Record = dict[str, Any]
TYPES = {"long": int, "int": int, "string": str, "boolean": bool}


def parsed(data: bytes) -> list[Record]:
    """Whole lines only; anything else is an error."""
    assert not data or data.endswith(b"\n"), "a torn line"
    return [orjson.loads(line) for line in data.splitlines()]


def check_columns(one: Record) -> None:
    """A record has the columns of its kind, each of its type, and no nulls."""
    assert {"boot", "seq", "ts", "ev"} <= one.keys()
    assert one.keys() <= {"boot", "seq", "ts", "ev", *record.COLUMNS_OF[one["ev"]]}, one
    for name, value in one.items():
        kind = TYPES.get(record.COLUMNS[name])
        assert kind is None or type(value) is kind, f"{name} in {one}"
    for topic in one.get("topics", ()):
        assert topic.keys() == ({"t"} if one["ev"] == "tdel" else record.TOPIC_FIELDS.keys())
    assert len(one.get("topics", ())) <= record.TOPICS_IN_RECORD_MAX
    assert one.get("cause") in (None, *{"down": record.DOWN_CAUSES, "tput": record.TPUT_CAUSES,
                                        "tdel": record.TDEL_CAUSES}.get(one["ev"], ()))  # fmt: skip


@dataclass
class State:
    """``lenient``: the reader began in the middle of a boot, so records may remove what it has not seen."""

    lenient: bool = False
    topics: dict[str, dict[str, tuple[int, int, int, int]]] = field(default_factory=dict)
    members: dict[tuple[str, int], Record] = field(default_factory=dict)
    switches: dict[str, tuple[str | None, bool]] = field(default_factory=dict)
    last_of: dict[tuple[str, str], tuple[str, int]] = field(default_factory=dict)
    kv: dict[tuple[str, str], str] = field(default_factory=dict)
    snapshot_ended: bool = False

    def apply(self, records: Iterable[Record]) -> State:
        for one in records:
            getattr(self, f"_{one['ev']}", lambda _one: None)(one)
        return self

    def _start(self, _one: Record) -> None:
        self.topics, self.members, self.switches, self.kv = {}, {}, {}, {}

    def _reg(self, one: Record) -> None:
        assert self.lenient or (one["broker"], one["bid"]) not in self.members, f"it is there: {one}"
        self._set_member(one)
        self.last_of[one["cluster"], one["addr"]] = (one["broker"], one["bid"])

    def _set_member(self, one: Record) -> None:
        self.members[one["broker"], one["bid"]] = one
        self.switches[one["broker"]] = (one.get("zone"), one["acting"])

    def _hb(self, one: Record) -> None:
        told = self.members.get((one["broker"], one["bid"]))
        if told is None:
            assert self.lenient, f"not there: {one}"
            return
        assert (told["cluster"], told["addr"]) == (one["cluster"], one["addr"]), f"another one: {one}"
        restated = {name: one.get(name) for name in ("dvt", "dvc", "dvs")}
        if "timeout_ms" in one:
            restated |= {name: one.get(name) for name in ("timeout_ms", "ha")}
            self.switches[one["broker"]] = (one.get("zone"), one["acting"])
        self.members[one["broker"], one["bid"]] = told | restated
        self.last_of[one["cluster"], one["addr"]] = (one["broker"], one["bid"])

    def _down(self, one: Record) -> None:
        told = self.members.pop((one["broker"], one["bid"]), None)
        assert self.lenient or told is not None, f"not there: {one}"
        assert told is None or (told["cluster"], told["addr"]) == (one["cluster"], one["addr"]), f"another one: {one}"

    def _tput(self, one: Record) -> None:
        for topic in one["topics"]:
            value = tuple(topic[name] for name in "rwps")
            brokers = self.topics.setdefault(topic["t"], {})
            assert self.lenient or brokers.get(one["broker"]) != value, f"no change: {topic}"
            brokers[one["broker"]] = value

    def _tdel(self, one: Record) -> None:
        for topic in one["topics"]:
            brokers = self.topics.get(topic["t"], {})
            assert self.lenient or one["broker"] in brokers, f"not there: {topic}"
            brokers.pop(one["broker"], None)
            if not brokers:
                self.topics.pop(topic["t"], None)

    def _kv(self, one: Record) -> None:
        self.kv.pop((one["ns_key"], one["key"]), None)
        if "val" in one:
            self.kv[one["ns_key"], one["key"]] = one["val"]

    def _snap(self, one: Record) -> None:
        if one.get("end"):
            self.snapshot_ended = True
        elif "addr" in one:
            self._set_member(one)
        elif "topics" in one:
            for topic in one["topics"]:
                self.topics.setdefault(topic["t"], {})[one["broker"]] = tuple(topic[name] for name in "rwps")
        else:
            self.kv[one["ns_key"], one["key"]] = one["val"]

    def check(self, tables: RouteTables) -> None:
        """Check that the journal has the same topics and groups as the server's tables."""
        assert self.topics == {
            topic: {broker: tuple(queues) for broker, queues in brokers.items()}
            for topic, brokers in tables.topic_queue_table.items()
        }
        assert {key: told["addr"] for key, told in self.members.items()} == {
            (name, broker_id): addr
            for name, group in tables.broker_addr_table.items()
            for broker_id, addr in group.broker_addrs.items()
        }
        self._check_live(tables)

    def _check_live(self, tables: RouteTables) -> None:
        """The last data of each live member. An address in two groups has one live entry, of the later registration."""
        for key, told in self.members.items():
            live = tables.live(told["cluster"], told["addr"])
            if live is None or self.last_of.get((told["cluster"], told["addr"])) != key:
                continue
            version = live.data_version
            expected = (None,) * 3 if version is None else (version.timestamp, version.counter, version.state_version)
            assert (told.get("dvt"), told.get("dvc"), told.get("dvs")) == expected
            assert (told["timeout_ms"], told.get("ha")) == (live.timeout_ms, live.ha_server_addr)


def check_sequence(records: list[Record]) -> None:
    """Check one boot: sequence numbers without a gap, except for those counted by ``drop`` records."""
    expected = 1
    for one in records:
        lost = one.get("lost", 0)
        assert one["seq"] == expected + lost, f"expected {expected} after {lost} lost: {one}"
        expected = one["seq"] + 1
