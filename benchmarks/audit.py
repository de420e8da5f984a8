"""``python -m benchmarks.audit [MILLIONS …]``: make a journal of each size, and run ``rocketns audit run`` on it.

Nothing else should run meanwhile. 17 million events take about ten minutes and 10 GB of disk.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from benchmarks.servers.machine import commit, facts, load_average
from rocketns.pipeline.saying import Say, timed_lines
from tests.pipeline.synthetic import FleetSpec, make_fleet

SIZES = (1.7, 5.0, 17.0)
WHOLE = ("events", "journal_mb", "ingest_events_per_s", "run_s", "session_s", "cpu_s", "java_mb")
RESULTS = Path(__file__).parent / "results" / "audit"
POLL_S = 0.1
AUDIT_STATUSES = (0, 1, 3)  # nothing found, findings, incomplete input


class Cost(NamedTuple):
    """CPU and wall time; the maximum of resident memory in the Java process, and in all processes."""

    cpu_s: float
    wall_s: float
    java_mb: int
    all_mb: int


class Watched:
    """Runs a command of the audit to its end. RuntimeError if it fails."""

    def __init__(self, *command: str) -> None:
        self._cpu: dict[int, float] = {}
        self._java = self._all = 0.0
        began = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        while process.poll() is None:
            self._look(process.pid)
            time.sleep(POLL_S)
        self.out, self.err = process.communicate()
        if process.returncode not in AUDIT_STATUSES:
            raise RuntimeError(f"{' '.join(command)}: exit status {process.returncode}\n{self.err[-2000:]}")
        took = time.monotonic() - began
        self.cost = Cost(round(sum(self._cpu.values()), 1), round(took, 1), round(self._java), round(self._all))

    def second_of(self, text: str) -> float:
        """The time in the progress line with this text, by the command's own clock."""
        line = next(line for line in self.err.splitlines() if text in line)
        return float(line.split()[0])

    def _look(self, pid: int) -> None:
        """Sample the process tree. If a process ends between two samples, its last sample counts."""
        java = every = 0.0
        try:
            root = psutil.Process(pid)
            tree = [root, *root.children(recursive=True)]
        except psutil.NoSuchProcess:
            return
        for process in tree:
            try:
                times, resident = process.cpu_times(), process.memory_info().rss / 1e6
                is_java = process.name().startswith("java")
            except psutil.NoSuchProcess:
                continue
            self._cpu[process.pid] = times.user + times.system
            every += resident
            java += resident if is_java else 0
        self._java, self._all = max(self._java, java), max(self._all, every)


def main() -> None:
    """Measure, print, and write ``results/audit.json`` and ``.md``."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit", description=__doc__)
    parser.add_argument("millions", nargs="*", type=float, default=SIZES, help="events (default: 1.7 5 17)")
    sizes = parser.parse_args().millions
    say, rows = timed_lines(), []
    about = facts({}) | {"commit": commit(), "command": f"python -m benchmarks.audit {' '.join(map(str, sizes))}"}
    for size in sizes:
        with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as folder:
            rows.append(measured(size, Path(folder), say))
    result = {"when": f"{datetime.now(UTC):%Y-%m-%d %H:%M}Z", "machine": about, "sizes": rows}
    RESULTS.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    RESULTS.with_suffix(".md").write_text(page(result), "utf-8")
    print(page(result))


def measured(millions: float, folder: Path, say: Say) -> dict[str, Any]:
    """One size."""
    spec = FleetSpec.of_events(round(millions * 1e6))
    truth = make_fleet(spec, folder / "journal", say)
    events = sum(server["records"] for server in truth["name_servers"])
    load = load_average()
    say(f"{events:,} events: rocketns audit run")
    ran = Watched(
        sys.executable, "-m", "rocketns", "audit", "run", "--journal", f"{folder}/journal", "--out", f"{folder}/out"
    )
    began, read = ran.second_of("reading "), ran.second_of("were there already")
    return {
        "events": events, "journal_mb": round(sum(server["bytes"] for server in truth["name_servers"]) / 1e6),
        "load_before": load, **ran.cost._asdict(), "session_s": began, "run_s": round(ran.cost.wall_s - began, 1),
        "ingest_s": round(read - began, 1), "ingest_events_per_s": round(events / (read - began)),
    }  # fmt: skip


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
    return "\n".join([head, "", *whole, "", *more, ""])


def table(titles: str, rows: Sequence[Sequence[float]]) -> list[str]:
    """Lines of Markdown; titles separated by bars."""
    names = titles.split("|")
    lines = [names, ["---"] * len(names), *[[f"{value:,}" for value in row] for row in rows]]
    return [f"| {' | '.join(line)} |" for line in lines]


if __name__ == "__main__":
    main()
