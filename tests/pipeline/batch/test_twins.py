"""Every job of the catalogue against its twin in SQL, on the tables of one run over random journals."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.batch.run import stored_in
from rocketns.pipeline.contract.catalogue import JOBS
from rocketns.pipeline.contract.defaults import SILENT_AFTER_US
from rocketns.pipeline.contract.job import Job
from rocketns.pipeline.storage.events.stored import read_files
from tests.pipeline.batch.runs import Whole
from tests.pipeline.duck.twins import TWINS, Run, same
from tests.pipeline.frames import plain
from tests.pipeline.journals import events_table

# A topic is dead only if every day is covered, so one of the two is always empty; test_topics.py compares it.
MAY_BE_EMPTY = {"dead_topics"}


@pytest.fixture(scope="module")
def run(spark: SparkSession, whole: Whole) -> Run:
    """The tables of the run, and what it read."""
    request, observation = whole.request, whole.observation
    parameters = {
        "t0": observation.t0, "t1": observation.t1, "silent": SILENT_AFTER_US, "min_window": request.min_window,
        "days": request.dead_days, "groups": json.dumps(request.groups),
        "target": request.target,
    }  # fmt: skip
    tables = {job.name: read(whole.tables / job.name) for job in JOBS}
    files = read_files(spark, stored_in(request.out)).toArrow()
    return Run(tables, events_table(whole.journals), files, parameters)


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
