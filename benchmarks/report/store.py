"""The result files as data: one JSON file a plan, in which a part that is measured again replaces itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.record import Record

FOLDER = Path(__file__).parents[1] / "results"


@dataclass
class Results:
    """Everything that the reports are made of. ``unavailable``: servers that could not be measured, and why."""

    plan: str
    machine: dict[str, str] = field(default_factory=dict)
    unavailable: dict[str, str] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    records: dict[str, Record] = field(default_factory=dict)

    def find(self, part: str) -> Record | None:
        return self.records.get(part)


def read(plan: str) -> Results:
    """What the plan's file holds; nothing, if there is none."""
    path = FOLDER / f"{plan}.json"
    if not path.exists():
        return Results(plan)
    data = json.loads(path.read_text("utf-8"))
    records = {name: Record.from_json(name, record) for name, record in data["records"].items()}
    return Results(plan, data["machine"], data["unavailable"], data["methods"], records)


def write(results: Results) -> Path:
    """The plan's file, whole or not at all."""
    data = {
        "machine": results.machine,
        "unavailable": results.unavailable,
        "methods": results.methods,
        "records": {name: record.to_json() for name, record in results.records.items()},
    }
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{results.plan}.json"
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(_rounded(data), indent=1, ensure_ascii=False) + "\n", "utf-8")
    fresh.replace(path)
    return path


def _rounded(value: object) -> object:
    """Figures to six significant digits: more of them says nothing."""
    if isinstance(value, dict):
        return {key: _rounded(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_rounded(inner) for inner in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value
