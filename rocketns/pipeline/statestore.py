"""Numbered versions of a few tables, on any path that Spark can write: the memory of the stream.

Version n is the folder ``batch=n`` with a Parquet folder for each table. It counts from the moment its ``_DONE`` is
there, which is written last: a version that a crash left half done is made anew, and so is the one of a batch that is
replayed. It is always made from the version before, so it comes out the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rocketns.pipeline.errors import BadInput
from rocketns.pipeline.paths import Folder

DONE = "_DONE"
VERSIONS_KEPT = 3


class StateStore:
    """The versions below ``root``. ``schemas``: the tables of a version."""

    def __init__(self, spark: SparkSession, root: str, schemas: Mapping[str, StructType]) -> None:
        self._spark, self._folder, self._schemas = spark, Folder(spark, root), schemas

    def before(self, batch: int) -> dict[str, DataFrame]:
        """The tables as of the batch before this one: empty ones before the first. BadInput where they are lost."""
        if batch == 0:
            return {name: self._spark.createDataFrame([], schema) for name, schema in self._schemas.items()}
        version = self._path(batch - 1)
        if not self._folder.exists(f"{version}/{DONE}"):
            raise BadInput(
                f"{self._folder.path(version)} is not there, but the stream has got past it: its memory is lost. "
                "Delete the checkpoint folder to start afresh from the journals that are there."
            )
        return {
            name: self._spark.read.schema(schema).parquet(self._folder.path(f"{version}/{name}"))
            for name, schema in self._schemas.items()
        }

    def begin(self, batch: int) -> None:
        """From here on the batch's version does not count until it is sealed."""
        self._folder.delete(f"{self._path(batch)}/{DONE}")

    def keep(self, batch: int, name: str, frame: DataFrame) -> DataFrame:
        """Write a table of the batch's version; the frame that reads it, so that nobody computes it again."""
        path, schema = self._folder.path(f"{self._path(batch)}/{name}"), self._schemas[name]
        frame.select(*schema.names).write.mode("overwrite").parquet(path)
        return self._spark.read.schema(schema).parquet(path)

    def seal(self, batch: int) -> None:
        """The batch's version counts from here on."""
        self._folder.write(f"{self._path(batch)}/{DONE}", b"")

    def forget(self, batch: int) -> None:
        """Delete versions that no replay can ask for once the batch is done."""
        for name in self._folder.names():
            match = re.fullmatch(r"batch=(\d+)", name)
            if match and int(match[1]) <= batch - VERSIONS_KEPT:
                self._folder.delete(name)

    @staticmethod
    def _path(batch: int) -> str:
        return f"batch={batch:010d}"
