"""The result tables of a run below its --out: written once as Parquet, read back for everything that comes after.

What is written is never computed again, also when an executor is lost, which is why nothing is cached in memory.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import ArrayType, StructType

from rocketns.pipeline.report.model import ROWS_COLLECTED_MAX, Table
from rocketns.pipeline.storage.paths import Folder

RESULTS = "results"
WORK = "work"
ASKED_AT_ONCE = 4


def _longest(*names: str) -> list[Column]:
    return [(F.col("t1") - F.col("t2")).asc(), *_columns(*names)]


def _columns(*names: str) -> list[Column]:
    return [F.col(name).asc() for name in names]


def _users_first() -> Column:
    return F.when(F.col("kind") == "user", 0).otherwise(1).asc()


def order_of(name: str) -> list[Column]:
    """The order in which a table is shown: what matters most comes first, and ties always fall the same way."""
    harm = F.col("orphaned_qs_max") + F.col("dup_qs_max")
    orders = {
        "ns_uptime": _columns("ns", "t1"),
        "broker_intervals": [
            F.col("end_cause").isin("open", "stop").asc(), *_columns("broker", "ns", "bid", "addr", "t1"),
        ],
        "key_windows": _longest("topic", "broker", "t1"),
        "incidents": _longest("broker", "cause", "t1"),
        "impact": [harm.desc(), *_columns("topic", "t1", "strategy", "c", "assignments", "group")],
        "imbalance": [F.col("tvd").desc_nulls_last(), *_columns("topic", "t1", "broker")],
        "broker_stats": [F.col("availability").asc_nulls_last(), *_columns("broker", "ns", "bid", "addr")],
        "topic_days": _columns("day", "kind"),
        "topic_inventory": [_users_first(), *_columns("kind", "topic")],
        "dead_topics": [_users_first(), *_columns("kind", "topic")],
        "hot_topics": [_users_first(), *_columns("kind", "rank", "topic")],
        "skew": [_users_first(), F.col("skew").desc_nulls_last(), F.col("topic").asc()],
        "missing_topics": _columns("hour", "topic"),
        "departures": _columns("t1", "broker"),
        "quality": _columns("kind", "ns", "t1"),
        "sources": _columns("ns"),
    }  # fmt: skip
    return orders.get(name, [])


class Results:
    """The tables of one run. ``csv``: write each as CSV too."""

    def __init__(self, spark: SparkSession, out: Folder, *, csv: bool = False) -> None:
        self._spark, self._out, self._csv = spark, out, csv
        self._numbers = count()
        self._kept: dict[str, DataFrame] = {}

    def keep(self, name: str, frame: DataFrame) -> DataFrame:
        """Write a table; the frame that reads it."""
        kept = self._kept[name] = self._written(f"{RESULTS}/{name}", frame)
        if self._csv:
            flat = kept.select(*[_flat(kept, field.name) for field in kept.schema])
            flat.coalesce(1).write.mode("overwrite").csv(self._out.path(f"{RESULTS}-csv/{name}"), header=True)
        return kept

    def cut(self, frame: DataFrame) -> DataFrame:
        """Write a frame that only this run needs, which cuts its lineage; the frame that reads it."""
        return self._written(f"{WORK}/{next(self._numbers)}", frame)

    def clear(self) -> None:
        """Remove what was only cut."""
        self._out.delete(WORK)

    def frame(self, name: str) -> DataFrame:
        """A table of this run or of an earlier one."""
        if name not in self._kept:
            self._kept[name] = self._spark.read.parquet(self._out.path(f"{RESULTS}/{name}"))
        return self._kept[name]

    def tables(self, names: Sequence[str]) -> dict[str, Table]:
        """``table`` of each. They are small and many, so several are asked for at a time."""
        with ThreadPoolExecutor(ASKED_AT_ONCE) as threads:
            return dict(zip(names, threads.map(self.table, names), strict=True))

    def table(self, name: str) -> Table:
        """The most important rows of a table, and how many there are."""
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
    """BadInput where it is not there."""
    value: dict[str, Any] = json.loads(out.read(name))
    return value
