"""The audit on a Spark standalone cluster on the loopback interface, from the jars that pyspark brings, and in S3: the
same results as in one process with folders here, though workers are lost. Those are the truth about a synthetic fleet.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pyspark
import pytest
from pyspark.sql import SparkSession

from interop.harness.process import Process
from interop.harness.rocketmq.maven import jars
from interop.harness.wire import eventually
from rocketns.pipeline.batch.run import Request, audit
from rocketns.pipeline.cli.spark import SMALL_BATCHES
from rocketns.pipeline.contract.terms import EXIT_FINDINGS, EXIT_INCOMPLETE
from rocketns.pipeline.storage.session import SHORT_SETTINGS
from tests.pipeline.batch.runs import PERIOD
from tests.pipeline.synthetic import Faults, FleetSpec, Truth, make_fleet
from tests.pipeline.synthetic.audited import compared, result_tables
from tests.pipeline.synthetic.truth import compare
from tests.pipeline.synthetic.verdicts import FaultOutcome
from tests.pipeline.tables import rounded, tables_in
from tests.support.spark import FEWER_PROCESSES

pytestmark = [pytest.mark.slow, pytest.mark.needs("java"), pytest.mark.timeout(3_000)]

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
        # A child of an executor has the executor's command line until it runs its own program.
        executors = [process.pid for process in worker.children() if EXECUTOR in _words(process)]
        lost = [*worker.children(recursive=True), worker]
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


def audit_on(folder: Path, journal: str, out: str, settings: Mapping[str, str], *words: str) -> Process:
    """``rocketns audit run`` as a process of its own in the folder."""
    command = [sys.executable, "-m", "rocketns", "audit", "run", "--journal", journal, "--out", out, *words]
    command += [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    environment = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
    return Process(command, folder / "audit.log", env=environment, cwd=folder)


def _wait_until_registered(worker: Process) -> None:
    worker.wait_for(r"Successfully registered with master", TIMEOUT_S)


def _start(folder: Path, name: str, main: str, *words: str) -> Process:
    java = Path(os.environ["JAVA_HOME"]) / "bin" / "java" if "JAVA_HOME" in os.environ else "java"
    command = [str(java), "-Xmx256m", *SHORT_LIVED, "-cp", f"{HOME}/jars/*", main, "--host", "127.0.0.1", "--port", "0",
               "--webui-port", "0", *words]  # fmt: skip
    return Process(command, folder / f"{name}.log", env=ENVIRONMENT, cwd=folder)


OTHER_VERSION = "Files of version 2 of the journal were not read: 1. This audit reads version 1."
# Small plans of small tables: planning them twice and compiling them takes longer than running them.
QUICK = SMALL_BATCHES | SHORT_SETTINGS | {"spark.sql.shuffle.partitions": "2"}
SETTINGS = QUICK | {
    "spark.driver.memory": "768m",
    "spark.executor.memory": "640m",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    # many tasks for a small journal, so that a worker is in the middle of one
    "spark.sql.files.maxPartitionBytes": "8m",
    "spark.driver.extraJavaOptions": " ".join(SHORT_LIVED),
    "spark.executor.extraJavaOptions": " ".join(SHORT_LIVED),
}
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


def finished(run: Process, status: int) -> None:
    try:
        assert run.wait(TIMEOUT_S) == status, run.text()
    finally:
        run.stop()


def results_in(out: Path) -> dict[str, Any]:
    """Every result table as sorted lines, the names of the pages, and the summary without what is of this run alone."""
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    tables, pages = tables_in(out / summary["results"]), sorted(path.name for path in out.iterdir() if path.is_file())
    for name in ("options", "run", "results"):
        del summary[name]
    return {"summary": rounded(summary), "pages": pages} | tables


def test_an_audit_finds_every_seeded_fault_and_nothing_else(spark: SparkSession, seeded: Seeded, here: Path) -> None:
    """In its tables, and in the incidents of its page. What a table lacks or has too much is noticed."""
    verdicts = compared(spark, str(here / "out"), seeded.truth)
    assert [verdict for verdict in verdicts if not verdict.good] == []
    tables = result_tables(spark, str(here / "out"))
    full = {name: rows for name, rows in tables.items() if rows}
    assert tables.keys() - full == {"dead_topics"}, "of a few hours"
    for name, rows in full.items():
        others = [{column: other(column, value) for column, value in row.items()} for row in rows]
        for wrong, outcome in (([], FaultOutcome.MISSED), ([*rows, *others], FaultOutcome.INVENTED)):
            assert outcome in {one.outcome for one in compare(seeded.truth, tables | {name: wrong})}, name


def other(column: str, value: Any) -> Any:
    """Another value, but of what says which rows are compared."""
    if column in ("kind", "day", "rank"):
        return value
    return [*value, "x"] if isinstance(value, list) else f"{value}x" if isinstance(value, str) else value and value / 2


def test_what_is_missing_or_was_not_read_is_never_reported_as_clean(here: Path) -> None:
    summary = json.loads((here / "out" / "summary.json").read_text("utf-8"))
    *lost, unread = summary["incomplete"]
    assert summary["verdict"] == "incomplete"
    assert any("that do not parse" in sentence for sentence in lost)
    assert unread == OTHER_VERSION


def test_two_workers_come_to_what_one_process_does_though_both_are_lost(
    seeded: Seeded, here: Path, standalone: Cluster, tmp_path: Path
) -> None:
    """One is killed during ingest, and another takes its place; the second one is killed while the jobs run."""
    events, results = tmp_path / "out" / "events", tmp_path / "out" / "results"
    run = audit_on(tmp_path, str(seeded.journal), "out", SETTINGS, "--master", standalone.url)
    try:
        eventually(lambda: any(events.rglob("*.parquet")), TIMEOUT_S)
        assert len(standalone.kill_worker(0)) == 1
        _wait_until_registered(standalone.add_worker())
        eventually(lambda: any(results.glob("*/broker_intervals/*.parquet")), TIMEOUT_S)
        assert len(standalone.kill_worker(1)) == 1
    except BaseException:
        run.kill()
        raise
    finished(run, EXIT_INCOMPLETE)
    assert results_in(tmp_path / "out") == results_in(here / "out")


BUCKET = "rocketns"
REGION = "us-east-1"
KEY = SECRET = "any: the server does not check it"
# Amazon's library in the version that Hadoop 3.5.0 was built with.
AMAZON, SERVICES = "2.35.4", "software.amazon.awssdk"
# All services in one jar of 600 MB; and what Spark brings itself, some of it in other versions.
LEFT_OUT = (f"{SERVICES}:bundle", "io.netty:*", "org.slf4j:*", "org.apache.httpcomponents:*", "commons-logging:*",
            "commons-codec:*")  # fmt: skip


@contextmanager
def s3_store() -> Iterator[tuple[str, Any]]:
    """The address of a server with an empty bucket, and a client of it. They end with the block."""
    import boto3
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        url = "http://{}:{}".format(*server.get_host_and_port())
        client = boto3.client(
            "s3", endpoint_url=url, region_name=REGION, aws_access_key_id=KEY, aws_secret_access_key=SECRET
        )
        client.create_bucket(Bucket=BUCKET)
        yield url, client
    finally:
        server.stop()


def connector() -> str:
    """The class path of hadoop-aws in the version of Spark's Hadoop, and what it needs of Amazon's library."""
    (brought,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    hadoop = brought.stem.rpartition("-")[2]
    amazon = jars(f"s3-{AMAZON}", AMAZON, "s3-transfer-manager", "apache-client", group=SERVICES, without=LEFT_OUT)
    return f"{jars(f's3a-{hadoop}', hadoop, 'hadoop-aws', group='org.apache.hadoop', without=LEFT_OUT)}:{amazon}"


@pytest.mark.needs("mvn")
def test_an_audit_in_s3_has_the_tables_of_one_in_folders(example: Path, tmp_path: Path) -> None:
    """What it left in the bucket is what the other left in its folder, and nothing temporary stays."""
    with s3_store() as (url, client):
        for path in (example / "journal").rglob("*.jsonl"):
            client.upload_file(str(path), BUCKET, str(path.relative_to(example)))
        hadoop = {"endpoint": url, "endpoint.region": REGION, "access.key": KEY, "secret.key": SECRET,
                  "path.style.access": "true"}  # fmt: skip
        settings = QUICK | {f"spark.hadoop.fs.s3a.{name}": value for name, value in hadoop.items()} | {
            "spark.driver.extraClassPath": connector(),
            "spark.driver.extraJavaOptions": " ".join((*SHORT_LIVED, "-XX:ReservedCodeCacheSize=240m")),
            # a file is renamed once, which copies it, and not twice
            "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
        }  # fmt: skip
        run = audit_on(tmp_path, f"s3a://{BUCKET}/journal", f"s3a://{BUCKET}/audit", settings, *PERIOD)
        finished(run, EXIT_FINDINGS)
        pages = client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix="audit/")
        for key in (found["Key"] for page in pages for found in page["Contents"] if not found["Key"].endswith("/")):
            assert "_temporary" not in key
            (tmp_path / key).parent.mkdir(parents=True, exist_ok=True)
            client.download_file(BUCKET, key, str(tmp_path / key))
    assert results_in(tmp_path / "audit") == results_in(example / "out")
