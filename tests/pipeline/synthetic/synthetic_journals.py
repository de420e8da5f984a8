"""The journals of a synthetic fleet, read back in plain Python."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rocketns.pipeline.synthetic import Truth

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
