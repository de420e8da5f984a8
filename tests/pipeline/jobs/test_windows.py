"""Windows in which name servers disagree, the views in them, what leaves them in doubt, and the incidents that they
are put together to. Times are in s.

Cases share a fleet and differ by their topic, so that Spark runs once for all of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import (
    CLOCK_DAYS,
    EVENTS,
    KEY_WINDOWS,
    NS_UPTIME,
    TOPIC_DOUBTS,
    TOPIC_INTERVALS,
    TOPIC_SEGMENTS,
)
from rocketns.pipeline.jobs.divergence import key_windows
from rocketns.pipeline.jobs.history import state
from rocketns.pipeline.jobs.history.doubts import topic_doubts
from rocketns.pipeline.jobs.history.unsure import LOOKS_APART_US, may_be_off, widest
from rocketns.pipeline.jobs.incidents import incidents
from rocketns.pipeline.jobs.segments import topic_segments
from tests.pipeline.frames import Row, cut, frame, rows
from tests.pipeline.journals import (
    SECOND,
    Broker,
    Journal,
    Journals,
    Record,
    events_frame,
    topic,
)


def test_topics_of_a_name_server_that_lists_none_are_never_compared(spark: SparkSession) -> None:
    """n1 and n2 differ from 100 s on. n3 is watched and shows no topic, n4 is watched and has none."""
    held = {"topic": "T", "broker": "a", "r": 4, "w": 4, "p": 6, "t1": 0, "cause": "register", "end_cause": "open"}
    topics = frame(spark, TOPIC_INTERVALS, [
        {**held, "ns": ns, "t2": t2 * SECOND} for ns, t2 in (("n1", 400), ("n2", 100))
    ])  # fmt: skip
    uptime = frame(spark, NS_UPTIME, [
        {"ns": ns, "boot": 0, "t1": 0, "t2": 400 * SECOND, "end_cause": "open", "observed": ns > "n2",
         "no_topics": ns == "n3"} for ns in ("n1", "n2", "n3", "n4")
    ])  # fmt: skip
    windows = cut(key_windows(topics, uptime, Observation(0, 400 * SECOND), keep=cut))
    (row,) = rows(windows)
    assert (row[2], row[3] // SECOND, [value[:2] for value in row[7]]) == (
        0, 400, [("n1", True), ("n2", True), ("n4", False)],
    )  # fmt: skip
    segments = rows(topic_segments(topics, uptime, windows, Observation(0, 400 * SECOND), cut))
    assert {ns for *_, views in segments for ns, _ in views} == {"n1", "n2", "n4"}


A = Broker("broker-a", "10.0.0.1:10911")


def both(journals: dict[str, Journal], second: float, *topics: dict[str, Any]) -> None:
    for journal in journals.values():
        journal.put(int(second * SECOND), "broker-a", topics)


def test_windows_and_segments_of_a_fleet(spark: SparkSession) -> None:
    fleet = {ns: Journal(0, ns) for ns in ("n1", "n2", "n3")}
    n1, n2, n3 = fleet.values()
    for journal in fleet.values():
        journal.register(1 * SECOND, A)
    both(fleet, 2, topic("jitter"), topic("perm"), topic("empty"), topic("again"), topic("barely"))
    n1.put(10 * SECOND, "broker-a", [topic("jitter", r=8), topic("barely", r=8)])
    n1.delete(10 * SECOND, "broker-a", ["empty"])
    n2.put(14_999_999, "broker-a", [topic("jitter", r=8)])
    n3.put(14_999_999, "broker-a", [topic("jitter", r=8)])
    both(fleet, 15, topic("barely", r=8))
    n2.put(20 * SECOND, "broker-a", [topic("perm", p=4)], cause="perm")
    n3.put(22 * SECOND, "broker-a", [topic("perm", p=2)], cause="perm")
    n2.delete(23 * SECOND, "broker-a", ["again"])
    n2.put(23 * SECOND, "broker-a", [topic("again")])
    n2.stop(30 * SECOND)
    n3.put(34 * SECOND, "broker-a", [topic("perm")], cause="perm")
    for ns in (n1, n3):
        ns.lookup(99 * SECOND, "perm", 1)
    observation = Observation(0, 100 * SECOND)
    events = cut(events_frame(spark, {ns: each.records for ns, each in fleet.items()}))
    base = state.base(events, observation, keep=cut)
    held = cut(state.topic_intervals(events, base, observation))
    found = cut(key_windows(held, base.uptime, observation, keep=cut))
    split = topic_segments(held, base.uptime, found, observation, cut)
    assert found.schema.simpleString() == KEY_WINDOWS.simpleString()
    assert split.schema.simpleString() == TOPIC_SEGMENTS.simpleString()
    windows = {r[0]: (r[2] / SECOND, r[3] / SECOND, *r[4:6], r[7]) for r in rows(found)}
    segments: dict[str, list[tuple[Any, ...]]] = {}
    for r in rows(split):
        segments.setdefault(r[0], []).append((r[1] / SECOND, r[2] / SECOND, r[3]))

    # Differences shorter than the shortest window are dropped, and records with the same time are applied together.
    assert set(windows) == set(segments) == {"barely", "perm", "empty"}
    assert windows["barely"][:2] == (10, 15), "exactly the shortest window is kept"
    # n2 has another value, and stops at 30 s; the window goes on between the others.
    values = [("n1", True, 4, 4, 6), ("n2", True, 4, 4, 4), ("n3", True, 4, 4, 6)]
    assert windows["perm"] == (20, 34, "perm", "n2", values)
    assert [(t1, t2, [ns for ns, _ in views]) for t1, t2, views in segments["perm"]] == [
        (20, 22, ["n1", "n2", "n3"]), (22, 30, ["n1", "n2", "n3"]), (30, 34, ["n1", "n3"]),
    ]  # fmt: skip
    # Nothing closes it, and an empty view stays.
    assert windows["empty"][:3] == (10, 100, "admin")
    view = [("broker-a", 4, 4, 6)]
    assert segments["empty"] == [
        (10, 30, [("n1", []), ("n2", view), ("n3", view)]), (30, 100, [("n1", []), ("n3", view)]),
    ]  # fmt: skip


LOST_END = 1000
OLD, NEW = 4, 8


def with_a_hole(*, snapshot: bool = True) -> Journals:
    """Both have every topic with OLD queues from 1 s on."""
    names = ("same", "hidden", "late", "real", "told", "other", "late-real", "gone", "came", "twice")
    n1, n2 = Journal(0, "n1"), Journal(0, "n2")
    for journal in (n1, n2):
        journal.register(1 * SECOND, A, [topic(name, OLD) for name in names if name != "came"])
    put(n2, 100, "hidden", NEW)
    put(n1, 90, "twice", NEW)  # a difference before the hole
    n1.heartbeat(99 * SECOND, A)
    lost = [put(n1, 100, "hidden", NEW), remove(n1, 100, "gone"), put(n1, 100, "came", NEW)]
    remove(n2, 100, "gone")
    put(n2, 100, "came", NEW)
    n1.records = [record for record in n1.records if record not in lost]
    n1.heartbeat(101 * SECOND, A)
    put(n2, 150, "told", NEW)  # n1 says nothing of it until its snapshot, which shows OLD: it never had NEW
    put(n1, 150, "real", NEW)  # n1 says so after the hole, n2 does not
    put(n2, 200, "late", NEW)
    put(n1, 240, "late", NEW)  # until then n1's value is from before the hole
    if snapshot:
        n1.snapshot(300 * SECOND)
    put(n2, 400, "other", NEW)
    for journal in (n1, n2):
        journal.lookup((LOST_END - 1) * SECOND, "same", 1)
    return {"n1": n1.records, "n2": n2.records}


def put(journal: Journal, second: int, name: str, queues: int) -> Record:
    journal.put(second * SECOND, A.name, [topic(name, queues)])
    return journal.records[-1]


def remove(journal: Journal, second: int, name: str) -> Record:
    journal.delete(second * SECOND, A.name, [name])
    return journal.records[-1]


@pytest.mark.parametrize("snapshot", [True, False])
def test_a_value_is_in_doubt_from_a_hole_to_what_the_journal_says_next(spark: SparkSession, snapshot: bool) -> None:
    """Doubts of n1 (t1, t2), and windows (t1, t2, doubt), by topic."""
    events, seen = cut(events_frame(spark, with_a_hole(snapshot=snapshot))), Observation(0, LOST_END * SECOND)
    base = state.base(events, seen, keep=cut)
    held = cut(state.topic_intervals(events, base, seen))
    found = cut(topic_doubts(events, base, held, seen))
    assert found.schema.simpleString() == TOPIC_DOUBTS.simpleString()
    doubts, windows = defaultdict(list), defaultdict(list)
    for ns, name, _, t1, t2 in rows(found):
        assert ns == "n1"
        doubts[name].append((t1 / SECOND, t2 / SECOND))
    for row in rows(key_windows(held, base.uptime, seen, keep=cut, topic_doubts=found)):
        windows[row[0]].append((row[2] / SECOND, row[3] / SECOND, row[9]))
    assert doubts["real"] == [(99, 150)], "a record of the topic ends it"
    assert windows["real"] == [(150, LOST_END, None)]
    assert windows["other"] == [(400, LOST_END, None if snapshot else "lost_records")]
    if not snapshot:
        assert doubts["same"] == [(99, LOST_END)]
        assert windows["told"] == [(150, LOST_END, "lost_records")]
        assert windows["twice"] == [(90, 99, None), (99, LOST_END, "lost_records")]
        return
    # A snapshot that shows the value of before proves that nothing was lost, and that a difference goes on.
    assert not {"same", "told"} & set(doubts)
    assert windows["told"] == [(150, LOST_END, None)]
    assert windows["twice"] == [(90, LOST_END, None)]
    # n1 had the changes too, so the name servers never disagreed.
    for name in ("hidden", "gone", "came"):
        assert doubts[name] == [(99, 300)]
        assert [doubt for *_, doubt in windows[name]] == ["lost_records"]
    assert windows["hidden"] == [(100, 300, "lost_records")]
    assert (doubts["late"], windows["late"]) == ([(99, 240)], [(200, 240, "lost_records")])


END = 5000
# The stretches in which a name server shows the topic: from, to[[, how much earlier each may have been], queues].
Shown = list[tuple[int, ...]]
Window = tuple[int | str | None, ...]  # from, to[, how much earlier each may have been], doubt
Cases = dict[str, tuple[dict[str, Shown], list[Window]]]  # topic → what each name server shows, and the windows
ALWAYS: Shown = [(0, END)]
# What n1 shows, whose clock is the reference, and n2, whose offset heartbeats tell: it may be off by 600 s.
CLOCK_CASES: dict[str, tuple[Shown, Shown, list[Window]]] = {
    "gone at both, 90 s apart": (
        [(0, 1000), (1020, END)], [(0, 1090), (1110, END)], [(1000, 1020, "clocks"), (1090, 1110, "clocks")],
    ),
    "gone at one": ([(0, 2000), (2028, END)], ALWAYS, [(2000, 2028, None)]),
    "gone at one, then at the other within 600 s": (
        [(0, 2000), (2300, END)], [(0, 2600), (2630, END)], [(2000, 2300, "clocks"), (2600, 2630, "clocks")],
    ),
    "gone at one, then at the other later": (
        [(0, 2000), (2300, END)], [(0, 2601), (2630, END)], [(2000, 2300, None), (2601, 2630, "clocks")],
    ),
    "queues, 50 s apart": (
        [(0, 2000, 4), (2000, END, 8)], [(0, 2050, 4), (2050, END, 8)], [(2000, 2050, "clocks")],
    ),
    "soon after the beginning": ([(0, 599), (620, END)], ALWAYS, [(599, 620, "clocks")]),
    "600 s after the beginning": ([(0, 600), (620, END)], ALWAYS, [(600, 620, None)]),
    "until the end": ([(0, END - 599)], ALWAYS, [(END - 599, END, "clocks")]),
    "records of the other are lost": ([(0, 2000), (2028, END)], ALWAYS, [(2000, 2028, "clocks")]),
}  # fmt: skip
# What n1 and n2 show, of one observer, whose clock may be off from that of n3 by 5 s.
LOOK_CASES: Cases = {
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
}  # fmt: skip
# The same of a watched one and another.
MIXED: Cases = {
    "gone at both, 14 s apart": ({"n1": [(0, 1000, 0, 5, 4)], "n3": [(0, 1014, 0, 0, 4)]}, [(1000, 1014, 5, 0, None)]),
    "gone at both, 7 s apart": (
        {"n1": [(0, 1000, 0, 5, 4)], "n3": [(0, 1007, 0, 0, 4)]}, [(1000, 1007, 5, 0, "clocks")],
    ),
}  # fmt: skip


def windows_of(spark: SparkSession, cases: Cases, **methods: str) -> dict[str, list[Window]]:
    """``methods``: of the clocks of the name servers. Times may be earlier only where one was observed."""
    uncertainty = {"reference": 0, "heartbeats": 30 * SECOND, "observed": 5 * SECOND}
    told = [row for topic, (shown, _) in cases.items() for ns in methods for row in shown_by(ns, topic, shown[ns])]
    uptime = [{"ns": ns, "boot": 1, "t1": 0, "t2": END * SECOND, "end_cause": "open", "observed": method == "observed"}
              for ns, method in methods.items()]  # fmt: skip
    known = [{"day": "1970-01-01", "ns": ns, "method": method, "uncertainty": uncertainty[method]}
             for ns, method in methods.items()]  # fmt: skip
    lost = [{"ns": "n2", "topic": "records of the other are lost", "broker": "b", "t1": 2500 * SECOND,
             "t2": 2550 * SECOND}]  # fmt: skip
    windows = key_windows(
        frame(spark, TOPIC_INTERVALS, told), frame(spark, NS_UPTIME, uptime), Observation(0, END * SECOND), keep=cut,
        topic_doubts=frame(spark, TOPIC_DOUBTS, lost), clock_days=frame(spark, CLOCK_DAYS, known),
    )  # fmt: skip
    found: dict[str, list[Window]] = {topic: [] for topic in cases}
    for name, *times, doubt in sorted(rows(windows, "topic", "t1", "t2", "t1_early", "t2_early", "doubt")):
        count = 4 if "observed" in methods.values() else 2
        found[name].append((*(time // SECOND for time in times[:count]), doubt))
    return found


def shown_by(ns: str, topic: str, shown: Shown) -> list[Row]:
    """TOPIC_INTERVALS."""
    return [
        {"ns": ns, "topic": topic, "broker": "b", "r": rest[-1] if rest else 4, "w": 4, "p": 6, "t1": t1 * SECOND,
         "t2": t2 * SECOND, "cause": "register", "end_cause": "expired",
         **{name: us * SECOND for name, us in zip(("t1_early", "t2_early"), rest[:-1] or (0, 0), strict=True)}}
        for t1, t2, *rest in shown
    ]  # fmt: skip


def test_a_value_that_the_other_showed_within_the_clock_error_is_no_difference(spark: SparkSession) -> None:
    cases: Cases = {topic: ({"n1": n1, "n2": n2}, windows) for topic, (n1, n2, windows) in CLOCK_CASES.items()}
    found = windows_of(spark, cases, n1="reference", n2="heartbeats")
    assert found == {topic: windows for topic, (_, windows) in cases.items()}


def test_a_window_is_certain_if_it_lasted_whenever_between_the_looks_it_came(spark: SparkSession) -> None:
    found = windows_of(spark, LOOK_CASES, n1="observed", n2="observed")
    assert found == {topic: windows for topic, (_, windows) in LOOK_CASES.items()}
    mixed = windows_of(spark, MIXED, n1="observed", n3="reference")
    assert mixed == {topic: windows for topic, (_, windows) in MIXED.items()}


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


S = 1_000_000
Case = tuple[list[Row], list[Row]]  # windows, stalls


def value(ns: str, queues: int | None = 4) -> Row:
    return {"ns": ns, "present": queues is not None, "r": queues, "w": queues, "p": queues and 6}


def window(topic: str, broker: str, t1: int, t2: int, cause: str | None = "expired", **more: Any) -> Row:
    return {
        "topic": topic, "broker": broker, "t1": t1 * S, "t2": t2 * S, "cause": cause, "opened_by": "n2", "gap": 123_000,
        "values": [value("n1"), value("n2", None)], **more,
    }  # fmt: skip


def stall(ns: str, ended: int, seconds: int) -> Row:
    return {"ns": ns, "ev": "stall", "ts": ended * S, "ms": seconds * 1000}


KINDS = {"A_REPLY_TOPIC": "system", "%RETRY%g": "retry", "orders": "user", "payments": "user"}
FEWER = [value("n1", 8), value("n2", 5)]
STALLED = [window("a", "b1", 100, 200), window("b", "b1", 105, 150), window("a", "b9", 900, 950)]
# stalls → name servers that stalled when a window of STALLED began
STALLS: dict[str, tuple[list[Row], list[str]]] = {
    "the other one noticed something in the stall": ([stall("n1", 150, 60)], ["n1"]),
    "just before, at both ends of the bound": ([stall("n1", 100, 5), stall("n2", 70, 5)], ["n1", "n2"]),
    "the second window of the incident began in it": ([stall("n2", 109, 5)], ["n2"]),
}
CASES: dict[str, Case] = {
    "close": ([
        window("a", "b1", 100, 200), window("b", "b1", 100, 150), window("c", "b1", 110, 300),
        window("a", "b1", 121, 130),
    ], []),
    "apart": ([
        window("a", "b1", 100, 200), window("a", "b2", 100, 200), window("a", "b1", 100, 200, "unregister"),
    ], []),
    "chain": ([window(f"t{i:02}", "b1", i * 10, 500) for i in range(20)], []),
    "causeless": ([window("a", "b1", 100, 200, None)], [stall("n1", 101, 5)]),
    "looks": ([
        window("a", "b1", 100, 200, t1_early=5 * S, t2_early=90 * S), window("b", "b1", 100, 150, t1_early=7 * S),
        window("c", "b1", 101, 200, t1_early=80 * S, t2_early=30 * S),
    ], []),
    "clocks": ([
        window("a", "b1", 100, 106, doubt="clocks"), window("b", "b1", 100, 106, doubt="clocks"),
        window("c", "b1", 101, 200), window("d", "b1", 102, 103, doubt="lost_records"),
    ], []),
    "kinds": ([window(name, "b1", 100, 200, kind=kind) for name, kind in KINDS.items()], []),
    "queues": ([window("a", "b1", 100, 200, values=FEWER), window("a", "b1", 105, 200)], []),
    **{name: (STALLED, stalls) for name, (stalls, _) in STALLS.items()},
}  # fmt: skip


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[str, list[Row]]:
    """The incidents of each case in the order of broker, cause and time."""
    windows, stalls = [], []
    for name, (of_case, stalled) in CASES.items():
        for row in of_case:
            values = [{**one, "ns": f"{name}/{one['ns']}"} for one in row["values"]]
            windows.append({**row, "broker": f"{name}/{row['broker']}", "values": values})
        stalls += [{**row, "ns": f"{name}/{row['ns']}"} for row in stalled]
    cases: dict[str, list[Row]] = {name: [] for name in CASES}
    for row in incidents(frame(spark, KEY_WINDOWS, windows), frame(spark, EVENTS, stalls)).collect():
        name, _, broker = row.broker.partition("/")
        servers = {key: [ns.removeprefix(f"{name}/") for ns in row[key]] for key in ("ns_without", "stalled")}
        cases[name].append({**row.asDict(), "broker": broker, **servers})
    for listed in cases.values():
        listed.sort(key=lambda row: (row["broker"], row["cause"] or "", row["t1"], row["doubt"] or ""))
    return cases


def test_windows_that_begin_close_to_each_other_are_one_incident(found: dict[str, list[Row]]) -> None:
    first, second = found["close"]
    assert first == {
        "cause": "expired", "broker": "b1", "t1": 100 * S, "t2": 300 * S, "windows": 3, "topics": 3, "user_topics": 3,
        "topic_sample": ["a", "b", "c"], "queues": 12, "ns_without": ["n2"], "opened_by": ["n2"], "longest": 190 * S,
        "gap_max": 123_000, "stalled": [], "doubt": None, "t1_early": 0, "t2_early": 0,
    }  # fmt: skip
    assert (second["t1"], second["windows"]) == (121 * S, 1)
    (chain,) = found["chain"]
    assert (chain["windows"], chain["topics"], chain["topic_sample"]) == (20, 20, [f"t{i:02}" for i in range(5)])


def test_brokers_causes_and_doubts_are_kept_apart(found: dict[str, list[Row]]) -> None:
    assert [(row["broker"], row["cause"]) for row in found["apart"]] == [
        ("b1", "expired"), ("b1", "unregister"), ("b2", "expired"),
    ]  # fmt: skip
    told = sorted((row["doubt"] or "", row["windows"]) for row in found["clocks"])
    assert told == [("", 1), ("clocks", 2), ("lost_records", 1)]


def test_figures_of_an_incident(found: dict[str, list[Row]]) -> None:
    (row,) = found["looks"]  # those of its first and its last windows
    assert (row["t1"], row["t1_early"], row["t2"], row["t2_early"]) == (100 * S, 7 * S, 200 * S, 90 * S)
    (row,) = found["kinds"]  # system topics are counted apart and named last
    assert (row["windows"], row["topics"], row["user_topics"]) == (4, 4, 2)
    assert row["topic_sample"] == ["orders", "payments", "%RETRY%g", "A_REPLY_TOPIC"]
    (row,) = found["queues"]  # a topic with two windows counts once, with its larger number of hidden queues
    assert (row["windows"], row["topics"], row["queues"]) == (2, 1, 4)


def test_name_servers_that_stalled_when_a_window_began_are_named(found: dict[str, list[Row]]) -> None:
    for case, (_, stalled) in STALLS.items():
        assert {row["broker"]: row["stalled"] for row in found[case]} == {"b1": stalled, "b9": []}, case
    (row,) = found["causeless"]
    assert row["stalled"] == ["n1"]
