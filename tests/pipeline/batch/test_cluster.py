"""The audit on a Spark standalone cluster on the loopback interface, from the jars that pyspark brings: the same
results as in one process, though workers are lost. Those of one process are the truth about a synthetic fleet."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pyspark
import pytest
from pyspark.sql import SparkSession

from interop.harness.process import Process
from interop.harness.wire import eventually
from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.cli.demo import compared
from rocketns.pipeline.contract.exits import EXIT_INCOMPLETE
from rocketns.pipeline.synthetic import Faults, FleetSpec, Truth, make_fleet
from tests.pipeline.tables import rounded, tables_in
from tests.support.spark import FEWER_PROCESSES, LESS_PLANNING

pytestmark = [pytest.mark.cluster, pytest.mark.slow, pytest.mark.needs("java"), pytest.mark.timeout(3_000)]

HOME = Path(pyspark.__file__).parent
ENVIRONMENT = {"SPARK_HOME": str(HOME), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SCALA_VERSION": "2.13"}
TIMEOUT_S = 900.0  # against hangs
DEPLOY = "org.apache.spark.deploy"
EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
# The daemons run for minutes: another compiler and a collector with threads of its own cost more than they save. So
# does looking through the whole heap for garbage each time when there are more classes.
SHORT_LIVED = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:MetaspaceSize=256m", FEWER_PROCESSES)


@dataclass
class Cluster:
    """A running cluster, whose files are in ``folder``. ``url``: what --master takes; ``memory``: of each worker."""

    url: str
    folder: Path
    started: list[Process]
    memory: str = "1g"
    workers: list[Process] = field(default_factory=list)

    def add_worker(self) -> Process:
        """Add a worker with one core. It registers by itself."""
        name = f"worker-{len(self.workers)}"
        words = ("--cores", "1", "--memory", self.memory, "-d", str(self.folder / f"work-{name}"), self.url)
        worker = _start(self.folder, name, f"{DEPLOY}.worker.Worker", *words)
        self.started.append(worker)
        self.workers.append(worker)
        return worker

    def kill_worker(self, number: int) -> list[int]:
        """SIGKILL to a worker and its processes, as when a machine is lost; returns the ids of its executors."""
        worker = psutil.Process(self.workers[number].pid)
        lost = [*worker.children(recursive=True), worker]
        executors = [process.pid for process in lost if EXECUTOR in _words(process)]
        for process in lost:
            with suppress(psutil.NoSuchProcess):  # a short-lived child
                process.kill()
        psutil.wait_procs(lost, timeout=TIMEOUT_S)
        return executors


def _words(process: psutil.Process) -> list[str]:
    """Its command line; none if it has just ended, as the short-lived children of a worker do."""
    try:
        return process.cmdline()
    except (psutil.ZombieProcess, psutil.NoSuchProcess):
        return []


@contextmanager
def cluster(folder: Path, workers: int = 2, memory: str = "1g") -> Iterator[Cluster]:
    """A cluster, stopped at the end of the block. ``memory``: of each worker, for its executors."""
    started: list[Process] = []
    try:
        started.append(_start(folder, "master", f"{DEPLOY}.master.Master"))
        url = started[0].wait_for(r"Starting Spark master at (spark://\S+)", TIMEOUT_S)[1]
        running = Cluster(url, folder, started, memory)
        for worker in [running.add_worker() for _ in range(workers)]:
            _wait_until_registered(worker)
        yield running
    finally:
        for process in reversed(started):
            process.stop()


def audit_on(master: str, journal: Path, out: Path, settings: Iterable[str] = ()) -> Process:
    """``rocketns audit run`` as a process of its own, whose output goes to a file beside ``out``."""
    words = ["run", "--journal", str(journal), "--out", str(out), "--master", master]
    command = [sys.executable, "-m", "rocketns", "audit", *words]
    for setting in settings:
        command += ["--conf", setting]
    return Process(command, out.with_suffix(".log"), env={"SPARK_LOCAL_IP": "127.0.0.1"})


def _wait_until_registered(worker: Process) -> None:
    worker.wait_for(r"Successfully registered with master", TIMEOUT_S)


def _start(folder: Path, name: str, main: str, *words: str) -> Process:
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if "JAVA_HOME" in os.environ else "java"
    command = [str(java), "-Xmx256m", *SHORT_LIVED, "-cp", f"{HOME}/jars/*", main, "--host", "127.0.0.1", "--port", "0",
               "--webui-port", "0", *words]  # fmt: skip
    return Process(command, folder / f"{name}.log", env=ENVIRONMENT, cwd=folder)


OTHER_VERSION = "1 file of version 2 of the journal was not read: this audit reads version 1."
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
    f"spark.driver.extraJavaOptions={' '.join(SHORT_LIVED)}",
    f"spark.executor.extraJavaOptions={' '.join(SHORT_LIVED)}",
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
        assert run.wait(TIMEOUT_S) == EXIT_INCOMPLETE, run.text()
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


def test_two_workers_come_to_what_one_process_does_though_both_are_lost(
    seeded: Seeded, here: Path, standalone: Cluster, tmp_path: Path
) -> None:
    """One is killed during ingest, and another takes its place; the second one is killed while the jobs run."""
    events, results = tmp_path / "out" / "events", tmp_path / "out" / "results"
    run = audit_on(standalone.url, seeded.journal, tmp_path / "out", SETTINGS)
    try:
        eventually(lambda: any(events.rglob("*.parquet")), TIMEOUT_S)
        assert len(standalone.kill_worker(0)) == 1
        _wait_until_registered(standalone.add_worker())
        eventually(lambda: any(results.glob("*/broker_intervals/_SUCCESS")), TIMEOUT_S)
        assert len(standalone.kill_worker(1)) == 1
    except BaseException:
        run.kill()
        raise
    assert finished(run, tmp_path) == results_in(here)
