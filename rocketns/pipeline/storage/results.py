"""The result tables of a run below its --out: written once as Parquet, and read back by everything that follows.

A written table is never computed again, even if an executor is lost. That is why nothing is cached in memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any, cast

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, StructType

from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.tables import ROWS_COLLECTED_MAX, Table
from rocketns.pipeline.storage.paths import Folder

RESULTS = "results"
WORK = "work"
ASKED_AT_ONCE = 4


def order_of(name: str) -> list[Column]:
    """The order of a table on the page, from the catalogue: important rows first, and ties always in the same order."""
    return [_sorted(text) for text in BY_NAME[name].order]


def _sorted(text: str) -> Column:
    """``tvd desc_nulls_last`` → the column of the expression, sorted by the method of that name."""
    expression, _, last = text.rpartition(" ")
    direction = last if expression and last.startswith(("asc", "desc")) else "asc"
    return cast(Column, getattr(F.expr(text.removesuffix(f" {direction}")), direction)())


class Results:
    """The tables of one run. ``csv``: write each as CSV too."""

    def __init__(self, spark: SparkSession, out: Folder, *, csv: bool = False) -> None:
        self._spark, self._out, self._csv = spark, out, csv
        self._numbers = count()
        self._kept: dict[str, DataFrame] = {}

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """Write a table; returns the frame that reads it."""
        kept = self._kept[name] = self._written(f"{RESULTS}/{name}", frame)
        if self._csv:
            flat = kept.select(*[_flat(kept, field.name) for field in kept.schema])
            flat.coalesce(1).write.mode("overwrite").csv(self._out.path(f"{RESULTS}-csv/{name}"), header=True)
        return kept

    def cut(self, frame: DataFrame) -> DataFrame:
        """Write a frame that only this run needs, which cuts its lineage; returns the frame that reads it."""
        return self._written(f"{WORK}/{next(self._numbers)}", frame)

    def clear(self) -> None:
        """Remove the frames that ``cut`` wrote."""
        self._out.delete(WORK)

    def frame(self, name: str) -> DataFrame:
        """A table of this run or of an earlier one."""
        if name not in self._kept:
            self._kept[name] = self._spark.read.parquet(self._out.path(f"{RESULTS}/{name}"))
        return self._kept[name]

    def tables(self, names: Sequence[str]) -> dict[str, Table]:
        """``table`` of each name. The tables are small and many, so several are read at a time."""
        with ThreadPoolExecutor(ASKED_AT_ONCE) as threads:
            return dict(zip(names, threads.map(self.table, names), strict=True))

    def table(self, name: str) -> Table:
        """The most important rows of a table, and the number of all."""
        frame = self.frame(name)
        shown = frame.orderBy(*order_of(name)).limit(ROWS_COLLECTED_MAX + 1).toArrow().to_pylist()
        total = len(shown) if len(shown) <= ROWS_COLLECTED_MAX else frame.count()
        return Table(tuple(shown[:ROWS_COLLECTED_MAX]), total, f"{RESULTS}/{name}")

    def _written(self, place: str, frame: DataFrame) -> DataFrame:
        path = self._out.path(place)
        frame.write.mode("overwrite").parquet(path)
        return self._spark.read.schema(frame.schema).parquet(path)


def _flat(frame: DataFrame, name: str) -> Column:
    nested = isinstance(frame.schema[name].dataType, ArrayType | StructType)
    return F.to_json(name).alias(name) if nested else F.col(name)


def write_json(out: Folder, name: str, value: Mapping[str, Any]) -> None:
    """A small JSON file that people read too."""
    out.write(name, (json.dumps(value, indent=2, ensure_ascii=False) + "\n").encode())


def read_json(out: Folder, name: str) -> dict[str, Any]:
    """The object in a JSON file. BadInput if there is no such file."""
    value: dict[str, Any] = json.loads(out.read(name))
    return value
