"""What consumers lose and do twice, for each segment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.schema import GROUP_MEMBERS
from rocketns.pipeline.jobs.earlier.tallies import callers
from rocketns.pipeline.jobs.queues.allocation import STRATEGIES
from rocketns.pipeline.jobs.queues.consumers import group_members
from rocketns.pipeline.jobs.queues.impact import IDS_MAX, impact
from tests.pipeline.frames import cut
from tests.pipeline.journals import SECOND, Journal, events_frame
from tests.pipeline.segments import Segment, View, segment, segments_frame

BOTH, A = {"broker-a": 4, "broker-b": 4}, {"broker-a": 4}


def modelled(spark: SparkSession, segments: Sequence[Segment], groups: Sequence[int] = (2,)) -> dict[Any, Any]:
    """(topic, strategy, c) -> row."""
    rows = impact(segments_frame(spark, segments), groups, keep=cut).collect()
    return {(row.topic, row.strategy, row.c): row for row in rows}


def test_the_worked_example_has_its_queue_seconds_and_queues(spark: SparkSession) -> None:
    window = segment({"n1": BOTH, "n2": A}, "order_topic", 185, 302)
    rows = modelled(spark, [window], (2, 3, 4))
    averagely = rows["order_topic", "averagely", 2]
    assert (averagely.orphaned_qs_mean, averagely.orphaned_qs_max) == (351, 468)
    assert (averagely.dup_qs_mean, averagely.dup_qs_max) == (117, 234)
    assert averagely.orphaned_ids == [f"broker-b:{q}" for q in range(4)]
    assert averagely.dup_ids == ["broker-a:2", "broker-a:3"]
    assert (averagely.queues, averagely.assignments, averagely.group, averagely.capped) == (8, "model", None, False)
    found = {key[1:]: (row.orphaned_mean, row.orphaned_max, row.dup_mean, row.dup_max) for key, row in rows.items()}
    assert found == {
        ("averagely", 2): (3, 4, 1, 2),
        ("circle", 2): (2, 2, 0, 0),
        ("averagely", 3): (pytest.approx(8 / 3), 4, pytest.approx(2 / 3), 1),
        ("circle", 3): (2, 3, 0, 0),
        ("averagely", 4): (pytest.approx(20 / 7), 5, pytest.approx(6 / 7), 2),
        ("circle", 4): (2, 3, 0, 0),
    }


# What the name servers show -> whether there is something to report
DIFFERENT: Mapping[str, tuple[Mapping[str, Any], bool]] = {
    "all equal": ({"n1": BOTH, "n2": BOTH}, False),
    "one has no route at all": ({"n1": BOTH, "n2": {}}, False),
    "write queues and permission to write differ": ({"n1": {"broker-a": 4}, "n2": {"broker-a": (4, 8, 4)}}, False),
    "a broker without read queues more": ({"n1": A, "n2": {"broker-a": 4, "broker-b": (0, 4, 6)}}, False),
    "one shows nothing readable": ({"n1": A, "n2": {"broker-a": (4, 4, 2)}}, True),
    "more read queues than are counted": ({"n1": A, "n2": dict.fromkeys(BOTH, 2**31 - 1)}, False),
    "read queues differ": ({"n1": A, "n2": {"broker-a": 5}}, True),
}


def test_only_views_that_differ_in_what_is_read_are_reported(spark: SparkSession) -> None:
    rows = modelled(spark, [segment(views, name) for name, (views, _) in DIFFERENT.items()])
    assert {topic for topic, _, _ in rows} == {name for name, (_, reported) in DIFFERENT.items() if reported}
    # The consumer that reads nothing leaves its half to nobody.
    assert rows["one shows nothing readable", "averagely", 2].orphaned_mean == 2


def test_topics_of_one_shape_name_their_own_brokers(spark: SparkSession) -> None:
    other = {"x": 4, "y": 4}
    rows = modelled(spark, [segment({"n1": BOTH, "n2": A}, "T"), segment({"n1": {"x": 4}, "n2": other}, "U")])
    assert rows["T", "circle", 2].orphaned_ids == ["broker-b:0", "broker-b:2"]
    assert rows["U", "circle", 2].orphaned_ids == ["y:0", "y:2"]


def test_a_group_of_one_has_no_model_and_a_large_one_says_that_it_is_capped(spark: SparkSession) -> None:
    views = {"n1": {"a": 100, "b": 100}, "n2": {"a": 100}}
    rows = modelled(spark, [segment(views)], (1, 12, 13))
    assert {(c, row.capped) for (_, _, c), row in rows.items()} == {(12, False), (13, True)}
    assert all(len(row.orphaned_ids) == IDS_MAX < row.orphaned_max for row in rows.values())


TWO: dict[str, View] = {"n1": BOTH, "n2": A}
# Of a segment whose topic names the case: what the name servers show, when it is, and who asks whom from when to when.
Asking = tuple[str, str, int, int]
REAL: Mapping[str, tuple[Mapping[str, View], int, int, list[Asking]]] = {
    "addresses": (TWO | {"n3": A}, 100, 110, [("10.0.0.1:5", "n1", 0, 999), ("10.0.0.2:5", "n3", 0, 999)]),
    "agreed": (TWO, 0, 10, [("10.0.0.1:5", "n2", 0, 999)]),
    "no view": (TWO | {"n3": {}}, 0, 10, [("10.0.0.1:5", "n1", 0, 999), ("10.0.0.2:5", "n3", 0, 999)]),
    "not compared": (TWO | {"n3": {}}, 0, 10, [("10.0.0.1:5", "n1", 0, 999), ("10.0.0.2:5", "n9", 0, 999)]),
    "in the middle": (
        TWO, 100, 200, [("10.0.0.1:5", "n1", 0, 150), ("10.0.0.1:6", "n2", 150, 999), ("10.0.0.2:6", "n2", 150, 999)],
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def real(spark: SparkSession) -> dict[Any, Any]:
    """(case, strategy) -> row, of members of group g."""
    segments = [segment(views, case, start, end) for case, (views, start, end, _) in REAL.items()]
    members = [
        ("g", case, ns, client, t1 * SECOND, t2 * SECOND)
        for case, (*_, asking) in REAL.items()
        for client, ns, t1, t2 in asking
    ]
    rows = impact(segments_frame(spark, segments), [], frame_of(spark, members, GROUP_MEMBERS), cut).collect()
    return {(row.topic, row.strategy): row for row in rows}


def test_real_assignments_follow_the_members_addresses(real: dict[Any, Any]) -> None:
    averagely, circle = real["addresses", "averagely"], real["addresses", "circle"]
    assert (averagely.assignments, averagely.group, averagely.c, averagely.capped) == ("real", "g", 2, False)
    assert averagely.orphaned_ids == [f"broker-b:{q}" for q in range(4)]
    assert averagely.dup_ids == ["broker-a:2", "broker-a:3"]
    assert (averagely.orphaned_mean, averagely.orphaned_max, averagely.dup_qs_mean) == (4, 4, 20)
    assert (circle.orphaned_ids, circle.dup_ids) == (["broker-b:1", "broker-b:3"], [])


def test_members_that_agree_on_the_smaller_view_leave_the_rest_to_nobody(real: dict[Any, Any]) -> None:
    rows = [real["agreed", strategy] for strategy in STRATEGIES]
    assert [(row.c, row.orphaned_mean, row.dup_mean) for row in rows] == [(1, 4, 0)] * 2


def test_no_real_assignment_is_told_where_a_members_view_is_not_known(real: dict[Any, Any]) -> None:
    assert {case for case, _ in real} == {"addresses", "agreed", "in the middle"}


def test_a_member_counts_where_it_is_in_the_middle_of_the_segment(real: dict[Any, Any]) -> None:
    assert {real["in the middle", strategy].c for strategy in STRATEGIES} == {2}


def test_a_member_is_a_client_that_asks_for_the_topic_and_its_groups_retry_topic(spark: SparkSession) -> None:
    journal = Journal(0)
    for second in (60, 120):
        for client, topic in [
            ("10.0.0.1:5", "T"), ("10.0.0.1:5", "%RETRY%g"), ("10.0.0.2:5", "T"), ("*", "T"), ("*", "%RETRY%g"),
        ]:  # fmt: skip
            journal.lookup(second * SECOND, topic, 1, client=client, iv_ms=60_000)
    found = group_members(callers(events_frame(spark, {"n1": journal.records}), Observation(0, 2**60))).collect()
    assert [tuple(row) for row in found] == [("g", "T", "n1", "10.0.0.1:5", 0, 150 * SECOND)]
