"""The records of each event, column by column."""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any, get_args

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rocketns.journal import encoding, record, restore
from rocketns.journal.chain import NO_HASH
from rocketns.journal.effects import LARGE_BEAT_BYTES, LARGE_BEAT_EVERY_MS, WRITERS
from rocketns.journal.journal import Journal
from rocketns.journal.record import KINDS
from rocketns.journal.restore import JournalPass
from rocketns.journal.segments import Segment, StoredFile, day_of
from rocketns.protocol.body.route import DataVersion, queue_data
from rocketns.routeinfo import events, liveness
from rocketns.routeinfo.doubt import Doubt, DoubtReason
from rocketns.routeinfo.events import (
    AdminRequested,
    BrokerHeartbeat,
    Cause,
    ConfigChanged,
    KvChanged,
    RequestRefused,
    TopicChange,
    TopicsDeleted,
    TopicsPut,
)
from rocketns.routeinfo.tables import RouteTables
from tests.journal.memory import BOOT_MS, MemoryWriter, Told, memory_journal
from tests.journal.replay import Record, check_columns, check_sequence
from tests.routeinfo.manager import ADDR, BROKER, CLUSTER, MASTER, NORMAL, VERSION, Broker, Manager, table_of

KEY = {"cluster": CLUSTER, "broker": BROKER, "addr": ADDR, "bid": 0}
TOLD = {"dvt": VERSION.timestamp, "dvc": 1, "dvs": 0}
ATTRIBUTES = {"timeout_ms": 120_000, "ha": "127.0.0.1:20911", "acting": True}
ENTRY = {"r": 8, "w": 8, "p": 6, "s": 0}
OTHER = "127.0.0.1:50911"


class Shortened(Told):
    """Without what each record has."""

    def take(self) -> list[Record]:
        """The records without boot, seq, ts and the seals."""
        return [{k: v for k, v in one.items() if k not in ("boot", "seq", "ts")} for one in super().take()
                if one["ev"] != "seal"]  # fmt: skip


@pytest.fixture
def told() -> Told:
    """After the records of the start."""
    told = Shortened()
    told.take()
    return told


@pytest.fixture
def known(told: Told) -> Told:
    """After the records of MASTER and of two topics."""
    told.of(told.manager.register(MASTER, table_of("a", "b")))
    return told


def test_the_first_records_are_open_and_start() -> None:
    _, writer = memory_journal(Manager().tables, {"ns": {"k": "v"}})
    head = {"boot": BOOT_MS, "ts": BOOT_MS * 1000}
    assert writer.take() == [
        head | {"seq": 1, "ev": "open", "ns": "n1", "file": 1, "rotate_s": 600},
        head | {"seq": 2, "ev": "start", "ns": "n1"},
        head | {"seq": 3, "ev": "kv", "ns_key": "ns", "key": "k", "val": "v"},
        head | {"seq": 4, "ev": "seal", "prev": NO_HASH, "hash": NO_HASH},  # the writer fills it in
    ]


def test_a_registration_is_reg_then_its_topics(told: Told) -> None:
    assert told.of(told.manager.register(MASTER, table_of("a", "b"))) == [
        {"ev": "reg"} | KEY | TOLD | ATTRIBUTES,
        {"ev": "tput", "broker": BROKER, "cause": "register", "topics": [{"t": "a"} | ENTRY, {"t": "b"} | ENTRY]},
    ]


def test_the_same_registration_again_is_a_heartbeat(known: Told) -> None:
    known.manager.now_ms += 30_000
    assert known.of(known.manager.register(MASTER, table_of("a", "b"))) == [{"ev": "hb"} | KEY | TOLD | {"gap": 30_000}]


def test_a_changed_topic_comes_with_the_heartbeat_that_brought_it(known: Told) -> None:
    changed = table_of("a", b=queue_data(4, 4, 4, 1))
    assert known.of(known.manager.register(MASTER.next_version(), changed)) == [
        {"ev": "hb", "gap": 0} | KEY | TOLD | {"dvc": 2},
        {"ev": "tput", "broker": BROKER, "cause": "heartbeat", "topics": [{"t": "b", "r": 4, "w": 4, "p": 4, "s": 1}]},
    ]


@pytest.mark.parametrize(
    ("change", "told_again"),
    [
        ({"timeout_ms": 50}, {"timeout_ms": 50}),
        ({"ha_addr": None}, {"ha": None}),
        ({"zone": "z1"}, {"zone": "z1"}),
        ({"acting": False}, {"acting": False}),
    ],
)
def test_a_heartbeat_says_what_changed_of_the_broker_once(known: Told, change: dict, told_again: dict) -> None:
    expected = {"ev": "hb", "gap": 0} | KEY | TOLD | ATTRIBUTES | told_again
    expected = {name: value for name, value in expected.items() if value is not None}
    assert known.of(known.manager.register(MASTER.but(**change), table_of("a", "b"))) == [expected]
    assert known.of(known.manager.register(MASTER.but(**change), table_of("a", "b"))) == [
        {"ev": "hb", "gap": 0} | KEY | TOLD
    ]


def test_a_heartbeat_without_registration(known: Told) -> None:
    refreshed = known.manager.tables.refresh(CLUSTER, ADDR, known.manager.now_ms + 1_000)
    assert known.events(*refreshed) == [{"ev": "hb", "gap": 1_000} | KEY | TOLD]
    assert known.events(*known.manager.tables.refresh(CLUSTER, "nobody:1", 0)) == []


def test_large_heartbeats_are_recorded_once_in_ten_seconds(told: Told) -> None:
    manager, broker = told.manager, MASTER.but(name="b" * LARGE_BEAT_BYTES)
    manager.register(broker, table_of("a", "b"))
    told.of()
    written = []
    for _ in range(5):
        manager.now_ms += LARGE_BEAT_EVERY_MS // 2
        written += [one["gap"] for one in told.events(*manager.tables.refresh(CLUSTER, ADDR, manager.now_ms))]
    assert written == [LARGE_BEAT_EVERY_MS // 2] * 3


def test_a_large_heartbeat_that_ends_a_doubt_is_recorded(told: Told) -> None:
    manager, broker = told.manager, MASTER.but(name="b" * LARGE_BEAT_BYTES)
    manager.register(broker, table_of("a", "b"))
    manager.note(manager.tables.refresh(CLUSTER, ADDR, manager.now_ms))
    doubt = Doubt(DoubtReason.SILENT_TOGETHER, manager.now_ms, manager.now_ms + 600_000, BOOT_MS)
    manager.note(liveness.doubt_broker(manager.tables, manager.key(broker), doubt, manager.now_ms))
    told.of()
    assert [one["ev"] for one in told.events(*manager.tables.refresh(CLUSTER, ADDR, manager.now_ms))] == ["hb"]


def test_a_doubt_its_reason_and_what_ends_it(known: Told) -> None:
    known.manager.now_ms += 120_001
    doubt = Doubt(DoubtReason.SILENT_TOGETHER, known.manager.now_ms, known.manager.now_ms + 600_000, BOOT_MS)
    key = known.manager.key(MASTER)
    assert known.events(*liveness.doubt_broker(known.manager.tables, key, doubt, known.manager.now_ms)) == [
        {"ev": "doubt", "gap": 120_001, "doubt": "silent_together", "seen": BOOT_MS} | KEY
    ]
    known.manager.now_ms += 600_001
    assert [request.cause for request in liveness.overdue_unconfirmed(known.manager.tables, known.manager.now_ms)]
    known.manager.scan()
    assert known.of()[0] == {"ev": "down", "gap": 720_002, "cause": "unconfirmed"} | KEY


@pytest.mark.parametrize(
    ("version", "columns"),
    [
        (None, {}),
        (DataVersion(3, 7, None), {"dvt": 7, "dvs": 3}),
        (DataVersion(1, -1, 2**62), {"dvt": -1, "dvc": 2**62, "dvs": 1}),
    ],
)
def test_data_versions_that_lack_something(told: Told, version: DataVersion | None, columns: dict) -> None:
    broker = MASTER.but(version=version)
    first, *_ = told.of(told.manager.register(broker, table_of("a", "b")))
    assert first == {"ev": "reg"} | KEY | columns | ATTRIBUTES
    assert told.of(told.manager.register(broker, table_of("a", "b"))) == [{"ev": "hb", "gap": 0} | KEY | columns]


@pytest.mark.parametrize("cause", [Cause.UNREGISTER, Cause.EXPIRED, Cause.CHANNEL_CLOSE, Cause.CHANNEL_EXCEPTION])
def test_a_broker_that_goes_takes_its_topics(known: Told, cause: Cause) -> None:
    known.manager.now_ms += 123_000
    assert known.of(known.manager.unregister(MASTER.leaving(cause))) == [
        {"ev": "down"} | KEY | {"gap": 123_000, "cause": cause},
        {"ev": "tdel", "broker": BROKER, "cause": cause, "topics": [{"t": "a"}, {"t": "b"}]},
    ]


def test_an_address_that_takes_an_id_displaces_the_one_that_had_it(known: Told) -> None:
    known.manager.now_ms += 7
    taken = MASTER.but(addr=OTHER, version=VERSION._replace(state_version=1))
    down, reg, *_ = known.of(known.manager.register(taken, table_of("a", "b")))
    assert down == {"ev": "down"} | KEY | {"gap": 7, "cause": "conflict"}
    assert (reg["ev"], reg["addr"]) == ("reg", OTHER)


def test_tools_change_topics(known: Told) -> None:
    put = {"ev": "tput", "broker": BROKER}
    assert known.of(known.manager.register_topic("c", (BROKER, NORMAL))) == [
        put | {"cause": "topic", "topics": [{"t": "c"} | ENTRY]}
    ]
    wiped, *_ = known.of(known.manager.wipe_write_perm(BROKER))
    assert (wiped["cause"], [one["p"] for one in wiped["topics"]]) == ("perm", [4, 4, 4])
    assert known.of(known.manager.wipe_write_perm(BROKER)) == []
    assert known.of(known.manager.delete_topic("a")) == [
        {"ev": "tdel", "broker": BROKER, "cause": "admin", "topics": [{"t": "a"}]}
    ]


def test_kv_items_and_properties(told: Told) -> None:
    kv = {"ev": "kv", "ns_key": "ns", "key": "k"}
    assert told.events(KvChanged("ns", "k", "v"), KvChanged("ns", "k", None)) == [kv | {"val": "v"}, kv]
    assert told.events(ConfigChanged("enableTopicList", "true")) == [
        {"ev": "config", "key": "enableTopicList", "val": "true"}
    ]
    assert told.events(ConfigChanged("tls.server.keyPassword", "x")) == [
        {"ev": "config", "key": "tls.server.keyPassword"}
    ]


def test_each_event_has_records_or_none_for_a_reason() -> None:
    without = {events.BrokerConflict, events.BrokerRefused, events.MinBrokerIdChanged, events.FleetDiffers}
    assert WRITERS.keys() | without == set(get_args(events.Event))


def put(names: list[str]) -> TopicsPut:
    return TopicsPut(BROKER, [TopicChange(name, None, NORMAL) for name in names], Cause.TOPIC)


def test_many_topics_are_split_into_records_of_bounded_size(told: Told) -> None:
    names = [f"topic-{number}" for number in range(10_000)]
    records = told.events(put(names))
    assert [len(one["topics"]) for one in records] == [record.TOPICS_IN_RECORD_MAX] * 20
    assert [topic for one in records for topic in one["topics"]] == [{"t": name} | ENTRY for name in names]
    deleted = told.events(TopicsDeleted(BROKER, names, Cause.ADMIN))
    assert [topic["t"] for one in deleted for topic in one["topics"]] == names


def test_long_names_split_a_record_further_down_to_one_topic(told: Told) -> None:
    names = ["x" * 30_000, "y" * 30_000, "z" * 100_000, "a"]
    records = told.events(put(names))
    assert [[topic["t"][0] for topic in one["topics"]] for one in records] == [["x"], ["y"], ["z"], ["a"]]


@pytest.mark.parametrize("name", ['a","b', '"', "\\", "\n", "", "日本", "\u2028", "a\x00b", '{"t":"x"}', "'"])
def test_any_name_is_written_as_it_is(told: Told, name: str) -> None:
    for names in ([name], [name, "plain"], ["plain", name, name + "2"]):
        (one,) = told.events(put(names))
        assert [topic["t"] for topic in one["topics"]] == names
        (one,) = told.events(TopicsDeleted(name or "b", names, Cause.ADMIN))
        assert [topic["t"] for topic in one["topics"]] == names
    reg, *_ = told.of(
        told.manager.register(Broker(cluster=name or "c", name=name or "b", addr=name or "a"), table_of("a", "b"))
    )
    beat, *_ = told.of(
        told.manager.register(Broker(cluster=name or "c", name=name or "b", addr=name or "a"), table_of("a", "b"))
    )
    assert (reg["ev"], beat["ev"]) == ("reg", "hb")
    assert reg["cluster"] == beat["cluster"] == (name or "c")


def test_half_a_surrogate_is_written_as_its_escape_and_read_back(told: Told) -> None:
    (one,) = told.events(put(["a\\n", "\ud800"]))
    assert one["escaped"] is True
    assert [topic["t"] for topic in one["topics"]] == ["a\\u005cn", "\\ud800"]
    assert [topic["t"] for topic in encoding.unescaped(one)["topics"]] == ["a\\n", "\ud800"]
    (one,) = told.events(KvChanged("ns", "\udfff", "v"))
    assert one == {"ev": "kv", "ns_key": "ns", "key": "\\udfff", "val": "v", "escaped": True}


def test_a_record_that_cannot_be_made_is_counted_and_hurts_nobody(
    told: Told, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("planted")

    monkeypatch.setitem(WRITERS, BrokerHeartbeat, broken)
    for _ in range(3):
        told.journal.record([BrokerHeartbeat(CLUSTER, ADDR, 0)], (0, BOOT_MS))
    assert told.events(ConfigChanged("a", "b")) == [{"ev": "drop", "lost": 3}, {"ev": "config", "key": "a", "val": "b"}]
    assert caplog.text.count("could not be made") == 1


def test_an_admin_request_says_who_sent_what(told: Told) -> None:
    fields = (("topic", "T"), ("ev", "seal"))
    event = AdminRequested(216, 1, "10.0.0.9", "10.0.0.9:5", "ops", "key-1", fields, "before", None, count=3)
    assert told.events(event) == [
        {"ev": "admin", "code": 216, "result": 1, "from_host": "10.0.0.9", "client": "10.0.0.9:5", "principal": "ops",
         "access_key": "key-1", "n": 3, "fields": [{"k": "topic", "v": "T"}, {"k": "ev", "v": "seal"}],
         "before": "before"}
    ]  # fmt: skip


def test_a_refusal_says_why_and_whether_it_was_enforced(told: Told) -> None:
    event = RequestRefused(105, "lookup", "no_evidence", "10.0.0.9", None, None, False, 7, ())
    assert told.events(event) == [
        {"ev": "refused", "code": 105, "access": "lookup", "reason": "no_evidence", "from_host": "10.0.0.9", "n": 7,
         "enforced": False}
    ]  # fmt: skip


# Quotes and commas, of which the text between two names is made.
NAMES = st.text(alphabet='",\\a\n\u20ac', max_size=6)


@given(st.lists(NAMES, min_size=1, max_size=8))
@example(['a",', "b"])
def test_topic_names_of_any_text_are_read_back(names: list[str]) -> None:
    queues = [queue_data(number, 2, 6, 0) for number in range(len(names))]
    listed, _ = encoding.topic_list(names, queues)
    read = json.loads(b"{" + encoding.columns("tput", {"topics": listed}))["topics"]
    assert [(one["t"], one["r"]) for one in read] == [(name, number) for number, name in enumerate(names)]


VALUES = {
    "string": "x", "long": 1, "int": 1, "boolean": True, "array<string>": ["x"],
    record.COLUMNS["topics"]: [{"t": "T", "r": 1, "w": 1, "p": 6, "s": 0}], record.COLUMNS["maps"]: [{"t": "T"}],
    record.COLUMNS["fields"]: [{"k": "x", "v": "x"}],
}  # fmt: skip


def columns_of(kind: str) -> dict[str, Any]:
    return {name: VALUES[record.COLUMNS[name]] for name in KINDS[kind].columns if name != "escaped"}


def records_of_kind(kind: str) -> list[dict[str, Any]]:
    """Records of the kind that have all of its columns together."""
    if kind != "snap":
        return [columns_of(kind)]
    names = ("addr", "maps", "topics", "live", "acting")  # a record of a snapshot has the first of them only
    common = {name: value for name, value in columns_of(kind).items() if name not in (*names, "end")}
    parts = [common | {name: columns_of(kind)[name], "acting": True} for name in names]
    return [*parts, {"snap": 1, "part": 1, "end": True}]


class Read(dict[str, Any]):
    """A record that notes which of its columns are looked at."""

    by_kind: defaultdict[str, set[str]]

    def __getitem__(self, name: str) -> Any:
        self.by_kind[self.get("ev")].add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.by_kind[super().get("ev")].add(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.by_kind[super().get("ev")].add(str(name))
        return super().__contains__(name)


def test_a_start_reads_the_columns_that_restore(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of two files the first names another server, so that its start is read, and the second is a copy."""
    monkeypatch.setattr(Read, "by_kind", defaultdict(set), raising=False)
    record_of = restore.record_of
    monkeypatch.setattr(restore, "record_of", lambda *given: Read(record_of(*given) or {}))
    pairs = [name for kind in KINDS for name in ("reg", kind)]
    written = [(kind, one) for kind in ("open", "start", *pairs) for one in records_of_kind(kind)]
    written[0][1]["ns"] = "another"
    told = [{"boot": 1, "seq": seq, "ts": 1, "ev": kind} | one for seq, (kind, one) in enumerate(written, 1)]
    told.append(columns_of("open") | {"boot": 1, "seq": 1, "ts": 1, "ev": "open"})
    files = []
    for number, some in ((1, told[:-1]), (2, told[-1:])):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in some))
        files.append(StoredFile(Segment(day_of(0), 1, number), path))
    JournalPass("x", 0, threading.Event()).read(files)
    looked_at = {kind: names & columns_of(kind).keys() for kind, names in Read.by_kind.items()}
    assert looked_at == {kind: set(row.restoring) for kind, row in KINDS.items() if row.restoring is not None}


def live(journal: Journal, seconds: range) -> None:
    """A tick each second, as the server calls it."""
    for second in seconds:
        journal.tick(BOOT_MS + second * 1_000)


def minutes_of_life(writer: MemoryWriter) -> list[float]:
    records = writer.take()
    check_sequence(records)
    for one in records:
        check_columns(one)
    return [(one["ts"] // 1_000 - BOOT_MS) / 60_000 for one in records if one["ev"] == "alive"]


def test_an_empty_server_writes_a_record_a_minute() -> None:
    journal, writer = memory_journal(RouteTables())
    live(journal, range(1, 310))
    assert [round(minute, 1) for minute in minutes_of_life(writer)] == [1.0, 2.0, 3.0, 4.0, 5.0]


def test_a_clock_that_was_set_back_does_not_end_it() -> None:
    journal, writer = memory_journal(RouteTables())
    journal.tick(BOOT_MS + 30_000)
    for second in range(1, 181):
        journal.tick(BOOT_MS - 3_600_000 + second * 1_000)
    assert len(minutes_of_life(writer)) >= 3
