"""Every job of the catalogue against its twin in SQL, on the tables of one run over random journals."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch.run import Request, computed, ingest_only, read_part
from rocketns.pipeline.contract.catalogue import JOBS
from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.job import Job
from rocketns.pipeline.storage.events.stored import read_files
from rocketns.pipeline.storage.paths import Folder
from rocketns.pipeline.storage.results import EVENTS_FOLDER, Results
from tests.pipeline.duck.query import same
from tests.pipeline.duck.twins import TWINS, Run
from tests.pipeline.frames import plain
from tests.pipeline.journals import SECOND, Journals, Record, events_table, random_journals, topic, write_files

SEED, SECONDS = 7, 900
# A topic is dead only if every day is covered, so one of the two is always empty; test_topics.py compares it.
MAY_BE_EMPTY = {"dead_topics"}


@pytest.fixture(scope="module")
def run(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The tables of a run, without its report."""
    folder = tmp_path_factory.mktemp("twins")
    journals = eventful_journals()
    write_files(journals, folder / "journal")
    request = Request(str(folder / "journal"), str(folder / "out"), min_window=1, dead_days=2)
    ingest_only(spark, request.journal, request.out, lambda _text: None)
    results = Results(spark, Folder(spark, request.out))
    observation = computed(spark, read_part(spark, request), results, lambda _text: None)
    parameters = {
        "t0": observation.t0, "t1": observation.t1, "silent": SILENT_AFTER_US, "min_window": request.min_window,
        "days": request.dead_days, "groups": json.dumps(request.groups),
        "target": request.target,
    }  # fmt: skip
    tables = {job.name: read(folder / "out" / results.place / job.name) for job in JOBS}
    files = read_files(spark, str(folder / "out" / EVENTS_FOLDER)).toArrow()
    return Run(tables, events_table(journals), files, parameters)


def eventful_journals() -> Journals:
    """Random journals with a hole in the first. At the end of each a consumer asks, a topic is put on one broker alone
    and grows there twice, and five slaves register."""
    journals = random_journals(SEED, seconds=SECONDS)
    del journals["n1"][30:33]
    for records in journals.values():
        last = records[-1]
        added = [{"ev": "lookup", **_asked(name)} for name in ("T", "%RETRY%g")]
        added += [{"ev": "tput", "after_s": 35 * n, **_alone(w)} for n, w in enumerate((4, 6, 8))]
        added += [{"ev": "reg", "after_s": 80 + 2 * n, **_slave(n)} for n in range(5)]
        for number, record in enumerate(added, 1):
            at = last["ts"] + record.pop("after_s", 0) * SECOND
            records.append({"boot": last["boot"], "seq": last["seq"] + number, "ts": at, **record})
    return journals


def _asked(name: str) -> Record:
    return {"topic": name, "client": "10.0.9.1:4001", "n": 3, "miss": 0, "iv_ms": 60_000}


def _alone(queues: int) -> Record:
    return {"broker": "broker-b", "cause": "topic", "topics": [topic("alone", w=queues)]}


def _slave(number: int) -> Record:
    return {"cluster": "c", "broker": "broker-b", "bid": 9 + number, "addr": f"10.0.8.{number}:10911"}


def read(path: Path) -> pa.Table:
    return pyarrow.parquet.read_table(path)


@pytest.mark.parametrize("job", JOBS, ids=lambda job: job.name)
def test_spark_and_duckdb_agree(run: Run, job: Job) -> None:
    twin, table = TWINS[job.name], run.tables[job.name]
    assert table.column_names == job.schema.names
    columns = twin.columns or tuple(table.column_names)
    ours = [tuple(plain(row[name]) for name in columns) for row in table.to_pylist() if twin.kept(row)]
    assert ours or job.name in MAY_BE_EMPTY
    assert same(sorted(ours, key=repr), twin.rows(run))
