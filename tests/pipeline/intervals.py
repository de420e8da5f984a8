"""Journals → the intervals that they mean, in plain Python: input for the tests of the jobs that take intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from rocketns.pipeline.contract.frames import Observation, frame_of
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, NS_UPTIME, TOPIC_INTERVALS
from tests.pipeline.journals import Record, events_frame

Row = dict[str, Any]


class Frames(NamedTuple):
    """What the jobs take."""

    events: DataFrame
    ns_uptime: DataFrame
    broker_intervals: DataFrame
    topic_intervals: DataFrame


def frame(spark: SparkSession, schema: StructType, rows: Iterable[Mapping[str, Any]]) -> DataFrame:
    """Rows as a frame; a column that a row lacks is null."""
    return frame_of(spark, [tuple(row.get(name) for name in schema.names) for row in rows], schema)


def rows(data: DataFrame, *names: str) -> list[tuple[Any, ...]]:
    """The rows' columns ``names`` (all of them without), sorted."""
    chosen = data.select(*names) if names else data
    return sorted((tuple(row) for row in chosen.collect()), key=repr)


def frames_of(spark: SparkSession, journals: Mapping[str, Sequence[Record]], seen: Observation) -> Frames:
    """Every frame of these journals, observed until ``seen.t1``."""
    made = [_Reader(ns, seen.t1).read(records) for ns, records in journals.items()]
    return Frames(
        events_frame(spark, journals),
        frame(spark, NS_UPTIME, [row for reader in made for row in reader.uptime]),
        frame(spark, BROKER_INTERVALS, [row for reader in made for row in reader.brokers]),
        frame(spark, TOPIC_INTERVALS, [row for reader in made for row in reader.topics]),
    )


def read_journal(ns: str, records: Sequence[Record], end: int) -> tuple[list[Row], list[Row]]:
    """A name server's NS_UPTIME and TOPIC_INTERVALS, as rows."""
    reader = _Reader(ns, end).read(records)
    return reader.uptime, reader.topics


class _Reader:
    """One name server's intervals. Topics with the same value twice in a row keep their interval."""

    def __init__(self, ns: str, end: int) -> None:
        self.ns, self.end = ns, end
        self.uptime: list[Row] = []
        self.brokers: list[Row] = []
        self.topics: list[Row] = []
        self._up: Row | None = None
        self._listed: dict[tuple[Any, ...], Row] = {}
        self._values: dict[tuple[str, str], Row] = {}
        self._last = 0

    def read(self, records: Sequence[Record]) -> _Reader:
        for record in records:
            if self._up is not None and record["boot"] != self._up["boot"]:
                self._end_boot(self._last, "lost")
            getattr(self, f"_{record['ev']}", self._other)(record)
            self._last = record["ts"]
        self._end_boot(self.end, "open")
        return self

    def _other(self, record: Record) -> None:
        pass

    def _start(self, record: Record) -> None:
        observed = bool(record.get("observed"))
        self._up = {"ns": self.ns, "boot": record["boot"], "t1": record["ts"], "observed": observed,
                    "no_topics": False}  # fmt: skip

    def _snap(self, record: Record) -> None:
        if self._up is not None and record.get("no_topics"):
            self._up["no_topics"] = True

    def _stop(self, record: Record) -> None:
        self._end_boot(record.get("since", record["ts"]), "stop")

    def _end_boot(self, ts: int, cause: str) -> None:
        """What an observer saw after the end is passed over."""
        if self._up is None:
            return
        why = "unwatched" if self._up["observed"] and cause != "open" else cause
        ended = {"t2": ts, "end_cause": why, "t2_early": 0}
        self.uptime.append({**self._up, **ended})
        self.brokers += [{**row, **ended} for row in self._listed.values()]
        self.topics += [{**row, **ended} for row in self._values.values()]
        for rows in (self.brokers, self.topics, self.uptime):
            late = [row for row in rows if row["t2"] > ts and row["ns"] == self.ns and row["t1"] < ts]
            for row in late:
                row.update(ended, gap=None, asked=None)
            rows[:] = [row for row in rows if row["t1"] < row["t2"] and row["t1"] < ts]
        self._up = None
        self._listed.clear()
        self._values.clear()

    def _reg(self, record: Record) -> None:
        key = _member(record)
        if key not in self._listed:
            named = dict(zip(("cluster", "broker", "bid", "addr"), key, strict=True))
            told = {"t1": record["ts"], "t1_early": _early(record), "timeout_ms": record.get("timeout_ms")}
            self._listed[key] = {"ns": self.ns, **named, **told}

    def _down(self, record: Record) -> None:
        row = self._listed.pop(_member(record))
        told = {"gap": record.get("gap"), "asked": record.get("asked"), "t2_early": _early(record)}
        self.brokers.append({**row, "t2": record["ts"], "end_cause": record["cause"], **told})

    def _tput(self, record: Record) -> None:
        for value in record["topics"]:
            key, queues = (value["t"], record["broker"]), {name: value[name] for name in "rwp"}
            if {name: self._values.get(key, {}).get(name) for name in "rwp"} == queues:
                continue
            self._end_topic(key, record)
            opened = {"ns": self.ns, "topic": key[0], "broker": key[1], "t1": record["ts"], "cause": record["cause"]}
            self._values[key] = {**opened, **queues, "t1_early": _early(record)}

    def _tdel(self, record: Record) -> None:
        for value in record["topics"]:
            self._end_topic((value["t"], record["broker"]), record)

    def _end_topic(self, key: tuple[str, str], record: Record) -> None:
        row = self._values.pop(key, None)
        if row is not None:
            ended = {"t2": record["ts"], "end_cause": record["cause"], "t2_early": _early(record)}
            self.topics.append({**row, **ended})


def _early(record: Record) -> int:
    return record["ts"] - int(record.get("since", record["ts"]))


def _member(record: Record) -> tuple[Any, ...]:
    return record["cluster"], record["broker"], record["bid"], record["addr"]
