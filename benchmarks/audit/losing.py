"""``python -m benchmarks.audit.losing [MILLIONS]``: an audit on a cluster that loses a worker in each of its stages,
and whether it finds what one process does.

A master and two workers of one core each run on this machine. Soon after the audit says that a stage begins, one of the
workers is killed with all its processes, and another one is started. Ends with 1 if a table differs.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

from interop.harness.process import Process
from rocketns.pipeline.cli.progress import Progress
from rocketns.pipeline.contract.exits import EXIT_FINDINGS, EXIT_INCOMPLETE
from rocketns.pipeline.contract.job import STAGES
from rocketns.pipeline.synthetic import FleetSpec, make_fleet
from tests.pipeline.batch.cluster.standalone import Cluster, audit_on, cluster
from tests.pipeline.tables import tables_in

MILLIONS = 5.0
# Of a run, after the beginning of which a worker is lost.
TOLD = ("reading ", *STAGES.values(), "report")
# Until tasks of the new stage are running.
PAUSE_S = 3.0
LOOK_S = 0.2
RUN_TIMEOUT_S = 7200.0
SETTINGS = ("spark.driver.memory=2g", "spark.executor.memory=1500m", "spark.sql.shuffle.partitions=8")


def main() -> None:
    """Make the journal, run both, and print what was lost and what differs."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit.losing", description=__doc__)
    parser.add_argument("millions", nargs="?", type=float, default=MILLIONS, help="events (default: 5)")
    say = Progress(time.monotonic)
    with tempfile.TemporaryDirectory(prefix="rocketns-losing-") as name:
        folder = Path(name)
        make_fleet(FleetSpec.of_events(round(parser.parse_args().millions * 1e6)), folder / "journal", say)
        say("in one process")
        ended(audit_on("local[*]", folder / "journal", folder / "alone"))
        with cluster(folder, memory="2g") as workers:
            say(f"on {workers.url}")
            run = audit_on(workers.url, folder / "journal", folder / "together", SETTINGS)
            lost = losing(run, workers, say)
            ended(run)
        print(f"{lost} workers were lost, in {len(TOLD)} stages")
        sys.exit(compared(found(folder / "alone"), found(folder / "together")))


def ended(run: Process) -> None:
    """Wait for its end. RuntimeError if it did not do its work."""
    if run.wait(RUN_TIMEOUT_S) not in (EXIT_FINDINGS, EXIT_INCOMPLETE):
        raise RuntimeError(run.text())


def losing(run: Process, workers: Cluster, say: Progress) -> int:
    """Kill the older of two workers in each stage; returns how many of them ran tasks."""
    waiting, lost = list(TOLD), 0
    while waiting and run.popen.poll() is None:
        begun = next((stage for stage in waiting if stage in run.text()), None)
        if begun is None:
            time.sleep(LOOK_S)
            continue
        waiting.remove(begun)
        time.sleep(PAUSE_S)
        if run.popen.poll() is None:
            lost += bool(workers.kill_worker(len(workers.workers) - 2))
            workers.add_ready_worker()
            say(f"lost a worker in: {begun}")
    return lost


def found(out: Path) -> dict[str, list[str]]:
    """The tables of the run that counts."""
    return tables_in(out / json.loads((out / "summary.json").read_text("utf-8"))["results"])


def compared(alone: dict[str, list[str]], together: dict[str, list[str]]) -> int:
    """Print in which tables the runs differ; returns the exit status."""
    different = sorted(name for name in alone | together if alone.get(name) != together.get(name))
    rows = sum(map(len, alone.values()))
    print(f"{rows:,} rows in {len(alone)} tables; different: {', '.join(different) or 'none'}")
    return 1 if different else 0


if __name__ == "__main__":
    main()
