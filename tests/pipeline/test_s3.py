"""An audit in S3: the same tables as with folders here."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark
import pytest

from interop.harness.process import Process
from interop.harness.rocketmq.maven import jars
from rocketns.pipeline.cli.spark import SMALL_BATCHES
from rocketns.pipeline.contract.exits import EXIT_FINDINGS
from rocketns.pipeline.storage.session import SHORT_SETTINGS
from tests.pipeline.batch.runs import PERIOD
from tests.pipeline.batch.test_cluster import SHORT_LIVED
from tests.pipeline.tables import rounded, tables_in
from tests.support.spark import LESS_PLANNING

BUCKET = "rocketns"
REGION = "us-east-1"
KEY = SECRET = "any: the server does not check it"
# Amazon's library in the version that Hadoop 3.5.0 was built with.
AMAZON, SERVICES = "2.35.4", "software.amazon.awssdk"
# All services in one jar of 600 MB; and what Spark brings itself, some of it in other versions.
LEFT_OUT = (f"{SERVICES}:bundle", "io.netty:*", "org.slf4j:*", "org.apache.httpcomponents:*", "commons-logging:*",
            "commons-codec:*")  # fmt: skip


class Store:
    """A bucket of a running server at ``url``."""

    def __init__(self, url: str) -> None:
        import boto3

        self.url, self.name = url, BUCKET
        self._client: Any = boto3.client(
            "s3", endpoint_url=url, region_name=REGION, aws_access_key_id=KEY, aws_secret_access_key=SECRET
        )
        self._client.create_bucket(Bucket=BUCKET)

    def put(self, folder: Path, prefix: str) -> None:
        """Every file below the folder, under its relative name after the prefix."""
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self._client.upload_file(str(path), BUCKET, f"{prefix}/{path.relative_to(folder)}")

    def keys(self, prefix: str) -> list[str]:
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=BUCKET, Prefix=f"{prefix}/")
        return [found["Key"] for page in pages for found in page.get("Contents", ())]

    def get(self, prefix: str, folder: Path) -> None:
        """Every object after the prefix, as a file below the folder."""
        for key in self.keys(prefix):
            if not key.endswith("/"):
                path = folder / key.removeprefix(f"{prefix}/")
                path.parent.mkdir(parents=True, exist_ok=True)
                self._client.download_file(BUCKET, key, str(path))


@contextmanager
def s3_store() -> Iterator[Store]:
    """An empty bucket. The server and all that is in it end with the block."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer("127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield Store(f"http://{host}:{port}")
    finally:
        server.stop()


def s3_settings(store: Store) -> dict[str, str]:
    """Spark's s3_settings to read and write ``s3a://``."""
    hadoop = {
        "endpoint": store.url,
        "endpoint.region": REGION,
        "access.key": KEY,
        "secret.key": SECRET,
        "path.style.access": "true",
    }
    of_spark = {f"spark.hadoop.fs.s3a.{name}": value for name, value in hadoop.items()}
    return {"spark.driver.extraClassPath": connector()} | of_spark


def connector() -> str:
    """The class path of hadoop-aws in the version of Spark's Hadoop, and what it needs of Amazon's library."""
    (brought,) = (Path(pyspark.__file__).parent / "jars").glob("hadoop-client-api-*.jar")
    hadoop = brought.stem.rpartition("-")[2]
    amazon = jars(f"s3-{AMAZON}", AMAZON, "s3-transfer-manager", "apache-client", group=SERVICES, without=LEFT_OUT)
    return f"{jars(f's3a-{hadoop}', hadoop, 'hadoop-aws', group='org.apache.hadoop', without=LEFT_OUT)}:{amazon}"


RUN_TIMEOUT_S = 900.0
# Plans of small tables: planning them twice and compiling them takes longer than running them. A file is renamed once,
# which copies it, and not twice.
QUICK = SMALL_BATCHES | SHORT_SETTINGS | LESS_PLANNING | {
    "spark.driver.extraJavaOptions": " ".join((*SHORT_LIVED, "-XX:ReservedCodeCacheSize=240m")),
    "spark.sql.shuffle.partitions": "2",
    "spark.hadoop.mapreduce.fileoutputcommitter.algorithm.version": "2",
}  # fmt: skip


@pytest.mark.slow
@pytest.mark.needs("java", "mvn")
@pytest.mark.timeout(2 * RUN_TIMEOUT_S)
def test_an_audit_in_s3_has_the_tables_of_one_in_folders(example: Path, tmp_path: Path) -> None:
    """Its Java has the settings of the command line. What it left in the bucket is what the other left in its folder;
    nothing temporary stays."""
    with s3_store() as store:
        store.put(example / "journal", "journal")
        places = ("--journal", f"s3a://{BUCKET}/journal", "--out", f"s3a://{BUCKET}/audit")
        status, said = called(tmp_path, "run", *places, *PERIOD, *with_settings(QUICK | s3_settings(store)))
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
