"""Who asks for routes, how often, and for what in vain."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import Observation, columns, frame_of
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, CLIENTS, EVENTS
from rocketns.pipeline.jobs.earlier.tallies import callers
from rocketns.pipeline.jobs.fleet.census import asked, client_census, clients, missing_askers, release
from rocketns.pipeline.jobs.topics import system_topics
from tests.pipeline.intervals import Row, frame, rows
from tests.pipeline.journals import SECOND

SEEN = Observation(0, 3600 * SECOND)
JAVA, GO = {"lang": "JAVA", "cv": 495}, {"lang": "GO", "cv": 317}


def row(topic: str, at_s: int, n: int, client: str | None = "10.0.0.1:4001", ns: str = "n1", **more: object) -> Row:
    """Lookups of the minute before ``at_s``."""
    told = {"ns": ns, "ev": "lookup", "ts": at_s * SECOND, "topic": topic, "client": client, "n": n, "iv_ms": 60_000}
    return told | JAVA | more


@pytest.fixture(scope="module")
def counted(spark: SparkSession) -> DataFrame:
    records = [
        row("T", 60, 2), row("T", 120, 2), row("U", 60, 2),  # every 30 s
        # every 2 s
        row("T", 60, 30, "10.0.0.2:4001", **GO), row("gone", 120, 30, "10.0.0.2:4001", "n2", miss=30, **GO),
        row("T", 60, 2, "10.0.0.2:4002", **GO), row("gone", 180, 2, "10.0.0.2:4002", miss=1, **GO),
        row("%RETRY%g", 60, 2, None, miss=2),
        row("*", 60, 99, "*", lang=None, cv=None), row("T", 3600, 5), row("T", -1, 5),
    ]  # fmt: skip
    return asked(callers(frame(spark, EVENTS, records), SEEN)).cache()


def test_a_client_asks_for_each_topic_at_its_own_pace(counted: DataFrame) -> None:
    found = rows(clients(counted), "client", "lang", "ns", "topics", "n", "miss", "poll_s", "t1", "t2")
    assert found == [
        ("10.0.0.1:4001", "JAVA", ["n1"], 2, 6, 0, 30.0, 0, 120 * SECOND),
        ("10.0.0.2:4001", "GO", ["n1", "n2"], 2, 60, 30, 2.0, 0, 120 * SECOND),
        ("10.0.0.2:4002", "GO", ["n1"], 2, 4, 1, 30.0, 0, 180 * SECOND),
        (None, "JAVA", ["n1"], 1, 2, 2, None, 0, 60 * SECOND),
    ]


def test_the_census_counts_clients_and_hosts_and_those_that_poll_fast(counted: DataFrame) -> None:
    found = client_census(clients(counted))
    assert rows(found, "lang", "cv", "release", "clients", "hosts", "n", "miss", "share", "poll_p50", "fast") == [
        ("GO", 317, "4.5.2", 2, 1, 64, 31, 64 / 72, 16.0, 1),
        ("JAVA", 495, "5.4.1", 1, 1, 8, 2, 8 / 72, 30.0, 0),
    ]


def test_half_of_the_usual_interval_is_not_yet_fast(spark: SparkSession) -> None:
    some = [{"client": f"h:{n}", "n": 1, "miss": 0, "poll_s": poll, **JAVA} for n, poll in enumerate((14.999, 15.0))]
    assert rows(client_census(frame(spark, CLIENTS, some)), "clients", "fast") == [(2, 1)]


def test_a_client_that_asks_for_an_absent_topic_is_named(spark: SparkSession, counted: DataFrame) -> None:
    found = missing_askers(counted, system_topics(frame(spark, BROKER_INTERVALS, [])))
    assert rows(found, "topic", "kind", "client", "ns", "n", "miss", "t1") == [
        ("%RETRY%g", "retry", None, ["n1"], 2, 2, 0),
        ("gone", "user", "10.0.0.2:4001", ["n2"], 30, 30, 60 * SECOND),
        ("gone", "user", "10.0.0.2:4002", ["n1"], 2, 1, 120 * SECOND),
    ]


def test_without_lookups_there_are_no_clients(spark: SparkSession) -> None:
    nobody = clients(asked(callers(frame(spark, EVENTS, []), SEEN)))
    assert (rows(nobody), rows(client_census(nobody))) == ([], [])


def test_a_protocol_version_is_shown_as_the_release_that_has_it(spark: SparkSession) -> None:
    wanted = {213: "4.0.0", 399: "4.9.3", 411: "4.9.9", 412: None, 413: "5.0.0", 475: "5.3.1", 513: "5.5.0", 211: None,
              0: None, -1: None, 2147483647: None}  # fmt: skip
    numbers = frame_of(spark, [(cv,) for cv in wanted], columns("cv:int"))
    assert dict(rows(numbers.select("cv", release(F.col("cv"))))) == wanted
