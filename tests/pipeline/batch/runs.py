"""Two runs that tests look at: of the worked example by the command line, and of a journal in which everything
happens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from rocketns.pipeline.batch.reporting import RunOutcome
from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.cli.audit import main
from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.terms import EXIT_FINDINGS
from tests.pipeline.journals import (
    DAY_START,
    SECOND,
    Journals,
    Record,
    random_journals,
    topic,
    worked_example,
    write_files,
)

PERIOD = ("--from", "1970-01-01", "--to", "1970-01-01T00:06:40")
# The command line has more partitions, and sets those of a session that is there.
SMALL = ("--conf", "spark.sql.shuffle.partitions=2")

HOUR = 3600 * SECOND
MIDNIGHT = DAY_START + 24 * HOUR
SEED = 1
AHEAD_MS = 13_000
QUIET_S = 800  # longer than a clock may be off that heartbeats tell
MIN_WINDOW, DEAD_DAYS = 1, 2


def audited_example(folder: Path) -> Path:
    """The folder: its journal, and the output of its audit below out/."""
    write_files(worked_example(), folder / "journal")
    places = ("--journal", str(folder / "journal"), "--out", str(folder / "out"))
    assert main(["run", *places, *PERIOD, *SMALL]) == EXIT_FINDINGS
    return folder


class Whole(NamedTuple):
    """``folder`` has ``journal``, whose files are in the order in which they were written, and ``out``. ``tables``: the
    folder of the results."""

    journals: Journals
    folder: Path
    files: Sequence[Path]
    request: Request
    outcome: RunOutcome
    observation: Observation
    tables: Path


def whole_run(spark: SparkSession, folder: Path) -> Whole:
    """Audit everything that can happen."""
    journals = eventful_journals()
    files = write_files(journals, folder / "journal")
    request, out = request_of(folder / "journal", folder / "out"), folder / "out"
    outcome = audit(spark, request, lambda _text: None)
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    observation = Observation(**summary["observation"])
    return Whole(journals, folder, files, request, outcome, observation, out / summary["results"])


def request_of(journal: Path, out: Path) -> Request:
    return Request(str(journal), str(out), min_window=MIN_WINDOW, dead_days=DEAD_DAYS)


def eventful_journals() -> Journals:
    """Random journals of eight hours around midnight, with a hole in the first. A third name server hears what the
    second one does, and its clock is ahead. At the end of each a consumer asks, and slaves of two brokers come with a
    topic each. Long after that the second one alone deletes these."""
    journals = random_journals(SEED, start_us=MIDNIGHT - 2 * HOUR, seconds=8 * 3600, watched=0)
    journals["n3"] = [ahead(record) for record in journals["n2"]]
    del journals["n1"][30:33]
    alone = [("broker-a", "beside"), ("broker-b", "alone")]
    for ns, records in journals.items():
        last = records[-1]
        added: list[Record] = []
        for broker, name in alone:
            added.append({"ev": "reg", "cluster": "c", "broker": broker, "bid": 9, "addr": f"{broker}:9"})
            added.append({"ev": "tput", "broker": broker, "cause": "topic", "topics": [topic(name)]})
        asked = {"ev": "lookup", "client": "10.0.9.1:4001", "n": 3, "miss": 0, "iv_ms": 60_000}
        added += [asked | {"topic": name} for name in ("T", "%RETRY%g")]
        if ns == "n2":
            added += [
                {"ev": "tdel", "after_s": QUIET_S, "broker": broker, "cause": "admin", "topics": [{"t": name}]}
                for broker, name in alone
            ]
        added += [asked | {"after_s": second, "topic": "T"} for second in range(100, 2 * QUIET_S, 100)]
        for number, record in enumerate(sorted(added, key=lambda record: record.get("after_s", 0)), 1):
            at = last["ts"] + record.pop("after_s", 0) * SECOND
            records.append({"boot": last["boot"], "seq": last["seq"] + number, "ts": at, **record})
    return journals


def ahead(record: Record) -> Record:
    """The record by a clock that is ahead. Without data versions only the times of heartbeats show it."""
    named = {"ns": "n3"} if "ns" in record else {}
    versions = {name: None for name in ("dvt", "dvc", "dvs") if name in record}
    return record | named | versions | {"boot": record["boot"] + AHEAD_MS, "ts": record["ts"] + AHEAD_MS * 1000}
