"""``python -m benchmarks.audit.demo [ROCKETNS]``: what ``rocketns audit demo`` takes from its start to its end, the
start of Python and of Spark included. ROCKETNS: the program of an installation (default: that of this environment).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.audit.watched import Watched
from benchmarks.servers.machine import load_average


def main() -> None:
    """Measure, and print a line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.audit.demo", description=__doc__)
    parser.add_argument("rocketns", nargs="?", default=str(Path(sys.executable).with_name("rocketns")))
    program, load = parser.parse_args().rocketns, load_average()
    with tempfile.TemporaryDirectory(prefix="rocketns-demo-") as folder:
        ran = Watched(program, "audit", "demo", "--out", f"{folder}/demo")
    print(ran.out.splitlines()[-1])
    print(f"CPU {ran.cost.cpu_s} s, wall {ran.cost.wall_s} s, {ran.cost.all_mb:,} MB at most, load before: {load}")


if __name__ == "__main__":
    main()
