"""Numbered versions of the stream's memory, on any path that Spark can write: a few tables, and a few plain values.

Version n is the folder ``batch=n`` with ``plain.json`` and a Parquet folder for each table that changed. That file says
where the other tables are, in folders of earlier versions. A version is valid once the file exists, which is written
last. One that a crash left unfinished is written again.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rocketns.pipeline.contract.frames import frame_of
from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.folders import folder_at

PLAIN = "plain.json"
VERSIONS_MAX = 3
FORMAT = 5


class Version(NamedTuple):
    """``batch``: its number; ``plain``: what `StateStore.seal` was given. Before the first: -1 and None."""

    batch: int
    tables: dict[str, DataFrame]
    plain: Any


class StateStore:
    """The versions below ``root``. ``schemas``: the tables of a version."""

    def __init__(self, spark: SparkSession, root: str, schemas: Mapping[str, StructType]) -> None:
        self._spark, self._folder, self._schemas = spark, folder_at(spark, root), schemas
        self._frames: dict[str, DataFrame] = {}
        self._paths: dict[str, str] = {}

    def last(self) -> Version:
        """The last valid version; empty tables before the first. BadInput if there are only unfinished ones."""
        batches = sorted(self._batches(), reverse=True)
        batch = next((batch for batch in batches if self._folder.exists(f"{self._path(batch)}/{PLAIN}")), -1)
        if batch < 0 < max(batches, default=0):
            said = _(
                "%(folder)s has no valid version, so the stream's memory is lost. Delete the checkpoint folder to "
                "start again from the existing journals."
            )
            raise BadInput(said % {"folder": self._folder.root})
        if batch < 0:
            self._frames = {name: frame_of(self._spark, [], schema) for name, schema in self._schemas.items()}
            return Version(-1, dict(self._frames), None)
        stored = json.loads(self._folder.read(f"{self._path(batch)}/{PLAIN}"))
        if stored.get("format") != FORMAT:
            raise BadInput(
                _("%(folder)s was written by another version. Delete the checkpoint folder.")
                % {"folder": self._folder.root}
            )
        self._paths = stored["tables"]
        self._frames = {name: self._read(path, name) for name, path in self._paths.items()}
        return Version(batch, dict(self._frames), stored["plain"])

    def begin(self, batch: int) -> None:
        """Make the batch's version invalid until it is sealed."""
        self._folder.delete(self._path(batch))

    def write(self, batch: int, name: str, frame: DataFrame) -> DataFrame:
        """Write a table of the batch's version; returns the frame that reads it, so it is not computed again. A frame
        of the version before is not written again."""
        if frame is self._frames.get(name) and name in self._paths:
            return frame
        path = f"{self._path(batch)}/{name}"
        frame.select(*self._schemas[name].names).write.mode("overwrite").parquet(self._folder.path(path))
        self._paths[name] = path
        self._frames[name] = self._read(path, name)
        return self._frames[name]

    def seal(self, batch: int, plain: Any) -> None:
        """Write the plain values, which makes the batch's version valid."""
        stored = {"format": FORMAT, "tables": self._paths, "plain": plain}
        self._folder.write(f"{self._path(batch)}/{PLAIN}", json.dumps(stored).encode())

    def forget(self, batch: int) -> None:
        """Delete what no version needs after this batch."""
        needed = {path.partition("/")[0] for path in self._paths.values()}
        for old in self._batches():
            if old <= batch - VERSIONS_MAX and self._path(old) not in needed:
                self._folder.delete(self._path(old))

    def _batches(self) -> list[int]:
        matches = (re.fullmatch(r"batch=(\d+)", name) for name in self._folder.names())
        return [int(match[1]) for match in matches if match]

    def _read(self, path: str, name: str) -> DataFrame:
        return self._spark.read.schema(self._schemas[name]).parquet(self._folder.path(path))

    @staticmethod
    def _path(batch: int) -> str:
        return f"batch={batch:010d}"
