"""Uptime of name servers, what they knew of brokers and topics, and what is wrong with the input. Times are in s."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.schema import (
    BROKER_INTERVALS,
    CLOCK_DAYS,
    FILES,
    NS_UPTIME,
    QUALITY,
    TOPIC_INTERVALS,
)
from rocketns.pipeline.jobs.history import holes, state, strays
from rocketns.pipeline.jobs.history.quality import quality
from rocketns.pipeline.jobs.history.reach import EXTENTS, REACHES, extents, reaches
from rocketns.pipeline.jobs.history.strays import late_days, suspects, with_repaired_times
from tests.pipeline.duck import state as duck
from tests.pipeline.frames import cut, duck_events, duck_rows, rows
from tests.pipeline.journals import (
    DAY_START,
    SECOND,
    Broker,
    Journal,
    Journals,
    Record,
    events_frame,
    observed,
    random_journals,
    told_of,
    topic,
)

A, B = Broker("broker-a", "10.0.0.1:10911"), Broker("broker-b", "10.0.0.2:10911")
T = topic("T")
END = 400
HEARD_LAST = END - 1  # every case but the silent ones has a record so late


class Found(NamedTuple):
    """Of a case: uptime (t1, t2, end_cause), members (broker, t1, t2, end_cause, gap), topics (r, t1, t2, cause,
    end_cause) of T, and of both (t1, t2, t1_early, t2_early); what the broker said to the observer."""

    up: list[tuple[Any, ...]]
    members: list[tuple[Any, ...]]
    topics: list[tuple[Any, ...]]
    early: list[tuple[Any, ...]]


Case = Callable[[Journal], list[Record] | None]
CASES: dict[str, tuple[Case, dict[str, list[tuple[Any, ...]]]]] = {}


def case(**expected: list[tuple[Any, ...]]) -> Callable[[Case], Case]:
    """The journal of a name server, and what it means."""

    def take(build: Case) -> Case:
        CASES[build.__name__] = build, expected
        return build

    return take


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, Found]:
    journals: Journals = {}
    for name, (build, _) in CASES.items():
        journal = Journal(0, name)
        journals[name] = build(journal) or journal.records
    events, observation = cut(events_frame(spark, journals)), Observation(0, END * SECOND)
    base = state.base(events, observation, keep=cut)
    members = state.broker_intervals(events, base, observation)
    topics = state.topic_intervals(events, base, observation)
    for frame, schema in ((base.uptime, NS_UPTIME), (members, BROKER_INTERVALS), (topics, TOPIC_INTERVALS)):
        assert frame.schema.simpleString() == schema.simpleString()
    out = {name: Found([], [], [], []) for name in CASES}
    for r in rows(state.ns_uptime(base)):
        out[r[0]].up.append((r[2] // SECOND, r[3] // SECOND, r[4]))
    for r in rows(members):
        out[r[0]].members.append((r[2], r[5] // SECOND, r[6] // SECOND, r[7], r[8]))
        out[r[0]].early.append((*(us // SECOND for us in (r[5], r[6], r[11], r[12])), r[13]))
    for r in rows(topics):
        out[r[0]].topics.append((r[3], r[6] // SECOND, r[7] // SECOND, *r[8:10]))
        out[r[0]].early.append(tuple(us // SECOND for us in (r[6], r[7], r[10], r[11])))
    return out


@case(
    up=[(0, 5, "stop"), (8, 400, "open")],
    members=[("broker-a", 1, 5, "stop", None), ("broker-a", 9, 400, "open", None)],
    topics=[(4, 1, 5, "register", "stop"), (4, 9, 400, "register", "open")],
)
def a_stop_closes_everything_and_a_start_begins_empty(journal: Journal) -> None:
    journal.register(1 * SECOND, A, [T])
    journal.stop(5 * SECOND)
    journal.start(8 * SECOND)
    journal.register(9 * SECOND, A, [T])
    journal.heartbeat(HEARD_LAST * SECOND, A)


@case(
    up=[(1, 100, "unwatched"), (120, 400, "open")],
    members=[
        ("broker-a", 1, 20, "observed", None), ("broker-a", 120, 400, "open", None),
        ("broker-a", 30, 100, "unwatched", None),
    ],
    topics=[
        (4, 1, 20, "snapshot", "observed"), (4, 120, 140, "snapshot", "observed"),
        (4, 31, 100, "observed", "unwatched"),
        (8, 140, 400, "observed", "open"),
    ],
    early=[
        (1, 20, 0, 5, "refused"), (120, 400, 0, 0, None), (30, 100, 5, 0, None),
        (1, 20, 0, 5), (120, 140, 0, 41), (31, 100, 6, 0), (140, 400, 41, 0),
    ],
)  # fmt: skip
def an_observer_knows_a_name_server_from_its_snapshot_to_its_last_look(journal: Journal) -> list[Record]:
    """A boot that begins with what it read, and one that begins with what it knew. An observed change may have come
    since the look before."""
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


@case(up=[(0, 279, "silent")], members=[])
def a_name_server_without_a_stop_that_wrote_nothing_for_long_is_silent(journal: Journal) -> None:
    journal.register(279 * SECOND, A)


@case(topics=[(16, 3, 4, "perm", "admin"), (4, 1, 3, "register", "topic")])
def only_another_value_opens_a_topic_interval(journal: Journal) -> None:
    journal.register(1 * SECOND, A, [T])
    journal.add(2 * SECOND, "tput", broker="broker-a", cause="heartbeat", topics=[T])
    journal.put(3 * SECOND, "broker-a", [topic("T", r=8)])
    journal.put(3 * SECOND, "broker-a", [topic("T", r=16)], cause="perm")
    journal.delete(4 * SECOND, "broker-a", ["T"])
    journal.heartbeat(HEARD_LAST * SECOND, A)


@case(
    up=[(10, 400, "open")], members=[("broker-a", 10, 400, "open", None), ("broker-b", 12, 400, "open", None)],
    topics=[(4, 10, 400, "snapshot", "open"), (4, 12, 400, "register", "open")],
)  # fmt: skip
def a_journal_that_begins_in_the_middle_is_known_from_its_first_whole_snapshot(journal: Journal) -> list[Record]:
    journal.register(1 * SECOND, A, [T])
    journal.register(2 * SECOND, B, [T])
    journal.down(3 * SECOND, B, "expired")
    journal.heartbeat(4 * SECOND, A)
    first_there = journal.seq
    journal.snapshot(10 * SECOND)
    journal.register(12 * SECOND, B, [T])
    journal.heartbeat(HEARD_LAST * SECOND, A)
    return [r for r in journal.records if r["seq"] >= first_there]


@case(up=[(10, 400, "open")])
def a_server_that_restored_its_routes_is_known_from_its_first_whole_snapshot(journal: Journal) -> list[Record]:
    """It began with routes that its records do not give."""
    journal.start(1 * SECOND, restored=True)
    first = journal.seq - 1
    journal.register(2 * SECOND, A, [T])
    journal.snapshot(10 * SECOND)
    journal.heartbeat(HEARD_LAST * SECOND, A)
    return [r for r in journal.records if r["seq"] >= first and r["boot"] == journal.boot]


@case(members=[("broker-a", 120, 400, "open", None)])
def a_clock_that_was_set_back_makes_no_interval_end_before_it_began(journal: Journal) -> None:
    journal.register(110 * SECOND, A, [T])
    journal.heartbeat(105 * SECOND, A)
    journal.down(108 * SECOND, A, "expired")
    journal.register(120 * SECOND, A, [T])
    journal.heartbeat(HEARD_LAST * SECOND, A)


@pytest.mark.parametrize("name", CASES)
def test_what_a_journal_says_of_its_name_server(found: dict[str, Found], name: str) -> None:
    expected = CASES[name][1]
    assert {part: getattr(found[name], part) for part in expected} == expected


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
    """40 random fleets at once: name servers have nothing to do with each other here. `explain` finds the same holes
    and snapshots."""
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

    told = told_of(journals, "T").boots()
    lost = {(one.ns, one.boot, hole.after, hole.until) for one in told for hole in one.holes}
    assert lost == set(rows(base.holes.select("ns", "boot", "after", "until"))) != set()
    whole = {(one.ns, one.boot, *snapshot) for one in told for snapshot in one.snapshots}
    assert whole == set(rows(base.snapshots.select("ns", "boot", "snap", "end_seq", "end_ts"))) != set()


def files_frame(spark: SparkSession, *corrupt: tuple[str, str, int, int | None, int | None]) -> DataFrame:
    """ns, segment, corrupt lines, first and last time."""
    told = [
        ("2026-01-01", ns, segment, 1, 10, count, first, last, False) for ns, segment, count, first, last in corrupt
    ]
    return frame_of(spark, told, FILES)


def test_every_fault_is_told_with_its_place_and_size(spark: SparkSession) -> None:
    fleet = {ns: Journal(0, ns) for ns in ("cut", "gaps", "lossy", "silent", "snapped", "torn")}
    for journal in fleet.values():
        journal.register(1 * SECOND, A, [topic("T")])
        for second in range(30, 390, 30):
            journal.heartbeat(second * SECOND, A)
    fleet["lossy"].lose(380 * SECOND, 3)
    fleet["lossy"].heartbeat(390 * SECOND, A)
    fleet["snapped"].snapshot(391 * SECOND)
    journals = {ns: journal.records for ns, journal in fleet.items()}
    journals["gaps"] = [r for r in journals["gaps"] if r["ts"] not in (60 * SECOND, 90 * SECOND, 150 * SECOND)]
    journals["silent"] = [r for r in journals["silent"] if r["ts"] <= 270 * SECOND]
    for ns in ("cut", "snapped"):
        journals[ns] = [r for r in journals[ns] if r["ts"] >= 300 * SECOND]
    files = files_frame(spark, ("torn", "0-000001", 2, 0, 390 * SECOND), ("torn", "0-000002", 0, 390 * SECOND, None),
                        ("empty", "0-000002", 1, None, None))  # fmt: skip
    events, observation = cut(events_frame(spark, journals)), Observation(0, END * SECOND)
    found = quality(events, files, state.base(events, observation, keep=cut), observation)
    assert found.schema.simpleString() == QUALITY.simpleString()
    assert [(*r[:3], r[3] and r[3] // SECOND, r[4] and r[4] // SECOND, r[5]) for r in rows(found)] == [
        ("corrupt", "empty", 0, None, None, 1),
        ("corrupt", "torn", 0, 0, 390, 2),
        ("drop", "lossy", 0, 380, 380, 3),
        ("hole", "gaps", 0, 120, 180, 1),
        ("hole", "gaps", 0, 30, 120, 2),
        ("hole", "lossy", 0, 270, 380, 3),
        ("silent", "silent", 0, 270, 400, 130 * SECOND),
        ("unknown", "cut", 0, 300, 360, 1),
        ("unknown", "snapped", 0, 300, 391, 1),
    ]


YEAR = 365 * 86_400
HOUR = 3_600
DAY = DAY_START // SECOND


def written(ns: str, times: Iterable[float], stop: float | None = None) -> Journal:
    journal = Journal(0, ns)
    for second in times:
        journal.add(round(second * SECOND), "alive")
    if stop is not None:
        journal.stop(round(stop * SECOND))
    return journal


MINUTES = [60.0 * n for n in range(1, 31)]  # until 1800 s
REACHED: dict[str, tuple[list[float], float]] = {
    "steady": (MINUTES, 1800),
    "the last records years ahead for a moment": ([*MINUTES, 10 * YEAR, 10 * YEAR + 30], 1800),
    "the last record years back": ([*MINUTES, 5], 1800),
    "ahead for ten minutes and right again": ([*MINUTES[:5], *[900 + m for m in MINUTES[:3]], *MINUTES[5:]], 1800),
    "set back by ten minutes for good": ([*MINUTES, 1230, 1260, 1290], 1290),
    "set back a moment ago": ([*MINUTES, 1230, 1240], 1800),
    "suspended for a day and back for a minute": ([*MINUTES, 90_000, 90_060], 90_060),
    "a quiet old one with a snapshot an hour": ([*MINUTES, HOUR, 2 * HOUR, 3 * HOUR], 3 * HOUR),
}


def test_the_reach_is_that_of_the_last_settled_run(spark: SparkSession) -> None:
    journals = {ns: written(ns, times).records for ns, (times, _) in REACHED.items()}
    found = reaches(events_frame(spark, journals))
    assert found.schema.simpleString() == REACHES.simpleString()
    last = {row["ns"]: row["last"] / SECOND for row in found.collect()}
    assert last == {ns: expected for ns, (_, expected) in REACHED.items()}


def test_the_extent_goes_by_boots_and_numbers_of_files_and_not_by_their_times(spark: SparkSession) -> None:
    boot = DAY * 1000
    told = [
        ("2026-01-01", "n1", f"{boot}-000001", DAY, DAY + 600, False),
        ("2036-01-01", "n1", f"{boot}-000002", DAY + 10 * YEAR, DAY + 10 * YEAR, False),
        ("2026-01-02", "n1", f"{boot}-000010", DAY + 86_400, DAY + 86_500, False),
        ("2026-01-02", "n1", f"{boot}-000011", DAY + 86_500, DAY + 86_550, True),
        ("2026-01-01", "stray-first", f"{boot}-000001", 5, DAY + 600, False),
        ("2026-01-01", "begins-in-the-middle", f"{boot}-000007", DAY + 600, DAY + 1200, False),
        ("2026-01-03", "begins-in-the-middle", f"{boot}-000008", None, None, False),
    ]
    files = frame_of(
        spark,
        [
            (dt, ns, name, 1, 1, 0, *[t and t * SECOND for t in times], is_open)
            for dt, ns, name, *times, is_open in told
        ],
        FILES,
    )
    found = extents(files)
    assert found.schema.simpleString() == EXTENTS.simpleString()
    assert [(ns, first // SECOND - DAY, days, is_open) for ns, first, _, days, is_open in rows(found)] == [
        ("begins-in-the-middle", 600, ["2026-01-01"], False),
        ("n1", 0, ["2026-01-02"], True),
        ("stray-first", 0, ["2026-01-01"], False),
    ]
    clocks = frame_of(spark, [("2026-01-02", "n1", 60 * SECOND, 3, 0, "versions", "n2", 0)], CLOCK_DAYS)
    assert late_days(files, clocks, (DAY + 86_490) * SECOND) == ["2026-01-02", "2036-01-01"]
    assert late_days(files, clocks, (DAY + 86_491) * SECOND) == ["2036-01-01"]


# name server → the times that it wrote, and those that its records have, in a journal that ends at 40 s
STRAYS: dict[str, tuple[list[float], list[int]]] = {
    "stray": ([10, 9_000_000, 30], [0, 0, 10, 10, 30]),
    "after the end": ([10, 20, 50, 60], [0, 0, 10, 20, 50, 60]),
    "right": ([10, 45], [0, 0, 10, 45]),
}


@pytest.mark.parametrize("stretch", [2, strays.STRETCH])
def test_a_stray_record_has_the_time_of_the_one_before_or_of_the_first_right_one(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, stretch: int
) -> None:
    """Also where whole stretches of records, which tasks read apart, have no right time."""
    monkeypatch.setattr(strays, "STRETCH", stretch)
    begins = Journal(9_000_000 * SECOND, "begins")
    for second in (10, 20):
        begins.add(second * SECOND, "alive")
    journals = {ns: written(ns, times).records for ns, (times, _) in STRAYS.items()} | {"begins": begins.records}
    events = cut(events_frame(spark, journals))
    fixed = with_repaired_times(events, suspects(events, 40 * SECOND), 40 * SECOND)
    assert fixed.schema == events.schema
    found: dict[str, list[int]] = {}
    for ns, ts in fixed.orderBy("ns", "seq").select("ns", "ts").collect():
        found.setdefault(ns, []).append(ts // SECOND)
    assert found == {ns: wanted for ns, (_, wanted) in STRAYS.items()} | {"begins": [10, 10, 10, 20]}
