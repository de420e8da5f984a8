"""Reads and writes the result files. A file holds one run: one command on one commit, from first to last part."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.record import Record

FOLDER = Path(__file__).parents[1] / "results"
COMMIT = "rocketns"


class MixedRun(ValueError):
    """Parts of different commits, or a run of some parts only, where one whole run is needed."""


@dataclass
class Results:
    """One run. ``is_whole``: all parts were measured. ``unavailable``: servers that could not be measured, and why.
    ``busy``: why the machine was busy, before the run or in one of its parts."""

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
        """Add a part. MixedRun if it is of another commit than the run, or was added before."""
        if record.facts.get(COMMIT) != self.commit:
            raise MixedRun(f"{record.name} is of commit {record.facts.get(COMMIT)}, this run of {self.commit}")
        if record.name in self.records:
            raise MixedRun(f"{record.name} was measured already in this run")
        self.records[record.name], self.methods[record.name] = record, method

    @property
    def is_clean(self) -> bool:
        """Whether it measured a commit without changes."""
        return bool(self.commit) and " " not in self.commit

    def to_json(self) -> dict[str, Any]:
        """The form in the file."""
        plain = {key: value for key, value in vars(self).items() if key != "records"}
        return plain | {"records": {name: record.to_json() for name, record in self.records.items()}}

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Results:
        """The reverse of ``to_json``. MixedRun if the file was assembled from several runs."""
        records, methods = data.pop("records"), data.pop("methods")
        results = cls(**data)
        for name, record in records.items():
            results.add(Record.from_json(name, record), methods.get(name, ""))
        return results


def name_of(results: Results, *, busy_ok: bool) -> str:
    """The file's name without suffix. A run of single parts has a file of its own, and files are never merged. A run on
    a busy machine has one as well, unless ``busy_ok``."""
    stem = results.plan if results.is_whole else f"{results.plan}-{'-'.join(results.records) or 'nothing'}"
    return f"{stem}-busy" if results.busy and not busy_ok else stem


def read(name: str) -> Results:
    """The results in a file. FileNotFoundError if there is none."""
    return Results.from_json(json.loads((FOLDER / f"{name}.json").read_text("utf-8")))


def write(results: Results, name: str) -> Path:
    """Write the file atomically; its path."""
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{name}.json"
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(_rounded(results.to_json()), indent=1, ensure_ascii=False) + "\n", "utf-8")
    fresh.replace(path)
    return path


def _rounded(value: object) -> object:
    """Round figures to six significant digits; more are noise."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
