"""What the growth of an audit is read from: Spark's event log, and a line through the runs."""

from __future__ import annotations

import pytest

from benchmarks.audit.scale import BASE, DIRECTIONS, fleet, moved, slope

MB = 1_000_000
TASK = {
    "Event": "SparkListenerTaskEnd",
    "Task Metrics": {
        "Input Metrics": {"Bytes Read": 3 * MB, "Records Read": 7},
        "Shuffle Write Metrics": {"Shuffle Bytes Written": 2 * MB},
        "Disk Bytes Spilled": MB,
    },
}


def test_tasks_add_up_and_other_events_do_not_count() -> None:
    lost = {"Event": "SparkListenerTaskEnd"}
    assert moved([TASK, {"Event": "SparkListenerJobStart"}, lost, TASK]) == {
        "tasks": 2, "read by tasks, MB": 6, "records read by tasks": 14, "written to shuffles, MB": 4,
        "spilled to disk, MB": 2,
    }  # fmt: skip


def test_the_line_says_how_far_a_value_is_off() -> None:
    assert slope([MB, 2 * MB, 3 * MB], [12.0, 14.0, 16.0]) == pytest.approx((10.0, 2.0, 0.0))
    assert slope([MB, 2 * MB, 3 * MB], [10.0, 13.0, 10.0])[2] == pytest.approx(2 / 13)


def test_each_size_has_whole_multiples_of_the_faults() -> None:
    one = fleet(BASE).faults
    for size in {size for sizes in DIRECTIONS.values() for size in sizes}:
        assert fleet(size).faults.flaps == one.flaps * (size.days // 4) * (size.brokers // 20)
