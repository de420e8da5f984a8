"""How topics and the largest frames grow."""

from __future__ import annotations

import pytest
from pyspark.sql import DataFrame, SparkSession

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_ext, topic_config
from interop.harness.wire import frame as wire_frame
from interop.harness.wire import json_header
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import GROWTH, TOPIC_INTERVALS
from rocketns.pipeline.contract.times import DAY_US
from rocketns.pipeline.jobs.fleet.growth import growth, growth_limits, sizes
from tests.pipeline.intervals import Row, frame, rows

SEEN = Observation(0, 4 * DAY_US)
LIMIT = 16 * 1024 * 1024


def held(topic: str, broker: str, t1: float, t2: float = 4, ns: str = "n1") -> Row:
    row = {"ns": ns, "topic": topic, "broker": broker, "r": 4, "w": 4, "p": 6, "cause": "register", "end_cause": "open"}
    return row | {"t1": int(t1 * DAY_US), "t2": int(t2 * DAY_US)}


def days(spark: SparkSession, sizes: list[int]) -> DataFrame:
    """A registration of each size, and the list of topics as it always is."""
    told = [{"day": f"1970-01-{n + 1:02}", "topics": 1, "entries": 1, "brokers": 1, "registration_bytes": size,
             "broker": "a", "list_bytes": 200} for n, size in enumerate(sizes)]  # fmt: skip
    return frame(spark, GROWTH, told)


def test_each_day_counts_what_is_there_at_its_end(spark: SparkSession) -> None:
    topics = [
        held("one", "a", 0.5), held("one", "a", 0.6, ns="n2"), held("one", "b", 0.5, 3.5),
        held("three", "b", 1, 1.2), held("three", "b", 1.8),  # what was away for a while counts on
        held("gone", "b", 1.1, 1.9), held("née", "a", 2.999),
    ]  # fmt: skip
    one, three, nee = (663 + 144 + 6), 144 + 10, 144 + 8
    assert rows(growth(sizes(frame(spark, TOPIC_INTERVALS, topics), SEEN))) == [
        ("1970-01-01", 1, 2, 2, one, "b", 170 + 6),
        ("1970-01-02", 2, 3, 2, one + three, "b", 170 + 6 + 8),
        ("1970-01-03", 3, 4, 2, one + three, "b", 170 + 6 + 8 + 7),
        ("1970-01-04", 3, 3, 2, one + nee, "a", 170 + 6 + 8 + 7),
    ]


def test_the_size_of_a_registration_is_about_that_of_a_broker_of_5x(spark: SparkSession) -> None:
    names = [f"topic-{n:06d}" for n in range(500)]
    told = [held(name, "broker-0001", 0) for name in names]
    (row,) = rows(growth(sizes(frame(spark, TOPIC_INTERVALS, told), Observation(0, DAY_US))), "registration_bytes")
    version = data_version(1, 1_700_000_000_001)
    wrapper = {"dataVersion": version, "mappingDataVersion": version,
               "topicConfigTable": {name: topic_config(name, 8, 8) for name in names},
               "topicQueueMappingDetailMap": {}, "topicQueueMappingInfoMap": {}}  # fmt: skip
    body = dumps({"filterServerList": [], "topicConfigSerializeWrapper": wrapper})
    ext = register_ext("DefaultCluster", "broker-0001", "10.100.100.100:10911", body=body)
    real = len(wire_frame(json_header(codes.REGISTER_BROKER, ext), body))
    assert row[0] == pytest.approx(real, rel=0.005)


def test_the_limit_is_reached_where_a_straight_line_gets_there(spark: SparkSession) -> None:
    """A tenth of the limit more each day: at 0.4 now, six days are left."""
    tenth = LIMIT // 10
    found = growth_limits(days(spark, [tenth, 2 * tenth, 3 * tenth, 4 * tenth]), SEEN)
    line = found.where("measure = 'registration'")
    assert rows(line, "now", "limit", "used") == [(4 * tenth, LIMIT, pytest.approx(0.4))]
    assert rows(line, "per_day", "reached") == [(pytest.approx(tenth), pytest.approx(10 * DAY_US, rel=1e-5))]
    assert rows(found.where("measure = 'topic_list'"), "per_day", "reached") == [(0.0, None)]


@pytest.mark.parametrize(
    ("sizes", "per_day", "reached"),
    [
        ([1000, 2000], None, None),  # too short a history for a line
        ([1000, 1100, 1200, 1300], 100.0, None),  # in 460 years
        ([1300, 1200, 1100, 1000], -100.0, None),
        ([LIMIT], None, SEEN.t1),
        ([LIMIT + 2, LIMIT + 1, LIMIT], -1.0, SEEN.t1),
    ],
)
def test_a_line_that_does_not_get_there_has_no_date(
    spark: SparkSession, sizes: list[int], per_day: float | None, reached: int | None
) -> None:
    found = growth_limits(days(spark, sizes), SEEN).where("measure = 'registration'")
    assert rows(found, "per_day", "reached") == [(per_day if per_day is None else pytest.approx(per_day), reached)]


def test_days_of_long_ago_do_not_bend_the_line(spark: SparkSession) -> None:
    old = days(spark, [LIMIT // 2])
    recent = [{"day": f"1970-06-{n:02}", "registration_bytes": n * 1000, "list_bytes": 1} for n in (1, 2, 3)]
    found = growth_limits(old.unionByName(frame(spark, GROWTH, recent)), Observation(0, 154 * DAY_US))
    assert rows(found.where("measure = 'registration'"), "now", "per_day") == [(3000, pytest.approx(1000.0))]


def test_without_topics_nothing_grows(spark: SparkSession) -> None:
    nothing = growth(sizes(frame(spark, TOPIC_INTERVALS, []), SEEN))
    assert (rows(nothing), rows(growth_limits(nothing, SEEN))) == ([], [])
