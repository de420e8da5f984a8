"""The synthetic fleet: its journals keep the contract, and an audit's tables are compared with the truth about it."""

from __future__ import annotations

import hashlib
import json
from copy import deepcopy
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest

from rocketns.journal.record import DOWN_CAUSES, KINDS, TDEL_CAUSES, TPUT_CAUSES
from rocketns.pipeline.synthetic import Faults, FleetSpec, Truth, make_fleet
from rocketns.pipeline.synthetic.truth import BOOT_ENDS, compare, summary
from rocketns.pipeline.synthetic.verdicts import FaultOutcome
from tests.pipeline.journals import utc_date

Record = dict[str, Any]


class Journals:
    """The records of each name server, and the lines that do not parse."""

    def __init__(self, folder: Path, truth: Truth) -> None:
        self.folder, self.truth = folder, truth
        self.records: dict[str, list[Record]] = {}
        self.corrupt: dict[str, int] = {}
        for server in truth["name_servers"]:
            name = server["ns"]
            self.records[name], self.corrupt[name] = [], 0
            for path in sorted(folder.glob(f"v=1/dt=*/ns={name}/*.jsonl"), key=lambda path: path.name):
                self._read(name, path)

    def _read(self, name: str, path: Path) -> None:
        for line in path.read_bytes().splitlines():
            try:
                self.records[name].append(json.loads(line))
            except ValueError:
                self.corrupt[name] += 1


HEAD = {"boot", "seq", "ts", "ev"}
# Every kind of fault, in a fleet that is read in a moment.
SMALL = FleetSpec(
    brokers=6, topics=12, width=3, seconds=40 * 3600, lookup_s=3600, groups=1, rotate_s=3 * 3600, seed=3,
    faults=Faults(partitions=2, blips=1, farewells=1, changes=2, corrupt_lines=1),
)  # fmt: skip


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Journals:
    folder = tmp_path_factory.mktemp("fleet")
    return Journals(folder, make_fleet(SMALL, folder))


def test_each_record_has_the_columns_of_its_kind_and_causes_that_the_contract_knows(small: Journals) -> None:
    causes = {"down": DOWN_CAUSES, "tput": TPUT_CAUSES, "tdel": TDEL_CAUSES}
    for records in small.records.values():
        for record in records:
            assert HEAD <= record.keys() <= HEAD | set(KINDS[record["ev"]].columns)
            if record["ev"] in causes:
                assert record["cause"] in causes[record["ev"]]


def test_files_begin_with_open_and_boots_with_start_and_a_snapshot(small: Journals) -> None:
    for path in small.folder.glob("v=1/dt=*/ns=*/*.jsonl"):
        first = json.loads(path.read_bytes().split(b"\n", 1)[0])
        assert (first["ev"], first["ns"]) == ("open", path.parent.name.removeprefix("ns="))
        assert path.name == f"{first['boot']}-{first['file']:06d}.jsonl"
        assert path.parent.parent.name == "dt=" + utc_date(first["ts"])
    for records in small.records.values():
        starts = [place for place, record in enumerate(records) if record["ev"] == "start"]
        for place in starts:
            opening = records[place - 1 : place + 2]
            assert [(record["ev"], record["seq"]) for record in opening] == [("open", 1), ("start", 2), ("snap", 3)]


def test_order_is_that_of_seq_and_only_the_told_losses_leave_holes(small: Journals) -> None:
    for server in small.truth["name_servers"]:
        missing: dict[int, set[int]] = {}
        last = {"boot": 0, "seq": 0, "ts": 0}
        for record in small.records[server["ns"]]:
            expected = last["seq"] + 1 if record["boot"] == last["boot"] else 1
            missing.setdefault(record["boot"], set()).update(range(expected, record["seq"]))
            assert record["ts"] >= last["ts"]
            last = record
        told = {boot: set() for boot in missing} | {}
        for lost in server["lost"]:
            told[lost["boot"]] |= set(range(lost["first_seq"], lost["first_seq"] + lost["lost"]))
        assert missing == told
        assert small.corrupt[server["ns"]] == sum(lost["kind"] == "corrupt" for lost in server["lost"])


def test_the_same_spec_makes_the_same_bytes_and_another_seed_others(tmp_path: Path) -> None:
    spec = FleetSpec(seconds=6 * 3600, faults=Faults(bursts=0))
    other = FleetSpec(seconds=6 * 3600, faults=Faults(bursts=0), seed=2)
    truths = [make_fleet(each, tmp_path / str(n)) for n, each in enumerate((spec, spec, other))]
    one, two, three = (digest(tmp_path / str(n)) for n in range(3))
    assert one == two != three
    assert truths[0] == truths[1] != truths[2]


def digest(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*.jsonl")):
        whole.update(path.relative_to(folder).as_posix().encode() + path.read_bytes())
    return whole.hexdigest()


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
