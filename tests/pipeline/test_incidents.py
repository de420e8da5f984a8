"""Windows are put together by broker, cause and time."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.schema import KEY_WINDOWS
from rocketns.pipeline.jobs.incidents import incidents

S = 1_000_000


def window(topic: str, broker: str, t1: int, t2: int, cause: str = "expired", **more: Any) -> dict[str, Any]:
    values = [{"ns": "n1", "present": True, "r": 4, "w": 4, "p": 6}, {"ns": "n2", "present": False}]
    return {
        "topic": topic, "broker": broker, "t1": t1 * S, "t2": t2 * S, "cause": cause, "opened_by": "n2", "gap": 123_000,
        "values": values, **more,
    }  # fmt: skip


def found(spark: SparkSession, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    frame = incidents(spark.createDataFrame(rows, KEY_WINDOWS))
    return sorted((row.asDict() for row in frame.collect()), key=lambda row: (row["broker"], row["cause"], row["t1"]))


def test_windows_that_begin_close_to_each_other_are_one_incident(spark: SparkSession) -> None:
    rows = [
        window("a", "b1", 100, 200),
        window("b", "b1", 100, 150),
        window("c", "b1", 110, 300),
        window("a", "b1", 121, 130),
    ]
    first, second = found(spark, rows)
    assert first == {
        "cause": "expired", "broker": "b1", "t1": 100 * S, "t2": 300 * S, "windows": 3, "topics": 3,
        "topic_sample": ["a", "b", "c"], "ns_without": ["n2"], "opened_by": ["n2"], "longest": 190 * S,
        "gap_max": 123_000,
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


def test_no_window_is_no_incident(spark: SparkSession) -> None:
    assert incidents(spark.createDataFrame([], KEY_WINDOWS)).count() == 0
