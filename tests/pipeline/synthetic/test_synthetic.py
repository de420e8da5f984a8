"""The synthetic fleet: its journals keep the contract, its faults leave what a real name server would write, and the
windows that its truth tells are those that its journals hold, read in plain Python."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rocketns.journal.record import DOWN_CAUSES, KINDS, TDEL_CAUSES, TPUT_CAUSES
from rocketns.pipeline.synthetic import Faults, FleetSpec, Truth, make_fleet
from rocketns.pipeline.synthetic.scenario.spec import TIMEOUT_MS
from tests.pipeline.journals import read_journal

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

    def of(self, event: str, **values: object) -> Iterator[tuple[str, Record]]:
        for name, records in self.records.items():
            for record in records:
                if record["ev"] == event and values.items() <= record.items():
                    yield name, record

    def faults(self, kind: str) -> list[dict[str, Any]]:
        found = [fault for fault in self.truth["faults"] if fault["kind"] == kind]
        assert found
        return found

    def offset(self, name: str) -> int:
        return next(server["offset_us"] for server in self.truth["name_servers"] if server["ns"] == name)


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


def utc_date(ts: int) -> str:
    return datetime.fromtimestamp(ts // 1_000_000, UTC).date().isoformat()


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


def test_members_come_and_go_as_the_contract_says_and_snapshots_are_the_state(small: Journals) -> None:
    (fault,) = small.faults("hidden_change")
    for name, records in small.records.items():
        replay = Replay()
        replay.hidden = {fault["brokers"][0]: fault["topic"]} if name == fault["ns"] else {}
        for record in records:
            getattr(replay, record["ev"], replay.other)(record)
        assert replay.snapshots > 40
        assert replay.corrected == len(replay.hidden)


class Replay:
    """A name server's state, rebuilt from its records; an assertion fails where a record does not fit it."""

    def __init__(self) -> None:
        self.members: set[tuple[Any, ...]] = set()
        self.topics: dict[str, dict[str, Record]] = {}
        self.snapped: list[Record] = []
        self.snapshots = self.corrected = 0
        self.hidden: dict[str, str] = {}  # by broker: a topic whose change is missing from the journal

    def other(self, record: Record) -> None:
        assert record["ev"] in ("open", "stop", "lookup", "drop", "alive")

    def start(self, record: Record) -> None:
        assert record["seq"] == 2
        self.members, self.topics = set(), {}

    def reg(self, record: Record) -> None:
        assert key(record) not in self.members
        self.members.add(key(record))

    def hb(self, record: Record) -> None:
        assert key(record) in self.members
        assert 0 < record["gap"] <= TIMEOUT_MS

    def down(self, record: Record) -> None:
        self.members.remove(key(record))

    def tput(self, record: Record) -> None:
        of_broker = self.topics.setdefault(record["broker"], {})
        assert all(of_broker.get(topic["t"]) != topic for topic in record["topics"])
        of_broker.update({topic["t"]: topic for topic in record["topics"]})

    def tdel(self, record: Record) -> None:
        for topic in record["topics"]:
            del self.topics[record["broker"]][topic["t"]]

    def snap(self, record: Record) -> None:
        self.snapped.append(record)
        if record.get("end"):
            self.correct()
            assert_snapshot(self.snapped, self.members, self.topics)
            self.snapped = []
            self.snapshots += 1

    def correct(self) -> None:
        """Take the value of a hidden change from the snapshot."""
        for broker, name in self.hidden.items():
            shown = {t["t"]: t for r in self.snapped if r.get("broker") == broker for t in r.get("topics", ())}
            if name in shown and self.topics[broker][name] != shown[name]:
                self.topics[broker][name] = shown[name]
                self.corrected += 1


def key(record: Record) -> tuple[Any, ...]:
    return record["cluster"], record["broker"], record["bid"], record["addr"]


def assert_snapshot(snapped: list[Record], members: set[Any], topics: dict[str, dict[str, Record]]) -> None:
    assert [record["part"] for record in snapped] == list(range(len(snapped)))
    assert {record["snap"] for record in snapped} == {snapped[0]["seq"]}
    assert {key(record) for record in snapped if "addr" in record} == members
    values = {r["broker"]: {t["t"]: t for t in r["topics"]} for r in snapped if "topics" in r}
    assert values == {broker: table for broker, table in topics.items() if table}


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


UNKNOWN, ABSENT = "unknown", None
SECOND = 1_000_000
# A clock that is read to the ms, and a killed name server's last record, which is up to a heartbeat before its end.
NEAR_US = 2_000


class Step(NamedTuple):
    """From ``at`` on (true us) a name server has this value of a topic on a broker."""

    at: int
    ns: str
    value: Any


@pytest.mark.parametrize("seed", [1, 2])
def test_the_truth_tells_the_windows_that_the_journals_hold(tmp_path: Path, seed: int) -> None:
    faults = Faults(partitions=4, lost_changes=2, lost_deletions=2, restarts=2, kills=2, bursts=0, hidden_changes=0)
    spec = FleetSpec(brokers=8, topics=16, seconds=30 * 3600, rotate_s=86_400, seed=seed, faults=faults)
    journals = Journals(tmp_path, make_fleet(spec, tmp_path))
    held = {(topic, broker, t1): t2 for topic, broker, t1, t2 in windows(journals) if t2 - t1 >= 4.5 * SECOND}
    told = [
        (topic, window["broker"], window["t1"], window["t2"])
        for fault in journals.truth["faults"]
        for window in fault["windows"]
        for topic in window["topics"]
    ]
    assert len(told) > 50
    for topic, broker, t1, t2 in told:
        key = next((k for k in held if k[:2] == (topic, broker) and abs(k[2] - t1) <= NEAR_US), None)
        assert key is not None, (topic, broker, t1)
        assert abs(held.pop(key) - t2) <= NEAR_US
    assert held == {}


def windows(journals: Journals) -> Iterator[tuple[str, str, int, int]]:
    """(topic, broker, from, to) of each stretch in which the known values differ."""
    end = journals.truth["t1"]
    steps: dict[tuple[str, str], list[Step]] = {}
    boots: list[Step] = []
    for ns, records in journals.records.items():
        offset = journals.offset(ns)
        uptime, topics = read_journal(ns, records, end + offset)
        boots += [step for up in uptime for step in _boot_steps(up, ns, offset, end)]
        for row in topics:
            values = steps.setdefault((row["topic"], row["broker"]), [])
            values.append(Step(row["t1"] - offset, ns, (row["r"], row["w"], row["p"])))
            if row["end_cause"] not in ("open", "stop", "lost"):
                values.append(Step(row["t2"] - offset, ns, ABSENT))
    for (topic, broker), values in steps.items():
        yield from ((topic, broker, t1, t2) for t1, t2 in _differing([*boots, *values], list(journals.records), end))


def _boot_steps(up: dict[str, Any], ns: str, offset: int, end: int) -> Iterator[Step]:
    yield Step(up["t1"] - offset, ns, ABSENT)
    if up["t2"] - offset < end:
        yield Step(up["t2"] - offset, ns, UNKNOWN)


def _differing(steps: list[Step], servers: list[str], end: int) -> Iterator[tuple[int, int]]:
    values: dict[str, Any] = dict.fromkeys(servers, UNKNOWN)
    since: int | None = None
    order = sorted(range(len(steps)), key=lambda place: (steps[place].at, steps[place].value is not ABSENT))
    for at, group in groupby(order, key=lambda place: steps[place].at):
        for place in group:
            values[steps[place].ns] = steps[place].value
        differ = len({value for value in values.values() if value != UNKNOWN}) > 1
        if differ and since is None:
            since = at
        elif not differ and since is not None:
            yield since, at
            since = None
    if since is not None:
        yield since, end
