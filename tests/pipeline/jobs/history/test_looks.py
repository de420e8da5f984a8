"""Windows of name servers that were watched from outside: each change came between two looks. Times are s.

n1 and n2 have the clock of one observer, n3 writes its own journal; that clock may be off from n3's by 5 s.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import CLOCK_DAYS, NS_UPTIME, TOPIC_INTERVALS
from rocketns.pipeline.jobs.divergence import key_windows
from rocketns.pipeline.jobs.history.unsure import LOOKS_APART_US, may_be_off, widest
from tests.pipeline.frames import cut
from tests.pipeline.intervals import frame, rows
from tests.pipeline.journals import SECOND

END = 5000
# The stretches in which a name server shows the topic: from, to, how much earlier each may have been, queues.
Shown = list[tuple[int, int, int, int, int]]
Window = tuple[int, int, int, int, str | None]
ALWAYS: Shown = [(0, END, 0, 0, 4)]
# topic → what each name server shows, and the windows: from, to, how much earlier each may have been, doubt.
CASES: dict[str, tuple[dict[str, Shown], list[Window]]] = {
    "gone at one for minutes": (
        {"n1": [(0, 1000, 0, 5, 4), (1200, END, 5, 0, 4)], "n2": ALWAYS}, [(1000, 1200, 5, 5, None)],
    ),
    "gone at both at once, seen 6 s apart": (
        {"n1": [(0, 1000, 0, 5, 4), (2000, END, 5, 0, 4)], "n2": [(0, 1006, 0, 5, 4), (2006, END, 5, 0, 4)]},
        [(1000, 1006, 5, 5, "clocks"), (2000, 2006, 5, 5, "clocks")],
    ),
    "4 s apart at least": (
        {"n1": [(0, 1000, 0, 5, 4)], "n2": [(0, 1009, 0, 5, 4)]}, [(1000, 1009, 5, 5, "clocks")],
    ),
    "5 s apart at least": ({"n1": [(0, 1000, 0, 5, 4)], "n2": [(0, 1010, 0, 5, 4)]}, [(1000, 1010, 5, 5, None)]),
    "queues, seen 150 s apart in rounds of 200 s": (
        {"n1": [(0, 2000, 0, 200, 4), (2000, END, 200, 0, 8)], "n2": [(0, 2150, 0, 200, 4), (2150, END, 200, 0, 8)]},
        [(2000, 2150, 200, 200, "clocks")],
    ),
    "queues, seen 300 s apart in rounds of 200 s": (
        {"n1": [(0, 2000, 0, 200, 4), (2000, END, 200, 0, 8)], "n2": [(0, 2300, 0, 200, 4), (2300, END, 200, 0, 8)]},
        [(2000, 2300, 200, 200, None)],
    ),
    "back at once, or much later": (
        {"n1": [(0, 1000, 0, 5, 4), (1150, END, 150, 0, 4)], "n2": ALWAYS}, [(1000, 1150, 5, 150, "clocks")],
    ),
    "not back for 10 s, and maybe much later": (
        {"n1": [(0, 1000, 0, 5, 4), (1150, END, 140, 0, 4)], "n2": ALWAYS}, [(1000, 1150, 5, 140, None)],
    ),
}  # fmt: skip
# The same of a watched one and another.
MIXED: dict[str, tuple[dict[str, Shown], list[Window]]] = {
    "gone at both, 14 s apart": ({"n1": [(0, 1000, 0, 5, 4)], "n3": [(0, 1014, 0, 0, 4)]}, [(1000, 1014, 5, 0, None)]),
    "gone at both, 7 s apart": (
        {"n1": [(0, 1000, 0, 5, 4)], "n3": [(0, 1007, 0, 0, 4)]}, [(1000, 1007, 5, 0, "clocks")],
    ),
}  # fmt: skip


def intervals(ns: str, topic: str, shown: Shown) -> list[dict[str, Any]]:
    """TOPIC_INTERVALS."""
    return [
        {"ns": ns, "topic": topic, "broker": topic, "r": queues, "w": 4, "p": 6, "t1": t1 * SECOND, "t2": t2 * SECOND,
         "cause": "observed", "end_cause": "observed", "t1_early": t1_early * SECOND, "t2_early": t2_early * SECOND}
        for t1, t2, t1_early, t2_early, queues in shown
    ]  # fmt: skip


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, list[Window]]:
    return found_of(spark, CASES, {"n1": "observed", "n2": "observed"}) | found_of(
        spark, MIXED, {"n1": "observed", "n3": "reference"}
    )


def found_of(
    spark: SparkSession, cases: dict[str, tuple[dict[str, Shown], list[Window]]], methods: dict[str, str]
) -> dict[str, list[Window]]:
    told = [row for topic, (shown, _) in cases.items() for ns in methods for row in intervals(ns, topic, shown[ns])]
    uptime = [{"ns": ns, "boot": 1, "t1": 0, "t2": END * SECOND, "end_cause": "open", "observed": method == "observed"}
              for ns, method in methods.items()]  # fmt: skip
    known = [{"day": "1970-01-01", "ns": ns, "method": method, "uncertainty": 5 * SECOND if method == "observed" else 0}
             for ns, method in methods.items()]  # fmt: skip
    windows = key_windows(
        frame(spark, TOPIC_INTERVALS, told), frame(spark, NS_UPTIME, uptime), Observation(0, END * SECOND), keep=cut,
        clock_days=frame(spark, CLOCK_DAYS, known),
    )  # fmt: skip
    by_topic: dict[str, list[Window]] = {}
    for topic, *times, doubt in rows(windows, "topic", "t1", "t2", "t1_early", "t2_early", "doubt"):
        t1, t2, t1_early, t2_early = (time // SECOND for time in times)
        by_topic.setdefault(topic, []).append((t1, t2, t1_early, t2_early, doubt))
    return {topic: sorted(of_topic) for topic, of_topic in by_topic.items()}


@pytest.mark.parametrize("case", [*CASES, *MIXED])
def test_a_window_is_certain_if_it_lasted_whenever_between_the_looks_it_came(
    found: dict[str, list[Window]], case: str
) -> None:
    assert found[case] == (CASES | MIXED)[case][1]


@pytest.mark.parametrize(("uncertainty", "off_s"), [(0, 0), (5 * SECOND, 5), (None, 600)])
def test_the_clock_of_an_observer_is_bounded_where_nothing_shows_its_offset(
    uncertainty: int | None, off_s: int
) -> None:
    assert may_be_off("observed", uncertainty) == off_s * SECOND


def test_watched_name_servers_differ_by_looks_and_not_by_clocks(spark: SparkSession) -> None:
    def widest_of(*clocks: tuple[str, int | None]) -> int:
        days = [
            {"day": "1", "ns": f"n{n}", "method": method, "uncertainty": us} for n, (method, us) in enumerate(clocks)
        ]
        return widest(frame(spark, CLOCK_DAYS, days))

    assert widest_of(("observed", None), ("observed", None)) == LOOKS_APART_US
    assert widest_of(("observed", 5), ("observed", 5), ("reference", 0)) == LOOKS_APART_US + 5
    assert widest_of(("observed", 5), ("versions", 3), ("versions", 4)) == LOOKS_APART_US + 9
