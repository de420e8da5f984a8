"""The result tables of runs below --out, each run in a folder of its own: written once as Parquet, and read back by
everything that follows.

A written table is never computed again, even if an executor is lost. That is why nothing is cached in memory.
``summary.json`` names the run that counts. It is written in one step, after all tables of the run.

Small frames whose rows are stored in the plans that use them: they need no file, and are not planned again.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import count
from typing import Any, cast

import pyarrow as pa  # type: ignore[import-untyped]
import pyarrow.parquet as pq  # type: ignore[import-untyped]
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.classic.dataframe import DataFrame as Classic
from pyspark.sql.pandas.types import to_arrow_schema

from rocketns.pipeline.contract.catalogue import BY_NAME
from rocketns.pipeline.contract.frames import ROWS_COLLECTED_MAX, Row, Table, plain_rows
from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.folders import Folder
from rocketns.pipeline.storage.manifest import new_id

RESULTS = "results"
EVENTS_FOLDER = "events"
WORK = "work"
REPORT, MARKDOWN, LINES, SUMMARY = "report.html", "report.md", "incidents.jsonl", "summary.json"
PAGES = (REPORT, MARKDOWN, LINES)
RUNS_MAX = 3
# A run that is not published may still be going on.
UNPUBLISHED_AGE = timedelta(days=1)

_RUN = re.compile(r"\d{8}T\d{6}-[0-9a-f]{8}")


class Results:
    """The tables of one run, by default of a new one. ``small``: all tables are small, so that Arrow writes them:
    planning a query takes longer than such a table. ``spark`` None: the folder is on this machine, and the tables are
    only read."""

    def __init__(self, spark: SparkSession | None, out: Folder, run: str | None = None) -> None:
        self._spark, self._out = cast(SparkSession, spark), out
        self.run = run or new_id()
        self.place = f"{RESULTS}/{self.run}"
        self._numbers = count()
        self._frames: dict[str, DataFrame] = {}
        self.small = False

    def save(self, name: str, frame: DataFrame) -> DataFrame:
        """Write a table; returns the frame that reads it, or in a small run the one that has its rows."""
        if self.small and self._out.here is not None:
            return self._by_arrow(name, frame.toArrow())
        saved = self._frames[name] = self._written(f"{self.place}/{name}", frame)
        return saved

    def save_rows(self, name: str, rows: Sequence[Row]) -> DataFrame:
        """Write a table of plain rows; a column that a row lacks is null. Returns the frame that has them."""
        schema = BY_NAME[name].schema
        table = pa.Table.from_pylist(rows, to_arrow_schema(schema))
        if self._out.here is not None:
            return self._by_arrow(name, table)
        saved = self._frames[name] = self._written(f"{self.place}/{name}", self._spark.createDataFrame(table, schema))
        return saved

    def _by_arrow(self, name: str, table: pa.Table) -> DataFrame:
        folder = self._out.local_path(f"{self.place}/{name}")
        folder.mkdir(parents=True)
        pq.write_table(table, folder / "part-0.parquet")
        saved = self._frames[name] = self._spark.createDataFrame(table, BY_NAME[name].schema)
        return saved

    def checkpoint(self, frame: DataFrame) -> DataFrame:
        """Write a frame that only this run needs, which cuts its lineage; returns the frame that reads it, or in a
        small run the one that has its rows."""
        return self.materialize(frame) if self.small else self._work(frame)

    def materialize(self, frame: DataFrame) -> DataFrame:
        """Compute a frame of few rows that only this run needs, and make its rows a part of the plans that use it; they
        need no file, and Spark knows how few they are. More than MATERIALIZED_MAX rows are written."""
        small = materialized(frame)
        return self._work(frame) if small is None else small

    def clear(self) -> None:
        """Remove the frames that ``checkpoint`` wrote."""
        self._out.delete(f"{WORK}/{self.run}")

    def frame(self, name: str) -> DataFrame:
        """A table of this run."""
        if name not in self._frames:
            self._frames[name] = self._spark.read.parquet(self._out.path(f"{self.place}/{name}"))
        return self._frames[name]

    def rows(self, name: str, **among: Collection[str]) -> list[dict[str, Any]]:
        """The rows of a small table, or those in which each of these columns has one of these values."""
        if self._out.here is None:
            return plain_rows(
                reduce(DataFrame.where, (F.col(k).isin([*v]) for k, v in among.items()), self.frame(name))
            )
        rows: list[dict[str, Any]] = self._arrow(name, [(k, "in", v) for k, v in among.items()] or None).to_pylist()
        return rows

    def numbers(self, name: str, wanted: Sequence[str]) -> list[int]:
        """What each of these SQL expressions finds in the whole table."""
        sql = f"select {', '.join(f'coalesce({number}, 0)' for number in wanted)} from {{table}}"
        if self._out.here is None:
            return list(self._spark.sql(sql, table=self.frame(name)).collect()[0])
        return list(selected(self._arrow(name), sql)[0])

    def tables(self, names: Sequence[str]) -> dict[str, Table]:
        """``table`` of each name."""
        return {name: self.table(name) for name in names}

    def table(self, name: str) -> Table:
        """The most important rows of a table, in the order of the catalogue, and the number of all."""
        in_order = f"from {{table}} order by {', '.join(BY_NAME[name].order)} limit {ROWS_COLLECTED_MAX}"
        if self._out.here is None:
            frame = self.frame(name)
            shown, total = self._spark.sql(f"select * {in_order}", table=frame).toArrow(), frame.count()
        else:
            table = self._arrow(name)
            places = [place for (place,) in selected(table, f"select place {in_order}")]
            shown, total = table.take(pa.array(places, pa.int64())), len(table)
        return Table.of(shown.to_pylist(), total, f"{self.place}/{name}")

    def publish(self, summary: Mapping[str, Any], pages: Mapping[str, bytes]) -> None:
        """Make this run the one that counts, show its pages, and remove old runs. ``summary`` has its ``run``;
        ``pages``: the content of each of PAGES."""
        text = json.dumps(summary, indent=2, ensure_ascii=False) + "\n"
        self._write_pages(pages)
        for place in (f"{self.place}/{SUMMARY}", SUMMARY):
            self._out.write(place, text.encode())
        show_pages(self._out)
        remove_old(self._out)

    def show(self, pages: Mapping[str, bytes]) -> None:
        """Replace the pages of this run, which is published."""
        self._write_pages(pages)
        show_pages(self._out)

    def _write_pages(self, pages: Mapping[str, bytes]) -> None:
        for name in PAGES:
            self._out.write(f"{self.place}/{name}", pages[name])

    def _arrow(self, name: str, chosen: list[tuple[str, str, Collection[str]]] | None = None) -> pa.Table:
        return pq.read_table(self._out.local_path(f"{self.place}/{name}"), filters=chosen, partitioning=None)

    def _work(self, frame: DataFrame) -> DataFrame:
        return self._written(f"{WORK}/{self.run}/{next(self._numbers)}", frame)

    def _written(self, place: str, frame: DataFrame) -> DataFrame:
        path = self._out.path(place)
        frame.write.mode("overwrite").parquet(path)
        return self._spark.read.schema(frame.schema).parquet(path)


def current(out: Folder) -> dict[str, Any]:
    """The summary of the run that counts. BadInput if there is none."""
    text = out.part(SUMMARY)
    summary: dict[str, Any] = json.loads(text) if text else {}
    if "run" not in summary:
        raise BadInput(
            _("--out %(out)s has no results of an earlier run. Start with 'rocketns audit run'.") % {"out": out.root}
        )
    return summary


def selected(table: pa.Table, sql: str) -> list[tuple[Any, ...]]:
    """What SQLite selects from {table}, which has ``place`` (that of the row) and each column that the SQL names. It
    takes milliseconds where planning a query takes Spark a second."""
    of_table = table.select([name for name in table.column_names if re.search(rf"\b{name}\b", sql)])
    with_place = of_table.append_column("place", pa.array(range(len(table)), pa.int64()))
    names = ", ".join(f"`{name}`" for name in with_place.column_names)
    values = ", ".join("?" * with_place.num_columns)
    with closing(sqlite3.connect(":memory:")) as memory:
        memory.execute(f"create table selected ({names})")
        rows = zip(*(column.to_pylist() for column in with_place.columns), strict=True)
        memory.executemany(f"insert into selected values ({values})", rows)
        return memory.execute(sql.format(table="selected")).fetchall()


def show_pages(out: Folder) -> None:
    """The pages of the run that counts. If another run is published meanwhile, its pages are shown."""
    shown = None
    while (run := current(out)["run"]) != shown:
        for name in PAGES:
            out.write(name, out.read(f"{RESULTS}/{run}/{name}"))
        shown = run


def remove_old(out: Folder) -> None:
    """Keep the last RUNS_MAX published runs, and unpublished ones that may still be going on."""
    oldest = f"{datetime.now(UTC) - UNPUBLISHED_AGE:%Y%m%dT%H%M%S}"
    runs = [name for name in out.names(RESULTS) if _RUN.fullmatch(name)]
    published = [run for run in runs if out.exists(f"{RESULTS}/{run}/{SUMMARY}")]
    saved = {current(out)["run"], *published[-RUNS_MAX:]}
    saved |= {run for run in runs if run not in published and run >= oldest}
    for run in runs:
        if run not in saved:
            out.delete(f"{RESULTS}/{run}")
    for run in out.names(WORK):
        if run < oldest:
            out.delete(f"{WORK}/{run}")


# Rows of a frame that plans contain: some MB.
MATERIALIZED_MAX = 20_000


def materialized(frame: DataFrame) -> DataFrame | None:
    """Compute the frame and return its rows as a frame; None if there are more than MATERIALIZED_MAX."""
    found = frame.limit(MATERIALIZED_MAX + 1)._jdf.collectAsList()  # the rows stay in the Java process
    if found.size() > MATERIALIZED_MAX:
        return None
    java = cast(Any, frame.sparkSession)._jsparkSession
    return Classic(java.createDataFrame(found, frame._jdf.schema()), frame.sparkSession)


def materialized_if_small(frame: DataFrame) -> DataFrame:
    """A Checkpoint: the frame itself if it has too many rows."""
    small = materialized(frame)
    return frame if small is None else small
