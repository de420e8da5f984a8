"""The one list of incidents: each kind, each thing once, worst and latest first, with its journal records."""

from __future__ import annotations

from typing import Any

import pytest

from rocketns.pipeline.incidents.model import Incident, Level, Record, Shown, Symptom
from rocketns.pipeline.report.words.sentences import first, title, whom
from rocketns.pipeline.saying import shown
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
    assert (bare.kind, span(bare), bare.harm.known) == (Symptom.MISSING, (*CUT, False), False)  # it has no topics
    one = only(listed(broker_intervals=PARTED, divergences=[differ("b", *CUT)], departures=gone))
    assert (one.kind, one.brokers, one.ns, one.cause, span(one)) == (
        Symptom.MISSING, ("b",), ("n2",), "expired", (*CUT, False),
    )  # fmt: skip
    assert (one.harm.topics, one.harm.queues, one.silent_ms, one.level) == (2, 8, 123_000, Level.MAJOR)
    assert one.score == 8 * (CUT[1] - CUT[0])
    assert one.addrs == ("b:10911",)


def test_a_name_server_that_loses_its_brokers_one_after_another_is_one_incident() -> None:
    rows = [differ(f"b{i}", 1_000 + 5 * i, 3_000) for i in range(9)]
    intervals = [row for i in range(9) for row in broken("n2", f"b{i}", (1_000 + 5 * i, 3_000))]
    one = only(listed(broker_intervals=intervals, divergences=rows))
    assert (len(one.brokers), one.all_brokers, one.harm.queues, one.addrs) == (9, True, 72, ())
    assert shown(one.lanes[1].says) == "lacks 9 of 9"
    other_cause = listed(broker_intervals=intervals, divergences=[*rows[:4], rows[4] | {"cause": "unregister"}])
    assert sorted(len(one.brokers) for one in other_cause) == [1, 4]
    late = [differ("b0", 1_000, 3_000), differ("b1", 1_046, 3_000)]
    assert len(listed(broker_intervals=intervals, divergences=late)) == 2


def test_a_listed_broker_whose_topic_was_deleted_at_some_is_a_different_route_at_the_odd_one() -> None:
    """n2 missed the deletion, so n1 and n3 are the ones without the topic."""
    windows = [window("old", "b", 1_000, 3_000, "admin", {"n1": None, "n2": (4, 4, 6), "n3": None})]
    row = differ("b", 1_000, 3_000, "admin", ("n1", "n3"), topics=1, user_topics=1, topic_sample=["old"], queues=4)
    one = only(listed(divergences=[row], key_windows=windows))
    assert (one.kind, one.ns, one.topic) == (Symptom.STALE_ROUTES, ("n2",), "old")
    assert [shown(lane.says) for lane in one.lanes] == ["no route", "4 read, 4 write, rw", "no route"]
    assert one.lanes[1].spans[1][2] is Shown.DIFFERS
    assert one.records == (Record("n1", 1, 1_000 * S, "tdel", "admin", "b"),)


@pytest.mark.parametrize(
    ("kind", "expected", "cause"),
    [
        ("crash", Symptom.CRASH, "channel_close"),
        ("silent", Symptom.DEAD, "expired"),
        ("unclear", Symptom.LOST, "expired"),
    ],
)
def test_a_broker_lost_everywhere_is_away_until_it_registers_anywhere(kind: str, expected: Symptom, cause: str) -> None:
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
        divergences=[differ("c", 1_000, 9_990)],
    )
    assert (first.kind, span(first), first.level) == (Symptom.CRASH, (9_000, END, True), Level.SEVERE)


def test_name_servers_that_notice_a_loss_or_a_return_one_after_another_are_no_incident_of_their_own() -> None:
    gone = [row for ns, at in (("n1", 1_000), ("n2", 1_008), ("n3", 1_000)) for row in broken(ns, "b", (at, 2_000))]
    rows = [differ("b", 1_000, 1_008, without=("n1", "n3")), differ("b", 2_000, 2_030, "register")]
    found = listed(broker_intervals=gone, divergences=rows, departures=[departure("b", "silent", 1_000, 1_008)])
    assert [one.kind for one in found] == [Symptom.DEAD]
    another = listed(broker_intervals=gone, divergences=[differ("c", 1_000, 1_008)], departures=[])
    assert [one.brokers for one in another] == [("c",)]


def test_a_restart_takes_in_what_the_name_server_lacked_at_first() -> None:
    boots = [boot("n1", 0, END), boot("n2", 0, END), boot("n3", 0, 5_000, "stop"), boot("n3", 5_060, END, number=2)]
    rows = [differ(name, 5_060, 5_090, "start", ("n3",)) for name in ("b", "c")]
    one = only(listed(ns_uptime=boots, divergences=rows))
    assert (one.kind, one.ns, one.brokers, span(one)) == (Symptom.RESTARTED, ("n3",), ("b", "c"), (5_000, 5_090, False))
    assert (one.away_us, one.level) == (60 * S, Level.MINOR)
    assert [(record.ev, record.boot) for record in one.records] == [("stop", 1), ("start", 2)]


@pytest.mark.parametrize(
    ("end_cause", "expected", "level"),
    [("lost", Symptom.KILLED, Level.MAJOR), ("stop", Symptom.RESTARTED, Level.MINOR)],
)
def test_the_ends_of_name_servers(end_cause: str, expected: Symptom, level: Level) -> None:
    boots = [boot("n1", 0, 5_000, end_cause), boot("n1", 5_060, END, number=2)]
    one = only(listed(ns_uptime=boots))
    assert (one.kind, span(one), one.level) == (expected, (5_000, 5_060, False), level)


@pytest.mark.parametrize(("end_cause", "expected"), [("silent", Symptom.SILENT), ("stop", Symptom.STOPPED)])
def test_a_name_server_that_did_not_come_back(end_cause: str, expected: Symptom) -> None:
    one = only(listed(ns_uptime=[boot("n1", 0, 5_000, end_cause), boot("n2", 0, END)]))
    assert (one.kind, span(one), one.level) == (expected, (5_000, END, True), Level.MAJOR)
    assert one.lanes[0].spans[-1] == (5_000 * S, END * S, Shown.DOWN)


def test_hours_of_a_missing_topic_that_follow_each_other_are_one_incident() -> None:
    rows = [misses("typo", 0), misses("typo", 1), misses("typo", 4), misses("other", 1)]
    found = listed(t1=8 * 3600, missing_topics=rows)
    assert [(one.topic, one.t1 // S // 3600, one.times, one.harm.misses) for one in found] == [
        ("typo", 4, 1, 40), ("other", 1, 1, 40), ("typo", 0, 2, 80),
    ]  # fmt: skip
    assert {one.kind for one in found} == {Symptom.MISSING_TOPIC}
    assert only(listed(t1=2 * 3600, missing_topics=[misses("typo", 1)])).going_on


def test_a_broker_that_comes_and_goes_is_one_incident() -> None:
    cuts = [(1_000, 1_100), (1_700, 1_800), (2_401, 2_500)]
    rows: dict[str, Any] = {
        "divergences": [differ("b", *cut) for cut in cuts],
        "broker_intervals": broken("n2", "b", *cuts),
    }
    flap, last = sorted(listed(**rows), key=lambda one: one.t1)
    assert (flap.kind, flap.times, span(flap), flap.away_us) == (Symptom.FLAP, 2, (1_000, 1_800, False), 200 * S)
    assert (last.kind, span(last)) == (Symptom.MISSING, (2_401, 2_500, False))


def test_open_incidents_come_first_then_the_worse_then_the_later() -> None:
    rows = [
        differ("short", 9_000, 9_020), differ("earlier", 1_000, 2_000), differ("later", 4_000, 5_100),
        differ("long", 100, 9_800), differ("open", 9_990, END),
    ]  # fmt: skip
    order = [(one.brokers[0], one.going_on) for one in listed(broker_intervals=[], divergences=rows)]
    assert order == [("open", True), ("long", False), ("later", False), ("earlier", False), ("short", False)]


DAY = 86_400


def records(kind: Symptom, *, t1: int = END, **tables: list[dict[str, Any]]) -> list[tuple[str, int, str, str]]:
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
    found = listed(t1=2 * DAY, broker_intervals=parted, divergences=rows, clock_days=clocks, sources=last)
    times = sorted(record.ts // S for one in found for record in one.records)
    assert times == [early[0] + 5, early[1] + 5, cut[0] + 9, cut[1] + 9]


def test_a_registration_after_lost_records_is_not_named_as_it_may_be_among_them() -> None:
    rows = [differ("b", *CUT)]
    lost = [missing("hole", "n2", 3_300, 3_320)]
    down = ("n2", 1_000, "down", "expired")
    assert records(Symptom.MISSING, broker_intervals=PARTED, divergences=rows, quality=lost) == [down]
    others = [missing("hole", "n1", 3_300, 3_320), missing("hole", "n2", 3_300, 3_320, number=2)]
    assert len(records(Symptom.MISSING, broker_intervals=PARTED, divergences=rows, quality=others)) == 2


FOUR, TWO = (4, 4, 6), (2, 2, 6)


def test_each_sentence_of_an_incident_is_true_of_the_topic_that_it_names() -> None:
    """Windows of a system topic began at the same time as that of a user topic, and lasted five times as long."""
    windows = [
        window("pay", "b", 1_000, 1_014, "observed", {"n1": FOUR, "n2": None}) | {"kind": "user"},
        window("c_REPLY_TOPIC", "b", 1_000, 1_074, "observed", {"n1": None, "n2": FOUR}) | {"kind": "system"},
    ]
    row = differ("b", 1_000, 1_074, "observed", ("n1", "n2"), topics=2, user_topics=1, topic_sample=["pay"])
    of_user, of_system = sorted(listed(divergences=[row], key_windows=windows), key=lambda one: -one.harm.topics)
    assert (of_user.kind, span(of_user), of_user.topic) == (Symptom.STALE_ROUTES, (1_000, 1_014, False), "pay")
    assert [shown(lane.says) for lane in of_user.lanes[:2]] == ["4 read, 4 write, rw", "no route"]
    assert title(of_user, END * S).endswith("for topic pay on b for 14 s, from 00:16 on")
    assert (span(of_system), of_system.harm.topics, of_system.harm.sample) == ((1_000, 1_074, False), 0, ())


def test_topics_of_one_change_whose_windows_end_far_apart_are_incidents_of_their_own() -> None:
    windows = [
        window(topic, "b", 1_000, until, "heartbeat", {"n1": FOUR, "n2": TWO, "n3": FOUR}) | {"kind": "user"}
        for topic, until in (("one", 1_020), ("two", 1_025), ("three", 1_300))
    ]
    row = differ("b", 1_000, 1_300, "heartbeat", (), topics=3, user_topics=3, topic_sample=["one", "three", "two"])
    found = listed(divergences=[row], key_windows=windows)
    assert sorted((span(one), one.harm.sample, one.ns) for one in found) == [
        ((1_000, 1_025, False), ("one", "two"), ("n2",)), ((1_000, 1_300, False), ("three",), ("n2",)),
    ]  # fmt: skip


def test_a_topic_that_one_name_server_lost_is_not_to_be_created_again() -> None:
    """It was deleted at n2, and the others still show it. A topic that is new at n2 has not reached the others."""
    values = {"n1": FOUR, "n2": None, "n3": FOUR}
    for told, expected in ((values, "mqadmin deleteTopic"), ({**values, "n2": FOUR, "n1": None}, "updateTopic")):
        gone = window("old", "b", 1_000, 3_000, "observed", told) | {"kind": "user", "opened_by": "n2"}
        row = differ("b", 1_000, 3_000, "observed", (), topics=1, user_topics=1, topic_sample=["old"])
        assert expected in first(only(listed(divergences=[row], key_windows=[gone])))


WATCHED = {"observed": True}


def emptied(back: dict[str, int], at: int = 1_000, ns: str = "n2") -> dict[str, Any]:
    """n2 was started again at ``at``: it lost each broker, and has it again at ``back``. The others had them always."""
    members = [up(other, broker, 0, END) for broker in back for other in SERVERS if other != ns]
    for broker, until in back.items():
        members += broken(ns, broker, (at, until), cause="observed")
    return {
        "ns_uptime": [boot(name, 0, END) | WATCHED for name in SERVERS],
        "broker_intervals": [row | {"asked": "answered"} for row in members],
        "divergences": [differ(broker, at, until, "observed", (ns,)) for broker, until in back.items()],
        "departures": [departure(broker, "observed", at, at, [ns]) for broker in back],
    }


def test_a_watched_name_server_that_has_no_broker_all_at_once_was_started_again() -> None:
    one = only(listed(**emptied({"b": 1_012, "c": 1_028})))
    assert (one.kind, one.ns, one.brokers, span(one)) == (Symptom.EMPTIED, ("n2",), ("b", "c"), (1_000, 1_028, False))
    assert "its process and its log" in first(one)
    assert "network" not in first(one)
    assert title(one, END * S).startswith("n2 lost all its brokers at once at 00:16")
    assert (one.harm.queues, one.level) == (16, Level.MINOR)
    still = listed(**emptied({"b": 1_012, "c": 3_000}))
    assert {(one.kind, one.brokers) for one in still} == {(Symptom.EMPTIED, ("b",)), (Symptom.MISSING, ("c",))}


def test_one_whose_brokers_are_back_in_the_next_look_was_started_again_too() -> None:
    """As a real one: the looks that lacked its brokers and had them again were 20 ms apart, and one had been away."""
    tables = emptied({"b": 1_001, "c": 1_001}) | {"divergences": []}
    for row in tables["broker_intervals"]:
        row["t1"] -= 980_000 if row["t1"] == 1_001 * S else 0
    tables["broker_intervals"] += broken("n2", "c", (900, 940), cause="observed")[:1]
    tables["departures"].append(departure("c", "observed", 900, 900, ["n2"]))
    for row in tables["broker_intervals"]:
        if (row["ns"], row["broker"], row["t1"], row["t2"]) == ("n2", "c", 0, 1_000 * S):
            row["t1"] = 940 * S
    kinds = {(one.kind, one.brokers) for one in listed(**tables)}
    assert kinds == {(Symptom.EMPTIED, ("b", "c")), (Symptom.MISSING, ("c",))}


def test_a_broker_that_one_watched_name_server_loses_alone_leaves_it_with_the_others() -> None:
    tables = emptied({"b": 1_012})
    tables["broker_intervals"] += [up(ns, "c", 0, END) for ns in SERVERS]
    assert only(listed(**tables)).kind is Symptom.MISSING
    crashed = emptied({"b": 1_012, "c": 1_028})
    for row in crashed["broker_intervals"]:
        row["t2"] = min(row["t2"], 1_000 * S) if row["t1"] == 0 else row["t2"]
    assert Symptom.EMPTIED not in {one.kind for one in listed(**crashed)}, "nobody had them any more"


def test_an_absence_and_a_start_of_the_name_server_minutes_later_are_no_flap() -> None:
    boots = [boot("n1", 0, END), boot("n2", 0, 1_400, "stop"), boot("n2", 1_405, END, number=2)]
    rows = [differ("b", 1_000, 1_160), differ("b", 1_405, 1_600, "start")]
    absent = broken("n2", "b", (1_000, 1_160), (1_400, 1_600))
    found = listed(ns_uptime=boots, divergences=rows, broker_intervals=[*absent, up("n1", "b", 0, END)])
    assert sorted(one.kind for one in found) == [Symptom.MISSING, Symptom.MISSING, Symptom.RESTARTED]


def test_a_broker_that_nobody_may_write_to_is_an_incident_though_all_agree() -> None:
    row = {"broker": "b", "t1": 1_000 * S, "t2": 1_045 * S, "ns": ["n1", "n2"], "topics": 3, "alone": 2, "queues": 8,
           "topic_sample": ["pay"], "cause": "admin", "t1_early": 0, "t2_early": 0}  # fmt: skip
    one = only(listed(unwritable=[row]))
    assert (one.kind, one.brokers, span(one), one.topic) == (Symptom.UNWRITABLE, ("b",), (1_000, 1_045, False), "pay")
    assert title(one, END * S) == "No write permission on b at any name server for 45 s, from 00:16 on"
    assert whom(one) == "3 user topics: no other broker took the messages of 2 of them."
    assert "addWritePerm" in first(one)
    assert [shown(lane.says) for lane in one.lanes[1:]] == ["without write permission", "as it should be"]
    assert one.level is Level.MINOR
    assert only(listed(unwritable=[row | {"t2": END * S}])).level is Level.SEVERE
