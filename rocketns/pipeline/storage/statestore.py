"""Numbered versions of the stream's memory, on any path that Spark can write: a few tables, and a few plain values.

Version n is the folder ``batch=n`` with a Parquet folder for each table and ``plain.json``. It is valid once
that file exists, which is written last. A version that a crash left unfinished is written again, as is the version of
a replayed batch. It is always made from the version before, so the result is the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rocketns.pipeline.contract.errors import BadInput
from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.storage.paths import Folder

PLAIN = "plain.json"
VERSIONS_KEPT = 3


class StateStore:
    """The versions below ``root``. ``schemas``: the tables of a version."""

    def __init__(self, spark: SparkSession, root: str, schemas: Mapping[str, StructType]) -> None:
        self._spark, self._folder, self._schemas = spark, Folder(spark, root), schemas

    def before(self, batch: int) -> tuple[dict[str, DataFrame], Any]:
        """The tables and the plain values as of the batch before this one; empty tables and None before the first.
        BadInput if they are lost."""
        if batch == 0:
            return {name: frame_of(self._spark, [], schema) for name, schema in self._schemas.items()}, None
        version = self._path(batch - 1)
        if not self._folder.exists(f"{version}/{PLAIN}"):
            raise BadInput(
                f"{self._folder.path(version)} is missing, although the stream has finished that batch: its memory is "
                "lost. Delete the checkpoint folder to start again from the existing journals."
            )
        tables = {name: self._read(f"{version}/{name}", name) for name in self._schemas}
        return tables, json.loads(self._folder.read(f"{version}/{PLAIN}"))

    def begin(self, batch: int) -> None:
        """Make the batch's version invalid until it is sealed."""
        self._folder.delete(f"{self._path(batch)}/{PLAIN}")

    def keep(self, batch: int, name: str, frame: DataFrame) -> DataFrame:
        """Write a table of the batch's version; returns the frame that reads it, so it is not computed again."""
        place = f"{self._path(batch)}/{name}"
        frame.select(*self._schemas[name].names).write.mode("overwrite").parquet(self._folder.path(place))
        return self._read(place, name)

    def seal(self, batch: int, plain: Any) -> None:
        """Write the plain values, which makes the batch's version valid."""
        self._folder.write(f"{self._path(batch)}/{PLAIN}", json.dumps(plain).encode())

    def forget(self, batch: int) -> None:
        """Delete versions that no replay needs after this batch."""
        for name in self._folder.names():
            match = re.fullmatch(r"batch=(\d+)", name)
            if match and int(match[1]) <= batch - VERSIONS_KEPT:
                self._folder.delete(name)

    def _read(self, place: str, name: str) -> DataFrame:
        return self._spark.read.schema(self._schemas[name]).parquet(self._folder.path(place))

    @staticmethod
    def _path(batch: int) -> str:
        return f"batch={batch:010d}"
