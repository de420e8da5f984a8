"""One run: measures part after part, and notes the time, load and commit of each."""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.bench import Bench
from benchmarks.busy import Ticks, disturbed
from benchmarks.failures import EXPECTED, reason
from benchmarks.parts.part import Part
from benchmarks.plan import Plan
from benchmarks.progress import Progress
from benchmarks.record import Record
from benchmarks.report import store
from benchmarks.report.store import COMMIT, Results
from benchmarks.servers.kinds import LABELS, ServerKind
from benchmarks.servers.machine import commit, load_average


def measure(parts: list[Part], plan: Plan, kinds: dict[str, ServerKind], results: Results) -> None:
    """Measure all parts. Each is written to the results file as soon as it is over. MixedRun if the commit changes."""
    progress = Progress({part.name: plan.part_s[part.name] for part in parts})
    for part in parts:
        progress.begin(part.name)
        record = _measured(part, plan, kinds, progress)
        if record.facts["disturbed"]:
            results.busy.append(f"in the part {part.name} {record.facts['disturbed']}")
        results.add(record, part.method(plan))
        store.write(results, f"{plan.name}-unfinished")
        for what, whys in record.missing.items():
            progress.say("; ".join(f"{what}: {LABELS[key]}: {why}" for key, why in whys.items()))
    progress.end()
    (store.FOLDER / f"{plan.name}-unfinished.json").unlink(missing_ok=True)


def _measured(part: Part, plan: Plan, kinds: dict[str, ServerKind], progress: Progress) -> Record:
    record, load, before, began = Record(part.name, part.title), load_average(), Ticks.now(), time.monotonic()
    with tempfile.TemporaryDirectory(prefix="rocketns-bench-") as folder:
        try:
            part.run(Bench(plan, kinds, Path(folder), progress.say), record)
        except EXPECTED as error:
            record.note(f"This part ended early: {reason(error)}")
    others, steal = Ticks.now().shares_since(before)
    record.facts = {
        "measured": f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC in {time.monotonic() - began:.0f} s",
        COMMIT: commit(),
        "load average before and after": f"{load} and {load_average()}",
        "CPU of other processes": f"{others:.1%}",
        "CPU taken by the host": f"{steal:.1%}",
        "disturbed": disturbed(others, steal),
    }
    return record
