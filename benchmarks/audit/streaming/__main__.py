"""``python -m benchmarks.audit.streaming [alerts] [month]``: how soon ``rocketns audit stream`` alerts, and whether a
month of streaming needs more and more.

``alerts``: three name servers with files of 5 s, brokers that send heartbeats to all three every 30 s, and the stream
with its defaults, each a process. Then brokers lose one name server: their connection there is closed, or they say
nothing more there. The time until the line in the file of alerts is measured. ``--cases`` of each take five minutes.

``month``: the journals of a small fleet arrive some hours at a time, and one process makes a batch of each arrival. Ten
minutes. Neither means much on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.audit.streaming import alerts, month
from benchmarks.audit.streaming.page import page
from benchmarks.servers.machine import commit, facts, load_average
from rocketns.pipeline.cli.progress import Progress

RESULTS = Path(__file__).parents[2] / "results" / "audit-streaming"
PARTS = ("alerts", "month")
COMMAND = "python -m benchmarks.audit.streaming"
# RocketMQ's default.
TIMEOUT_S = 120.0


def main() -> None:
    """Measure, print, and write ``results/audit-streaming.json`` and ``.md``. A part that is not measured stays."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help="alerts, month (default: both)")
    parser.add_argument("--cases", type=int, default=5, help="of each fault (default: 5)")
    parser.add_argument("--timeout", type=float, default=TIMEOUT_S, help="s until a silent broker is dropped (120)")
    parser.add_argument("--days", type=int, default=30, help="of the month (default: 30)")
    parser.add_argument("--hours", type=int, default=6, help="of the journals that arrive at a time (default: 6)")
    given = parser.parse_args()
    if unknown := set(given.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    stored, shown = RESULTS.with_suffix(".json"), RESULTS.with_suffix(".md")
    result = json.loads(stored.read_text("utf-8")) if stored.exists() else {}
    for part in given.parts or PARTS:
        result[part] = measured(part, given)
        stored.write_text(json.dumps(result, indent=1) + "\n", "utf-8")
        shown.write_text(page(result), "utf-8")
    print(page(result))


def measured(part: str, given: argparse.Namespace) -> dict[str, Any]:
    """The rows of one part, and how they were measured."""
    say, before = Progress(time.monotonic), load_average()
    measures: dict[str, tuple[str, Callable[[Path], Any]]] = {
        "alerts": (f"--cases {given.cases} --timeout {given.timeout:g}",
                   lambda folder: alerts.measured(folder, given.cases, given.timeout, say)),
        "month": (f"--days {given.days} --hours {given.hours}",
                  lambda folder: month.measured(folder, given.days, given.hours, say)),
    }  # fmt: skip
    words, measure = measures[part]
    about = {"when": f"{datetime.now(UTC):%Y-%m-%d %H:%M}Z", "commit": commit(), "machine": facts({})}
    with tempfile.TemporaryDirectory(prefix="rocketns-streaming-") as folder:
        rows = measure(Path(folder))
    return about | {"command": f"{COMMAND} {part} {words}", "load": f"{before}; {load_average()}", "rows": rows}


if __name__ == "__main__":
    main()
