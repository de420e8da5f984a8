"""Which implementation of Folder a path has: this machine's file system, or one of Hadoop's (HDFS, S3 …)."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from rocketns.pipeline.storage.files.folder import Folder
from rocketns.pipeline.storage.files.hadoop import Hadoop
from rocketns.pipeline.storage.files.local import Local


def folder_at(spark: SparkSession | None, path: str) -> Folder:
    """The folder at this path. ``spark`` None: on this machine. With Spark, Hadoop's settings decide where a path
    without a scheme is."""
    root = path.rstrip("/") or "/"
    if spark is None:
        return Local(root, Path(f"/{root[5:].lstrip('/')}" if root.startswith("file:") else root).absolute())
    there = Hadoop(spark, root)
    return Local(root, there.local_root, there) if there.scheme == "file" else there
