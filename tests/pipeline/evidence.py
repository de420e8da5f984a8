"""The journal records that incidents.jsonl names, looked up in the journal."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.pipeline.journals import Journals, Record

LAST = "last record"  # of a boot, whatever it is


def journals_in(folder: Path) -> Journals:
    """The records of each name server as its files hold them; lines that do not parse are left out."""
    found: Journals = {}
    for path in sorted(folder.glob("v=1/dt=*/ns=*/*.jsonl")):
        records = found.setdefault(path.parent.name.removeprefix("ns="), [])
        records.extend(_parsed(path.read_text("utf-8").splitlines()))
    return found


def named_records(lines: str) -> list[tuple[str, Record]]:
    """Kind of the incident and record, of every line of incidents.jsonl."""
    told = [json.loads(line) for line in lines.splitlines()]
    return [(one["kind"], record) for one in told for record in one["records"]]


def invented(lines: str, journals: Journals) -> list[tuple[str, Record]]:
    """The named records that no journal has."""
    return [(kind, record) for kind, record in named_records(lines) if not _is_there(record, journals)]


def _is_there(named: Record, journals: Journals) -> bool:
    boot = [record for record in journals[named["ns"]] if record["boot"] == named["boot"]]
    if named["ev"] == LAST:
        return max(record["ts"] for record in boot) == named["ts"]
    return any(_fits(named, record) for record in boot if record["ts"] == named["ts"])


def _fits(named: Record, record: Record) -> bool:
    """The end of a snapshot names no broker, though it shows that one is gone."""
    of_broker = record["ev"] == "snap" or named["broker"] in ("", record.get("broker"))
    return record["ev"] == named["ev"] and of_broker and named["cause"] in ("", record.get("cause"))


def _parsed(lines: list[str]) -> Iterator[dict[str, Any]]:
    for line in lines:
        try:
            yield json.loads(line)
        except ValueError:
            continue
