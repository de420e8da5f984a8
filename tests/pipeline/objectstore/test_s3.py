"""The audit of a journal in S3, with its tables and its page in S3, too."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession

from interop.harness.process import Process
from interop.harness.rocketmq.maven import missing_tools
from rocketns.pipeline.cli.audit import main
from rocketns.pipeline.synthetic import FleetSpec, make_fleet
from rocketns.pipeline.synthetic.scenario.spec import NO_FAULTS
from tests.pipeline.objectstore.s3 import BUCKET, s3_store, settings

RUN_TIMEOUT_S = 900.0
FINDINGS = 1
DIGITS = 9  # sums of fractions differ after these, by the order of their parts
SPEC = FleetSpec(brokers=4, topics=6, seconds=3600, rotate_s=600, seed=5, faults=NO_FAULTS._replace(partitions=1))
SMALL = {
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}
pytestmark = [
    pytest.mark.timeout(2 * RUN_TIMEOUT_S),
    pytest.mark.skipif(bool(missing_tools()), reason=f"not found: {', '.join(missing_tools())}"),
]


def test_an_audit_in_s3_has_the_tables_of_one_in_folders(spark: SparkSession, tmp_path: Path) -> None:
    """The bucket has the same files as the other run's folder, and nothing temporary."""
    make_fleet(SPEC, tmp_path / "journal")
    with s3_store() as store:
        store.put(tmp_path / "journal", "journal")
        words = run_words(f"s3a://{BUCKET}/journal", f"s3a://{BUCKET}/audit", SMALL | settings(store))
        run = Process([sys.executable, "-m", "rocketns", *words], tmp_path / "s3.log")
        try:
            local = ("spark.sql.shuffle.partitions", "spark.sql.codegen.wholeStage")
            before = {name: str(spark.conf.get(name)) for name in local}
            words = run_words(str(tmp_path / "journal"), str(tmp_path / "here"), {name: SMALL[name] for name in local})
            assert main(words[1:]) == FINDINGS
            for name, value in before.items():
                spark.conf.set(name, value)
            assert run.wait(RUN_TIMEOUT_S) == FINDINGS, run.text()
        finally:
            run.stop()
        assert [key for key in store.keys("audit") if "_temporary" in key] == []
        store.get("audit", tmp_path / "there")
    assert found(tmp_path / "there") == found(tmp_path / "here")


def run_words(journal: str, out: str, conf: dict[str, str]) -> list[str]:
    pairs = [word for name, value in conf.items() for word in ("--conf", f"{name}={value}")]
    return ["audit", "run", "--journal", journal, "--out", out, *pairs]


def found(out: Path) -> dict[str, Any]:
    """The rows of every result table, what was found, and the names of the pages."""
    summary = json.loads((out / "summary.json").read_text("utf-8"))
    tables = {path.name: rows(path) for path in sorted((out / summary["results"]).iterdir()) if path.is_dir()}
    pages = sorted(path.name for path in out.iterdir() if path.is_file())
    return {"findings": summary["findings"], "figures": rounded(summary["figures"]), "pages": pages} | tables


def rows(table: Path) -> list[str]:
    return sorted(json.dumps(rounded(row), sort_keys=True) for row in pyarrow.parquet.read_table(table).to_pylist())


def rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    if isinstance(value, dict):
        return {name: rounded(inner) for name, inner in value.items()}
    return [rounded(inner) for inner in value] if isinstance(value, list) else value
