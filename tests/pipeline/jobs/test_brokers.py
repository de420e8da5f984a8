"""Times up, failures, flaps and heartbeat gaps of brokers, and why they went. Times are in s."""

from __future__ import annotations

from typing import Any

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.jobs.brokers import broker_stats, departures, heartbeat_gaps, stalls
from tests.pipeline.frames import Row, frame, rows
from tests.pipeline.journals import SECOND

UP = [{"ns": "n", "boot": 1, "t1": 0, "t2": 1000 * SECOND, "end_cause": "open"}]
SEEN = Observation(0, 1000 * SECOND)


def interval(t1: int, t2: int, end_cause: str) -> Row:
    named = {"ns": "n", "cluster": "c", "broker": "b", "bid": 0, "addr": "b:1"}
    return {**named, "t1": t1 * SECOND, "t2": t2 * SECOND, "end_cause": end_cause}


# name server → its uptime, the intervals of its broker, and figures of it
FIGURES: dict[str, tuple[list[Row], list[Row], Row]] = {
    "failures and farewells are counted apart, and a name server's end is neither": (
        UP, [interval(0, 100, "expired"), interval(800, 900, "unregister"), interval(950, 960, "stop")],
        {"failures": 1, "graceful": 1, "up_s": 210.0, "mtbf_s": 210.0, "failed_s": 700.0, "planned_s": 50.0,
         "availability": 210 / 910},
    ),
    "a flap is a failure with a registration within 600 s": (
        UP, [interval(0, 100, "channel_close"), interval(700, 1000, "open")], {"failures": 1, "flaps": 1},
    ),
    "a registration later than that": (
        UP, [interval(0, 100, "channel_close"), interval(701, 1000, "open")], {"failures": 1, "flaps": 0},
    ),
    "a name server's own end and start count neither way": (
        [{**UP[0], "t2": 400 * SECOND, "end_cause": "stop"}, {**UP[0], "boot": 2, "t1": 600 * SECOND}],
        [interval(0, 400, "stop"), interval(700, 1000, "open")], {"up_s": 700.0, "failed_s": 0.0, "availability": 1.0},
    ),
    "time away counts while the name server is up, and up to the end": (
        [{**UP[0], "t2": 400 * SECOND, "end_cause": "stop"}, {**UP[0], "boot": 2, "t1": 600 * SECOND}],
        [interval(100, 300, "expired"), interval(800, 900, "channel_close")],
        {"up_s": 300.0, "failed_s": 100.0 + 200.0 + 100.0, "planned_s": 0.0},
    ),
    "an interval whose name server was killed counts up to its last record": (
        [{**UP[0], "t2": 400 * SECOND, "end_cause": "lost"}], [interval(0, 500, "start")], {"up_s": 400.0},
    ),
}  # fmt: skip


def test_figures_of_brokers() -> None:
    up = [{**row, "ns": ns} for ns, (ups, _, _) in FIGURES.items() for row in ups]
    intervals = [{**row, "ns": ns} for ns, (_, lives, _) in FIGURES.items() for row in lives]
    found = {row["ns"]: row for row in broker_stats(intervals, [], up, SEEN)}
    for case, (_, _, figures) in FIGURES.items():
        assert found[case].items() >= figures.items(), case


def life(ns: str, t1: float, t2: float, end_cause: str, broker: str = "", bid: int = 0) -> Row:
    named = {"ns": ns, "cluster": "c", "broker": broker, "bid": bid, "addr": str(bid), "timeout_ms": 120_000}
    told = {"t2_early": 0, "asked": None}
    return {**named, **told, "t1": int(t1 * SECOND), "t2": int(t2 * SECOND), "end_cause": end_cause}


def beats(ns: str, *seconds: int) -> list[Row]:
    named = {"ns": ns, "cluster": "c", "bid": 0, "addr": "0", "ev": "hb"}
    return [{**named, "ts": second * SECOND} for second in seconds]


def test_a_lost_heartbeat_makes_no_longer_gap(spark: SparkSession) -> None:
    heard = [{**one, "gap": 30_000} for one in beats("n", 30, 90)]
    assert rows(heartbeat_gaps(frame(spark, EVENTS, heard), SEEN), "gap_max", "gap_p50", "gaps") == [
        (30_000, 30_000.0, 2)
    ]


# broker → (its intervals, its heartbeats, the departures that they mean)
Case = tuple[list[Row], list[Row], list[tuple[Any, ...]]]
CASES: dict[str, Case] = {
    "unregistered at one and timed out at the other": (
        [life("n1", 0, 100, "unregister"), life("n2", 0, 220, "expired")], [], [("graceful", 100, 220, ["n1", "n2"])],
    ),
    "closed at one while the other heard it, a heartbeat later": (
        [life("n1", 0, 100, "channel_close"), life("n2", 0, 10_000, "open")], beats("n2", 99, 159),
        [("partition", 100, 100, ["n1"])],
    ),
    "closed at one, and the other heard it only when it came back": (
        [life("n1", 0, 100, "channel_close"), life("n2", 0, 10_000, "open")], beats("n2", 99, 226),
        [("unclear", 100, 100, ["n1"])],
    ),
    "closed at both, but 11 s apart": (
        [life("n1", 0, 100, "channel_close"), life("n2", 0, 111, "channel_close")], beats("n2", 105),
        [("partition", 100, 100, ["n1"]), ("crash", 111, 111, ["n2"])],
    ),
    "timed out at all": (
        [life("n1", 0, 200, "expired"), life("n2", 0, 325, "expired")], [], [("silent", 200, 325, ["n1", "n2"])],
    ),
    "timed out at both, but later than timeout and scan": (
        [life("n1", 0, 200, "expired"), life("n2", 0, 325.001, "expired")], beats("n2", 201),
        [("partition", 200, 200, ["n1"]), ("silent", 325.001, 325.001, ["n2"])],
    ),
    "closed at one, timed out at the other": (
        [life("n1", 0, 200, "channel_close"), life("n2", 0, 300, "expired")], [], [("unclear", 200, 300, ["n1", "n2"])],
    ),
    "ended by its name server": ([life("n1", 0, 100, "stop"), life("n2", 0, 100, "conflict")], [], []),
    # A broker may say any timeout: its product with 1000 would be no long. It is heard 200 s after the first down.
    "a long timeout": (
        [row | {"timeout_ms": 2**63 - 1} for row in (life("n1", 0, 100, "expired"), life("n2", 0, 900, "open"))],
        beats("n2", 300), [("partition", 100, 100, ["n1"])],
    ),
    # The clock of "off" may differ from n1's by 600 s. It hears the broker once after n1 has lost it, by these clocks.
    "apart as the clocks may be": (
        [life("n1", 0, 100, "channel_close"), life("off", 0, 710, "channel_close")], beats("off", 130),
        [("crash", 100, 710, ["n1", "off"])],
    ),
    "further apart than the clocks may be": (
        [life("n1", 0, 100, "channel_close"), life("off", 0, 711, "channel_close")], beats("off", 130),
        [("partition", 100, 100, ["n1"]), ("crash", 711, 711, ["off"])],
    ),
    "back between, whatever the clocks are": (
        [life("n1", 0, 100, "channel_close"), life("off", 110, 150, "channel_close")], [],
        [("crash", 100, 100, ["n1"]), ("crash", 150, 150, ["off"])],
    ),
}  # fmt: skip


def seen(ns: str, t2: float, asked: str | None = None) -> Row:
    """Gone between two looks of an observer."""
    return life(ns, 0, t2, "observed") | {"t2_early": 5 * SECOND, "asked": asked}


# broker → its intervals, and the departures: kind, from, to, name servers, how much earlier, what it said.
SEEN_CASES: dict[str, tuple[list[Row], list[tuple[Any, ...]]]] = {
    "from outside only": (
        [seen("n1", 100, asked="silent"), seen("n2", 103, asked="refused")],
        [("observed", 100, 103, ["n1", "n2"], 5, ["refused", "silent"])],
    ),
    "within timeout, scan and look": (
        [seen("n1", 100), seen("n2", 230)], [("observed", 100, 230, ["n1", "n2"], 5, [])],
    ),
    "later than timeout, scan and look": (
        [seen("n1", 100), seen("n2", 230.001)],
        [("observed", 100, 100, ["n1"], 5, []), ("observed", 230.001, 230.001, ["n2"], 5, [])],
    ),
    "from one, came back there, then from both": (
        [seen("n1", 100), seen("n1", 140) | {"t1": 110 * SECOND}, seen("n2", 139)],
        [("observed", 100, 100, ["n1"], 5, []), ("observed", 139, 140, ["n1", "n2"], 5, [])],
    ),
    "another saw that it unregistered": (
        [seen("n1", 103), life("n2", 0, 100, "unregister")], [("graceful", 100, 103, ["n1", "n2"], 0, [])],
    ),
    "nobody watched any more": ([life("n1", 0, 100, "unwatched"), life("n2", 0, 900, "open")], []),
}  # fmt: skip


def test_each_kind_of_departure(spark: SparkSession) -> None:
    """Also of brokers that closed their connections to name servers of which some stalled, and one kept it."""
    intervals = [row | {"broker": name} for name, (lives, *_) in (CASES | SEEN_CASES).items() for row in lives]
    events = [row | {"broker": name} for name, (_, beats, _) in CASES.items() for row in beats]
    intervals += [life(ns, 0, t2, end, "stalled") for ns, t2, end in (
        ("s1", 100, "channel_close"), ("s2", 101, "channel_close"), ("s3", 900, "open"),
    )]  # fmt: skip
    events += [{"ns": ns, "ev": "stall", "ts": ended * SECOND, "ms": 60_000}
               for ns, ended in (("s1", 100), ("s2", 70), ("s3", 100))]  # fmt: skip
    exact = [{"ns": ns, "method": "versions", "uncertainty": 0} for ns in ("n1", "n2", "s1", "s2", "s3")]
    clocks = [*exact, {"ns": "off", "method": "none", "uncertainty": None}]
    recorded = frame(spark, EVENTS, events)
    found = departures(
        intervals, recorded, Observation(0, 10_000 * SECOND), [{"day": "1970-01-01", **clock} for clock in clocks], {},
        stalls(recorded),
    )  # fmt: skip
    of_broker: dict[str, list[tuple[Any, ...]]] = {name: [] for name in (*CASES, *SEEN_CASES)}
    for row in sorted(found, key=lambda row: row["t1"]):
        if row["broker"] == "stalled":
            assert (row["ns"], row["stalled"]) == (["s1", "s2"], ["s1"])
            continue
        told = (row["kind"], row["t1"] / SECOND, row["t2"] / SECOND, row["ns"], row["t1_early"] // SECOND, row["asked"])
        of_broker[row["broker"]].append(told if row["broker"] in SEEN_CASES else told[:4])
    expected = {name: case[-1] for name, case in (CASES | SEEN_CASES).items()}
    assert of_broker == expected
