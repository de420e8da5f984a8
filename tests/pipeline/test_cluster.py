"""The audit on a Spark standalone cluster of two workers: the same results as in one process, also when one is lost."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

from interop.harness.process import Process
from rocketns.pipeline.fleet import Faults, FleetSpec, make_fleet
from rocketns.pipeline.session import has_java
from tests.pipeline.standalone import Cluster, cluster

pytestmark = [
    pytest.mark.cluster,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not has_java(), reason="no Java runtime: Spark cannot start"),
]

RUN_TIMEOUT_S = 600.0
EXECUTOR = ("spark.executor.memory=640m", "spark.executor.cores=1", "spark.cores.max=2")
# What a driver learns late where a worker is gone: within seconds here instead of two minutes.
NETWORK = ("spark.network.timeout=20s", "spark.executor.heartbeatInterval=4s")


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("journal")
    spec = FleetSpec(
        brokers=6,
        topics=20,
        seconds=2 * 86_400,
        rotate_s=3600,
        seed=5,
        faults=Faults(corrupt_lines=0, holes=0, drops=0),
    )
    make_fleet(spec, folder)
    return folder


@pytest.fixture(scope="module")
def local(journal: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one process finds."""
    folder = tmp_path_factory.mktemp("local")
    run = started(journal, folder, "local[2]")
    assert run.wait(RUN_TIMEOUT_S) == 1, run.text()
    return results(folder / "out")


@pytest.fixture
def standalone(tmp_path: Path) -> Iterator[Cluster]:
    with cluster(tmp_path) as running:
        yield running


def started(journal: Path, folder: Path, master: str) -> Process:
    """``rocketns audit run`` as a process of its own."""
    words = ["run", "--journal", str(journal), "--out", str(folder / "out"), "--master", master]
    settings = [
        word for setting in (*EXECUTOR, *NETWORK, "spark.sql.shuffle.partitions=4") for word in ("--conf", setting)
    ]
    command = [sys.executable, "-m", "rocketns", "audit", *words, *settings, "--conf", "spark.driver.memory=640m"]
    return Process(command, folder / "audit.log", env={"SPARK_LOCAL_IP": "127.0.0.1"})


def results(out: Path) -> dict[str, Any]:
    """Every result table as a set of lines, and the findings."""
    tables = {
        folder.name: sorted(
            json.dumps(row, sort_keys=True, default=str) for row in pyarrow.parquet.read_table(folder).to_pylist()
        )
        for folder in (out / "results").iterdir()
    }
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    return {"findings": summary["findings"], "verdict": summary["verdict"], **tables}


def test_two_workers_come_to_what_one_process_does(
    journal: Path, local: dict[str, Any], standalone: Cluster, tmp_path: Path
) -> None:
    run = started(journal, tmp_path, standalone.url)
    assert run.wait(RUN_TIMEOUT_S) == 1, run.text()
    assert results(tmp_path / "out") == local
