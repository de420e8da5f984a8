"""``python -m benchmarks.audit [MILLIONS …]``: make a journal of each size, and run ``rocketns audit run`` on it.
Then Spark and DuckDB do the same part of the work, each in a process of its own.

Nothing else should run meanwhile. 17 million events take about ten minutes and 10 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.audit.engines import ENGINES
from benchmarks.audit.watched import Watched
from benchmarks.servers.machine import commit, facts, load_average
from rocketns.pipeline.cli.progress import Progress
from rocketns.pipeline.synthetic import FleetSpec, make_fleet

SIZES = (1.7, 5.0, 17.0)
WHOLE = ("events", "journal_mb", "ingest_events_per_s", "run_s", "session_s", "cpu_s", "java_mb")
RESULTS = Path(__file__).parents[1] / "results" / "audit"


def main() -> None:
    """Measure, print, and write ``results/audit.json`` and ``.md``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=__doc__)
    parser.add_argument("millions", nargs="*", type=float, default=SIZES, help="events (default: 1.7 5 17)")
    sizes = parser.parse_args().millions
    say, rows = Progress(time.monotonic), []
    about = facts({}) | {"commit": commit(), "command": f"python -m benchmarks.audit {' '.join(map(str, sizes))}"}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as folder:
            rows.append(measured(size, Path(folder), say))
    result = {"when": f"{datetime.now(UTC):%Y-%m-%d %H:%M}Z", "machine": about, "sizes": rows}
    RESULTS.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    RESULTS.with_suffix(".md").write_text(page(result), "utf-8")
    print(page(result))


def measured(millions: float, folder: Path, say: Progress) -> dict[str, Any]:
    """One size."""
    spec = FleetSpec.of_events(round(millions * 1e6))
    spec = replace(spec, faults=spec.faults._replace(corrupt_lines=0))  # DuckDB's SQL cannot read corrupt lines
    truth = make_fleet(spec, folder / "journal", say)
    events = sum(server["records"] for server in truth["name_servers"])
    load = load_average()
    say(f"{events:,} events: rocketns audit run")
    ran = Watched(
        sys.executable, "-m", "rocketns", "audit", "run", "--journal", f"{folder}/journal", "--out", f"{folder}/out"
    )
    began, read = ran.second_of("reading "), ran.second_of("were there already")
    same = {engine: same_part(engine, folder / "journal", truth, say) for engine in ENGINES}
    if len({part["windows"] for part in same.values()}) != 1:
        raise RuntimeError(f"the engines find different windows: {same}")
    return {
        "events": events, "journal_mb": round(sum(server["bytes"] for server in truth["name_servers"]) / 1e6),
        "load_before": load, **ran.cost._asdict(), "session_s": began, "run_s": round(ran.cost.wall_s - began, 1),
        "ingest_s": round(read - began, 1), "ingest_events_per_s": round(events / (read - began)), "same_part": same,
    }  # fmt: skip


def same_part(engine: str, journal: Path, truth: dict[str, Any], say: Progress) -> dict[str, Any]:
    """Reading, state and windows by one engine."""
    say(f"the same part of the work: {engine}")
    ran = Watched(
        sys.executable, "-m", "benchmarks.audit.engines", engine, str(journal), str(truth["t0"]), str(truth["t1"])
    )
    return {"windows": int(ran.out.split()[-1]), **ran.cost._asdict()}


def page(result: dict[str, Any]) -> str:
    """Tables in Markdown."""
    rows: Sequence[dict[str, Any]] = result["sizes"]
    about = result["machine"]
    head = (
        f"`{about['command']}`, {result['when']}, rocketns {about['commit']}; {about['cores']} cores, "
        f"{about['processor']}, Python {about['Python']}"
    )
    whole = table(
        "Events|Journal MB|Ingest, events/s|Run s, without session|Session s|CPU s|Java process, most MB",
        [[row[name] for name in WHOLE] for row in rows],
    )
    more = [
        f"From {a['events']:,} to {b['events']:,} events a further million costs "
        f"{(b['cpu_s'] - a['cpu_s']) / (b['events'] - a['events']) * 1e6:.1f} s of CPU."
        for a, b in pairwise(rows)
    ]
    engines = table(
        "Events|Windows|Spark CPU s|DuckDB CPU s|Ratio|Spark wall s|DuckDB wall s|Spark MB|DuckDB MB",
        [beside(row["events"], row["same_part"]["spark"], row["same_part"]["duckdb"]) for row in rows],
    )
    said = "Reading, state and windows alone, by both engines, which find the same windows:"
    return "\n".join([head, "", *whole, "", *more, "", said, "", *engines, ""])


def beside(events: int, spark: dict[str, Any], duck: dict[str, Any]) -> list[float]:
    """A row of the engines' table."""
    both = [part[name] for name in ("cpu_s", "wall_s", "all_mb") for part in (spark, duck)]
    return [events, spark["windows"], *both[:2], round(both[0] / both[1], 1), *both[2:]]


def table(titles: str, rows: Sequence[Sequence[float]]) -> list[str]:
    """Lines of Markdown; titles separated by bars."""
    names = titles.split("|")
    lines = [names, ["---"] * len(names), *[[f"{value:,}" for value in row] for row in rows]]
    return [f"| {' | '.join(line)} |" for line in lines]


if __name__ == "__main__":
    main()
