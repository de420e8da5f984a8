"""What a synthetic fleet did to brokers, name servers and lookups is what the jobs say, and nothing else is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.jobs import topics
from rocketns.pipeline.jobs.brokers import broker_stats
from rocketns.pipeline.jobs.departures import departures
from rocketns.pipeline.jobs.earlier import tallies
from rocketns.pipeline.jobs.fleet import census, growth, storms
from rocketns.pipeline.jobs.fleet.availability import availability
from rocketns.pipeline.jobs.fleet.blast import blast_radius, sole_topics
from rocketns.pipeline.jobs.fleet.ordered import ordered_keys
from rocketns.pipeline.jobs.history.state import base, broker_intervals, topic_intervals
from rocketns.pipeline.jobs.missing import missing_topics
from rocketns.pipeline.synthetic import Faults, FleetSpec, Truth, make_fleet
from rocketns.pipeline.synthetic.truth import compare
from tests.pipeline.frames import cut

Rows = list[dict[str, Any]]
SPEC = FleetSpec(
    brokers=6, topics=12, seconds=40 * 3600, groups=1, seed=5, faults=Faults(partitions=4, flaps=2, crashes=2)
)


def test_departures_figures_and_misses_of_a_fleet_are_the_truth(spark: SparkSession, tmp_path: Path) -> None:
    truth = make_fleet(SPEC, tmp_path)
    events = read(spark, tmp_path)
    seen = observed(events)
    known = base(events, seen, keep=cut)
    brokers = cut(broker_intervals(events, known, seen))
    names = cut(topics.system_topics(brokers))
    there = cut(topic_intervals(events, known, seen))
    asking = cut(tallies.callers(events, seen))
    lookups = cut(census.asked(asking))
    days = cut(growth.sizes(there, seen))
    callers = cut(census.clients(lookups))
    alone = cut(sole_topics(there, brokers, known.uptime, names))
    grown = cut(growth.growth(days))
    made = {
        "ns_uptime": known.uptime,
        "departures": departures(brokers, events, seen),
        "broker_stats": broker_stats(brokers, tallies.gaps(events, seen), known.uptime, seen),
        "dead_topics": topics.dead_topics(
            there, asking, tallies.covered(events, seen), known.uptime, names, seen, dead_days=1
        ),
        "hot_topics": topics.hot_topics(asking, names, seen),
        "missing_topics": missing_topics(tallies.hours(events, seen), names),
        "clients": callers,
        "client_census": census.client_census(callers),
        "missing_askers": census.missing_askers(lookups, names),
        "availability": availability(brokers, known.uptime, seen),
        "sole_topics": alone,
        "blast_radius": blast_radius(alone),
        "storms": storms.storms(storms.storm_registrations(brokers, there, known.uptime, days)),
        "ordered_keys": ordered_keys(there, events, names, cut),
        "growth": grown,
        "growth_limits": growth.growth_limits(grown, seen),
    }
    tables = {name: rows(frame) for name, frame in made.items()} | not_looked_at(truth)
    verdicts = compare(truth | {"dead": truth["unasked"]}, tables)
    assert [verdict for verdict in verdicts if not verdict.good] == []
    assert len(truth["unasked"]) == SPEC.faults.dead_topics


def read(spark: SparkSession, journal: Path) -> DataFrame:
    """The lines that parse."""
    lines = spark.read.schema(EVENTS).option("basePath", str(journal / "v=1")).json(str(journal / "v=1"))
    return cut(lines.where("boot is not null"))


def observed(events: DataFrame) -> Observation:
    first, last = events.agg(F.min("ts"), F.max("ts")).collect()[0]
    return Observation(first, last + 1)


def rows(frame: DataFrame) -> Rows:
    return [row.asDict(recursive=True) for row in frame.collect()]


def not_looked_at(truth: Truth) -> dict[str, Rows]:
    """The tables of other jobs, as they are to be."""
    windows = [window for fault in truth["faults"] for window in fault["windows"]]
    losses = [(server["ns"], lost) for server in truth["name_servers"] for lost in server["lost"]]
    return {
        "key_windows": [
            {"topic": topic, "broker": window["broker"], "t1": window["t1"], "t2": window["t2"], "doubt": None}
            for window in windows
            for topic in window["topics"]
        ]
        + [window | {"doubt": "lost_records"} for fault in truth["faults"] for window in fault["doubtful"]],
        "quality": [
            {"kind": kind, "ns": ns, "n": lost["lost"]}
            for ns, lost in losses
            for kind in {"hole", lost["kind"]} - {"hidden_change"}
        ],
    }
