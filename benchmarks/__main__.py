"""``python -m benchmarks [--quick] [PART …]``: name servers side by side, and the results as files."""

from __future__ import annotations

import argparse
import resource
import shlex
import signal
import sys
import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.failures import EXPECTED, reason
from benchmarks.kinds import Kind, all_kinds
from benchmarks.machine import commit, facts, load_average
from benchmarks.parts.catalogue import PARTS
from benchmarks.parts.part import Part
from benchmarks.plan import FULL, QUICK, Plan
from benchmarks.progress import Progress
from benchmarks.record import Record
from benchmarks.report import aims, markdown, plots, readme, store
from benchmarks.report.figures import LABELS
from benchmarks.report.store import Results

NAMES = [part.name for part in PARTS]


def arguments() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("part", nargs="*", metavar="PART", help=f"only these parts: {', '.join(NAMES)}; their results "
                        "replace those of an earlier run of the same plan")  # fmt: skip
    parser.add_argument("--quick", action="store_true", help="shorter, fewer rounds: a look, not a measurement")
    parser.add_argument(
        "--servers", metavar="LIST", help=f"only these servers, separated by commas: {', '.join(LABELS)}"
    )
    parser.add_argument("--report", action="store_true", help="measure nothing, only write the reports again")
    chosen = parser.parse_args()
    if unknown := set(chosen.part) - set(NAMES):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if chosen.servers and (unknown := set(chosen.servers.split(",")) - set(LABELS)):
        parser.error(f"no such server: {', '.join(sorted(unknown))}")
    return chosen


def main() -> None:
    """Measure, then write. Each part is saved when it is over: what is interrupted keeps what it has."""
    chosen = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers are ended on this way out, too
    plan = QUICK if chosen.quick else FULL
    results = store.read(plan.name)
    if not chosen.report:
        _allow_many_files()
        kinds, results.unavailable = available(chosen.servers.split(",") if chosen.servers else list(LABELS))
        results.machine = facts(kinds) | {"command": shlex.join(["python", "-m", "benchmarks", *sys.argv[1:]])}
        measure([part for part in PARTS if not chosen.part or part.name in chosen.part], plan, kinds, results)
    report(results, plan)


def available(keys: list[str]) -> tuple[dict[str, Kind], dict[str, str]]:
    """The servers that can be measured here, and why others cannot. Builds what is not built yet."""
    kinds, missing = {}, {}
    for key, kind in all_kinds().items():
        if key not in keys:
            continue
        try:
            kind.prepare()
            kinds[key] = kind
        except EXPECTED as error:
            missing[key] = reason(error)
            print(f"LEFT OUT: {LABELS[key]}: {missing[key]}", flush=True)
    return kinds, missing


def measure(parts: list[Part], plan: Plan, kinds: dict[str, Kind], results: Results) -> None:
    """All the parts, each into the results and the file as soon as it is over."""
    progress = Progress({part.name: part.expected_s(plan) for part in parts})
    for part in parts:
        progress.begin(part.name)
        record, before, began = Record(part.name, part.title), load_average(), time.monotonic()
        with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as folder:
            try:
                part.run(Bench(plan, kinds, Path(folder), progress.say), record)
            except EXPECTED as error:
                record.note(f"This part ended early: {reason(error)}")
        record.facts = {
            "measured": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC in {time.monotonic() - began:.0f} s",
            "rocketns": commit(),
            "load average before and after": f"{before} and {load_average()}",
        }
        results.records[part.name], results.methods[part.name] = record, part.method(plan)
        store.write(results)
        for what, whys in record.missing.items():
            progress.say("; ".join(f"{what}: {LABELS[key]}: {why}" for key, why in whys.items()))
    progress.end()


def report(results: Results, plan: Plan) -> None:
    """The Markdown file, the plots, the README of the full plan, and what is aimed at on the terminal."""
    path = store.FOLDER / f"{plan.name}.md"
    written = [path.with_suffix(".json"), path]
    if plan is FULL:
        try:
            written += plots.draw(results, plan)
        except ImportError:
            print("PLOTS LEFT OUT: matplotlib is not installed")
    path.write_text(markdown.text(results), "utf-8")  # after the plots, which it names
    print("", *aims.aims_table(results), "", sep="\n")
    if plan is FULL:
        written.append(readme.write(results))
    print(*written, sep="\n")


def _allow_many_files() -> None:
    """Thousands of connections, here and in the servers that inherit it."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


if __name__ == "__main__":
    main()
