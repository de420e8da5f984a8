"""Windows that are shorter than clocks may be off: which of them clocks alone may explain. Times are s.

n1 is the reference, the offset of n2 is known from heartbeats, so its clock may be off by 600 s.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import CLOCK_DAYS, NS_UPTIME, TOPIC_DOUBTS, TOPIC_INTERVALS
from rocketns.pipeline.jobs.divergence import key_windows
from rocketns.pipeline.jobs.history.unsure import may_be_off, widest
from tests.pipeline.frames import cut
from tests.pipeline.intervals import frame, rows
from tests.pipeline.journals import SECOND

END = 5000
# The stretches in which a name server shows the topic: (from, to), or (from, to, queues).
Shown = list[tuple[int, ...]]
ALWAYS: Shown = [(0, END)]
# topic → (what n1 shows, what n2 shows, the windows: from, to, doubt)
CASES: dict[str, tuple[Shown, Shown, list[tuple[int, int, str | None]]]] = {
    "gone at both, 90 s apart": (
        [(0, 1000), (1020, END)], [(0, 1090), (1110, END)], [(1000, 1020, "clocks"), (1090, 1110, "clocks")],
    ),
    "gone at both for long, 90 s apart": (
        [(0, 1000), (3000, END)], [(0, 1090), (3090, END)], [(1000, 1090, "clocks"), (3000, 3090, "clocks")],
    ),
    "gone at one": ([(0, 2000), (2028, END)], ALWAYS, [(2000, 2028, None)]),
    "gone at the other": (ALWAYS, [(0, 2000), (2028, END)], [(2000, 2028, None)]),
    "gone at one, then at the other within 600 s": (
        [(0, 2000), (2300, END)], [(0, 2600), (2630, END)], [(2000, 2300, "clocks"), (2600, 2630, "clocks")],
    ),
    "gone at one, then at the other later": (
        [(0, 2000), (2300, END)], [(0, 2601), (2630, END)], [(2000, 2300, None), (2601, 2630, "clocks")],
    ),
    "queues, 50 s apart": (
        [(0, 2000, 4), (2000, END, 8)], [(0, 2050, 4), (2050, END, 8)], [(2000, 2050, "clocks")],
    ),
    "queues for a while at one": ([(0, 2000, 4), (2000, 2050, 8), (2050, END, 4)], [(0, END, 4)], [(2000, 2050, None)]),
    "gone at one for longer than that": ([(0, 2000), (2600, END)], [(0, 2700), (2710, END)],
                                         [(2000, 2600, None), (2700, 2710, "clocks")]),
    "soon after the beginning": ([(0, 599), (620, END)], ALWAYS, [(599, 620, "clocks")]),
    "600 s after the beginning": ([(0, 600), (620, END)], ALWAYS, [(600, 620, None)]),
    "600 s before the end": ([(0, END - 600)], ALWAYS, [(END - 600, END, None)]),
    "until the end": ([(0, END - 599)], ALWAYS, [(END - 599, END, "clocks")]),
    "records of the other are lost": ([(0, 2000), (2028, END)], ALWAYS, [(2000, 2028, "clocks")]),
}  # fmt: skip


def intervals(ns: str, topic: str, shown: Shown) -> list[dict[str, Any]]:
    """TOPIC_INTERVALS."""
    return [
        {"ns": ns, "topic": topic, "broker": "b", "r": queues[0] if queues else 4, "w": 4, "p": 6, "t1": t1 * SECOND,
         "t2": t2 * SECOND, "cause": "register", "end_cause": "expired"}
        for t1, t2, *queues in shown
    ]  # fmt: skip


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, list[tuple[int, int, str | None]]]:
    told = [
        row for topic, (n1, n2, _) in CASES.items() for row in intervals("n1", topic, n1) + intervals("n2", topic, n2)
    ]
    uptime = [{"ns": ns, "boot": 1, "t1": 0, "t2": END * SECOND, "end_cause": "open"} for ns in ("n1", "n2")]
    clocks = [("n1", "reference", 0), ("n2", "heartbeats", 30 * SECOND)]
    known = [{"day": "1970-01-01", "ns": ns, "method": method, "uncertainty": us} for ns, method, us in clocks]
    lost = [{"ns": "n2", "topic": "records of the other are lost", "broker": "b", "t1": 2500 * SECOND,
             "t2": 2550 * SECOND}]  # fmt: skip
    windows = key_windows(
        frame(spark, TOPIC_INTERVALS, told), frame(spark, NS_UPTIME, uptime), Observation(0, END * SECOND), keep=cut,
        topic_doubts=frame(spark, TOPIC_DOUBTS, lost), clock_days=frame(spark, CLOCK_DAYS, known),
    )  # fmt: skip
    by_topic: dict[str, list[tuple[int, int, str | None]]] = {}
    for topic, t1, t2, doubt in rows(windows, "topic", "t1", "t2", "doubt"):
        by_topic.setdefault(topic, []).append((t1 // SECOND, t2 // SECOND, doubt))
    return {topic: sorted(of_topic) for topic, of_topic in by_topic.items()}


@pytest.mark.parametrize("case", CASES)
def test_a_value_that_the_other_showed_within_the_clock_error_is_no_difference(
    found: dict[str, list[tuple[int, int, str | None]]], case: str
) -> None:
    assert found[case] == CASES[case][2]


@pytest.mark.parametrize(
    ("method", "uncertainty", "off_s"),
    [("reference", 0, 0), ("versions", 20_000, 0.02), ("heartbeats", 30 * SECOND, 600), ("none", None, 3600)],
)
def test_each_method_limits_the_error_of_a_clock(method: str, uncertainty: int | None, off_s: float) -> None:
    assert may_be_off(method, uncertainty) == off_s * SECOND


def test_the_widest_is_that_of_the_worst_day(spark: SparkSession) -> None:
    """A name server that a day says nothing of may be off by an hour."""
    days = [("1", "n1", "reference", 0), ("1", "n2", "versions", 5), ("1", "n3", "versions", 3)]
    days += [("2", "n1", "reference", 0), ("2", "n2", "versions", 5), ("2", "n3", "versions", 4)]

    def widest_of(*chosen: tuple[Any, ...]) -> int:
        names = ("day", "ns", "method", "uncertainty")
        return widest(frame(spark, CLOCK_DAYS, [dict(zip(names, day, strict=True)) for day in chosen]))

    assert widest_of(*days) == 9
    assert widest_of(*days[:-1]) == 3600 * SECOND + 5
    assert widest_of() == 7200 * SECOND
