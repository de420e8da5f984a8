"""Journals → the uptimes and topic intervals that they mean, in plain Python."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tests.pipeline.journals import Record

Row = dict[str, Any]


def read_journal(ns: str, records: Sequence[Record], end: int) -> tuple[list[Row], list[Row]]:
    """A name server's NS_UPTIME and TOPIC_INTERVALS, as rows."""
    reader = _Reader(ns, end).read(records)
    return reader.uptime, reader.topics


class _Reader:
    """One name server's intervals. Topics with the same value twice in a row keep their interval."""

    def __init__(self, ns: str, end: int) -> None:
        self.ns, self.end = ns, end
        self.uptime: list[Row] = []
        self.topics: list[Row] = []
        self._up: Row | None = None
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
        self.topics += [{**row, **ended} for row in self._values.values()]
        for rows in (self.topics, self.uptime):
            late = [row for row in rows if row["t2"] > ts and row["ns"] == self.ns and row["t1"] < ts]
            for row in late:
                row.update(ended)
            rows[:] = [row for row in rows if row["t1"] < row["t2"] and row["t1"] < ts]
        self._up = None
        self._values.clear()

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
