"""State, windows, segments and incidents of random fleets are those of the independent version in SQL."""

from __future__ import annotations

import itertools
import random

import duckdb
import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation, plain_rows
from rocketns.pipeline.contract.schema import (
    BROKER_INTERVALS,
    DIVERGENCES,
    KEY_WINDOWS,
    NS_UPTIME,
    TOPIC_DOUBTS,
    TOPIC_INTERVALS,
    TOPIC_SEGMENTS,
    UNWRITABLE,
)
from rocketns.pipeline.contract.terms import SILENT_AFTER_US
from rocketns.pipeline.jobs import state
from rocketns.pipeline.jobs.brokers import stalls
from rocketns.pipeline.jobs.intervals import broker_intervals, topic_doubts, topic_intervals, topic_state
from rocketns.pipeline.jobs.tallies import callers
from rocketns.pipeline.jobs.topics import system_topics
from rocketns.pipeline.jobs.topics import topics as topics_of_all
from rocketns.pipeline.jobs.unwritable import unwritable
from rocketns.pipeline.jobs.windows import divergences, key_windows, topic_segments
from tests.pipeline.duck import divergence as duck_divergence
from tests.pipeline.duck import state as duck_state
from tests.pipeline.duck import topics as duck_topics
from tests.pipeline.frames import cut, duck_events, duck_rows, frame, rows
from tests.pipeline.journals import SECOND, Journals, events_frame, observed, random_journals

MIN_WINDOW = 10 * SECOND
# How well the clock of a name server may be known.
CLOCKS = [("reference", 0), ("versions", SECOND), ("versions", 20 * SECOND), ("given", 30 * SECOND),
          ("observed", 5 * SECOND), ("observed", None), ("none", None)]  # fmt: skip


def harmed(journals: Journals, seed: int, back_us: int = 0) -> Journals:
    """The same journals with their beginning or their end cut off, and records lost, at random. Some name servers began
    with routes that they restored, and the clocks of some were set back now and then."""
    chance = random.Random(seed)
    out = {}
    for ns, records in journals.items():
        first, last = chance.choice((0, 0, chance.randrange(len(records)))), chance.choice((0, 0, 9, len(records) // 2))
        loss, back, restored = chance.choice((0, 0.02, 0.1)), chance.choice((0, back_us)), chance.random() < 0.2
        kept = [r for r in records[first : len(records) - last] if chance.random() >= loss] or records[-1:]
        out[ns] = [
            record
            | {"ts": record["ts"] - back * (number % 40 > 30)}
            | ({"restored": restored} if record["ev"] == "start" else {})
            for number, record in enumerate(kept)
        ]
    return out


def duck_of(journals: Journals, seen: Observation) -> duckdb.DuckDBPyConnection:
    """A database with the state of the name servers."""
    db = duck_events(journals)
    duck_state.prepare(db, *seen, SILENT_AFTER_US)
    duck_state.broker_intervals(db)
    duck_state.topic_intervals(db)
    return db


def test_state_and_topics(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """40 fleets at once: name servers have nothing to do with each other here."""
    monkeypatch.setattr(state, "STRETCH", 16)  # so that holes lie within stretches, between them and over several
    journals: Journals = {}
    for seed in range(40):
        fleet = random_journals(seed)
        fleet = harmed(fleet, seed, 5 * SECOND) if seed % 2 else fleet
        journals |= {f"{seed}-{ns}": records for ns, records in fleet.items()}
    start, end = observed(journals)
    seen = Observation(start + (end - start) // 5, end)
    events, db = cut(events_frame(spark, journals)), duck_of(journals, seen)
    base = state.base(events, seen)
    members, topics = cut(broker_intervals(events, base, seen)), cut(topic_intervals(topic_state(events, base, seen)))
    assert rows(base.uptime, *NS_UPTIME.names) == duck_rows(db, "from uptime")
    for found, schema, twin in (
        (members, BROKER_INTERVALS, "broker_intervals"), (topics, TOPIC_INTERVALS, "topic_intervals"),
    ):  # fmt: skip
        assert found.schema.simpleString() == schema.simpleString()
        assert rows(found) == duck_rows(db, f"from {twin}")
    asked, own = callers(events.where("ev = 'lookup'"), seen), system_topics(plain_rows(members))
    summed = topics_of_all(topics, plain_rows(members), base.uptime, asked, own, seen)
    assert rows(summed) == duck_rows(db, duck_topics.topics(db, *seen)) != []
    ends = {row[0] for row in rows(topics, "end_cause")}
    assert {"snapshot", "expired", "stop", "lost", "silent", "open", "observed", "unwatched"} <= ends


# Fleets with every kind of window: certain, in doubt, of the shortest length, and with a name server that lists no
# topics.
@pytest.mark.parametrize("seed", [12, 17, 52])
def test_windows_segments_and_incidents(spark: SparkSession, seed: int) -> None:
    chance, journals = random.Random(seed), harmed(random_journals(seed, seconds=2 * 3600), seed)
    seen = Observation(*observed(journals))
    events, db = cut(events_frame(spark, journals)), duck_of(journals, seen)
    base = state.base(events, seen)
    members, found_of_topics = cut(broker_intervals(events, base, seen)), cut(topic_state(events, base, seen))
    topics, doubts, up = topic_intervals(found_of_topics), topic_doubts(found_of_topics), base.uptime
    duck_state.topic_doubts(db)
    clocks = [(ns, *chance.choice(CLOCKS)) for ns in journals]
    known = [{"day": "2026-01-01", "ns": ns, "method": method, "uncertainty": us} for ns, method, us in clocks]
    windows = cut(
        key_windows(topics, up, seen, MIN_WINDOW, plain_rows(members), topic_doubts=doubts,
                    clock_days=known, system_topics=system_topics(plain_rows(members)))
    )  # fmt: skip
    db.execute("create temp table clock_offsets (ns text, method text, uncertainty bigint)")
    db.executemany("insert into clock_offsets values (?, ?, ?)", clocks)
    duck_divergence.key_windows(db, MIN_WINDOW)
    for found, schema, twin in (
        (doubts, TOPIC_DOUBTS, "from topic_doubts"),
        (windows, KEY_WINDOWS, "from key_windows"),
        (topic_segments(topics, up, windows, seen), TOPIC_SEGMENTS, duck_divergence.SEGMENTS),
        (divergences(windows, stalls(events)), DIVERGENCES, duck_divergence.DIVERGENCES),
    ):
        assert found.schema.simpleString() == schema.simpleString()
        assert rows(found) == duck_rows(db, twin) != []


def test_unwritable(spark: SparkSession) -> None:
    """Permissions at random, also of topics that come and go, on few brokers and at few times: much coincides."""
    chance = random.Random(4)
    times = [second * SECOND for second in range(0, 240, 3)]
    there = []
    for ns, topic, broker in itertools.product(("n1", "n2"), ("order", "pay", "stock", "TBW102"), ("a", "b")):
        cuts = sorted(chance.sample(times, chance.randrange(3, 12)))
        for t1, t2 in itertools.pairwise(cuts):
            value = {"r": 4, "w": chance.choice((0, 4, 8, 8)), "p": chance.choice((0, 4, 6, 6))}
            row = {"ns": ns, "topic": topic, "broker": broker, **value, "t1": t1, "t2": t2, "end_cause": "open",
                   "cause": chance.choice(("admin", "register")), "t1_early": chance.choice((0, SECOND)),
                   "t2_early": chance.choice((0, 2 * SECOND))}  # fmt: skip
            there += [row] * (chance.random() < 0.85)
    seen = Observation(20 * SECOND, 220 * SECOND)
    intervals, nobody = frame(spark, TOPIC_INTERVALS, there), frame(spark, BROKER_INTERVALS, [])
    found = unwritable(intervals, frozenset(), seen, MIN_WINDOW // 2)
    db = duckdb.connect()
    for name, data in (("topic_intervals", intervals), ("broker_intervals", nobody)):
        db.register(f"arrow_{name}", data.toArrow())
        db.execute(f"create temp table {name} as from arrow_{name}")
    assert found.schema.simpleString() == UNWRITABLE.simpleString()
    assert rows(found) == duck_rows(db, duck_topics.unwritable(db, *seen, MIN_WINDOW // 2))
    assert len(rows(found)) > 5
