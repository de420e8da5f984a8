"""``python -m benchmarks.audit.scale OUT``: what a billion events take, from the slopes of small runs.

Journals of five sizes are made below OUT and audited with Spark's event log on, planned as for 16 cores. What is below
OUT already is not made again, so a run that was stopped goes on. 9 million events: half an hour of a core and 5 GB of
disk. ``--report`` measures nothing. ``--only N``: the first sizes, at least three.
"""

from __future__ import annotations

import argparse
import json
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.audit.scale.document import PAGE, with_tables
from benchmarks.audit.scale.fleets import SIZES
from benchmarks.audit.scale.measuring import measured
from benchmarks.audit.scale.page import page
from benchmarks.servers.machine import facts
from rocketns.pipeline.cli.progress import Progress

RESULTS = Path(__file__).parents[2] / "results" / "audit-scale"


def main() -> None:
    """Measure, print, and write ``results/audit-scale.json`` and ``.md`` and the tables of docs/audit-at-scale.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit.scale", description=__doc__)
    parser.add_argument("out", metavar="OUT", type=Path, nargs="?")
    parser.add_argument("--report", action="store_true", help="only write the tables again")
    parser.add_argument("--only", type=int, default=len(SIZES), metavar="N", help="only the first N sizes")
    options = parser.parse_args()
    if not options.report:
        if options.out is None:
            parser.error("OUT is missing")
        found = _measure(options.out, options.only)
        RESULTS.with_suffix(".json").write_text(json.dumps(found, indent=1) + "\n", "utf-8")
    result = json.loads(RESULTS.with_suffix(".json").read_text("utf-8"))
    shown = page(result)
    PAGE.write_text(with_tables(PAGE.read_text("utf-8"), result), "utf-8")
    RESULTS.with_suffix(".md").write_text(shown, "utf-8")
    print(shown)


def _measure(out: Path, only: int) -> dict[str, object]:
    out.mkdir(parents=True, exist_ok=True)
    say = Progress(time.monotonic)
    runs = [measured(size, out, say) for size in SIZES[:only]]
    when = f"{datetime.now(UTC):%Y-%m-%d %H:%M}Z"
    command = "python -m benchmarks.audit.scale OUT" + (f" --only {only}" if only < len(SIZES) else "")
    return {"when": when, "command": command, "machine": facts({}), "runs": runs}


if __name__ == "__main__":
    main()
