"""Jobs over what was kept of closed days and the records that follow have the rows of jobs over all records."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping
from itertools import product

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.earlier import Earlier
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.jobs.brokers import heartbeat_gaps
from rocketns.pipeline.jobs.departures import departures, first_heard
from rocketns.pipeline.jobs.earlier import tallies
from rocketns.pipeline.jobs.earlier.keeping import Closing, edge_of, kept, midnight_after
from rocketns.pipeline.jobs.fleet.census import asked
from rocketns.pipeline.jobs.history import holes, state
from rocketns.pipeline.jobs.history.doubts import topic_doubts
from rocketns.pipeline.jobs.missing import missing_topics
from rocketns.pipeline.jobs.topics import uncovered_days
from tests.pipeline.draws import seeds
from tests.pipeline.frames import cut, rows
from tests.pipeline.jobs.history.test_state import harmed
from tests.pipeline.journals import DAY_START, SECOND, Journals, events_frame, observed, random_journals

HOUR = 3600 * SECOND
ROTATION = 600 * SECOND
CLOSED = ("2026-01-01", "2026-01-02")
FLEETS = 4


class Known:
    """What a run makes of the events of some days, after ``earlier``."""

    def __init__(self, events: DataFrame, observation: Observation, earlier: Earlier, closing: str = "") -> None:
        self.observation, self.earlier, self.closing = observation, earlier, Closing(closing)
        self.new = events.where(F.col("dt") > earlier.day)
        self.events = cut(self.new.unionByName(earlier.frames["events"]))
        self.base = state.base(self.events, observation, keep=cut, earlier=earlier)
        self.brokers = cut(state.broker_intervals(self.events, self.base, observation))
        self.tallies = {name: cut(found).unionByName(earlier.frames[name]) for name, found in self._tallies().items()}

    def _tallies(self) -> Mapping[str, DataFrame]:
        seen, day = self.observation, self.closing.day
        return {
            "gaps": tallies.gaps(self.events, seen, self.earlier.day, day),
            "counts": tallies.counts(self.new, seen, day),
            "callers": tallies.callers(self.new, seen, day),
            "hours": tallies.hours(self.new, seen, day),
            "covered": tallies.covered(self.new, seen, day),
            "heard": first_heard(self.brokers, self.events, seen, day, edge_of(self.earlier.day)),
        }

    def closed(self) -> Earlier:
        frames = kept(self.events, self.base, self.tallies, self.closing, self.observation)
        return Earlier(self.closing.day, {name: cut(frame) for name, frame in frames.items()})

    def results(self) -> dict[str, DataFrame]:
        seen, base = self.observation, self.base
        topics = cut(state.topic_intervals(self.events, base, seen))
        nobody = self.brokers.select(F.col("broker").alias("topic")).limit(0)
        return {
            "uptime": base.uptime,
            "holes": base.holes,
            "snapshots": base.snapshots,
            "broker_intervals": self.brokers,
            "topic_intervals": topics,
            "topic_doubts": topic_doubts(self.events, base, topics, seen),
            "departures": departures(self.brokers, self.events, seen, self.tallies["heard"]),
            "gaps": heartbeat_gaps(self.tallies["gaps"]),
            "counts": tallies.joined("counts", self.tallies["counts"].withColumn("closed", F.lit(True))),
            "asked": asked(self.tallies["callers"]).withColumn("ns", F.array_sort("ns")),
            "uncovered": uncovered_days(self.tallies["covered"], base.uptime, seen, 2),
            "missing": missing_topics(self.tallies["hours"], nobody),
        }


def fleets(seeds: Iterable[int]) -> Journals:
    """Random fleets at once, for some hours around each of two midnights, every other one with lost records."""
    journals: Journals = {}
    for seed, night in product(seeds, range(len(CLOSED))):
        start = DAY_START + (24 * night + 23) * HOUR
        fleet = random_journals(100 * night + seed, start_us=start, seconds=10_000)
        fleet = harmed(fleet, seed) if seed % 2 else fleet
        for ns, records in fleet.items():
            journals.setdefault(f"{seed}-{ns}", []).extend(records)
    return journals


def in_files(events: DataFrame) -> DataFrame:
    """The events as files of ten minutes hold them at every second name server: beyond midnight, in the day before."""
    late = F.when(F.col("ns").endswith("1"), ROTATION).otherwise(0)
    return events.withColumn("dt", F.date_format(F.timestamp_micros(F.col("ts") - late), "yyyy-MM-dd"))


@pytest.mark.parametrize("seed", seeds(0))
def test_jobs_go_on_after_closed_days(spark: SparkSession, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    """Two runs close a day each, at any time after midnight. The third one has the rows of a run over everything."""
    monkeypatch.setattr(holes, "STRETCH", 16)
    chance, journals = random.Random(seed), fleets(range(FLEETS * seed, FLEETS * (seed + 1)))
    events, (begin, end) = cut(in_files(events_frame(spark, journals))), observed(journals)
    earlier = Earlier.nothing(spark)
    for day in CLOSED:
        seen = Observation(begin, midnight_after(day) + ROTATION + chance.randint(1, HOUR))
        earlier = Known(events.where(F.col("ts") < seen.t1), seen, earlier, day).closed()
    found = Known(events, Observation(begin, end), earlier).results()
    wanted = Known(events, Observation(begin, end), Earlier.nothing(spark)).results()
    for name, frame in wanted.items():
        told = rows(frame)
        assert rows(found[name]) == told, name
        assert told or name == "uncovered", name
