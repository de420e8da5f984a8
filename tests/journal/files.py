"""The journal's files as a test sees them."""

from __future__ import annotations

from pathlib import Path

from rocketns.journal.segments import OPEN_PREFIX
from tests.journal.replay import Record, parsed


def closed_files(root: Path, ns: str = "*") -> list[Path]:
    """In the order of their day, boot and number."""
    return sorted(root.glob(f"v=1/dt=*/ns={ns}/*.jsonl"))


def open_files(root: Path) -> list[Path]:
    return sorted(root.glob(f"v=1/dt=*/ns=*/{OPEN_PREFIX}*"))


def records_of(root: Path, *, with_open: bool = False) -> list[Record]:
    """Every record of the closed files, in order; each file must begin with ``open``."""
    records = []
    for path in closed_files(root) + (open_files(root) if with_open else []):
        some = parsed(path.read_bytes())
        assert some[0]["ev"] == "open", f"{path} does not begin with open"
        records += some
    return records
