"""The synthetic fleet: its journals keep the contract, and a seed makes the same again. test_cluster.py compares an
audit with the truth about a fleet."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from rocketns.journal.record import KINDS
from tests.journal.replay import CAUSES
from tests.pipeline.journals import utc_date
from tests.pipeline.synthetic import Faults, FleetSpec, Truth, make_fleet

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
    for records in small.records.values():
        for record in records:
            assert HEAD <= record.keys() <= HEAD | set(KINDS[record["ev"]].columns)
            if record["ev"] in CAUSES:
                assert record["cause"] in CAUSES[record["ev"]]


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
