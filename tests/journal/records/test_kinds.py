"""The table of kinds of records: what it says of each kind is what its readers do."""

from __future__ import annotations

import runpy
import threading
from collections import defaultdict
from pathlib import Path
from typing import Any

import orjson
import pytest

from rocketns.journal import record
from rocketns.journal.reading import replay
from rocketns.journal.record import KINDS, Kept
from rocketns.journal.restore import lines
from rocketns.journal.restore.finding import JournalFile
from rocketns.journal.restore.reading import Reading
from rocketns.journal.segments import Segment, day_of
from rocketns.pipeline.jobs.earlier import keeping

VALUES = {
    "string": "x", "long": 1, "int": 1, "boolean": True, "array<string>": ["x"],
    record.COLUMNS["topics"]: [{"t": "T", "r": 1, "w": 1, "p": 6, "s": 0}], record.COLUMNS["maps"]: [{"t": "T"}],
    record.COLUMNS["fields"]: [{"k": "x", "v": "x"}],
}  # fmt: skip


def columns_of(kind: str) -> dict[str, Any]:
    return {name: VALUES[record.COLUMNS[name]] for name in KINDS[kind].columns if name != "escaped"}


def records_of(kind: str) -> list[dict[str, Any]]:
    """Records of the kind that have all of its columns together."""
    if kind != "snap":
        return [columns_of(kind)]
    names = ("addr", "maps", "topics", "live", "acting")  # a record of a snapshot has the first of them only
    common = {name: value for name, value in columns_of(kind).items() if name not in (*names, "end")}
    parts = [common | {name: columns_of(kind)[name], "acting": True} for name in names]
    return [*parts, {"snap": 1, "part": 1, "end": True}]


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_without_a_row_fails_at_import(kind: str, tmp_path: Path) -> None:
    planted = tmp_path / "record.py"
    text = Path(record.__file__).read_text("utf-8")
    assert text.count(f'"{kind}": Kind(') == 1
    planted.write_text(text.replace(f'"{kind}": Kind(', f'"{kind}2": Kind('), "utf-8")
    with pytest.raises(LookupError, match=f"'{kind}'"):
        runpy.run_path(str(planted))


@pytest.mark.parametrize(
    ("reader", "change", "error"),
    [
        (replay, {"restoring": ("ms",)}, AttributeError), (keeping, {"kept": Kept.SOME}, LookupError),
    ],
)  # fmt: skip
def test_a_reader_that_forgets_a_kind_fails_at_import(
    monkeypatch: pytest.MonkeyPatch, reader: Any, change: dict[str, Any], error: type[Exception]
) -> None:
    runpy.run_path(reader.__file__)
    monkeypatch.setitem(KINDS, "stall", KINDS["stall"]._replace(**change))
    with pytest.raises(error, match="stall"):
        runpy.run_path(reader.__file__)


class Read(dict[str, Any]):
    """A record that notes which of its columns are looked at."""

    by_kind: defaultdict[str, set[str]]

    def __getitem__(self, name: str) -> Any:
        self.by_kind[self.get("ev")].add(name)
        return super().__getitem__(name)

    def get(self, name: str, default: Any = None) -> Any:
        self.by_kind[super().get("ev")].add(name)
        return super().get(name, default)

    def __contains__(self, name: object) -> bool:
        self.by_kind[super().get("ev")].add(str(name))
        return super().__contains__(name)


def test_a_start_reads_the_columns_that_restore(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of two files the first names another server, so that its start is read, and the second is a copy."""
    monkeypatch.setattr(Read, "by_kind", defaultdict(set), raising=False)
    record_of = lines.record_of
    monkeypatch.setattr(lines, "record_of", lambda *given: Read(record_of(*given) or {}))
    pairs = [name for kind in KINDS for name in ("reg", kind)]
    written = [(kind, one) for kind in ("open", "start", *pairs) for one in records_of(kind)]
    written[0][1]["ns"] = "another"
    told = [{"boot": 1, "seq": seq, "ts": 1, "ev": kind} | one for seq, (kind, one) in enumerate(written, 1)]
    told.append(columns_of("open") | {"boot": 1, "seq": 1, "ts": 1, "ev": "open"})
    files = []
    for number, some in ((1, told[:-1]), (2, told[-1:])):
        path = tmp_path / f"{number}.jsonl"
        path.write_bytes(b"".join(orjson.dumps(one) + b"\n" for one in some))
        files.append(JournalFile(Segment(day_of(0), 1, number), path))
    Reading("x", 0, threading.Event()).read(files)
    looked_at = {kind: names & columns_of(kind).keys() for kind, names in Read.by_kind.items()}
    assert looked_at == {kind: set(row.restoring) for kind, row in KINDS.items() if row.restoring is not None}
