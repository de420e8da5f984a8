"""Windows, segments and imbalance that go on after closed days are those of a run over everything.

Random intervals, uptimes and doubts around the edge of a closed day. All times are a few microseconds apart, so that
many fall on the edge or a cut, and the shortest window is about as long.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.earlier import CUTS, Earlier
from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.schema import (  # fmt: skip
    BROKER_INTERVALS,
    CLOCK_DAYS,
    KEY_WINDOWS,
    NS_UPTIME,
    TOPIC_DOUBTS,
    TOPIC_INTERVALS,
)
from rocketns.pipeline.jobs.divergence import key_windows
from rocketns.pipeline.jobs.earlier.keeping import edge_of
from rocketns.pipeline.jobs.earlier.settled import PAST, SETTLED, Settled, finished, marks, row_hashes, settled
from rocketns.pipeline.jobs.history.unsure import LOOKS_APART_US, may_be_off, widest
from rocketns.pipeline.jobs.queues.imbalance import imbalance
from rocketns.pipeline.jobs.segments import topic_segments
from tests.pipeline.frames import cut, frame, rounded, rows, seeds
from tests.pipeline.journals import SECOND

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
# No window, segment or effect depends on them.
NOT_OF_THE_PAST = {"timeout_ms", "zone", "asked"}
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
    imbalance: DataFrame

    def closed(self) -> Earlier:
        tables = dict(zip(SETTLED, (self.windows, self.segments, self.imbalance), strict=True))
        frames = finished(tables | {"clock_days": self.tables["clock_days"]}, DAY, MIN_WINDOW)
        return Earlier(DAY, {name: cut(frame) for name, frame in frames.items()}, self.mark())

    def mark(self) -> str:
        return marks(self.tables, [DAY], MIN_WINDOW)[DAY]


def tables_of(spark: SparkSession, known: Rows) -> dict[str, DataFrame]:
    return {name: cut(frame(spark, SCHEMAS[name], known[name])) for name in SCHEMAS}


def run_of(spark: SparkSession, known: Rows, end: int, unread: str, earlier: Earlier | None = None) -> Run:
    """``unread``: nobody reads topics whose names end so; ``earlier``: what it goes on from."""
    tables, seen = tables_of(spark, until(known, end)), Observation(TIMES[0], end)
    told: Settled | None = None
    if earlier is not None:
        assert marks(tables, [earlier.day], MIN_WINDOW)[earlier.day] == earlier.mark
        told = settled(earlier, tables["ns_uptime"], tables["clock_days"], MIN_WINDOW)
        assert told is not None
    windows = cut(
        key_windows(
            tables["topic_intervals"], tables["ns_uptime"], seen, MIN_WINDOW, tables["broker_intervals"], cut,
            topic_doubts=tables["topic_doubts"], clock_days=tables["clock_days"], settled=told,
        )
    )  # fmt: skip
    segments = cut(topic_segments(tables["topic_intervals"], tables["ns_uptime"], windows, seen, cut, settled=told))
    read = segments.where(~F.col("topic").endswith(unread))
    return Run(tables, windows, segments, cut(imbalance(read, tables["broker_intervals"], settled=told)))


@pytest.mark.parametrize("seed", seeds(SEED))
def test_a_run_continues_the_settled_windows(spark: SparkSession, seed: int) -> None:
    """The tables being the same, what a later run goes on from is so too. Some topics are read later only, and others
    no longer."""
    chance = random.Random(seed)
    known = random_rows(chance)
    earlier = run_of(spark, known, EDGE + chance.randint(1, AROUND - 1), "1").closed()
    found, wanted = run_of(spark, known, END, "2", earlier), run_of(spark, known, END, "2")
    assert rows(found.windows) == rows(wanted.windows)
    assert rows(found.segments) == rows(wanted.segments)
    assert rounded(rows(found.imbalance)) == rounded(rows(wanted.imbalance))
    many = TOPICS / 10
    assert all(frame.count() > many for frame in earlier.frames.values()), "much is settled, or crosses the edge"
    assert earlier.frames["key_windows"].count() < wanted.windows.count() - many, "and much is not"


CHANGES = {
    "a doubt that is none": ("topic_doubts", "false"),
    "a value": ("topic_intervals", "topic <> 't1' or r = 4"),
    "a start of a name server": ("ns_uptime", "boot < 2"),
    "a broker": ("broker_intervals", "gap > 1"),
    "a clock": ("clock_days", "ns = 'n1'"),
}


def test_a_change_of_the_past_is_seen(spark: SparkSession) -> None:
    tables = tables_of(spark, until(random_rows(random.Random(SEED)), END))
    (mark,) = marks(tables, [DAY], MIN_WINDOW).values()
    for change, (name, rest) in CHANGES.items():
        changed = {**tables, name: tables[name].where(rest)}
        assert marks(changed, [DAY], MIN_WINDOW) != {DAY: mark}, change
    assert marks(tables, [DAY], MIN_WINDOW + 1) != {DAY: mark}
    later = tables["clock_days"].withColumn("day", F.lit("2026-01-02"))
    clocks = {**tables, "clock_days": tables["clock_days"].unionByName(later)}
    assert marks(clocks, [DAY], MIN_WINDOW) == {DAY: mark}, "clocks count up to the closed day"


def test_starts_that_overlap_settle_nothing(spark: SparkSession) -> None:
    """After a clock was set back."""
    edge, cuts = EDGE, frame_of(spark, [], NS_UPTIME).selectExpr("ns topic", "t1 cut")
    earlier, clocks = Earlier(DAY, dict.fromkeys(("cuts", *SETTLED), cuts)), exact_clocks(spark, "n1")

    def is_settled(*spans: tuple[int, int]) -> bool:
        known = [("n1", place, edge + t1, edge + t2, "lost", False, False) for place, (t1, t2) in enumerate(spans)]
        return settled(earlier, frame_of(spark, known, NS_UPTIME), clocks, MIN_WINDOW) is not None

    assert is_settled((-90, -50), (-50, 9))
    assert not is_settled((-90, -50), (-51, 9))
    assert not is_settled((-90, 9), (-51, -50))
    assert is_settled((-90, -50), (-51, -40), (-40, 9))
    assert not is_settled((-90, -50), (-80, -70), (-60, 9))
    cut_at = -MIN_WINDOW
    assert not is_settled((-90, cut_at), (-51, -50))
    assert is_settled((-90, cut_at - 1), (-51, -50))


def test_a_name_server_that_stops_at_the_cut_is_down(spark: SparkSession) -> None:
    """Then it does not disagree with one that goes on."""
    cut_at, key = EDGE - MIN_WINDOW, {"topic": "t", "broker": "a", "r": 4, "w": 4, "p": 6}
    spans = {"n1": {"t1": EDGE - 40, "t2": cut_at}, "n2": {"t1": EDGE - 40, "t2": END}}
    known = {
        "ns_uptime": [{"ns": ns, **span, "boot": 1, "end_cause": "stop"} for ns, span in spans.items()],
        "topic_intervals": [
            {"ns": ns, **span, **key, "cause": "topic", "end_cause": "stop"} for ns, span in spans.items()
        ],
    }
    tables = {name: frame(spark, SCHEMAS[name], rows) for name, rows in known.items()}
    nothing = frame_of(spark, [], CUTS)
    earlier = Earlier(DAY, dict.fromkeys(("cuts", *SETTLED), nothing))
    told = settled(earlier, tables["ns_uptime"], exact_clocks(spark, "n1", "n2"), MIN_WINDOW)
    assert told is not None
    told = told._replace(windows=frame_of(spark, [], KEY_WINDOWS))
    seen = Observation(TIMES[0], END)
    found = key_windows(tables["topic_intervals"], tables["ns_uptime"], seen, MIN_WINDOW, settled=told)
    assert found.collect() == []


def test_the_worse_clocks_are_known_the_earlier_is_the_cut(spark: SparkSession) -> None:
    """A window is certain by what name servers show while their clocks may differ, which a later run may see."""
    earlier = Earlier(DAY, {"cuts": frame_of(spark, [], CUTS)} | dict.fromkeys(SETTLED, frame_of(spark, [], CUTS)))
    uptime = frame_of(spark, [], NS_UPTIME)

    def cut_of(**uncertainties: int) -> int:
        known = [{"day": DAY, "ns": ns, "method": "versions", "uncertainty": us} for ns, us in uncertainties.items()]
        later = [{"day": "2026-01-02", "ns": ns, "method": "none"} for ns in uncertainties]
        told = settled(earlier, uptime, frame(spark, CLOCK_DAYS, [*known, *later]), MIN_WINDOW)
        assert told is not None
        return told.cut - EDGE + MIN_WINDOW

    assert (cut_of(n1=0, n2=0), cut_of(n1=0, n2=7, n3=2)) == (0, -9)


def exact_clocks(spark: SparkSession, *servers: str) -> DataFrame:
    known = [{"day": DAY, "ns": ns, "method": "versions", "uncertainty": 0} for ns in servers]
    return frame(spark, CLOCK_DAYS, known)


def test_each_column_of_the_past_counts(spark: SparkSession) -> None:
    """A row before the edge has another hash if any of its columns that windows rest on is another one."""
    for name, (held, at_end) in PAST.items():
        assert {*held, *at_end, "t1", "t2"} == set(SCHEMAS[name].names) - NOT_OF_THE_PAST
        columns = (*held, "t1", "t2", *at_end)
        kinds = {column: SCHEMAS[name][column].dataType.simpleString() for column in columns}
        row = {column: {"string": "a", "boolean": False}.get(kinds[column], 1) for column in columns}
        row |= {"t1": EDGE - 9, "t2": EDGE - 5}
        more = {"string": lambda _: "b", "boolean": lambda _: True}
        others = [{**row, column: more.get(kinds[column], lambda n: n + 1)(row[column])} for column in columns]
        assert len(set(hashes_of(spark, name, [row, *others]))) == len(columns) + 1, name


def test_ends_after_the_edge_do_not_change_the_mark(spark: SparkSession) -> None:
    """It is not known yet when a day is closed."""
    ended = {"t1": EDGE - 9, "t2": EDGE, "end_cause": "expired"}
    later = [{**ended, "t2": EDGE + 1}, {**ended, "end_cause": "open"}]
    first, *others = hashes_of(spark, "ns_uptime", [ended, *later])
    assert others == [first, first]
    before, at = hashes_of(spark, "ns_uptime", [{"t1": time, "t2": EDGE + 5} for time in (EDGE - 1, EDGE)])
    assert before is not None
    assert at is None


def hashes_of(spark: SparkSession, name: str, known: list[dict[str, Any]]) -> list[int | None]:
    """Of rows with these columns."""
    return [value for (value,) in row_hashes(frame(spark, SCHEMAS[name], known), name, [DAY]).collect()]


def test_each_method_limits_the_error_of_a_clock_and_watched_ones_share_theirs(spark: SparkSession) -> None:
    """A name server that a day says nothing of may be off by an hour. The worst day counts."""
    off = {("reference", 0): 0, ("versions", 20_000): 0.02, ("heartbeats", 30 * SECOND): 600, ("none", None): 3600,
           ("observed", 5 * SECOND): 5, ("observed", None): 600}  # fmt: skip
    assert {clock: may_be_off(*clock) / SECOND for clock in off} == off

    def widest_of(*days: Sequence[tuple[str, int | None]]) -> int:
        known = [{"day": str(day), "ns": f"n{n}", "method": method, "uncertainty": us}
                 for day, clocks in enumerate(days) for n, (method, us) in enumerate(clocks)]  # fmt: skip
        return widest(frame(spark, CLOCK_DAYS, known))

    first, watched = [("reference", 0), ("versions", 5), ("versions", 3)], ("observed", 5)
    assert widest_of(first, [*first[:2], ("versions", 4)]) == 9
    assert widest_of(first, first[:2]) == 3600 * SECOND + 5
    assert widest_of([watched, watched, ("reference", 0)]) == LOOKS_APART_US + 5
