"""Windows and segments that go on after closed days are those of a run over everything.

Random intervals, uptimes and doubts around the edge of a closed day. All times are a few microseconds apart, so that
many fall on the edge or a cut, and the shortest window is about as long.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession

from rocketns.pipeline.contract.earlier import Earlier
from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.schema import (
    BROKER_INTERVALS,
    CLOCK_DAYS,
    NS_UPTIME,
    TOPIC_DOUBTS,
    TOPIC_INTERVALS,
)
from rocketns.pipeline.jobs.divergence import key_windows, topic_segments
from rocketns.pipeline.jobs.earlier.keeping import edge_of
from rocketns.pipeline.jobs.earlier.settled import Settled, finished, marks, settled
from tests.pipeline.frames import cut, rows

DAY = "2026-01-01"
EDGE = edge_of(DAY)
SERVERS, BROKERS, TOPICS = ("n1", "n2", "n3"), ("a", "b"), 40
AROUND = 50  # us
MIN_WINDOW = 6  # us
END = EDGE + AROUND
SEED = 4

SCHEMAS = {
    "topic_intervals": TOPIC_INTERVALS, "broker_intervals": BROKER_INTERVALS, "ns_uptime": NS_UPTIME,
    "topic_doubts": TOPIC_DOUBTS, "clock_days": CLOCK_DAYS,
}  # fmt: skip
Rows = Mapping[str, list[dict[str, Any]]]
# Times of the observation, without the last one.
TIMES = range(EDGE - AROUND, END)


def random_rows(chance: random.Random) -> Rows:
    """By table, up to END. Each topic has its own liveliness, from no change at all to one every few us."""
    uptimes = [row for ns in SERVERS for row in _uptimes(chance, ns)]
    clocks = [
        {"day": DAY, "ns": ns, "offset": 0, "samples": 9, "spread": 0, "method": "versions", "reference": "n1",
         "uncertainty": chance.randint(0, 5)}
        for ns in SERVERS
    ]  # fmt: skip
    found: dict[str, list[dict[str, Any]]] = {"ns_uptime": uptimes, "clock_days": clocks}
    found |= {"topic_intervals": [], "topic_doubts": [], "broker_intervals": []}
    for number in range(TOPICS):
        points = chance.choice((2, 4, 10, 40))
        for up, broker in ((up, broker) for up in uptimes for broker in BROKERS):
            key = {"ns": up["ns"], "topic": f"t{number}", "broker": broker}
            found["topic_intervals"] += [
                key | span | {"r": chance.choice((4, 8)), "w": 4, "p": 6, "cause": "topic", "end_cause": "admin"}
                for span in _spans(chance, up, points, 0.7)
            ]
            if chance.random() < 0.2:
                found["topic_doubts"] += [key | span for span in _spans(chance, up, 4, 0.4)]
    for up, broker in ((up, broker) for up in uptimes for broker in BROKERS):
        member = {"ns": up["ns"], "cluster": "c", "broker": broker, "bid": 0, "addr": broker, "end_cause": "expired"}
        found["broker_intervals"] += [
            member | span | {"gap": chance.randint(1, 9), "timeout_ms": None, "zone": None}
            for span in _spans(chance, up, 12, 0.9)
        ]
    return found


def _uptimes(chance: random.Random, ns: str) -> Iterator[dict[str, Any]]:
    bounds = [TIMES[0] - 1, *sorted(chance.sample(TIMES, chance.randint(0, 3))), END]
    for place, t1 in enumerate(bounds[:-1]):
        t2 = min(bounds[place + 1], END) - chance.choice((0, 0, 3))
        if t1 < t2:
            yield {"ns": ns, "boot": place, "t1": t1, "t2": t2, "end_cause": "open" if t2 == END else "lost"}


def _spans(chance: random.Random, up: Mapping[str, Any], points: int, often: float) -> Iterator[dict[str, int]]:
    """Some of the spans between random times of the uptime; one may begin where another ends."""
    inside = [time for time in TIMES if up["t1"] < time < up["t2"]]
    bounds = [up["t1"], *sorted(chance.sample(inside, min(points, len(inside)))), up["t2"]]
    for t1, t2 in pairwise(bounds):
        if chance.random() < often:
            yield {"t1": t1, "t2": t2}


def until(known: Rows, end: int) -> Rows:
    """What a run up to this time has of them."""
    return {name: [_ended(row, end) for row in table if row.get("t1", 0) < end] for name, table in known.items()}


def _ended(row: Mapping[str, Any], end: int) -> dict[str, Any]:
    if row.get("t2", end) < end:
        return dict(row)
    changed = {"t2": end, "end_cause": "open", "gap": None}
    return {name: changed.get(name, value) for name, value in row.items()}


class Run(NamedTuple):
    tables: Mapping[str, DataFrame]
    windows: DataFrame
    segments: DataFrame

    def closed(self) -> Earlier:
        frames = finished(self.windows, self.segments, DAY, MIN_WINDOW)
        return Earlier(DAY, {name: cut(frame) for name, frame in frames.items()}, self.mark())

    def mark(self) -> str:
        return marks(self.tables, [DAY], MIN_WINDOW)[DAY]


def tables_of(spark: SparkSession, known: Rows) -> dict[str, DataFrame]:
    return {
        name: cut(frame_of(spark, [tuple(row[column] for column in schema.names) for row in known[name]], schema))
        for name, schema in SCHEMAS.items()
    }


def run_of(spark: SparkSession, known: Rows, end: int, earlier: Earlier | None = None) -> Run:
    """``earlier``: what it goes on from."""
    tables, seen = tables_of(spark, until(known, end)), Observation(TIMES[0], end)
    told: Settled | None = None
    if earlier is not None:
        assert marks(tables, [earlier.day], MIN_WINDOW)[earlier.day] == earlier.mark
        told = settled(earlier, tables["ns_uptime"], MIN_WINDOW)
        assert told is not None
    windows = cut(
        key_windows(
            tables["topic_intervals"], tables["ns_uptime"], seen, MIN_WINDOW, tables["broker_intervals"], cut,
            topic_doubts=tables["topic_doubts"], clock_days=tables["clock_days"], settled=told,
        )
    )  # fmt: skip
    segments = topic_segments(tables["topic_intervals"], tables["ns_uptime"], windows, seen, cut, settled=told)
    return Run(tables, windows, cut(segments))


def test_windows_and_segments_go_on_after_closed_days(spark: SparkSession) -> None:
    """The tables being the same, what a later run goes on from is so too."""
    chance = random.Random(SEED)
    known = random_rows(chance)
    earlier = run_of(spark, known, EDGE + chance.randint(1, AROUND - 1)).closed()
    found, wanted = run_of(spark, known, END, earlier), run_of(spark, known, END)
    assert rows(found.windows) == rows(wanted.windows)
    assert rows(found.segments) == rows(wanted.segments)
    assert all(
        frame.count() > TOPICS / 10 for frame in earlier.frames.values()
    )  # much was settled, or crosses the edge
    assert earlier.frames["key_windows"].count() < wanted.windows.count() * 0.9  # and much was not


@pytest.fixture(scope="module")
def run(spark: SparkSession) -> Run:
    tables = tables_of(spark, random_rows(random.Random(SEED)))
    nothing = tables["topic_doubts"].limit(0)
    return Run(tables, nothing, nothing)


CHANGES = {
    "a doubt that is none": ("topic_doubts", "false"),
    "a value": ("topic_intervals", "topic <> 't1' or r = 4"),
    "a start of a name server": ("ns_uptime", "boot < 2"),
    "a broker": ("broker_intervals", "gap > 1"),
    "a clock": ("clock_days", "ns = 'n1'"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_past_is_seen(run: Run, change: str) -> None:
    name, rest = CHANGES[change]
    changed = run._replace(tables={**run.tables, name: run.tables[name].where(rest)})
    assert changed.mark() != run.mark()


def test_starts_that_overlap_settle_nothing(spark: SparkSession) -> None:
    """After a clock was set back."""
    edge, cuts = EDGE, frame_of(spark, [], NS_UPTIME).selectExpr("ns topic", "t1 cut")
    earlier = Earlier(DAY, dict.fromkeys(("cuts", "key_windows", "topic_segments"), cuts))

    def is_settled(*spans: tuple[int, int]) -> bool:
        known = [("n1", place, edge + t1, edge + t2, "lost") for place, (t1, t2) in enumerate(spans)]
        return settled(earlier, frame_of(spark, known, NS_UPTIME), MIN_WINDOW) is not None

    assert is_settled((-90, -50), (-50, 9))
    assert not is_settled((-90, -50), (-51, 9))
    assert not is_settled((-90, 9), (-51, -50))
    assert is_settled((-90, -50), (-51, -40), (-40, 9))
