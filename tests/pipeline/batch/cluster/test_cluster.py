"""The audit on a Spark standalone cluster: the same results as in one process, even if workers are lost. Those of one
process are the truth about a synthetic fleet."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from interop.harness.process import Process
from interop.harness.wire import eventually
from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.cli.demo import compared
from rocketns.pipeline.contract.exits import EXIT_INCOMPLETE
from rocketns.pipeline.synthetic import Faults, FleetSpec, Truth, make_fleet
from tests.pipeline.batch.cluster.standalone import SHORT_LIVED, Cluster, audit_on, cluster
from tests.pipeline.tables import rounded, tables_in
from tests.support.running.java import has_java
from tests.support.spark import LESS_PLANNING

RUN_TIMEOUT_S = 900.0
TOO_LATE = "before the worker was killed"
OTHER_VERSION = "1 file of version 2 of the journal was not read: this audit reads version 1."
JAVA_OPTIONS = " ".join(SHORT_LIVED)
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(3 * RUN_TIMEOUT_S),
    pytest.mark.skipif(not has_java(), reason="no Java runtime: Spark cannot start"),
]

SETTINGS = (
    "spark.driver.memory=768m",
    "spark.executor.memory=640m",
    "spark.executor.cores=1",
    "spark.cores.max=2",
    "spark.sql.shuffle.partitions=2",
    # many tasks for a small journal, so that a worker is in the middle of one
    "spark.sql.files.maxPartitionBytes=8m",
    # small plans: planning them twice and compiling them takes longer than running them
    "spark.sql.adaptive.enabled=false",
    "spark.sql.codegen.wholeStage=false",
    "spark.sql.codegen.factoryMode=NO_CODEGEN",
    *(f"{name}={value}" for name, value in LESS_PLANNING.items()),
    f"spark.driver.extraJavaOptions={JAVA_OPTIONS}",
    f"spark.executor.extraJavaOptions={JAVA_OPTIONS}",
)
HOURS_S = 6 * 3600
SPEC = FleetSpec(brokers=6, topics=20, seconds=HOURS_S, rotate_s=600, seed=5, faults=Faults().within(HOURS_S))


class Seeded(NamedTuple):
    """A journal, some lines of which are lost, and what is to be found in it. A file of it has another version."""

    journal: Path
    truth: Truth


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Seeded:
    folder = tmp_path_factory.mktemp("journal")
    foreign = folder / "v=2" / "dt=2026-01-05" / "ns=n1" / "5-000001.jsonl"
    foreign.parent.mkdir(parents=True)
    foreign.write_text("{}\n", "utf-8")
    return Seeded(folder, make_fleet(SPEC, folder))


@pytest.fixture(scope="module")
def here(spark: SparkSession, seeded: Seeded, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an audit in one process, the one of the session."""
    folder = tmp_path_factory.mktemp("local")
    assert audit(spark, Request(str(seeded.journal), str(folder / "out")), print).exit_status == EXIT_INCOMPLETE
    return folder


@pytest.fixture
def standalone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def finished(run: Process, folder: Path) -> dict[str, Any]:
    """Its results, once it has ended."""
    try:
        assert run.wait(RUN_TIMEOUT_S) == EXIT_INCOMPLETE, run.text()
    finally:
        run.stop()
    return results_in(folder)


def results_in(folder: Path) -> dict[str, Any]:
    """Every result table as sorted lines, and the summary without the names of master and folder."""
    summary = json.loads((folder / "out" / "summary.json").read_text("utf-8"))
    summary["options"].pop("master")
    summary["options"].pop("out")
    summary.pop("run")
    tables = tables_in(folder / "out" / summary.pop("results"))
    return {"summary": rounded(summary), **tables}


def test_an_audit_finds_every_seeded_fault_and_nothing_else(spark: SparkSession, seeded: Seeded, here: Path) -> None:
    """In its tables, and in the incidents of its page."""
    verdicts = compared(spark, str(here / "out"), seeded.truth)
    assert [verdict for verdict in verdicts if not verdict.good] == []


def test_what_is_missing_or_was_not_read_is_never_reported_as_clean(here: Path) -> None:
    summary = json.loads((here / "out" / "summary.json").read_text("utf-8"))
    *lost, unread = summary["incomplete"]
    assert summary["verdict"] == "incomplete"
    assert any(sentence.endswith("not parse.") for sentence in lost)
    assert unread == OTHER_VERSION


@pytest.mark.flaky(reruns=2, only_rerun=f"over {TOO_LATE}")  # this process may wait for a core at that moment
def test_two_workers_come_to_what_one_process_does_though_both_are_lost(
    seeded: Seeded, here: Path, standalone: Cluster, tmp_path: Path
) -> None:
    """One is killed during ingest, and another takes its place; the second one is killed while the jobs run."""
    events, results = tmp_path / "out" / "events", tmp_path / "out" / "results"
    run = audit_on(standalone.url, seeded.journal, tmp_path / "out", SETTINGS)
    try:
        eventually(lambda: any(events.rglob("*.parquet")), RUN_TIMEOUT_S)
        assert not any(events.glob("data/*/_SUCCESS")), f"the ingest was over {TOO_LATE}"
        assert len(standalone.kill_worker(0)) == 1
        standalone.add_ready_worker()
        eventually(lambda: any(results.glob("*/broker_intervals/_SUCCESS")), RUN_TIMEOUT_S)
        assert not any(results.glob("*/impact/_SUCCESS")), f"the jobs were over {TOO_LATE}"
        assert len(standalone.kill_worker(1)) == 1
    except BaseException:
        run.kill()
        raise
    assert finished(run, tmp_path) == results_in(here)
