"""An audit in S3: the same tables as with folders here."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from interop.harness.process import Process
from interop.harness.rocketmq.maven import missing_tools
from rocketns.pipeline.cli.spark import SMALL_BATCHES
from rocketns.pipeline.contract.exits import EXIT_FINDINGS
from rocketns.pipeline.storage.session import SHORT_SETTINGS
from tests.pipeline.batch.runs import PERIOD
from tests.pipeline.batch.test_cluster import SHORT_LIVED
from tests.pipeline.elsewhere.s3 import BUCKET, s3_store, settings
from tests.pipeline.tables import rounded, tables_in
from tests.support.spark import LESS_PLANNING

RUN_TIMEOUT_S = 900.0
# Plans of small tables: planning them twice and compiling them takes longer than running them. A file is renamed once,
# which copies it, and not twice.
QUICK = SMALL_BATCHES | SHORT_SETTINGS | LESS_PLANNING | {
    "spark.driver.extraJavaOptions": " ".join((*SHORT_LIVED, "-XX:ReservedCodeCacheSize=240m")),
    "spark.sql.shuffle.partitions": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
}  # fmt: skip


@pytest.mark.timeout(2 * RUN_TIMEOUT_S)
@pytest.mark.skipif(bool(missing_tools()), reason=f"not found: {', '.join(missing_tools())}")
def test_an_audit_in_s3_has_the_tables_of_one_in_folders(example: Path, tmp_path: Path) -> None:
    """Its Java has the settings of the command line. What it left in the bucket is what the other left in its folder;
    nothing temporary stays."""
    with s3_store() as store:
        store.put(example / "journal", "journal")
        places = ("--journal", f"s3a://{BUCKET}/journal", "--out", f"s3a://{BUCKET}/audit")
        status, said = called(tmp_path, "run", *places, *PERIOD, *with_settings(QUICK | settings(store)))
        assert (status, "Found:" in said) == (EXIT_FINDINGS, True), said
        assert [key for key in store.keys("audit") if "_temporary" in key] == []
        store.get("audit", tmp_path / "there")
    assert found(tmp_path / "there") == found(example / "out")


def called(folder: Path, *words: str) -> tuple[int, str]:
    """Exit status and output of a command of the audit, in a process of its own that works in the folder."""
    command = [sys.executable, "-m", "rocketns", "audit", *words]
    run = Process(command, folder / "audit.log", cwd=folder)
    try:
        return run.wait(RUN_TIMEOUT_S), run.text()
    finally:
        run.stop()


def with_settings(conf: dict[str, str]) -> list[str]:
    return [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]


def found(out: Path) -> dict[str, Any]:
    """The rows of every result table, what was found, and the names of the pages."""
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    tables = tables_in(out / summary["results"])
    pages = sorted(path.name for path in out.iterdir() if path.is_file())
    return {"findings": summary["findings"], "figures": rounded(summary["figures"]), "pages": pages} | tables
