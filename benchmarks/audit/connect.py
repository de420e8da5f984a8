"""``python -m benchmarks.audit.connect``: one audit with its own Spark, and as a client of a Spark Connect server: the
first and the second of the server. Java has the same options and two cores in both.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import psutil

from benchmarks.audit.watched import Watched
from benchmarks.servers.machine import load_average
from rocketns.pipeline.storage.session import SHORT_JAVA_OPTIONS
from rocketns.pipeline.synthetic import FleetSpec, make_fleet
from tests.pipeline.elsewhere.server import connect_server

MEMORY = "2g"  # of the audit's own Java
JAVA = " ".join(SHORT_JAVA_OPTIONS)


def main() -> None:
    """Measure, and print a line for each."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit.connect", description=__doc__)
    parser.add_argument("--events", type=int, default=20_000, help="about how many records (default: 20000)")
    events = parser.parse_args().events
    with tempfile.TemporaryDirectory(prefix="rocketns-connect-") as name:
        folder = Path(name)
        make_fleet(FleetSpec.of_events(events, 1), folder / "journal")
        ran = audited(folder, "own", "--master", "local[2]")
        told("its own Spark", ran.cost.cpu_s, ran, "")
        with connect_server(folder, {"spark.driver.memory": MEMORY, "spark.driver.extraJavaOptions": JAVA}) as address:
            java = java_below(psutil.Process())
            for number in ("first", "second"):
                before = cpu_of(java)
                ran = audited(folder, number, "--remote", address)
                server = cpu_of(java) - before
                parts = f" (client {ran.cost.cpu_s} s, server {server:.1f} s; its start {before:.1f} s)"
                told(f"{number} run of the server", ran.cost.cpu_s + server, ran, parts)


def audited(folder: Path, out: str, *where: str) -> Watched:
    """A run of ``rocketns audit``."""
    words = ["run", "--journal", str(folder / "journal"), "--out", str(folder / out), *where]
    return Watched(sys.executable, "-m", "rocketns", "audit", *words)


def java_below(process: psutil.Process) -> psutil.Process:
    """The Java process that this one started."""
    (java,) = [child for child in process.children(recursive=True) if child.name().startswith("java")]
    return java


def cpu_of(process: psutil.Process) -> float:
    """Seconds of CPU time."""
    times = process.cpu_times()
    return float(times.user + times.system)


def told(what: str, cpu_s: float, ran: Watched, parts: str) -> None:
    """A line for standard output."""
    print(f"{what}: CPU {cpu_s:.1f} s{parts}, wall {ran.cost.wall_s} s, load after: {load_average()}", flush=True)


if __name__ == "__main__":
    main()
