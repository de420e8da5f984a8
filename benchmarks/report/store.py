"""The result files as data. A file holds one run: one command on one commit, from its first part to its last."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.record import Record

FOLDER = Path(__file__).parents[1] / "results"
COMMIT = "rocketns"


class MixedRun(ValueError):
    """Parts of different commits, or a run of some parts only, where one whole run is asked for."""


@dataclass
class Results:
    """One run. ``is_whole``: of all parts; ``unavailable``: servers that could not be measured, and why; ``busy``: why
    the machine was busy, before the run or in one of its parts."""

    plan: str
    commit: str = ""
    is_whole: bool = False
    machine: dict[str, str] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    busy: list[str] = field(default_factory=list)
    methods: dict[str, str] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)

    def find(self, part: str) -> Record | None:
        return self.records.get(part)

    def add(self, record: Record, method: str) -> None:
        """MixedRun if the record is of another commit than the run, or there already."""
        if record.facts.get(COMMIT) != self.commit:
            raise MixedRun(f"{record.name} is of commit {record.facts.get(COMMIT)}, this run of {self.commit}")
        if record.name in self.records:
            raise MixedRun(f"{record.name} was measured already in this run")
        self.records[record.name], self.methods[record.name] = record, method

    @property
    def is_clean(self) -> bool:
        """Whether it is of a commit as it stands, without changes."""
        return bool(self.commit) and " " not in self.commit

    def to_json(self) -> dict[str, Any]:
        """As in the file."""
        plain = {key: value for key, value in vars(self).items() if key != "records"}
        return plain | {"records": {name: record.to_json() for name, record in self.records.items()}}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Results:
        """The reverse of ``to_json``. MixedRun if the file was put together of several runs."""
        records, methods = data.pop("records"), data.pop("methods")
        results = cls(**data)
        for name, record in records.items():
            results.add(Record.from_json(name, record), methods.get(name, ""))
        return results


def name_of(results: Results, *, busy_ok: bool) -> str:
    """The file's stem. Single parts have files of their own, which are never put together; so has a run on a busy
    machine, unless that is allowed."""
    stem = results.plan if results.is_whole else f"{results.plan}-{'-'.join(results.records) or 'nothing'}"
    return f"{stem}-busy" if results.busy and not busy_ok else stem


def read(name: str) -> Results:
    """A file's results. FileNotFoundError if there is none."""
    return Results.from_json(json.loads((FOLDER / f"{name}.json").read_text("utf-8")))


def write(results: Results, name: str) -> Path:
    """The file, whole or not at all."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(_rounded(results.to_json()), indent=1, ensure_ascii=False) + "\n", "utf-8")
    fresh.replace(path)
    return path


def _rounded(value: object) -> object:
    """Figures to six significant digits: more of them says nothing."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
