"""Numbered versions of the stream's memory, on any path that Spark can write: a few tables, and a few plain values.

Version n is the folder ``batch=n`` with a Parquet folder for each table and ``plain.json``. It counts from the moment
that file is there, which is written last: a version that a crash left half done is made anew, and so is the one of a
batch that is replayed. It is always made from the version before, so it comes out the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.contract.schema import frame_of
from rocketns.pipeline.storage.paths import Folder

PLAIN = "plain.json"
VERSIONS_KEPT = 3


class StateStore:
    """The versions below ``root``. ``schemas``: the tables of a version."""

    def __init__(self, spark: SparkSession, root: str, schemas: Mapping[str, StructType]) -> None:
        self._spark, self._folder, self._schemas = spark, Folder(spark, root), schemas

    def before(self, batch: int) -> tuple[dict[str, DataFrame], Any]:
        """The tables and the plain values as of the batch before this one; empty ones and None before the first.
        BadInput where they are lost."""
        if batch == 0:
            return {name: frame_of(self._spark, [], schema) for name, schema in self._schemas.items()}, None
        version = self._path(batch - 1)
        if not self._folder.exists(f"{version}/{PLAIN}"):
            raise BadInput(
                f"{self._folder.path(version)} is not there, but the stream has got past it: its memory is lost. "
                "Delete the checkpoint folder to start afresh from the journals that are there."
            )
        tables = {name: self._read(f"{version}/{name}", name) for name in self._schemas}
        return tables, json.loads(self._folder.read(f"{version}/{PLAIN}"))

    def begin(self, batch: int) -> None:
        """From here on the batch's version does not count until it is sealed."""
        self._folder.delete(f"{self._path(batch)}/{PLAIN}")

    def keep(self, batch: int, name: str, frame: DataFrame) -> DataFrame:
        """Write a table of the batch's version; the frame that reads it, so that nobody computes it again."""
        place = f"{self._path(batch)}/{name}"
        frame.select(*self._schemas[name].names).write.mode("overwrite").parquet(self._folder.path(place))
        return self._read(place, name)

    def seal(self, batch: int, plain: Any) -> None:
        """Write the plain values; the batch's version counts from here on."""
        self._folder.write(f"{self._path(batch)}/{PLAIN}", json.dumps(plain).encode())

    def forget(self, batch: int) -> None:
        """Delete versions that no replay can ask for once the batch is done."""
        for name in self._folder.names():
            match = re.fullmatch(r"batch=(\d+)", name)
            if match and int(match[1]) <= batch - VERSIONS_KEPT:
                self._folder.delete(name)

    def _read(self, place: str, name: str) -> DataFrame:
        return self._spark.read.schema(self._schemas[name]).parquet(self._folder.path(place))

    @staticmethod
    def _path(batch: int) -> str:
        return f"batch={batch:010d}"
