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
    load,
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
    bare = only(listed(broker_intervals=PARTED, departures=gone))
    assert (bare.kind, span(bare), bare.harm.known) == (Kind.MISSING, (*CUT, False), False)  # it has no topics
    one = only(listed(broker_intervals=PARTED, incidents=[differ("b", *CUT)], departures=gone))
    assert (one.kind, one.brokers, one.ns, one.cause, span(one)) == (
        Kind.MISSING, ("b",), ("n2",), "expired", (*CUT, False),
    )  # fmt: skip
    assert (one.harm.topics, one.harm.queues, one.silent_ms, one.level) == (2, 8, 123_000, Level.MAJOR)
    assert one.score == 8 * (CUT[1] - CUT[0])
    assert one.addrs == ("b:10911",)


def test_the_name_servers_are_side_by_side_with_a_margin_around_the_incident() -> None:
    one = only(listed(broker_intervals=PARTED, incidents=[differ("b", *CUT)]))
    n1, n2, n3 = one.lanes
    assert (n1.ns, n1.says, n2.says, n3.says) == ("n1", "lists it", "does not list it", "lists it")
    margin = (CUT[1] - CUT[0]) // 4
    begin, end = CUT[0] - margin, CUT[1] + margin
    assert n1.spans == ((begin * S, end * S, State.UP),)
    assert n2.spans == (
        (begin * S, CUT[0] * S, State.UP), (CUT[0] * S, CUT[1] * S, State.GONE), (CUT[1] * S, end * S, State.UP),
    )  # fmt: skip


def test_the_records_are_those_of_the_name_servers_concerned_by_their_own_clocks() -> None:
    ahead = [{"ns": "n2", "offset_us": 12_000}]
    one = only(listed(broker_intervals=PARTED, incidents=[differ("b", *CUT)], sources=ahead))
    assert one.records == (
        Record("n2", 1, CUT[0] * S + 12_000, "down", "expired", "b"),
        Record("n2", 1, CUT[1] * S + 12_000, "reg", "", "b"),
    )


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


def test_topics_of_several_brokers_are_counted_once_where_all_windows_are_known() -> None:
    windows = [
        window(topic, broker, 1_000, 3_000, "expired", {"n1": (4, 4, 6), "n2": None, "n3": (4, 4, 6)})
        for broker in ("b0", "b1")
        for topic in ("orders", "%RETRY%g", f"own-{broker}")
    ]
    rows = [differ(broker, 1_000, 3_000) for broker in ("b0", "b1")]
    inventory = [{"topic": "own-b0", "kind": "system"}, {"topic": "own-b1", "kind": "user"}]
    intervals = [row for broker in ("b0", "b1") for row in broken("n2", broker, (1_000, 3_000))]
    one = only(listed(broker_intervals=intervals, incidents=rows, key_windows=windows, topic_inventory=inventory))
    assert (one.harm.topics, one.harm.sample) == (2, ("orders", "stock", "own-b1"))


def test_the_harm_to_consumers_is_the_worst_of_each_topic_at_that_time() -> None:
    windows = [window("orders", "b", *CUT, "expired", {"n1": (4, 4, 6), "n2": None, "n3": (4, 4, 6)})]
    impact = [
        {"topic": "orders", "t1": CUT[0] * S, "t2": CUT[1] * S, "orphaned_max": 4.0, "dup_max": 2.0},
        {"topic": "orders", "t1": CUT[0] * S, "t2": CUT[1] * S, "orphaned_max": 5.0, "dup_max": 1.0},
        {"topic": "orders", "t1": 5_000 * S, "t2": 6_000 * S, "orphaned_max": 99.0, "dup_max": 99.0},
    ]
    one = only(listed(broker_intervals=PARTED, incidents=[differ("b", *CUT)], key_windows=windows, impact=impact))
    assert (one.harm.orphaned, one.harm.twice) == (5, 2)


def test_the_topic_to_ask_about_is_one_that_a_shell_can_be_given_and_rather_a_usual_one() -> None:
    """A broker registers what it likes. Otherwise the topic without a name, the first in order, hides the others."""
    for sample, asked in (
        (["", "a\0b", "t" * 200_000, "$(reboot)", "orders"], "orders"),
        (["", "$(reboot)", "a b"], "$(reboot)"),
        ([""], ""),
    ):
        row = differ("b", *CUT, topic_sample=sample)
        assert only(listed(broker_intervals=PARTED, incidents=[row])).topic == asked


def test_a_listed_broker_whose_topic_was_deleted_at_some_is_a_different_route_at_the_odd_one() -> None:
    """n2 missed the deletion, so n1 and n3 are the ones without the topic."""
    windows = [window("old", "b", 1_000, 3_000, "admin", {"n1": None, "n2": (4, 4, 6), "n3": None})]
    row = differ("b", 1_000, 3_000, "admin", ("n1", "n3"), topics=1, user_topics=1, topic_sample=["old"], queues=4)
    one = only(listed(incidents=[row], key_windows=windows))
    assert (one.kind, one.ns, one.topic) == (Kind.STALE_ROUTES, ("n2",), "old")
    assert [lane.says for lane in one.lanes] == ["no route", "4 read queues, 4 write queues, permission rw", "no route"]
    assert one.lanes[1].spans[1][2] is State.DIFFERS
    assert one.records == (Record("n1", 1, 1_000 * S, "tdel", "admin", "b"),)


def held(ns: str, topic: str, broker: str, t1: int, t2: int, r: int = 4) -> dict[str, Any]:
    """A row of TOPIC_INTERVALS."""
    return {"ns": ns, "topic": topic, "broker": broker, "t1": t1 * S, "t2": t2 * S, "r": r, "w": 4, "p": 6}


def test_a_change_that_one_name_server_missed_is_wrong_there_and_not_where_it_came_first() -> None:
    """n1 learned of the deletion, n2 a second later, n3 never."""
    windows = [window("old", "b", 1_000, 3_000, "admin", {"n1": None, "n2": (4, 4, 6), "n3": (4, 4, 6)})]
    kept = [held("n1", "old", "b", 0, 1_000), held("n2", "old", "b", 0, 1_001), held("n3", "old", "b", 0, 3_000)]
    row = differ("b", 1_000, 3_000, "admin", ("n1",), topics=1, user_topics=1, topic_sample=["old"], queues=4)
    one = only(listed(incidents=[row], key_windows=windows, topic_intervals=kept))
    assert (one.kind, one.ns) == (Kind.STALE_ROUTES, ("n3",))
    assert [lane.says for lane in one.lanes] == ["no route", "no route", "4 read queues, 4 write queues, permission rw"]
    assert one.records == (Record("n1", 1, 1_000 * S, "tdel", "admin", "b"),)
    without = only(listed(incidents=[row], key_windows=windows))
    assert without.ns == ("n1",)  # as the window began


def test_views_that_differ_in_permissions_only() -> None:
    windows = [window("t", "b", 1_000, 3_000, "perm", {"n1": (4, 4, 4), "n2": (4, 4, 6), "n3": (4, 4, 4)})]
    row = differ("b", 1_000, 3_000, "perm", (), queues=0)
    one = only(listed(incidents=[row], key_windows=windows))
    assert (one.kind, one.ns, one.level) == (Kind.STALE_PERMISSIONS, ("n2",), Level.MINOR)
    fewer = [window("t", "b", 1_000, 3_000, "heartbeat", {"n1": (8, 8, 6), "n2": (4, 4, 6), "n3": (8, 8, 6)})]
    row = differ("b", 1_000, 3_000, "heartbeat", (), queues=4)
    assert only(listed(incidents=[row], key_windows=fewer)).kind is Kind.STALE_ROUTES


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
    one = only(listed(broker_intervals=gone, departures=[departure("b", kind, 1_000, 1_000)], broker_load=[load("b")]))
    assert (one.kind, one.cause, span(one)) == (expected, cause, (1_000, 2_000, False))
    assert (one.harm.topics, one.harm.queues, one.topic, one.level) == (2, 8, "orders", Level.MAJOR)


def test_a_broker_that_is_still_lost_is_the_worst_of_all() -> None:
    gone = [up(ns, "b", 0, 9_000, "channel_close") for ns in SERVERS]
    first, _ = listed(
        broker_intervals=[*gone, *broken("n2", "c", (1_000, 9_990))],
        departures=[departure("b", "crash", 9_000, 9_000)],
        broker_load=[load("b")],
        incidents=[differ("c", 1_000, 9_990)],
    )
    assert (first.kind, span(first), first.level) == (Kind.CRASH, (9_000, END, True), Level.SEVERE)


def test_a_lost_slave_harms_no_topic() -> None:
    gone = [
        *[row for ns in SERVERS for row in broken(ns, "b", (1_000, 2_000), bid=1)],
        *[up(ns, "b", 0, END) for ns in SERVERS],
    ]
    went = [departure("b", "silent", 1_000, 1_000, bids=[1])]
    one = only(listed(broker_intervals=gone, departures=went, broker_load=[load("b")]))
    assert (one.bids, one.harm.topics, one.harm.known, one.level) == ((1,), 0, True, Level.MINOR)
    assert one.lanes[0].spans[1][2] is State.GONE


def test_a_graceful_departure_is_no_incident() -> None:
    assert listed(ns_uptime=[], broker_intervals=[]) == []
    assert listed(departures=[departure("b", "graceful", 1_000, 1_000)]) == []


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


def test_a_broker_that_never_registers_after_a_restart_is_missing() -> None:
    boots = [boot("n1", 0, END), boot("n2", 0, 5_000, "stop"), boot("n2", 5_060, END, number=2)]
    rows = [differ("b", 5_060, 5_090, "start"), differ("c", 5_060, END, "start")]
    intervals = [up("n1", "b", 0, END), up("n1", "c", 0, END), up("n2", "c", 0, 5_000, "stop")]
    missing, restart = listed(ns_uptime=boots, incidents=rows, broker_intervals=intervals)
    assert (missing.kind, missing.brokers, missing.going_on) == (Kind.MISSING, ("c",), True)
    assert (restart.kind, restart.brokers) == (Kind.RESTARTED, ("b",))


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


def test_an_incident_at_the_first_moment_may_have_begun_before() -> None:
    parted = [up("n1", "b", 0, END), up("n2", "b", 500, END), up("n3", "b", 0, END)]
    early, late = differ("b", 0, 500, "register"), differ("b", 1_000, 3_340)
    found = listed(broker_intervals=parted, incidents=[early, late])
    assert [(one.t1 // S, one.before) for one in found] == [(1_000, False), (0, True)]


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
    order = [
        (one.brokers[0], one.going_on)
        for one in listed(
            broker_intervals=[],
            incidents=[
                differ("short", 9_000, 9_020),
                differ("earlier", 1_000, 2_000),
                differ("later", 4_000, 5_100),
                differ("long", 100, 9_800),
                differ("open", 9_990, END),
            ],
        )
    ]
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


RESTORED = {
    "ns_uptime": [boot("n1", 0, END), boot("n2", 0, 5_000, "stop"), boot("n2", 5_060, END, number=2)],
    "quality": [missing("unknown", "n2", 5_058, 5_060, number=2)],
}


def test_a_restart_with_routes_has_the_snapshot_that_names_them() -> None:
    """Its start record is earlier; what it then knew is not in the journal before the snapshot."""
    assert records(Kind.RESTARTED, **RESTORED) == [("n2", 5_000, "stop", ""), ("n2", 5_060, "snap", "")]


def test_a_broker_that_came_with_the_routes_of_a_restart_did_not_register() -> None:
    away = [up("n1", "b", 0, 4_000, "expired"), up("n2", "b", 0, 4_000, "expired"), up("n2", "b", 5_060, END)]
    found = records(Kind.DEAD, **RESTORED, broker_intervals=away, departures=[departure("b", "silent", 4_000, 4_000)])
    assert found[2:] == [("n2", 5_060, "snap", "")]


def test_a_difference_since_a_start_has_the_start_and_not_a_deletion() -> None:
    boots = [boot("n1", 0, END), boot("n2", 0, 5_000, "stop"), boot("n2", 5_000, END, number=2)]
    windows = [window("t", "b", 5_000, 6_000, "start", {"n1": (4, 4, 6), "n2": None}) | {"opened_by": "n2"}]
    row = differ("b", 5_000, 6_000, "start", windows=1)
    stale = only_stale(listed(ns_uptime=boots, incidents=[row], key_windows=windows))
    assert stale.records == (Record("n2", 2, 5_000 * S, "start"),)


def only_stale(found: list[Incident]) -> Incident:
    (one,) = (one for one in found if one.kind is Kind.STALE_ROUTES)
    return one
