"""Doubt after lost records: which values of a name server may be out of date, and which windows rest on them.

Cases are topics of one fleet: n1 has a hole at 100 s and a whole snapshot at 300 s, n2 has lost nothing. Times are s.
"""

from __future__ import annotations

from typing import NamedTuple

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import CLOCK_DAYS, KEY_WINDOWS, NS_UPTIME, TOPIC_DOUBTS, TOPIC_INTERVALS
from rocketns.pipeline.jobs import divergence
from rocketns.pipeline.jobs.certainty import certain, with_clocks
from rocketns.pipeline.jobs.history import state
from rocketns.pipeline.jobs.history.doubts import topic_doubts
from tests.pipeline.duck import divergence as duck
from tests.pipeline.duck.history import doubts as duck_doubts
from tests.pipeline.duck.history import state as duck_state
from tests.pipeline.frames import cut, duck_events, duck_rows, rows
from tests.pipeline.intervals import frame
from tests.pipeline.journals import SECOND, Broker, Journal, Journals, Record, events_frame, topic

A = Broker("broker-a", "10.0.0.1:10911")
END = 1000
OLD, NEW = 4, 8


class Found(NamedTuple):
    """By topic: doubts of n1 (t1, t2) and windows (t1, t2, doubt), in s."""

    doubts: dict[str, list[tuple[float, float]]]
    windows: dict[str, list[tuple[float, float, str | None]]]


def fleet(*, snapshot: bool = True) -> Journals:
    """Both have every topic with OLD queues from 1 s on."""
    names = ("same", "hidden", "late", "real", "told", "other", "late-real", "gone", "came", "twice")
    n1, n2 = Journal(0, "n1"), Journal(0, "n2")
    for journal in (n1, n2):
        journal.register(1 * SECOND, A, [topic(name, OLD) for name in names if name != "came"])
    put(n2, 100, "hidden", NEW)
    put(n1, 90, "twice", NEW)  # a difference before the hole
    n1.heartbeat(99 * SECOND, A)
    lost = [put(n1, 100, "hidden", NEW), remove(n1, 100, "gone"), put(n1, 100, "came", NEW)]
    remove(n2, 100, "gone")
    put(n2, 100, "came", NEW)
    n1.records = [record for record in n1.records if record not in lost]
    n1.heartbeat(101 * SECOND, A)
    put(n2, 150, "told", NEW)  # n1 says nothing of it until its snapshot, which shows OLD: it never had NEW
    put(n1, 150, "real", NEW)  # n1 says so after the hole, n2 does not
    put(n2, 200, "late", NEW)
    put(n1, 240, "late", NEW)  # until then n1's value is from before the hole
    if snapshot:
        n1.snapshot(300 * SECOND)
    put(n2, 400, "other", NEW)
    for journal in (n1, n2):
        journal.lookup((END - 1) * SECOND, "same", 1)
    return {"n1": n1.records, "n2": n2.records}


def put(journal: Journal, second: int, name: str, queues: int) -> Record:
    journal.put(second * SECOND, A.name, [topic(name, queues)])
    return journal.records[-1]


def remove(journal: Journal, second: int, name: str) -> Record:
    journal.delete(second * SECOND, A.name, [name])
    return journal.records[-1]


def found_of(spark: SparkSession, journals: Journals) -> Found:
    """Held to the independent version on the way."""
    events, seen = cut(events_frame(spark, journals)), Observation(0, END * SECOND)
    base = state.base(events, seen, keep=cut)
    held = cut(state.topic_intervals(events, base, seen))
    doubts = cut(topic_doubts(events, base, held, seen))
    members = cut(state.broker_intervals(events, base, seen))
    windows = cut(
        divergence.key_windows(held, base.uptime, seen, broker_intervals=members, keep=cut, topic_doubts=doubts)
    )
    assert doubts.schema.simpleString() == TOPIC_DOUBTS.simpleString()
    assert windows.schema.simpleString() == KEY_WINDOWS.simpleString()
    db = duck_events(journals)
    duck_state.prepare(db, *seen, 120 * SECOND)
    duck_state.broker_intervals(db)
    duck_state.topic_intervals(db)
    duck_doubts.topic_doubts(db)
    db.execute(duck.EXACT_CLOCKS)
    duck.key_windows(db, 5 * SECOND)
    assert rows(doubts) == duck_rows(db, "from topic_doubts")
    assert rows(windows.drop("kind")) == duck_rows(db, "select * exclude (kind) from key_windows")
    out = Found({}, {})
    for ns, name, _, t1, t2 in rows(doubts):
        assert ns == "n1"
        out.doubts.setdefault(name, []).append((t1 / SECOND, t2 / SECOND))
    for row in rows(windows):
        out.windows.setdefault(row[0], []).append((row[2] / SECOND, row[3] / SECOND, row[9]))
    return out


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> Found:
    return found_of(spark, fleet())


def test_a_snapshot_that_shows_the_value_of_before_proves_that_nothing_was_lost(found: Found) -> None:
    assert "same" not in found.doubts
    assert "told" not in found.doubts
    assert found.windows["told"] == [(150, END, None)]


def test_a_lost_change_leaves_doubt_until_the_snapshot_and_no_difference(found: Found) -> None:
    """n1 had the change too, so the name servers never disagreed."""
    for name in ("hidden", "gone", "came"):
        assert found.doubts[name] == [(99, 300)]
        assert [doubt for *_, doubt in found.windows[name]] == ["lost_records"]
    assert found.windows["hidden"] == [(100, 300, "lost_records")]


def test_a_record_of_the_topic_ends_the_doubt(found: Found) -> None:
    assert found.doubts["real"] == [(99, 150)]
    assert found.windows["real"] == [(150, END, None)]
    assert found.doubts["late"] == [(99, 240)]
    assert found.windows["late"] == [(200, 240, "lost_records")]


def test_after_the_snapshot_there_is_no_doubt(found: Found) -> None:
    assert found.windows["other"] == [(400, END, None)]


def test_a_window_is_cut_where_doubt_begins_and_ends(found: Found) -> None:
    """The snapshot shows the value of before the hole: so the difference of before goes on."""
    assert found.windows["twice"] == [(90, END, None)]


def test_without_a_snapshot_the_doubt_lasts_until_the_end(spark: SparkSession) -> None:
    found = found_of(spark, fleet(snapshot=False))
    assert found.doubts["same"] == [(99, END)]
    assert found.windows["told"] == [(150, END, "lost_records")]
    assert found.windows["twice"] == [(90, 99, None), (99, END, "lost_records")]
    assert found.windows["real"] == [(150, END, None)]


def test_windows_in_doubt_have_no_segments(spark: SparkSession) -> None:
    values = [{"ns": "n1", "present": True, "r": 4, "w": 4, "p": 6}, {"ns": "n2", "present": False}]
    windows = frame(spark, KEY_WINDOWS, [
        {"topic": name, "broker": "b", "t1": 0, "t2": 9, "values": values, "doubt": doubt}
        for name, doubt in (("lost", "lost_records"), ("short", "clocks"), ("sure", None))
    ])  # fmt: skip
    assert [row["topic"] for row in certain(windows).collect()] == ["sure"]


def test_a_window_shorter_than_the_clocks_of_two_of_its_name_servers_are_known_is_marked(spark: SparkSession) -> None:
    """Windows of 60 s between name servers that are named by how many s their clocks are known to."""
    known = {"0": 0, "20": 20, "30": 30, "31": 31, "61": 61, "unknown": None}
    days = [{"day": "1970-01-01", "ns": ns, "uncertainty": s and s * SECOND} for ns, s in known.items()]
    clocks = frame(spark, CLOCK_DAYS, days)
    marked = {
        ("0", "20"): None, ("0", "61"): "clocks", ("30", "30"): None, ("30", "31"): "clocks",
        ("0", "unknown"): "clocks", ("0", "0", "20", "30"): None, ("not-heard-of",): "clocks",
    }  # fmt: skip
    windows = frame(spark, KEY_WINDOWS, [
        {"topic": " ".join(servers), "broker": "b", "t1": 0, "t2": 60 * SECOND,
         "values": [{"ns": ns, "present": True} for ns in servers]}
        for servers in marked
    ])  # fmt: skip
    nothing = frame(spark, TOPIC_INTERVALS, []), frame(spark, NS_UPTIME, [])
    found = with_clocks(windows, clocks, *nothing).collect()
    assert {tuple(value["ns"] for value in row["values"]): row["doubt"] for row in found} == marked
