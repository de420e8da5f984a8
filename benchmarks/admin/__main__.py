"""``python -m benchmarks.admin``: what the management port costs. Writes ``results/admin.json`` and ``admin.md``.

On a machine with two cores it takes some minutes. Instructions need Debian's package ``valgrind``; they and memory are
the same on a busy machine, times are not.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.admin import cpu, instructions, memory, storm
from benchmarks.admin.page import page
from benchmarks.admin.servers import OFF, ON, start
from benchmarks.servers.machine import commit, facts, load_average
from interop.harness.ports import free_port

RESULTS = Path(__file__).parents[1] / "results" / "admin"


def main() -> None:
    """Measure, print, and write the results."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.admin", description=__doc__)
    parser.add_argument("--rounds", type=int, default=30, help="of lookups, off and on in turn (default: 30)")
    parser.add_argument("--seconds", type=float, default=0.5, help="of one measurement (default: 0.5)")
    given = parser.parse_args()
    about = facts({}) | {"commit": commit(), "command": f"python -m benchmarks.admin --rounds {given.rounds} "
                         f"--seconds {given.seconds:g}", "load average before": load_average()}  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as name:
        result = measured(Path(name), given.rounds, given.seconds) | {
            "when": f"{datetime.now(UTC):%Y-%m-%d %H:%M}Z", "machine": about,
        }  # fmt: skip
    RESULTS.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
    RESULTS.with_suffix(".md").write_text(page(result), "utf-8")
    print(page(result))


def measured(folder: Path, rounds: int, seconds: float) -> dict[str, Any]:
    """All of it, one after the other."""
    found: dict[str, Any] = {"memory_mb": memory.resident(folder / "memory")}
    if shutil.which("valgrind"):
        found["instructions"] = {
            OFF: instructions.a_lookup(folder / "instructions-off", start),
            ON: instructions.a_lookup(folder / "instructions-on", partial(start, admin_port=free_port())),
        }
    found["cpu_us"] = cpu.ratios(folder / "cpu", rounds, seconds)
    found["storm_us"] = storm.latencies(folder / "storm", max(1, rounds // 5))
    return found


if __name__ == "__main__":
    main()
