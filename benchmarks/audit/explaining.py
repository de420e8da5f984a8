"""``python -m benchmarks.audit.explaining``: what ``rocketns audit explain`` costs on a month's journal:
from its files, and from the events that an ingest left.

The journal is that of ``benchmarks.audit.nightly``. The moment is in the middle of it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.audit.nightly import fleet, written
from benchmarks.audit.watched import Watched
from rocketns.pipeline.contract.times import DAY_US, exact_text

TOPIC = "TBW102"  # every broker has it
RUNS = 2
AUDIT = (sys.executable, "-m", "rocketns", "audit")


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit.explaining", description=__doc__)
    parser.add_argument("--days", type=int, default=30, help="days of the journal (default: 30)")
    parser.add_argument("--folder", type=Path, help="keep the journal and the events there")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rocketns-explaining-") as name:
        measured(options.folder or Path(name), options.days)


def measured(folder: Path, days: int) -> None:
    """The ingest first, unless the folder has its events."""
    spec = written(folder, fleet(days), days)
    at = exact_text(spec.start_ms * 1000 + days * DAY_US // 2)
    journal, out = ("--journal", str(folder / "all")), ("--out", str(folder / "month"))
    if not (folder / "month" / "events").exists():
        Watched(*AUDIT, "ingest", *journal, *out)
    print("| Read from | CPU s | Wall s |\n|---|---:|---:|", flush=True)
    for told, where in (("files of the journal", journal), ("ingested events", (*journal, *out))):
        for _ in range(RUNS):
            cost = Watched(*AUDIT, "explain", TOPIC, "--at", at, *where).cost
            print(f"| {told} | {cost.cpu_s:.1f} | {cost.wall_s:.1f} |", flush=True)


if __name__ == "__main__":
    main()
