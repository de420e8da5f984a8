"""An audit in S3: the same tables as with folders here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.dataset
import pytest
from pyspark.sql import SparkSession

from interop.harness.process import Process
from interop.harness.rocketmq.maven import missing_tools
from rocketns.pipeline.cli.audit import main
from rocketns.pipeline.cli.spark import SMALL_BATCHES
from rocketns.pipeline.storage.session import SHORT_SETTINGS
from rocketns.pipeline.synthetic import FleetSpec, make_fleet
from rocketns.pipeline.synthetic.scenario.spec import NO_FAULTS
from tests.pipeline.batch.cluster.standalone import SHORT_LIVED
from tests.pipeline.elsewhere.s3 import BUCKET, Store, reached, s3_store, settings
from tests.pipeline.evidence import invented, journals_in, named_records
from tests.pipeline.tables import rounded, tables_in

RUN_TIMEOUT_S = 900.0
FINDINGS = 1
FAULTS = NO_FAULTS._replace(partitions=1, crashes=1, kills=1)
SPEC = FleetSpec(brokers=4, topics=6, seconds=3600, rotate_s=600, seed=5, faults=FAULTS)
OF_SESSION = {"spark.sql.shuffle.partitions": "2", "spark.sql.codegen.wholeStage": "false"}
# Plans of small tables: planning them twice and compiling them takes longer than running them.
OF_PROCESS = SMALL_BATCHES | SHORT_SETTINGS | {"spark.driver.extraJavaOptions": " ".join(SHORT_LIVED)}
pytestmark = pytest.mark.timeout(2 * RUN_TIMEOUT_S)
needs_connector = pytest.mark.skipif(bool(missing_tools()), reason=f"not found: {', '.join(missing_tools())}")


class Here(NamedTuple):
    """A journal in a folder, what an audit of it left, and what it found."""

    journal: Path
    out: Path
    found: Mapping[str, Any]


@pytest.fixture(scope="module")
def here(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Here:
    folder = tmp_path_factory.mktemp("here")
    make_fleet(SPEC, folder / "journal")
    assert run_here(spark, str(folder / "journal"), str(folder / "out")) == FINDINGS
    return Here(folder / "journal", folder / "out", found(folder / "out"))


@pytest.fixture(scope="module")
def store(spark: SparkSession, here: Here) -> Iterator[Store]:
    """A bucket with the journal. The session knows S3 if it can."""
    with s3_store() as running, nullcontext() if missing_tools() else reached(spark, running):
        running.put(here.journal, "journal")
        yield running


def test_every_record_that_an_incident_names_is_in_the_files_of_the_journal(here: Here) -> None:
    lines = (here.out / "incidents.jsonl").read_text("utf-8")
    assert {kind for kind, _ in named_records(lines)} == {"missing", "crash", "killed"}
    assert invented(lines, journals_in(here.journal)) == []


@needs_connector
def test_an_audit_in_s3_has_the_tables_of_one_in_folders(
    spark: SparkSession, here: Here, store: Store, tmp_path: Path
) -> None:
    """What it left in the bucket is what the other left in its folder; nothing temporary stays."""
    assert run_here(spark, f"s3a://{BUCKET}/journal", f"s3a://{BUCKET}/audit") == FINDINGS
    assert [key for key in store.keys("audit") if "_temporary" in key] == []
    store.get("audit", tmp_path / "there")
    assert found(tmp_path / "there") == here.found


@needs_connector
def test_a_process_of_its_own_ingests_from_s3_to_s3(here: Here, store: Store, tmp_path: Path) -> None:
    """Its Java has the settings of the command line."""
    ingest = ["audit", "ingest", "--journal", f"s3a://{BUCKET}/journal", "--out", f"s3a://{BUCKET}/by-command"]
    status, said = called(tmp_path, *ingest, *with_settings(OF_PROCESS | settings(store)))
    assert (status, "read 19 files with 0.2 MB; 0 were there already" in said) == (0, True), said
    store.get("by-command", tmp_path / "there")
    assert records(tmp_path / "there") == records(here.out)


def called(folder: Path, *words: str) -> tuple[int, str]:
    """Exit status and output of a command of rocketns, in a process of its own that works in the folder."""
    command = [sys.executable, "-m", "rocketns", *words]
    run = Process(command, folder / "audit.log", cwd=folder)
    try:
        return run.wait(RUN_TIMEOUT_S), run.text()
    finally:
        run.stop()


def records(out: Path) -> list[tuple[Any, ...]]:
    """The keys of the ingested records."""
    table = pyarrow.dataset.dataset(out / "events" / "data").to_table(columns=["boot", "seq", "segment"])
    return sorted(tuple(row.values()) for row in table.to_pylist())


def run_here(spark: SparkSession, journal: str, out: str) -> int:
    """The exit status of a run with the session, which has its settings again afterwards."""
    before = {name: str(spark.conf.get(name)) for name in OF_SESSION}
    try:
        return main(["run", "--journal", journal, "--out", out, *with_settings(OF_SESSION)])
    finally:
        for name, value in before.items():
            spark.conf.set(name, value)


def with_settings(conf: Mapping[str, str]) -> list[str]:
    return [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]


def found(out: Path) -> dict[str, Any]:
    """The rows of every result table, what was found, and the names of the pages."""
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    tables = tables_in(out / summary["results"])
    pages = sorted(path.name for path in out.iterdir() if path.is_file())
    return {"findings": summary["findings"], "figures": rounded(summary["figures"]), "pages": pages} | tables
