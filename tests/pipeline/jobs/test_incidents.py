"""Windows are put together by broker, cause and time. Every case has brokers and name servers of its own, so that Spark
runs once for all of them."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.schema import EVENTS, KEY_WINDOWS
from rocketns.pipeline.jobs.incidents import incidents
from tests.pipeline.frames import Row, frame

S = 1_000_000
Case = tuple[list[Row], list[Row]]  # windows, stalls


def value(ns: str, queues: int | None = 4) -> Row:
    return {"ns": ns, "present": queues is not None, "r": queues, "w": queues, "p": queues and 6}


def window(topic: str, broker: str, t1: int, t2: int, cause: str | None = "expired", **more: Any) -> Row:
    return {
        "topic": topic, "broker": broker, "t1": t1 * S, "t2": t2 * S, "cause": cause, "opened_by": "n2", "gap": 123_000,
        "values": [value("n1"), value("n2", None)], **more,
    }  # fmt: skip


def stall(ns: str, ended: int, seconds: int) -> Row:
    return {"ns": ns, "ev": "stall", "ts": ended * S, "ms": seconds * 1000}


KINDS = {"A_REPLY_TOPIC": "system", "%RETRY%g": "retry", "orders": "user", "payments": "user"}
FEWER = [value("n1", 8), value("n2", 5)]
STALLED = [window("a", "b1", 100, 200), window("b", "b1", 105, 150), window("a", "b9", 900, 950)]
# stalls → name servers that stalled when a window of STALLED began
STALLS: dict[str, tuple[list[Row], list[str]]] = {
    "the other one noticed something in the stall": ([stall("n1", 150, 60)], ["n1"]),
    "just before, at both ends of the bound": ([stall("n1", 100, 5), stall("n2", 70, 5)], ["n1", "n2"]),
    "too early, too late": ([stall("n1", 69, 5), stall("n1", 205, 99)], []),
    "it was not compared": ([stall("n3", 150, 60)], []),
    "the second window of the incident began in it": ([stall("n2", 109, 5)], ["n2"]),
}
CASES: dict[str, Case] = {
    "close": ([
        window("a", "b1", 100, 200), window("b", "b1", 100, 150), window("c", "b1", 110, 300),
        window("a", "b1", 121, 130),
    ], []),
    "apart": ([
        window("a", "b1", 100, 200), window("a", "b2", 100, 200), window("a", "b1", 100, 200, "unregister"),
    ], []),
    "chain": ([window(f"t{i:02}", "b1", i * 10, 500) for i in range(20)], []),
    "both": ([window("a", "b1", 1, 9, "register", values=[value("n1"), value("n2", 8)], gap=None)], []),
    "causeless": ([window("a", "b1", 100, 200, None)], [stall("n1", 101, 5)]),
    "looks": ([
        window("a", "b1", 100, 200, t1_early=5 * S, t2_early=90 * S), window("b", "b1", 100, 150, t1_early=7 * S),
        window("c", "b1", 101, 200, t1_early=80 * S, t2_early=30 * S),
    ], []),
    "lost": ([window("a", "b1", 100, 200), window("b", "b1", 101, 300, doubt="lost_records")], []),
    "clocks": ([
        window("a", "b1", 100, 106, doubt="clocks"), window("b", "b1", 100, 106, doubt="clocks"),
        window("c", "b1", 101, 200), window("d", "b1", 102, 103, doubt="lost_records"),
    ], []),
    "kinds": ([window(name, "b1", 100, 200, kind=kind) for name, kind in KINDS.items()], []),
    "queues": ([window("a", "b1", 100, 200, values=FEWER), window("a", "b1", 105, 200)], []),
    **{name: (STALLED, stalls) for name, (stalls, _) in STALLS.items()},
}  # fmt: skip


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, list[Row]]:
    """The incidents of each case in the order of broker, cause and time."""
    windows, stalls = [], []
    for name, (of_case, stalled) in CASES.items():
        for row in of_case:
            values = [{**one, "ns": f"{name}/{one['ns']}"} for one in row["values"]]
            windows.append({**row, "broker": f"{name}/{row['broker']}", "values": values})
        stalls += [{**row, "ns": f"{name}/{row['ns']}"} for row in stalled]
    cases: dict[str, list[Row]] = {name: [] for name in CASES}
    for row in incidents(frame(spark, KEY_WINDOWS, windows), frame(spark, EVENTS, stalls)).collect():
        name, _, broker = row.broker.partition("/")
        servers = {key: [ns.removeprefix(f"{name}/") for ns in row[key]] for key in ("ns_without", "stalled")}
        cases[name].append({**row.asDict(), "broker": broker, **servers})
    for rows in cases.values():
        rows.sort(key=lambda row: (row["broker"], row["cause"] or "", row["t1"], row["doubt"] or ""))
    return cases


def test_windows_that_begin_close_to_each_other_are_one_incident(found: dict[str, list[Row]]) -> None:
    first, second = found["close"]
    assert first == {
        "cause": "expired", "broker": "b1", "t1": 100 * S, "t2": 300 * S, "windows": 3, "topics": 3, "user_topics": 3,
        "topic_sample": ["a", "b", "c"], "queues": 12, "ns_without": ["n2"], "opened_by": ["n2"], "longest": 190 * S,
        "gap_max": 123_000, "stalled": [], "doubt": None, "t1_early": 0, "t2_early": 0,
    }  # fmt: skip
    assert (second["t1"], second["windows"]) == (121 * S, 1)
    (chain,) = found["chain"]
    assert (chain["windows"], chain["topics"], chain["topic_sample"]) == (20, 20, [f"t{i:02}" for i in range(5)])


def test_brokers_causes_and_doubts_are_kept_apart(found: dict[str, list[Row]]) -> None:
    assert [(row["broker"], row["cause"]) for row in found["apart"]] == [
        ("b1", "expired"), ("b1", "unregister"), ("b2", "expired"),
    ]  # fmt: skip
    assert [(row["windows"], row["doubt"], row["longest"]) for row in found["lost"]] == [
        (1, None, 100 * S), (1, "lost_records", 199 * S),
    ]  # fmt: skip
    told = sorted((row["doubt"] or "", row["windows"]) for row in found["clocks"])
    assert told == [("", 1), ("clocks", 2), ("lost_records", 1)]


def test_figures_of_an_incident(found: dict[str, list[Row]]) -> None:
    (row,) = found["looks"]  # those of its first and its last windows
    assert (row["t1"], row["t1_early"], row["t2"], row["t2_early"]) == (100 * S, 7 * S, 200 * S, 90 * S)
    (row,) = found["both"]  # name servers that all had the broker are not named
    assert (row["ns_without"], row["gap_max"]) == ([], None)
    (row,) = found["kinds"]  # system topics are counted apart and named last
    assert (row["windows"], row["topics"], row["user_topics"]) == (4, 4, 2)
    assert row["topic_sample"] == ["orders", "payments", "%RETRY%g", "A_REPLY_TOPIC"]
    (row,) = found["queues"]  # a topic with two windows counts once, with its larger number of hidden queues
    assert (row["windows"], row["topics"], row["queues"]) == (2, 1, 4)


def test_name_servers_that_stalled_when_a_window_began_are_named(found: dict[str, list[Row]]) -> None:
    for case, (_, stalled) in STALLS.items():
        assert {row["broker"]: row["stalled"] for row in found[case]} == {"b1": stalled, "b9": []}, case
    (row,) = found["causeless"]
    assert row["stalled"] == ["n1"]
