"""Time and CPU of whole runs on a quiet machine, from ``results/audit.json`` of ``benchmarks.audit``."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.audit.scale.fleets import Size
from benchmarks.audit.scale.growth import WANTED, signed
from benchmarks.audit.scale.slopes import fitted
from benchmarks.report.figures import figure, table

RESULTS = Path(__file__).parents[2] / "results" / "audit.json"
BROKERS = 200
WORDS = {
    "journal_mb": "the journal, MB",
    "ingest_s": "ingest, s on 2 cores",
    "run_s": "the whole run, s on 2 cores",
    "cpu_s": "CPU time of all processes, s",
}


def quiet_rows() -> list[str]:
    """A line for each figure, over the sizes of that run: days of 200 brokers."""
    rows = json.loads(RESULTS.read_text("utf-8"))["sizes"]
    sizes = {Size(place, BROKERS): row for place, row in enumerate(rows)}
    events = {size: row["events"] for size, row in sizes.items()}
    found = []
    for name, words in WORDS.items():
        values = {size: float(row[name]) for size, row in sizes.items()}
        line = fitted(events, values)
        measured = [figure(value) for value in values.values()]
        told = [signed(line.start), signed(line.slope), f"{line.off:.0%}", signed(line.at(WANTED))]
        found.append([words, *measured, *told])
    sizes_told = [f"{count:,} events" for count in events.values()]
    return table(["Figure", *sizes_told, "at 0", "a million more", "off by", "a billion"], 1, found)
