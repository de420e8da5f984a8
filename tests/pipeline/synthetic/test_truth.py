"""An audit's tables, and the incidents of its page, compared with the truth about a synthetic fleet."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from rocketns.pipeline.synthetic import FleetSpec, Truth, make_fleet, save_truth
from rocketns.pipeline.synthetic.cards_compared import card_verdicts
from rocketns.pipeline.synthetic.truth import BOOT_ENDS, compare, summary
from rocketns.pipeline.synthetic.verdicts import FaultOutcome

Rows = dict[str, list[dict[str, Any]]]
SECOND = 1_000_000


@pytest.fixture(scope="module")
def truth(tmp_path_factory: pytest.TempPathFactory) -> Truth:
    return make_fleet(FleetSpec.of_events(80_000), tmp_path_factory.mktemp("fleet"))


@pytest.fixture
def tables(truth: Truth) -> Rows:
    """What an audit finds that errs in nothing, except that its clock is half a second late."""
    windows = [window for fault in truth["faults"] for window in fault["windows"]]
    departures = [departure for fault in truth["faults"] for departure in fault["departures"]]
    losses = [(server["ns"], lost) for server in truth["name_servers"] for lost in server["lost"]]
    return deepcopy(
        {
            "ns_uptime": [
                {"ns": s["ns"], "t1": b["t1"] + SECOND // 2, "t2": b["t2"], "end_cause": BOOT_ENDS[b["end"]]}
                for s in truth["name_servers"]
                for b in s["boots"]
            ],
            "key_windows": [
                {"topic": topic, "broker": w["broker"], "t1": w["t1"] + SECOND // 2, "t2": w["t2"] + SECOND // 2}
                | {"doubt": None}
                for w in windows
                for topic in w["topics"]
            ]
            + [
                window | {"t1": window["t1"] + SECOND // 2, "doubt": "lost_records"}
                for fault in truth["faults"]
                for window in fault["doubtful"]
            ],
            "departures": [departure | {"t1": departure["t1"] + SECOND // 2} for departure in departures],
            "broker_stats": truth["brokers"],
            "dead_topics": [{"topic": topic, "kind": "user"} for topic in truth["dead"]],
            "hot_topics": [
                {"topic": truth["hottest"], "kind": "user", "rank": 1},
                {"topic": "%RETRY%group-0", "kind": "retry", "rank": 1},
            ],
            "missing_topics": truth["missing"],
            "quality": [
                {"kind": kind, "ns": ns, "n": lost["lost"]}
                for ns, lost in losses
                for kind in sorted({"hole", lost["kind"]} - {"hidden_change"})
            ],
        }
        | fleet_tables(truth)
    )


def fleet_tables(truth: Truth) -> Rows:
    """The tables about the fleet, as they are to be."""
    return {
        "clients": [{"client": client, "poll_s": 3.0} for client in truth["pollers"]]
        + [{"client": "10.3.0.1:40000", "poll_s": 30.0}, {"client": None, "poll_s": None}],
        "client_census": [{"lang": lang, "cv": cv, "clients": n} for lang, cv, n in truth["census"]],
        "missing_askers": [{"topic": topic, "client": client} for topic, client in truth["askers"]],
        "availability": truth["budgets"],
        "sole_topics": [
            {"scope": scope, "name": name, "topic": topic, "kind": "user"}
            | {"loses_masters": masters, "loses_writes": writes, "queues": queues}
            for scope, name, topic, masters, writes, queues in truth["sole"]
        ],
        "blast_radius": [
            {"scope": scope, "name": name, "no_master": masters, "no_write": writes, "queues": queues}
            | {"sample": sample.split()}
            for scope, name, masters, writes, queues, sample in truth["radius"]
        ],
        "storms": [
            {"ns": ns, "t1": number, "registrations": n, "brokers": brokers, "trigger": trigger}
            for ns, number, n, brokers, trigger in truth["storms"]
        ],
        "ordered_keys": [
            {"topic": topic, "kind": "user", "steps": steps, "moved_max": moved}
            for topic, steps, moved in truth["moved"]
        ],
        "growth": [
            {"day": f"{date(1970, 1, 1) + timedelta(day)}", "topics": topics, "entries": entries, "broker": broker}
            | {"registration_bytes": size}
            for day, topics, entries, broker, size in truth["growth"]
        ],
        "growth_limits": [{"measure": what, "now": now, "per_day": by} for what, now, by in truth["limits"]],
    }


def bad(truth: Truth, tables: Rows) -> list[tuple[FaultOutcome, str]]:
    return [(verdict.outcome, verdict.fault) for verdict in compare(truth, tables) if not verdict.good]


def fault_of(truth: Truth, kind: str) -> dict[str, Any]:
    return next(fault for fault in truth["faults"] if fault["kind"] == kind)


def test_an_audit_that_errs_in_nothing_has_found_each_fault(truth: Truth, tables: Rows) -> None:
    verdicts = compare(truth, tables)
    assert [verdict for verdict in verdicts if not verdict.good] == []
    found = {verdict.fault for verdict in verdicts}
    assert found >= {fault["id"] for fault in truth["faults"] if fault["kind"] not in ("corrupt", "hole", "drop")}
    quiet = {verdict.fault.split("-")[0] for verdict in verdicts if verdict.outcome is FaultOutcome.QUIET}
    assert quiet == {"blip", "change"}
    assert summary(verdicts).endswith(", 0 missed, 0 invented, 5 quiet")


def test_a_window_at_another_time_is_missed_and_invented(truth: Truth, tables: Rows) -> None:
    fault = fault_of(truth, "lost_change")
    (window,) = fault["windows"]
    row = next(row for row in tables["key_windows"] if abs(row["t1"] - window["t1"]) < SECOND)
    row["t2"] += 60 * SECOND
    assert bad(truth, tables) == [(FaultOutcome.MISSED, fault["id"]), (FaultOutcome.INVENTED, "key_windows")]


@pytest.mark.parametrize(("kind", "doubt"), [("hidden_change", None), ("lost_change", "lost_records")])
def test_a_window_whose_doubt_is_wrong_is_missed_and_invented(
    truth: Truth, tables: Rows, kind: str, doubt: str | None
) -> None:
    fault = fault_of(truth, kind)
    at = [row for row in tables["key_windows"] if fault["t1"] <= row["t1"] <= fault["t2"]]
    next(row for row in at if row["topic"] == fault["topic"])["doubt"] = doubt
    assert bad(truth, tables) == [(FaultOutcome.MISSED, fault["id"]), (FaultOutcome.INVENTED, "key_windows")]


def test_wrong_values_are_told(truth: Truth, tables: Rows) -> None:
    """The last row of availability is that of the cluster."""
    for table, change in (
        ("availability", {"failures": -1}), ("sole_topics", {"queues": -1}), ("blast_radius", {"sample": []}),
        ("growth_limits", {"now": 0}), ("broker_stats", {"flaps": 99}), ("departures", {"kind": "unknown"}),
    ):  # fmt: skip
        wrong_one = tables | {table: [*tables[table][:-1], tables[table][-1] | change]}
        assert bad(truth, wrong_one), table


@pytest.mark.parametrize(
    ("table", "row"),
    [
        ("dead_topics", {"topic": "t", "kind": "user"}),
        ("hot_topics", {"topic": "t", "kind": "user", "rank": 1}),
        ("missing_topics", {"topic": "t", "hour": 0, "kind": "new"}),
        ("broker_stats", {"ns": "n", "broker": "b", "bid": 0, "addr": "a"}),
        ("quality", {"kind": "drop", "ns": "n", "n": 3}),
        ("quality", {"kind": "silent", "ns": "ns-1", "n": 1}),
        ("clients", {"client": "10.3.0.1:40001", "poll_s": 14.0}),
        ("client_census", {"lang": "PYTHON", "cv": 1, "clients": 1}),
        ("missing_askers", {"topic": "t", "client": "c"}),
        ("availability", {"level": "broker", "broker": "b", "bid": 0}),
        ("storms", {"ns": "ns-1", "t1": 10**18, "registrations": 5, "brokers": 5, "trigger": "new"}),
        ("ordered_keys", {"topic": "t", "kind": "user", "steps": 1, "moved_max": 0.5}),
        ("growth", {"day": "1970-01-01", "topics": 1, "entries": 1, "broker": "b", "registration_bytes": 1}),
        ("growth_limits", {"measure": "m", "now": 1, "per_day": None}),
        ("blast_radius", {"scope": "zone", "name": "z", "no_master": 1, "no_write": 0, "queues": 0, "sample": ["t"]}),
        ("sole_topics", {"scope": "zone", "name": "z", "topic": "t", "kind": "user", "queues": 0, "loses_masters": True,
                         "loses_writes": False}),
        ("key_windows", {"topic": "t", "broker": "b", "t1": 1, "t2": 9, "doubt": None}),
    ],
)  # fmt: skip
def test_findings_without_a_seeded_fault_are_reported_as_invented(
    truth: Truth, tables: Rows, table: str, row: dict[str, Any]
) -> None:
    tables[table].append(row)
    assert bad(truth, tables) == [(FaultOutcome.INVENTED, table)]


def test_seeded_faults_that_were_not_found_are_reported_as_missed(truth: Truth, tables: Rows) -> None:
    for table in tables.keys() - {"ns_uptime", "key_windows", "departures", "dead_topics", "broker_stats"}:
        assert set(bad(truth, tables | {table: []})) == {(FaultOutcome.MISSED, table)}


def test_the_truth_is_the_same_after_a_way_through_json(truth: Truth, tables: Rows, tmp_path: Path) -> None:
    save_truth(truth, tmp_path / "truth.json")
    again = json.loads((tmp_path / "truth.json").read_text("utf-8"))
    assert compare(again, tables) == compare(truth, tables)


MINUTE = 60_000_000


def fault(
    kind: str, t1: int, ns: str | None, *brokers: str, windows: int = 0, optional: bool = False
) -> dict[str, Any]:
    """At minute ``t1`` for ten minutes."""
    return {
        "id": f"{kind}-{t1}", "kind": kind, "t1": t1 * MINUTE, "t2": (t1 + 10) * MINUTE, "ns": ns,
        "brokers": list(brokers), "windows": [{"optional": optional}] * windows,
    }  # fmt: skip


def card(kind: str, t1: int, ns: list[str], *brokers: str, topics: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "kind": kind, "t1": t1 * MINUTE, "t2": (t1 + 10) * MINUTE, "ns": ns, "brokers": list(brokers),
        "topic_sample": list(topics), "title": f"{kind} at {t1}",
    }  # fmt: skip


FAULTS = [
    fault("partition", 0, "n1", "a", windows=1),
    fault("lost_change", 100, "n2", "a", windows=1),
    fault("crash", 200, None, "b"),
    fault("kill", 300, "n3", windows=8),
    fault("blip", 400, "n1", "a"),
    fault("partition", 500, "n1", "a", "b", windows=2),
    fault("partition", 600, "n2", "b", windows=1, optional=True),
]
CARDS = [
    card("missing", 0, ["n1"], "a"),
    card("stale_routes", 100, ["n2"], "a"),
    card("crash", 200, ["n1", "n2", "n3"], "b"),
    card("killed", 300, ["n3"], "a", "b"),
    card("missing", 500, ["n1"], "a"),
    card("missing", 502, ["n1"], "b"),
    card("missing_topic", 700, ["n1"], topics=("typo",)),
]
TRUTH = {"faults": FAULTS, "missing": [{"topic": "typo"}]}


def wrong(cards: list[dict[str, Any]]) -> list[tuple[str, str, str]]:
    return [tuple(map(str, verdict)) for verdict in card_verdicts(TRUTH, cards) if not verdict.good]  # type: ignore[misc]


def test_each_fault_has_its_incident() -> None:
    assert wrong(CARDS) == []
    # The fault at minute 600 is nearly too short to count: an incident of it is right, and so is none.
    assert wrong([*CARDS, card("missing", 600, ["n2"], "b")]) == []


def changed(number: int, **values: Any) -> list[dict[str, Any]]:
    return [one | values if place == number else one for place, one in enumerate(CARDS)]


@pytest.mark.parametrize(
    ("cards", "id_"),
    [
        (changed(1, ns=["n1"]), "lost_change-100"),
        (changed(1, kind="missing"), "lost_change-100"),
        (changed(0, brokers=["b"]), "partition-0"),
        (changed(0, t1=50 * MINUTE, t2=60 * MINUTE), "partition-0"),
        (changed(2, brokers=["a"]), "crash-200"),
        (changed(3, ns=["n1", "n3"]), "kill-300"),
        (changed(5, brokers=["a"]), "partition-500"),
    ],
)
def test_an_incident_of_another_name_server_kind_broker_or_time_is_not_the_fault_s(
    cards: list[dict[str, Any]], id_: str
) -> None:
    assert ("missed", id_, "its incident") in wrong(cards)


def test_an_incident_without_a_fault_was_invented() -> None:
    assert wrong([*CARDS, card("stale_routes", 900, ["n2"], "a")]) == [("invented", "incidents", "stale_routes at 900")]
    assert wrong([*CARDS, card("missing", 400, ["n1"], "a")]) == [("invented", "incidents", "missing at 400")]
    assert wrong([*CARDS, card("killed", 300, ["n1"], "a")]) == [("invented", "incidents", "killed at 300")]


def test_topics_that_clients_asked_for_in_vain_are_compared_by_name() -> None:
    assert wrong(CARDS[:-1]) == [("missed", "incidents", "typo")]
    assert wrong([*CARDS, card("missing_topic", 800, ["n1"], topics=("other",))]) == [
        ("invented", "incidents", "other")
    ]
