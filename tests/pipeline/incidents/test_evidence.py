"""Which journal records an incident names: only such as are there."""

from __future__ import annotations

from typing import Any

from rocketns.pipeline.incidents.model import Incident, Kind, Record
from tests.pipeline.incidents.incident_tables import END, S, boot, broken, departure, differ, listed, misses, up, window

DAY = 86_400
CUT = (1_000, 3_340)
PARTED = [*broken("n2", "b", CUT), *broken("n1", "b"), *broken("n3", "b")]


def records(kind: Kind, *, t1: int = END, **tables: list[dict[str, Any]]) -> list[tuple[str, int, str, str]]:
    """Name server, second, event and cause of the records of the one incident of that kind."""
    (one,) = (one for one in listed(t1=t1, **tables) if one.kind is kind)
    return [(record.ns, record.ts // S, record.ev, record.cause) for record in one.records]


def missing(kind: str, ns: str, t1: int, t2: int, number: int = 1) -> dict[str, Any]:
    """A row of QUALITY."""
    return {"kind": kind, "ns": ns, "boot": number, "t1": t1 * S, "t2": t2 * S, "n": 1}


def clock(day: str, ns: str, offset: int) -> dict[str, Any]:
    return {"day": day, "ns": ns, "offset": offset * S}


def test_a_missing_topic_names_none_since_its_lookups_are_known_by_the_hour() -> None:
    assert records(Kind.MISSING_TOPIC, missing_topics=[misses("typo", 1)]) == []


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


def test_a_broker_that_only_a_snapshot_shows_gone_has_the_snapshot() -> None:
    """Its down was lost."""
    parted = [*broken("n2", "b", CUT, cause="snapshot"), *broken("n1", "b"), *broken("n3", "b")]
    found = records(Kind.MISSING, broker_intervals=parted, incidents=[differ("b", *CUT, "snapshot")])
    assert found == [("n2", 1_000, "snap", ""), ("n2", 3_340, "reg", "")]


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


def test_a_difference_that_was_there_at_the_beginning_has_no_record() -> None:
    windows = [window("t", "b", 0, 600, "admin", {"n1": None, "n2": (4, 4, 6), "n3": (4, 4, 6)})]
    row = differ("b", 0, 600, "admin", windows=1)
    assert only_stale(listed(incidents=[row], key_windows=windows)).records == ()


def only_stale(found: list[Incident]) -> Incident:
    (one,) = (one for one in found if one.kind is Kind.STALE_ROUTES)
    return one
