"""``python -m benchmarks.collect``: what `rocketns collect` costs a Java name server, and itself.

A simulated fleet registers with a Java name server. A collector reads and watches it at each rate, and then three name
servers at once. CPU seconds, bytes and memory are nearly the same on a busy machine; the seconds of a round are not.
The default takes about a quarter of an hour and 5 GB, and writes ``results/collect.json`` and ``collect.md``.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchmarks.busy import look
from benchmarks.collect.fleets import KINDS, filled
from benchmarks.collect.measuring import alone, measured
from benchmarks.collect.page import page
from benchmarks.failures import EXPECTED, reason
from benchmarks.loading.brokers import Shape
from benchmarks.servers.kinds import JAVA, all_kinds
from benchmarks.servers.machine import commit, facts, load_average

RESULTS = Path(__file__).parents[1] / "results" / "collect"


def main(words: Sequence[str]) -> int:
    """Measure, print, and write the results; 1 if a measurement failed."""
    given = _arguments(words)
    shape = Shape(given.brokers, given.topics, given.width or given.brokers)
    about = facts({JAVA: all_kinds()[JAVA]}) | {"commit": commit(), "load average before": load_average(),
                  "command": " ".join(["python -m benchmarks.collect", *words])}  # fmt: skip
    result: dict[str, Any] = {"when": f"{datetime.now(UTC):%Y-%m-%d %H:%M}Z", "machine": about,
                              "busy": "; ".join(look(print, 0.0).complaints()), "brokers": shape.brokers,
                              "topics": shape.topics, "width": shape.width, "measured": [], "failed": []}  # fmt: skip
    with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as name:
        _measure(given, shape, Path(name), result)
    print(page(result))
    return 1 if result["failed"] else 0


def _arguments(words: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.collect", description=__doc__)
    parser.add_argument("--brokers", type=int, default=300)
    parser.add_argument("--topics", type=int, default=10_000)
    parser.add_argument("--width", type=int, help="brokers of each topic (default: all)")
    parser.add_argument("--rates", type=float, nargs="+", default=[50.0, 200.0], help="requests a second (50 200)")
    parser.add_argument("--seconds", type=float, default=60.0, help="of each span after the first round (default: 60)")
    parser.add_argument("--name-servers", type=int, nargs="+", default=[1, 3], choices=range(1, 1 + len(KINDS)),
                        help="how many at once; more than one only at the first rate (default: 1 3)")  # fmt: skip
    parser.add_argument("--alone", type=float, default=20.0, help="seconds in which nobody asks (default: 20)")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args(words)


def _measure(given: argparse.Namespace, shape: Shape, folder: Path, result: dict[str, Any]) -> None:
    plans = [(count, rate) for count in given.name_servers for rate in given.rates[: None if count == 1 else 1]]
    with filled(max(given.name_servers), shape, folder) as fleet:
        result["alone"] = alone(fleet[0], given.alone)
        for count, rate in plans:
            print(f"name servers: {count}, requests a second: {rate:g}", flush=True)
            try:
                found = measured(fleet[:count], shape, rate, given.seconds, folder / f"collect-{count}-{rate:g}")
                result["measured"].append(found)
            except EXPECTED as error:
                result["failed"].append(f"{count} name servers, {rate:g} requests a second: {reason(error)}")
            given.out.with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n", "utf-8")
            given.out.with_suffix(".md").write_text(page(result), "utf-8")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
