"""The one list of incidents: each kind, each thing once, worst and latest first, with its journal records."""

from __future__ import annotations

from typing import Any

import pytest

from rocketns.pipeline.incidents.model import Incident, Kind, Level, Record, State
from tests.pipeline.report.incident_tables import (
    END,
    SERVERS,
    S,
    boot,
    broken,
    departure,
    differ,
    listed,
    misses,
    up,
    window,
)

CUT = (1_000, 3_340)
PARTED = [*broken("n2", "b", CUT), *broken("n1", "b"), *broken("n3", "b")]


def only(found: list[Incident]) -> Incident:
    assert [one.kind for one in found[1:]] == []
    return found[0]


def span(one: Incident) -> tuple[int, int, bool]:
    return one.t1 // S, one.t2 // S, one.going_on


def test_a_broker_that_one_name_server_lacks_is_one_incident_though_two_tables_show_it() -> None:
    gone = [departure("b", "partition", 1_000, 1_000, ["n2"])]
    unknown = [{**gone[0], "topics": None, "queues": None, "topic_sample": None}]
    bare = only(listed(broker_intervals=PARTED, departures=unknown))
    assert (bare.kind, span(bare), bare.harm.known) == (Kind.MISSING, (*CUT, False), False)  # it has no topics
    one = only(listed(broker_intervals=PARTED, incidents=[differ("b", *CUT)], departures=gone))
    assert (one.kind, one.brokers, one.ns, one.cause, span(one)) == (
        Kind.MISSING, ("b",), ("n2",), "expired", (*CUT, False),
    )  # fmt: skip
    assert (one.harm.topics, one.harm.queues, one.silent_ms, one.level) == (2, 8, 123_000, Level.MAJOR)
    assert one.score == 8 * (CUT[1] - CUT[0])
    assert one.addrs == ("b:10911",)


def test_a_name_server_that_loses_its_brokers_one_after_another_is_one_incident() -> None:
    rows = [differ(f"b{i}", 1_000 + 5 * i, 3_000) for i in range(9)]
    intervals = [row for i in range(9) for row in broken("n2", f"b{i}", (1_000 + 5 * i, 3_000))]
    one = only(listed(broker_intervals=intervals, incidents=rows))
    assert (len(one.brokers), one.all_brokers, one.harm.queues, one.addrs) == (9, True, 72, ())
    assert one.lanes[1].says == "lacks 9 of 9"
    other_cause = listed(broker_intervals=intervals, incidents=[*rows[:4], rows[4] | {"cause": "unregister"}])
    assert sorted(len(one.brokers) for one in other_cause) == [1, 4]
    late = [differ("b0", 1_000, 3_000), differ("b1", 1_046, 3_000)]
    assert len(listed(broker_intervals=intervals, incidents=late)) == 2


def test_a_listed_broker_whose_topic_was_deleted_at_some_is_a_different_route_at_the_odd_one() -> None:
    """n2 missed the deletion, so n1 and n3 are the ones without the topic."""
    windows = [window("old", "b", 1_000, 3_000, "admin", {"n1": None, "n2": (4, 4, 6), "n3": None})]
    row = differ("b", 1_000, 3_000, "admin", ("n1", "n3"), topics=1, user_topics=1, topic_sample=["old"], queues=4)
    one = only(listed(incidents=[row], key_windows=windows))
    assert (one.kind, one.ns, one.topic) == (Kind.STALE_ROUTES, ("n2",), "old")
    assert [lane.says for lane in one.lanes] == ["no route", "4 read queues, 4 write queues, permission rw", "no route"]
    assert one.lanes[1].spans[1][2] is State.DIFFERS
    assert one.records == (Record("n1", 1, 1_000 * S, "tdel", "admin", "b"),)


@pytest.mark.parametrize(
    ("kind", "expected", "cause"),
    [("crash", Kind.CRASH, "channel_close"), ("silent", Kind.DEAD, "expired"), ("unclear", Kind.LOST, "expired")],
)
def test_a_broker_lost_everywhere_is_away_until_it_registers_anywhere(kind: str, expected: Kind, cause: str) -> None:
    gone = [
        row
        for ns, back in (("n1", 2_000), ("n2", 2_010), ("n3", 2_010))
        for row in broken(ns, "b", (1_000, back), cause=cause)
    ]
    one = only(listed(broker_intervals=gone, departures=[departure("b", kind, 1_000, 1_000)]))
    assert (one.kind, one.cause, span(one)) == (expected, cause, (1_000, 2_000, False))
    assert (one.harm.topics, one.harm.queues, one.topic, one.level) == (2, 8, "orders", Level.MAJOR)


def test_a_broker_that_is_still_lost_is_the_worst_of_all() -> None:
    gone = [up(ns, "b", 0, 9_000, "channel_close") for ns in SERVERS]
    first, _ = listed(
        broker_intervals=[*gone, *broken("n2", "c", (1_000, 9_990))],
        departures=[departure("b", "crash", 9_000, 9_000)],
        incidents=[differ("c", 1_000, 9_990)],
    )
    assert (first.kind, span(first), first.level) == (Kind.CRASH, (9_000, END, True), Level.SEVERE)


def test_name_servers_that_notice_a_loss_or_a_return_one_after_another_are_no_incident_of_their_own() -> None:
    gone = [row for ns, at in (("n1", 1_000), ("n2", 1_008), ("n3", 1_000)) for row in broken(ns, "b", (at, 2_000))]
    rows = [differ("b", 1_000, 1_008, without=("n1", "n3")), differ("b", 2_000, 2_030, "register")]
    found = listed(broker_intervals=gone, incidents=rows, departures=[departure("b", "silent", 1_000, 1_008)])
    assert [one.kind for one in found] == [Kind.DEAD]
    another = listed(broker_intervals=gone, incidents=[differ("c", 1_000, 1_008)], departures=[])
    assert [one.brokers for one in another] == [("c",)]


def test_a_restart_takes_in_what_the_name_server_lacked_at_first() -> None:
    boots = [boot("n1", 0, END), boot("n2", 0, END), boot("n3", 0, 5_000, "stop"), boot("n3", 5_060, END, number=2)]
    rows = [differ(name, 5_060, 5_090, "start", ("n3",)) for name in ("b", "c")]
    one = only(listed(ns_uptime=boots, incidents=rows))
    assert (one.kind, one.ns, one.brokers, span(one)) == (Kind.RESTARTED, ("n3",), ("b", "c"), (5_000, 5_090, False))
    assert (one.away_us, one.level) == (60 * S, Level.MINOR)
    assert [(record.ev, record.boot) for record in one.records] == [("stop", 1), ("start", 2)]


@pytest.mark.parametrize(
    ("end_cause", "expected", "level"), [("lost", Kind.KILLED, Level.MAJOR), ("stop", Kind.RESTARTED, Level.MINOR)]
)
def test_the_ends_of_name_servers(end_cause: str, expected: Kind, level: Level) -> None:
    boots = [boot("n1", 0, 5_000, end_cause), boot("n1", 5_060, END, number=2)]
    one = only(listed(ns_uptime=boots))
    assert (one.kind, span(one), one.level) == (expected, (5_000, 5_060, False), level)


@pytest.mark.parametrize(("end_cause", "expected"), [("silent", Kind.SILENT), ("stop", Kind.STOPPED)])
def test_a_name_server_that_did_not_come_back(end_cause: str, expected: Kind) -> None:
    one = only(listed(ns_uptime=[boot("n1", 0, 5_000, end_cause), boot("n2", 0, END)]))
    assert (one.kind, span(one), one.level) == (expected, (5_000, END, True), Level.MAJOR)
    assert one.lanes[0].spans[-1] == (5_000 * S, END * S, State.DOWN)


def test_hours_of_a_missing_topic_that_follow_each_other_are_one_incident() -> None:
    rows = [misses("typo", 0), misses("typo", 1), misses("typo", 4), misses("other", 1)]
    found = listed(t1=8 * 3600, missing_topics=rows)
    assert [(one.topic, one.t1 // S // 3600, one.times, one.harm.misses) for one in found] == [
        ("typo", 4, 1, 40), ("other", 1, 1, 40), ("typo", 0, 2, 80),
    ]  # fmt: skip
    assert {one.kind for one in found} == {Kind.MISSING_TOPIC}
    assert only(listed(t1=2 * 3600, missing_topics=[misses("typo", 1)])).going_on


def test_a_broker_that_comes_and_goes_is_one_incident() -> None:
    cuts = [(1_000, 1_100), (1_700, 1_800), (2_401, 2_500)]
    rows: dict[str, Any] = {
        "incidents": [differ("b", *cut) for cut in cuts],
        "broker_intervals": broken("n2", "b", *cuts),
    }
    flap, last = sorted(listed(**rows), key=lambda one: one.t1)
    assert (flap.kind, flap.times, span(flap), flap.away_us) == (Kind.FLAP, 2, (1_000, 1_800, False), 200 * S)
    assert (last.kind, span(last)) == (Kind.MISSING, (2_401, 2_500, False))


def test_open_incidents_come_first_then_the_worse_then_the_later() -> None:
    rows = [
        differ("short", 9_000, 9_020), differ("earlier", 1_000, 2_000), differ("later", 4_000, 5_100),
        differ("long", 100, 9_800), differ("open", 9_990, END),
    ]  # fmt: skip
    order = [(one.brokers[0], one.going_on) for one in listed(broker_intervals=[], incidents=rows)]
    assert order == [("open", True), ("long", False), ("later", False), ("earlier", False), ("short", False)]


DAY = 86_400


def records(kind: Kind, *, t1: int = END, **tables: list[dict[str, Any]]) -> list[tuple[str, int, str, str]]:
    """Name server, second, event and cause of the records of the one incident of that kind."""
    (one,) = (one for one in listed(t1=t1, **tables) if one.kind is kind)
    return [(record.ns, record.ts // S, record.ev, record.cause) for record in one.records]


def missing(kind: str, ns: str, t1: int, t2: int, number: int = 1) -> dict[str, Any]:
    """A row of QUALITY."""
    return {"kind": kind, "ns": ns, "boot": number, "t1": t1 * S, "t2": t2 * S, "n": 1}


def clock(day: str, ns: str, offset: int) -> dict[str, Any]:
    return {"day": day, "ns": ns, "offset": offset * S}


def test_a_record_has_the_clock_of_its_day_and_not_of_the_last_one() -> None:
    """n2 was 5 s ahead on the first day, and 9 s on the second one."""
    cut = (DAY - 3, DAY + 500)  # by its own clock both are on the second day
    early = (1_000, 2_000)
    parted = [*broken("n2", "b", early, cut, end=2 * DAY), *broken("n1", "b", end=2 * DAY)]
    clocks = [clock("1970-01-01", "n2", 5), clock("1970-01-02", "n2", 9)]
    rows = [differ("b", *early), differ("b", *cut)]
    last = [{"ns": "n2", "offset_us": 9 * S}]
    found = listed(t1=2 * DAY, broker_intervals=parted, incidents=rows, clock_days=clocks, sources=last)
    times = sorted(record.ts // S for one in found for record in one.records)
    assert times == [early[0] + 5, early[1] + 5, cut[0] + 9, cut[1] + 9]


def test_a_registration_after_lost_records_is_not_named_as_it_may_be_among_them() -> None:
    rows = [differ("b", *CUT)]
    lost = [missing("hole", "n2", 3_300, 3_320)]
    down = ("n2", 1_000, "down", "expired")
    assert records(Kind.MISSING, broker_intervals=PARTED, incidents=rows, quality=lost) == [down]
    others = [missing("hole", "n1", 3_300, 3_320), missing("hole", "n2", 3_300, 3_320, number=2)]
    assert len(records(Kind.MISSING, broker_intervals=PARTED, incidents=rows, quality=others)) == 2
