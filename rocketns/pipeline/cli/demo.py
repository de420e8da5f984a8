"""`rocketns audit demo`: a synthetic fleet with known faults → its audit → comparison with the truth."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from rocketns.pipeline.batch.findings import RunOutcome
from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.contract.exits import BadInput
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.paths import folder_at
from rocketns.pipeline.storage.results import EVENTS_FOLDER, LINES, Results
from rocketns.pipeline.synthetic import FleetSpec, Truth, make_fleet
from rocketns.pipeline.synthetic.cards_compared import card_verdicts
from rocketns.pipeline.synthetic.make import save_truth
from rocketns.pipeline.synthetic.scenario.spec import DEMO_EVENTS
from rocketns.pipeline.synthetic.truth import COLUMNS, compare, summary
from rocketns.pipeline.synthetic.verdicts import Verdict

Say = Callable[[str], None]

JOURNAL, TRUTH = "journal", "truth.json"


class Demo(NamedTuple):
    """``lines`` are for standard output."""

    outcome: RunOutcome
    verdicts: list[Verdict]
    lines: list[str]

    @property
    def right(self) -> bool:
        """Whether every fault was found, and nothing else."""
        return all(verdict.good for verdict in self.verdicts)


def demo(spark: SparkSession, out: str, events: int | None, seed: int, say: Say) -> Demo:
    """Everything below ``out``: the journal, the truth and the report. BadInput if the folder holds something else."""
    folder = Path(out)
    _make_room(folder)
    spec = _spec(DEMO_EVENTS if events is None else events, seed)
    fleet = {"servers": spec.name_servers, "brokers": spec.brokers, "topics": spec.topics}
    said = _("a synthetic fleet: %(servers)s name servers, %(brokers)s brokers, %(topics)s topics, %(days)s days")
    say(said % (fleet | {"days": f"{spec.seconds / 86_400:.1f}"}))
    truth = make_fleet(spec, folder / JOURNAL, say)
    save_truth(truth, folder / TRUTH)
    asked = Request(str(folder / JOURNAL), out, truth["t0"], truth["t1"], truth["min_window"])
    outcome = audit(spark, asked, say)
    say(_("comparing with the truth"))
    verdicts = compared(spark, out, truth)
    return Demo(outcome, verdicts, [*outcome.lines, "", *judgement(truth, verdicts)])


def compared(spark: SparkSession, out: str, truth: Truth) -> list[Verdict]:
    """The tables and the incidents of the run that counts, with what is to be found."""
    return [*compare(truth, result_tables(spark, out)), *card_verdicts(truth, listed(spark, out))]


def result_tables(spark: SparkSession, out: str) -> dict[str, list[Mapping[str, Any]]]:
    """The columns of the result tables that are compared."""
    results = Results.published(spark, folder_at(spark, out))
    return {
        name: [row.asDict() for row in results.frame(name).select(*columns).collect()]
        for name, columns in COLUMNS.items()
    }


def listed(spark: SparkSession, out: str) -> list[Mapping[str, Any]]:
    """The incidents of the page."""
    return [json.loads(line) for line in folder_at(spark, out).read(LINES).splitlines()]


def judgement(truth: Mapping[str, Any], verdicts: list[Verdict]) -> list[str]:
    """The wrong verdicts, one a line, and how many were right."""
    wrong = [f"{verdict.outcome}: {verdict.fault}: {verdict.detail}" for verdict in verdicts if not verdict.good]
    seeded = len(truth["faults"])
    if wrong:
        return [*wrong, _("compared with the truth: %(summary)s") % {"summary": summary(verdicts)}]
    all_found = _("All %(n)s seeded faults were found as they are, and nothing else (%(summary)s).")
    return [all_found % {"n": seeded, "summary": summary(verdicts)}]


def _make_room(folder: Path) -> None:
    """Remove an earlier demo's journal; refuse a folder that holds something else."""
    if not folder.exists():
        folder.mkdir(parents=True)
    elif any(folder.iterdir()) and not (folder / TRUTH).is_file():
        raise BadInput(_("--out %(folder)s holds something else: name an empty or absent folder") % {"folder": folder})
    for name in (JOURNAL, EVENTS_FOLDER):
        rmtree(folder / name, ignore_errors=True)


def _spec(events: int, seed: int) -> FleetSpec:
    try:
        return FleetSpec.of_events(events, seed)
    except ValueError as error:
        raise BadInput(f"--events {events}: {error}") from error
