"""Two runs that tests look at: of the worked example by the command line, and of a journal in which everything
happens."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from rocketns.pipeline.batch.findings import RunOutcome
from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.cli.audit import main
from rocketns.pipeline.contract.exits import EXIT_FINDINGS
from rocketns.pipeline.contract.frames import Observation
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
    assert main(["run", *places, "--csv", *PERIOD, *SMALL]) == EXIT_FINDINGS
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
    second one does, and its clock is ahead. At the end of each a consumer asks, a topic is put on one broker alone and
    grows there twice, and five slaves register. Long after that the second one alone deletes two topics."""
    journals = random_journals(SEED, start_us=MIDNIGHT - 2 * HOUR, seconds=8 * 3600, watched=0)
    journals["n3"] = [ahead(record) for record in journals["n2"]]
    del journals["n1"][30:33]
    for ns, records in journals.items():
        last = records[-1]
        added = [{"ev": "lookup", **_asked(name)} for name in ("T", "%RETRY%g")]
        added += [{"ev": "tput", "after_s": 35 * n, **_alone(w)} for n, w in enumerate((4, 6, 8))]
        added += [{"ev": "reg", "after_s": 80 + 2 * n, **_slave(n)} for n in range(5)]
        added += [{"ev": "reg", "after_s": 95, **_slave(9), "broker": "broker-a"}]
        added += [{"ev": "tput", "after_s": 95, "broker": "broker-a", "cause": "topic", "topics": [topic("beside")]}]
        added += _moved() + _asked_for()
        added += [{"ev": "lookup", "after_s": second, **_asked("T")} for second in range(100, 2 * QUIET_S, 100)]
        if ns == "n2":
            for broker, name in (("broker-a", "beside"), ("broker-b", "alone")):
                gone = {"broker": broker, "cause": "admin", "topics": [{"t": name}]}
                added.append({"ev": "tdel", "after_s": QUIET_S, **gone})
        for number, record in enumerate(sorted(added, key=lambda record: record.get("after_s", 0)), 1):
            at = last["ts"] + record.pop("after_s", 0) * SECOND
            records.append({"boot": last["boot"], "seq": last["seq"] + number, "ts": at, **record})
    return journals


def ahead(record: Record) -> Record:
    """The record by a clock that is ahead. Without data versions only the times of heartbeats show it."""
    named = {"ns": "n3"} if "ns" in record else {}
    versions = {name: None for name in ("dvt", "dvc", "dvs") if name in record}
    return record | named | versions | {"boot": record["boot"] + AHEAD_MS, "ts": record["ts"] + AHEAD_MS * 1000}


def _asked(name: str) -> Record:
    return {"topic": name, "client": "10.0.9.1:4001", "n": 3, "miss": 0, "iv_ms": 60_000}


def _alone(queues: int) -> Record:
    return {"broker": "broker-b", "cause": "topic", "topics": [topic("alone", w=queues)]}


def _moved() -> list[Record]:
    """A slave that comes back from another host."""
    went = {"ev": "down", "after_s": 98, **_slave(20), "cause": "unregister"}
    came = {"ev": "reg", "after_s": 99, **_slave(20), "addr": "10.0.7.20:10911", "from_host": "10.0.7.20"}
    return [{"ev": "reg", "after_s": 97, **_slave(20), "from_host": "10.0.8.20"}, went, came]


def _asked_for() -> list[Record]:
    """Requests of an administrator, and refused ones."""
    by = {"from_host": "10.0.6.1", "principal": "ops", "access_key": "key-1", "n": 1}
    fields = [{"k": "namespace", "v": "ns"}, {"k": "key"}]
    put = {"ev": "admin", "code": 100, "result": 0, "client": "10.0.6.1:4", "fields": fields, "before": "v",
           "after": "w"}  # fmt: skip
    refused = {"ev": "refused", "code": 105, "access": "lookup", "reason": "no_evidence"}
    return [
        put | by, {"ev": "admin", "code": 216, "result": 0, "n": 40, "from_host": "10.0.6.2"},
        *({**refused, **by, "after_s": second, "enforced": False, "n": second} for second in (1, 2)),
        {**refused, "from_host": "10.0.6.3", "enforced": True, "n": 9},
    ]  # fmt: skip


def _slave(number: int) -> Record:
    return {"cluster": "c", "broker": "broker-b", "bid": 9 + number, "addr": f"10.0.8.{number}:10911"}
