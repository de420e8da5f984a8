"""Windows are put together by broker, cause and time."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.schema import EVENTS, KEY_WINDOWS
from rocketns.pipeline.jobs.incidents import incidents
from tests.pipeline.intervals import frame

S = 1_000_000


def window(topic: str, broker: str, t1: int, t2: int, cause: str = "expired", **more: Any) -> dict[str, Any]:
    values = [{"ns": "n1", "present": True, "r": 4, "w": 4, "p": 6}, {"ns": "n2", "present": False}]
    return {
        "topic": topic, "broker": broker, "t1": t1 * S, "t2": t2 * S, "cause": cause, "opened_by": "n2", "gap": 123_000,
        "values": values, **more,
    }  # fmt: skip


def found(spark: SparkSession, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made = incidents(frame(spark, KEY_WINDOWS, rows))
    return sorted((row.asDict() for row in made.collect()), key=lambda row: (row["broker"], row["cause"], row["t1"]))


def test_windows_that_begin_close_to_each_other_are_one_incident(spark: SparkSession) -> None:
    rows = [
        window("a", "b1", 100, 200),
        window("b", "b1", 100, 150),
        window("c", "b1", 110, 300),
        window("a", "b1", 121, 130),
    ]
    first, second = found(spark, rows)
    assert first == {
        "cause": "expired", "broker": "b1", "t1": 100 * S, "t2": 300 * S, "windows": 3, "topics": 3, "user_topics": 3,
        "topic_sample": ["a", "b", "c"], "queues": 12, "ns_without": ["n2"], "opened_by": ["n2"], "longest": 190 * S,
        "gap_max": 123_000, "stalled": [], "doubt": None,
    }  # fmt: skip
    assert (second["t1"], second["windows"]) == (121 * S, 1)


def test_brokers_and_causes_are_kept_apart(spark: SparkSession) -> None:
    rows = [window("a", "b1", 100, 200), window("a", "b2", 100, 200), window("a", "b1", 100, 200, cause="unregister")]
    assert [(row["broker"], row["cause"]) for row in found(spark, rows)] == [
        ("b1", "expired"), ("b1", "unregister"), ("b2", "expired"),
    ]  # fmt: skip


def test_a_chain_of_starts_is_followed_however_long(spark: SparkSession) -> None:
    rows = [window(f"t{i:02}", "b1", i * 10, 500) for i in range(20)]
    only, *others = found(spark, rows)
    assert (only["windows"], only["topics"], only["topic_sample"], others) == (
        20,
        20,
        [f"t{i:02}" for i in range(5)],
        [],
    )


def test_name_servers_that_all_had_the_broker_are_not_named(spark: SparkSession) -> None:
    values = [
        {"ns": "n1", "present": True, "r": 4, "w": 4, "p": 6},
        {"ns": "n2", "present": True, "r": 8, "w": 8, "p": 6},
    ]
    row = found(spark, [window("a", "b1", 1, 9, cause="register", values=values, gap=None)])[0]
    assert (row["ns_without"], row["gap_max"]) == ([], None)


def stall(ns: str, ended: int, seconds: int) -> dict[str, Any]:
    return {"ns": ns, "ev": "stall", "ts": ended * S, "ms": seconds * 1000}


@pytest.mark.parametrize(
    ("stalls", "stalled"),
    [
        ([stall("n1", 150, 60)], ["n1"]),  # the other one noticed something in the stall
        ([stall("n1", 100, 5), stall("n2", 70, 5)], ["n1", "n2"]),  # just before, at both ends of the bound
        ([stall("n1", 69, 5), stall("n1", 205, 99)], []),  # too early, too late
        ([stall("n3", 150, 60)], []),  # it was not compared
        ([stall("n2", 109, 5)], ["n2"]),  # the second window of the incident began in it
    ],
)
def test_name_servers_that_stalled_when_a_window_began_are_named(
    spark: SparkSession, stalls: list[dict[str, Any]], stalled: list[str]
) -> None:
    rows = [window("a", "b1", 100, 200), window("b", "b1", 105, 150), window("a", "b9", 900, 950)]
    made = incidents(frame(spark, KEY_WINDOWS, rows), frame(spark, EVENTS, stalls))
    assert {row.broker: row.stalled for row in made.collect()} == {"b1": stalled, "b9": []}


def test_a_window_without_a_cause_has_its_stall_too(spark: SparkSession) -> None:
    windows = frame(spark, KEY_WINDOWS, [window("a", "b1", 100, 200, cause=None)])
    [row] = incidents(windows, frame(spark, EVENTS, [stall("n1", 101, 5)])).collect()
    assert row.stalled == ["n1"]


def test_windows_that_may_be_lost_records_make_incidents_of_their_own(spark: SparkSession) -> None:
    rows = [window("a", "b1", 100, 200), window("b", "b1", 101, 300, doubt="lost_records")]
    first, second = found(spark, rows)
    assert (first["windows"], first["doubt"], first["longest"]) == (1, None, 100 * S)
    assert (second["windows"], second["doubt"]) == (1, "lost_records")


def test_windows_that_clocks_alone_may_explain_make_incidents_of_their_own(spark: SparkSession) -> None:
    short = [window(name, "b1", 100, 106, doubt="clocks") for name in "ab"]
    told = found(spark, [*short, window("c", "b1", 101, 200), window("d", "b1", 102, 103, doubt="lost_records")])
    assert sorted((row["doubt"] or "", row["windows"]) for row in told) == [("", 1), ("clocks", 2), ("lost_records", 1)]


def test_system_topics_are_counted_apart_and_named_last(spark: SparkSession) -> None:
    kinds = {"A_REPLY_TOPIC": "system", "%RETRY%g": "retry", "orders": "user", "payments": "user"}
    row = found(spark, [window(name, "b1", 100, 200, kind=kind) for name, kind in kinds.items()])[0]
    assert (row["windows"], row["topics"], row["user_topics"]) == (4, 4, 2)
    assert row["topic_sample"] == ["orders", "payments", "%RETRY%g", "A_REPLY_TOPIC"]


def test_no_window_is_no_incident(spark: SparkSession) -> None:
    assert found(spark, []) == []


def test_hidden_queues_are_those_that_one_name_server_shows_and_another_does_not(spark: SparkSession) -> None:
    """A topic with two windows in an incident counts once, with its larger number."""
    fewer = [{"ns": ns, "present": True, "r": r, "w": r, "p": 6} for ns, r in (("n1", 8), ("n2", 5))]
    (row,) = found(spark, [window("a", "b1", 100, 200, values=fewer), window("a", "b1", 105, 200)])
    assert (row["windows"], row["topics"], row["queues"]) == (2, 1, 4)
