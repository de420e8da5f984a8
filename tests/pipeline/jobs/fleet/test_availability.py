"""Listed, failed and planned time, and what is left of the error budget."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, NS_UPTIME
from rocketns.pipeline.jobs.fleet.availability import availability
from tests.pipeline.intervals import Row, frame, rows
from tests.pipeline.journals import SECOND

SEEN = Observation(0, 1000 * SECOND)


def listed(t1: float, t2: float, cause: str = "open", bid: int = 0, ns: str = "n1", **more: object) -> Row:
    addr = f"10.0.0.{bid + 1}:10911"
    row = {"ns": ns, "cluster": "c", "broker": "a", "bid": bid, "addr": addr, "end_cause": cause}
    return row | {"t1": int(t1 * SECOND), "t2": int(t2 * SECOND)} | more


def up(t1: float = 0, t2: float = 1000, ns: str = "n1", cause: str = "open") -> Row:
    return {"ns": ns, "boot": int(t1), "t1": int(t1 * SECOND), "t2": int(t2 * SECOND), "end_cause": cause}


def figures(
    spark: SparkSession, intervals: list[Row], ups: list[Row], level: str, *names: str
) -> list[tuple[object, ...]]:
    found = availability(frame(spark, BROKER_INTERVALS, intervals), frame(spark, NS_UPTIME, ups), SEEN)
    return rows(found.where(f"level = '{level}'"), *names)


def test_a_failure_spends_the_budget_until_the_broker_is_listed_again(spark: SparkSession) -> None:
    """Listed 990 s and failed 10 s of 1000 s: 99 %. Of 100 s that a target of 90 % allows, 90 % are left."""
    found = availability(
        frame(spark, BROKER_INTERVALS, [listed(0, 500, "channel_close", gap=7000), listed(510, 1000)]),
        frame(spark, NS_UPTIME, [up()]), SEEN, 90.0,
    )  # fmt: skip
    names = (
        "level",
        "listed_s",
        "failed_s",
        "planned_s",
        "unheard_s",
        "failures",
        "availability",
        "target",
        "budget_s",
    )
    figures = (990.0, 10.0, 0.0, 0.0, 1, 0.99, 0.9, pytest.approx(100.0))
    assert rows(found, *names) == [(level, *figures) for level in ("broker", "cluster", "group", "master")]
    assert [row[0] for row in rows(found, "left")] == [pytest.approx(0.9)] * 4


def test_only_failures_spend_the_budget(spark: SparkSession) -> None:
    intervals = [
        listed(100, 200, "unregister"),  # nothing before the first registration; 100 s planned
        listed(300, 400, "stop"),  # the name server was away from 400 to 450, and knew nobody until 480
        listed(480, 600, "expired", gap=123_000),  # 50 s failed
        listed(650, 700, "conflict"),
        listed(750, 800, "unregister"),  # planned until the end: it was taken away
    ]
    names = ("listed_s", "failed_s", "planned_s", "unheard_s", "failures")
    ups = [up(0, 400, cause="stop"), up(450)]
    assert figures(spark, intervals, ups, "broker", *names) == [(420.0, 50.0, 300.0, 123.0, 1)]


def test_a_failure_lasts_while_the_name_server_is_known_and_until_the_end(spark: SparkSession) -> None:
    intervals = [listed(0, 300, "expired", gap=0), listed(0, 1000, ns="n2")]
    ups = [up(0, 400, cause="lost"), up(500, 900, cause="silent"), up(ns="n2")]
    names = ("name_servers", "listed_s", "failed_s", "failures")
    assert figures(spark, intervals, ups, "broker", *names) == [(2, 1300.0, 500.0, 1)]


def test_a_group_is_listed_while_any_member_is_and_has_a_master_while_id_0_is(spark: SparkSession) -> None:
    """The master fails from 200 to 400, the slave from 300 to 500: both are away for 100 s."""
    intervals = [
        listed(0, 200, "expired"), listed(400, 1000), listed(0, 300, "channel_close", 1), listed(500, 1000, bid=1),
    ]  # fmt: skip
    names = ("listed_s", "failed_s", "failures")
    assert figures(spark, intervals, [up()], "group", *names) == [(900.0, 100.0, 1)]
    assert figures(spark, intervals, [up()], "master", *names) == [(800.0, 200.0, 1)]
    assert figures(spark, intervals, [up()], "broker", "bid", *names) == [(0, 800.0, 200.0, 1), (1, 800.0, 200.0, 1)]


def test_a_cluster_is_all_its_groups_together(spark: SparkSession) -> None:
    intervals = [listed(0, 900, "expired"), listed(0, 1000, broker="b"), listed(0, 500, "expired", cluster="other")]
    assert figures(spark, intervals, [up()], "cluster", "cluster", "availability") == [
        ("c", 0.95), ("other", 0.5),
    ]  # fmt: skip


def test_a_target_of_all_the_time_leaves_no_budget_to_have_a_part_of(spark: SparkSession) -> None:
    found = availability(frame(spark, BROKER_INTERVALS, [listed(0, 9)]), frame(spark, NS_UPTIME, [up()]), SEEN, 100)
    assert rows(found.where("level = 'group'"), "budget_s", "left") == [(0.0, None)]
