"""Topics that nobody may write to, though all name servers agree. Times are in s."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import TOPIC_INTERVALS
from rocketns.pipeline.jobs.unwritable import unwritable
from tests.pipeline.frames import Row, frame, rows
from tests.pipeline.journals import SECOND

END = 1000
SEEN = Observation(0, END * SECOND)
SERVERS = ("n1", "n2")


def had(topic: str, broker: str, *steps: tuple[float, int], until: float = END, ns: str = "n1") -> list[Row]:
    """Intervals of a topic: from each time on a permission."""
    ends = [*(t for t, _ in steps[1:]), until]
    return [
        {"ns": ns, "topic": topic, "broker": broker, "r": 4, "w": 4, "p": p, "cause": "admin" if n else "register",
         "t1": int(t1 * SECOND), "t2": int(t2 * SECOND), "end_cause": "open"}
        for n, ((t1, p), t2) in enumerate(zip(steps, ends, strict=True))
    ]  # fmt: skip


def found(spark: SparkSession, there: list[Row]) -> list[tuple[object, ...]]:
    table = unwritable(frame(spark, TOPIC_INTERVALS, there), frozenset(), SEEN)
    names = ("broker", "t1", "t2", "topics", "alone", "queues", "topic_sample", "ns", "cause")
    return [(row[0], row[1] // SECOND, row[2] // SECOND, *row[3:]) for row in rows(table, *names)]  # type: ignore[operator]


def test_the_permission_was_wiped_at_every_name_server_and_given_back(spark: SparkSession) -> None:
    """n2 hears of it 3 s later, and of its return 2 s before n1. Another broker has one of the topics."""
    there = [
        row
        for ns, wiped, back in (("n1", 100, 147), ("n2", 103, 145))
        for topic in ("pay", "wide")
        for row in had(topic, "b", (0, 6), (wiped, 4), (back, 6), ns=ns)
    ]
    there += [row for ns in SERVERS for row in had("wide", "c", (0, 6), ns=ns)]
    assert found(spark, there) == [("b", 103, 145, 2, 1, 4, ["pay", "wide"], ["n1", "n2"], "admin")]


def test_what_only_some_wiped_or_was_never_writable_or_was_short_is_left_out(spark: SparkSession) -> None:
    there = [
        *had("some", "b", (0, 6), (100, 4), (200, 6)), *had("some", "b", (0, 6), ns="n2"),
        *had("read-only", "b", (50, 4)), *had("short", "b", (0, 6), (100, 4), (104, 6)),
        *had("TBW102", "b", (0, 6), (100, 4)), *had("gone", "b", (0, 6), until=100), *had("gone", "b", (200, 4)),
    ]  # fmt: skip
    assert found(spark, there) == []


def test_it_goes_on_until_nobody_lists_the_topic_or_the_end(spark: SparkSession) -> None:
    there = [*had("open", "a", (0, 6), (900, 4)), *had("taken-out", "b", (0, 6), (300, 4), until=400)]
    there += had("taken-out", "b", (0, 6), (290, 4), until=380, ns="n2")
    assert [row[:4] for row in found(spark, there)] == [("a", 900, END, 1), ("b", 300, 400, 1)]
