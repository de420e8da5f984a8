"""An S3 server on the loopback interface (moto's), and Hadoop's connector for it, as Spark takes it.

The server and its client are imported when one starts: each worker collects this, and one of them needs it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyspark

from interop.harness.rocketmq.maven import jars

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


def settings(store: Store) -> dict[str, str]:
    """Spark's settings to read and write ``s3a://``."""
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
