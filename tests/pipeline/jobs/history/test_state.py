"""Uptime of name servers, and what they knew of brokers and topics.

Every case is a name server of one fleet, so that Spark runs once for all of them. Times are in seconds; it ends at 400.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, NS_UPTIME, TOPIC_INTERVALS
from rocketns.pipeline.jobs.history import holes, state
from tests.pipeline.duck.history import state as duck
from tests.pipeline.frames import cut, duck_events, duck_rows, rows
from tests.pipeline.journals import (
    SECOND,
    Broker,
    Journal,
    Journals,
    Record,
    events_frame,
    observed,
    random_journals,
    topic,
    worked_example,
)

A, B = Broker("broker-a", "10.0.0.1:10911"), Broker("broker-b", "10.0.0.2:10911")
T = topic("T")
END = 400
HEARD_LAST = END - 1  # every case but the silent ones has a record so late


class Found(NamedTuple):
    """Of each case: uptime (t1, t2, end_cause), members (broker, t1, t2, end_cause, gap) and topics (topic, broker, r,
    t1, t2, cause, end_cause); ``early``: of topics (t1, t2, t1_early, t2_early), of members also what they said."""

    up: dict[str, list[tuple[object, ...]]]
    members: dict[str, list[tuple[object, ...]]]
    topics: dict[str, list[tuple[object, ...]]]
    early: dict[str, list[tuple[Any, ...]]]


Case = Callable[[Journal], list[Record] | None]
CASES: dict[str, Case] = {}


def case(build: Case) -> Case:
    CASES[build.__name__] = build
    return build


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Found:
    journals: Journals = {f"worked-{ns}": records for ns, records in worked_example().items()}
    for name, build in CASES.items():
        journal = Journal(0, name)
        journals[name] = build(journal) or journal.records
    return found_of(spark, journals)


def found_of(spark: SparkSession, journals: Journals) -> Found:
    events, observation = events_frame(spark, journals), Observation(0, END * SECOND)
    base = state.base(events, observation, keep=cut)
    members = state.broker_intervals(events, base, observation)
    topics = state.topic_intervals(events, base, observation)
    for frame, schema in ((base.uptime, NS_UPTIME), (members, BROKER_INTERVALS), (topics, TOPIC_INTERVALS)):
        assert frame.schema.simpleString() == schema.simpleString()
    out = Found({}, {}, {}, {})
    for r in rows(state.ns_uptime(base)):
        out.up.setdefault(r[0], []).append((r[2] // SECOND, r[3] // SECOND, r[4]))
    for r in rows(members):
        out.members.setdefault(r[0], []).append((r[2], r[5] // SECOND, r[6] // SECOND, r[7], r[8]))
        looks = (r[5] // SECOND, r[6] // SECOND, r[11] // SECOND, r[12] // SECOND, r[13])
        out.early.setdefault(r[0], []).append(looks)
    for r in rows(topics):
        out.topics.setdefault(r[0], []).append((*r[1:4], r[6] // SECOND, r[7] // SECOND, *r[8:10]))
        out.early.setdefault(r[0], []).append((r[6] // SECOND, r[7] // SECOND, r[10] // SECOND, r[11] // SECOND))
    return out


def test_the_worked_example_gives_its_intervals(found: Found) -> None:
    assert found.members["worked-n1"] == [("broker-a", 1, 400, "open", None), ("broker-b", 2, 400, "open", None)]
    assert found.members["worked-n2"] == [
        ("broker-a", 1, 400, "open", None),
        ("broker-b", 2, 185, "expired", 123_000),
        ("broker-b", 302, 400, "open", None),
    ]
    assert found.topics["worked-n2"][1:] == [
        ("order_topic", "broker-b", 4, 2, 185, "register", "expired"),
        ("order_topic", "broker-b", 4, 302, 400, "register", "open"),
    ]


@case
def stopped(journal: Journal) -> None:
    journal.register(1 * SECOND, A, [T])
    journal.stop(5 * SECOND)
    journal.start(8 * SECOND)
    journal.register(9 * SECOND, A, [T])
    journal.heartbeat(HEARD_LAST * SECOND, A)


def test_a_stop_closes_everything_and_a_start_begins_empty(found: Found) -> None:
    assert found.up["stopped"] == [(0, 5, "stop"), (8, 400, "open")]
    assert found.members["stopped"] == [("broker-a", 1, 5, "stop", None), ("broker-a", 9, 400, "open", None)]
    assert found.topics["stopped"] == [
        ("T", "broker-a", 4, 1, 5, "register", "stop"),
        ("T", "broker-a", 4, 9, 400, "register", "open"),
    ]


@case
def watched(journal: Journal) -> list[Record]:
    """By an observer: a boot that begins with what it read, and one that begins with what it knew."""
    member = {"cluster": "c", "broker": "broker-a", "addr": A.addr, "bid": 0}
    topics = {"broker": "broker-a", "topics": [T]}

    def boot(at: int, **start: Any) -> None:
        journal.boot, journal.seq = at, 0
        journal.add(at * SECOND, "open", ns=journal.ns, file=1, rotate_s=600)
        journal.add(at * SECOND, "start", ns=journal.ns, observed=True, **start)
        for part, record in enumerate((member, topics, {"end": True})):
            journal.add(at * SECOND, "snap", snap=3, part=part, **record)

    journal.records.clear()
    boot(1)
    journal.add(20 * SECOND, "down", since=15 * SECOND, cause="observed", asked="refused", **member)
    journal.add(20 * SECOND, "tdel", since=15 * SECOND, cause="observed", broker="broker-a", topics=[{"t": "T"}])
    journal.add(30 * SECOND, "reg", since=25 * SECOND, **member)
    journal.add(31 * SECOND, "tput", since=25 * SECOND, cause="observed", **topics)
    journal.add(105 * SECOND, "stop", since=100 * SECOND)
    boot(120, restored=True)
    journal.add(140 * SECOND, "tput", since=99 * SECOND, cause="observed", broker="broker-a", topics=[topic("T", r=8)])
    journal.add(HEARD_LAST * SECOND, "alive")
    return journal.records


def test_an_observer_knows_a_name_server_from_its_snapshot_to_its_last_look(found: Found) -> None:
    assert found.up["watched"] == [(1, 100, "unwatched"), (120, 400, "open")]
    assert found.members["watched"] == [
        ("broker-a", 1, 20, "observed", None), ("broker-a", 120, 400, "open", None),
        ("broker-a", 30, 100, "unwatched", None),
    ]  # fmt: skip
    assert sorted(found.topics["watched"], key=lambda row: row[3]) == [
        ("T", "broker-a", 4, 1, 20, "snapshot", "observed"), ("T", "broker-a", 4, 31, 100, "observed", "unwatched"),
        ("T", "broker-a", 4, 120, 140, "snapshot", "observed"), ("T", "broker-a", 8, 140, 400, "observed", "open"),
    ]  # fmt: skip


def test_an_observed_change_may_have_come_since_the_look_before(found: Found) -> None:
    assert sorted(found.early["watched"], key=lambda row: (len(row), row[0])) == [
        (1, 20, 0, 5), (31, 100, 6, 0), (120, 140, 0, 41), (140, 400, 41, 0),
        (1, 20, 0, 5, "refused"), (30, 100, 5, 0, None), (120, 400, 0, 0, None),
    ]  # fmt: skip


@case
def killed(journal: Journal) -> None:
    journal.register(1 * SECOND, A)
    journal.heartbeat(4 * SECOND, A)
    journal.start(8 * SECOND)
    journal.lookup(HEARD_LAST * SECOND, "T", 1)


def test_a_killed_name_server_is_unknown_from_its_last_record(found: Found) -> None:
    assert found.up["killed"] == [(0, 4, "lost"), (8, 400, "open")]
    assert found.members["killed"] == [("broker-a", 1, 4, "lost", None)]


@case
def silent(journal: Journal) -> None:
    journal.register(279 * SECOND, A)


@case
def quiet(journal: Journal) -> None:
    journal.register(280 * SECOND, A)


def test_a_name_server_without_a_stop_that_wrote_nothing_for_long_is_silent(found: Found) -> None:
    assert found.up["silent"] == [(0, 279, "silent")]
    assert found.up["quiet"] == [(0, 400, "open")]
    assert "silent" not in found.members
    assert found.members["quiet"] == [("broker-a", 280, 400, "open", None)]


@case
def repeated(journal: Journal) -> None:
    journal.register(1 * SECOND, A, [T])
    journal.add(2 * SECOND, "tput", broker="broker-a", cause="heartbeat", topics=[T])
    journal.put(3 * SECOND, "broker-a", [topic("T", r=8)])
    journal.put(3 * SECOND, "broker-a", [topic("T", r=16)], cause="perm")
    journal.delete(4 * SECOND, "broker-a", ["T"])
    journal.heartbeat(HEARD_LAST * SECOND, A)


def test_only_another_value_opens_a_topic_interval(found: Found) -> None:
    assert found.topics["repeated"] == [
        ("T", "broker-a", 16, 3, 4, "perm", "admin"),
        ("T", "broker-a", 4, 1, 3, "register", "topic"),
    ]


@case
def from_the_middle(journal: Journal) -> list[Record]:
    journal.register(1 * SECOND, A, [T])
    journal.register(2 * SECOND, B, [T])
    journal.down(3 * SECOND, B, "expired")
    journal.heartbeat(4 * SECOND, A)
    first_there = journal.seq
    journal.snapshot(10 * SECOND)
    journal.register(12 * SECOND, B, [T])
    journal.heartbeat(HEARD_LAST * SECOND, A)
    return [r for r in journal.records if r["seq"] >= first_there]


def test_a_journal_that_begins_in_the_middle_is_known_from_its_first_whole_snapshot(found: Found) -> None:
    assert found.up["from_the_middle"] == [(10, 400, "open")]
    assert found.members["from_the_middle"] == [
        ("broker-a", 10, 400, "open", None),
        ("broker-b", 12, 400, "open", None),
    ]
    assert found.topics["from_the_middle"][0] == ("T", "broker-a", 4, 10, 400, "snapshot", "open")


@case
def restored(journal: Journal) -> list[Record]:
    journal.start(1 * SECOND, restored=True)
    first = journal.seq - 1
    journal.register(2 * SECOND, A, [T])
    journal.snapshot(10 * SECOND)
    journal.heartbeat(HEARD_LAST * SECOND, A)
    return [r for r in journal.records if r["seq"] >= first and r["boot"] == journal.boot]


def test_a_server_that_restored_its_routes_is_known_from_its_first_whole_snapshot(found: Found) -> None:
    """It began with routes that its records do not give."""
    assert found.up["restored"] == [(10, 400, "open")]


@case
def torn(journal: Journal) -> list[Record]:
    journal.register(1 * SECOND, A, [T])
    journal.snapshot(10 * SECOND)
    journal.lookup(HEARD_LAST * SECOND, "T", 1)
    return [r for r in journal.records if r["ev"] in ("snap", "lookup") and r.get("part") != 1]


@case
def headless(journal: Journal) -> list[Record]:
    journal.register(1 * SECOND, A, [T])
    journal.snapshot(10 * SECOND)
    journal.lookup(HEARD_LAST * SECOND, "T", 1)
    return [r for r in journal.records if r["ev"] in ("snap", "lookup") and r.get("part") != 0]


def test_a_torn_snapshot_tells_no_state(found: Found) -> None:
    assert not {"torn", "headless"} & {*found.up, *found.members, *found.topics}


@case
def lossy(journal: Journal) -> None:
    journal.register(1 * SECOND, A, [T])
    journal.down(3 * SECOND, A, "expired")
    journal.lose(3 * SECOND, 2)
    journal.register(4 * SECOND, B, [T])
    journal.lose(4 * SECOND, 2)
    journal.snapshot(10 * SECOND)
    journal.heartbeat(HEARD_LAST * SECOND, B)


def test_a_snapshot_after_lost_records_corrects_the_state(found: Found) -> None:
    assert found.members["lossy"] == [
        ("broker-a", 1, 10, "snapshot", None),
        ("broker-b", 10, 400, "open", None),
    ]
    assert found.topics["lossy"] == [
        ("T", "broker-a", 4, 1, 10, "register", "snapshot"),
        ("T", "broker-b", 4, 10, 400, "snapshot", "open"),
    ]


@case
def whole(journal: Journal) -> None:
    journal.register(1 * SECOND, A, [T])
    journal.snapshot(10 * SECOND)
    journal.heartbeat(HEARD_LAST * SECOND, A)


def test_a_snapshot_without_lost_records_changes_nothing(found: Found) -> None:
    assert found.topics["whole"] == [("T", "broker-a", 4, 1, 400, "register", "open")]


@case
def set_back(journal: Journal) -> None:
    journal.register(110 * SECOND, A, [T])
    journal.heartbeat(105 * SECOND, A)
    journal.down(108 * SECOND, A, "expired")
    journal.register(120 * SECOND, A, [T])
    journal.heartbeat(HEARD_LAST * SECOND, A)


def test_a_clock_that_was_set_back_makes_no_interval_end_before_it_began(found: Found) -> None:
    assert found.members["set_back"] == [("broker-a", 120, 400, "open", None)]


def harmed(journals: Journals, seed: int) -> Journals:
    """The same journals with their beginning cut off and records lost, at random."""
    chance = random.Random(seed)
    out = {}
    for ns, records in journals.items():
        first = chance.choice((0, 0, chance.randrange(len(records))))
        loss = chance.choice((0, 0.02, 0.1))
        out[ns] = [r for r in records[first:] if chance.random() >= loss] or records[-1:]
    return out


def test_state_is_that_of_the_independent_version(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """40 random fleets at once: name servers have nothing to do with each other here."""
    monkeypatch.setattr(holes, "STRETCH", 16)  # so that holes lie within stretches, between them and over several
    journals: Journals = {}
    for seed in range(40):
        fleet = random_journals(seed)
        fleet = harmed(fleet, seed) if seed % 2 else fleet
        journals |= {f"{seed}-{ns}": records for ns, records in fleet.items()}
    start, end = observed(journals)
    observation = Observation(start + (end - start) // 5, end)
    events = cut(events_frame(spark, journals))
    base = state.base(events, observation, keep=cut)
    db = duck_events(journals)
    duck.prepare(db, *observation, SILENT_AFTER_US)
    assert rows(base.uptime) == duck_rows(db, "select * from uptime")
    duck.broker_intervals(db)
    assert rows(state.broker_intervals(events, base, observation)) == duck_rows(db, "from broker_intervals")
    duck.topic_intervals(db)
    found = rows(state.topic_intervals(events, base, observation))
    assert found == duck_rows(db, "from topic_intervals")
    assert {"snapshot", "expired", "stop", "lost", "observed", "unwatched"} <= {row[9] for row in found}
