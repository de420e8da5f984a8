"""A broker that one name server does not hear and another does, told before it is given up; small frames."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, LongType

from rocketns.pipeline.contract.frames import columns, frame_of
from rocketns.pipeline.stream.members import MEMBERS, members_at, partitions, usual_us
from rocketns.pipeline.stream.servers import Servers, as_boot, boots_in, servers_at_watermark
from tests.pipeline.journals import SECOND, Broker, Journal, Journals, events_frame

B = Broker("broker-b", "10.0.0.2:10911")
GRACE = 8 * SECOND


def journals(n1_last: int, n2_last: int, *, until: int, period: int = 30) -> Journals:
    """Two name servers that hear the broker from 2 s on, up to their last time; both write until ``until``."""
    made = {}
    other = Broker("broker-a", "10.0.0.1:10911")
    for ns, last in (("n1", n1_last), ("n2", n2_last)):
        journal = Journal(0, ns)
        journal.register(1 * SECOND, other)
        journal.register(2 * SECOND, B)
        for second in range(2 + period, last + 1, period):
            journal.heartbeat(second * SECOND, B)
        journal.heartbeat(until * SECOND, other)
        made[ns] = journal.records
    return made


def judged(spark: SparkSession, written: Journals) -> tuple[list[dict[str, Any]], Servers]:
    events = events_frame(spark, written)
    boots = [as_boot(row.asDict()) for row in boots_in(events).collect()]
    now = servers_at_watermark([], boots, None, 60 * SECOND)
    members = members_at(frame_of(spark, [], MEMBERS), events.where(F.col("ts") < now.watermark), now)
    return [row.asDict() for row in partitions(members, now, GRACE).collect()], now


def test_a_heartbeat_that_is_late_here_and_came_there_is_a_partition(spark: SparkSession) -> None:
    found, now = judged(spark, journals(92, 62, until=101))
    assert now.watermark == 101 * SECOND
    assert found == [
        {"ns": "n2", "cluster": "c", "broker": "broker-b", "bid": 0, "addr": B.addr, "since": 62 * SECOND,
         "cause": "late", "by": ["n1"]},
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("n1_last", "n2_last", "until"),
    [(92, 62, 100), (92, 92, 125), (62, 62, 110)],
    ids=["within the grace", "heard by both", "heard by neither"],
)
def test_departures_that_are_no_partitions(spark: SparkSession, n1_last: int, n2_last: int, until: int) -> None:
    assert judged(spark, journals(n1_last, n2_last, until=until))[0] == []


def test_a_broker_that_is_heard_every_10_s_is_missed_sooner(spark: SparkSession) -> None:
    found, _ = judged(spark, journals(112, 92, until=111 + 4, period=10))
    assert [row["since"] for row in found] == [92 * SECOND]


@pytest.mark.parametrize(
    ("heard_last", "closed_s", "causes"),
    [(92, 70, ["channel_close"]), (92, 96, []), (62, 94, ["channel_close"]), (62, 96, [])],
    ids=["heard elsewhere since", "just now", "kept elsewhere", "kept elsewhere as yet"],
)
def test_a_connection_that_closed_here_only_is_a_partition(
    spark: SparkSession, heard_last: int, closed_s: int, causes: list[str]
) -> None:
    n2 = Journal(0, "n2")
    n2.register(1 * SECOND, B)
    n2.heartbeat(62 * SECOND, B)
    n2.down(closed_s * SECOND, B, "channel_close")
    n2.lookup(100 * SECOND, "t", 1)
    found, _ = judged(spark, journals(heard_last, 62, until=100) | {"n2": n2.records})
    assert [row["cause"] for row in found] == causes


def test_a_connection_that_closed_everywhere_is_no_partition(spark: SparkSession) -> None:
    """As when the broker crashes."""
    written = journals(62, 62, until=100)
    for ns in ("n1", "n2"):
        journal = Journal(0, ns)
        journal.register(1 * SECOND, B)
        journal.heartbeat(62 * SECOND, B)
        journal.down(70 * SECOND, B, "channel_close")
        journal.lookup(100 * SECOND, "t", 1)
        written[ns] = journal.records
    assert judged(spark, written)[0] == []


def test_a_broker_that_unregistered_here_is_no_partition(spark: SparkSession) -> None:
    n2 = Journal(0, "n2")
    n2.register(1 * SECOND, B)
    n2.heartbeat(62 * SECOND, B)
    n2.down(70 * SECOND, B, "unregister")
    n2.lookup(100 * SECOND, "t", 1)
    assert judged(spark, journals(92, 62, until=100) | {"n2": n2.records})[0] == []


def test_the_habit_is_the_largest_of_the_last_gaps_but_a_burst_is_none(spark: SparkSession) -> None:
    habits: list[tuple[list[int], int]] = [
        ([], 30),
        ([30_000] * 3, 30),
        ([10_000] * 8, 10),
        ([500] * 8, 30),
        ([1_000, 45_000, 20_000], 45),
        ([10_000] * 3, 30),
    ]
    frame = frame_of(spark, [(gaps,) for gaps, _ in habits], columns("gaps:longs", longs=ArrayType(LongType())))
    assert frame.select(usual_us()).collect() == [(seconds * SECOND,) for _, seconds in habits]
