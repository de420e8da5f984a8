"""A large fleet for the page: 5 name servers, 300 brokers, 10,000 topics, and as many incidents as one likes.

The tables are made by hand, as the jobs would leave them. One thing goes on at the end: three name servers list broker
b-117, and ns-4 does not."""

from __future__ import annotations

import random
from typing import Any

from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.contract.tables import Table
from rocketns.pipeline.report.model import ReportInput

T0 = 1_785_542_400_000_000  # 2026-08-01 00:00 UTC
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
T1 = T0 + 7 * DAY
SERVERS = tuple(f"ns-{number}" for number in range(1, 6))
BROKERS = tuple(f"b-{number:03}" for number in range(300))
TOPICS = 10_000
QUEUES = 4
WORDS = ("orders", "stock", "mail", "payments", "clicks", "audit", "refunds", "prices")

Rows = list[dict[str, Any]]
Gone = dict[tuple[str, str], list[tuple[int, int, str]]]


def large_fleet(incidents: int = 40, seed: int = 1) -> ReportInput:
    """About ``incidents`` incidents of all kinds, in a week."""
    fleet = _Fleet(random.Random(seed))
    fleet.cut("ns-4", "b-117", T1 - 52 * MINUTE, T1)
    fleet.restart("ns-2", T0 + 2 * DAY, 40 * SECOND, "stop")
    fleet.restart("ns-5", T0 + 4 * DAY, 9 * MINUTE, "lost")
    makers = (fleet.some_cut, fleet.some_crash, fleet.some_cut, fleet.some_typo, fleet.some_stale, fleet.some_crash)
    for number in range(incidents - 3):
        makers[number % len(makers)]()
    return fleet.input()


class _Fleet:
    def __init__(self, chance: random.Random) -> None:
        self.chance = chance
        self.gone: Gone = {}
        self.boots: Rows = [{"ns": ns, "boot": 1, "t1": T0, "t2": T1, "end_cause": "open"} for ns in SERVERS]
        self.incidents: Rows = []
        self.windows: Rows = []
        self.departures: Rows = []
        self.missing: Rows = []

    def cut(self, ns: str, broker: str, t1: int, t2: int) -> None:
        self.gone.setdefault((ns, broker), []).append((t1, t2, "expired"))
        self._differ(broker, t1, t2, "expired", [ns])
        self.departures.append({"broker": broker, "cluster": "main", "t1": t1, "t2": t1, "kind": "partition",
                               "ns": [ns],
                                "bids": [0]})  # fmt: skip

    def restart(self, ns: str, at: int, length: int, end_cause: str) -> None:
        boot = next(row for row in self.boots if row["ns"] == ns)
        self.boots.append({**boot, "boot": 2, "t1": at + length})
        boot |= {"t2": at, "end_cause": end_cause}
        for broker in BROKERS:
            self.gone.setdefault((ns, broker), []).append((at, at + length + 20 * SECOND, end_cause))
        for broker in BROKERS[:40]:
            self._differ(broker, at + length, at + length + 20 * SECOND, "start", [ns])

    def some_cut(self) -> None:
        at, length = self._time()
        self.cut(self.chance.choice(SERVERS), self.chance.choice(BROKERS), at, at + length)

    def some_crash(self) -> None:
        (at, length), broker = self._time(), self.chance.choice(BROKERS)
        for ns in SERVERS:
            self.gone.setdefault((ns, broker), []).append((at, at + length, "channel_close"))
        self.departures.append({"broker": broker, "cluster": "main", "t1": at, "t2": at, "kind": "crash",
                                "ns": list(SERVERS), "bids": [0]})  # fmt: skip

    def some_stale(self) -> None:
        (at, length), broker, ns = self._time(), self.chance.choice(BROKERS), self.chance.choice(SERVERS)
        permission = self.chance.random() < 0.5
        now, before = ((QUEUES, QUEUES, 4), (QUEUES, QUEUES, 6)) if permission else ((8, 8, 6), (QUEUES, QUEUES, 6))
        values = {other: before if other == ns else now for other in SERVERS}
        self._differ(broker, at, at + length, "perm" if permission else "heartbeat", [], values)

    def some_typo(self) -> None:
        hour = T0 + self.chance.randrange(7 * 24 - 2) * HOUR
        topic = f"{self.chance.choice(WORDS)}-tpyo-{self.chance.randrange(100)}"
        miss = self.chance.randrange(25, 4_000)
        self.missing.append({"topic": topic, "hour": hour, "kind": "new", "miss": miss, "n": miss, "ns": ["ns-1"],
                             "hours": 3})  # fmt: skip

    def _time(self) -> tuple[int, int]:
        length = self.chance.randrange(8, 3_000) * SECOND
        return T0 + self.chance.randrange(HOUR, 7 * DAY - 2 * HOUR), length

    def _differ(
        self, broker: str, t1: int, t2: int, cause: str, without: list[str], values: dict[str, Any] | None = None
    ) -> None:
        names = topics_of(broker)
        told = values or {ns: None if ns in without else (QUEUES, QUEUES, 6) for ns in SERVERS}
        view = [
            {"ns": ns, "present": v is not None, **dict(zip("rwp", v or (None,) * 3, strict=True))}
            for ns, v in told.items()
        ]
        window = {"broker": broker, "t1": t1, "t2": t2, "cause": cause, "opened_by": (without or ["ns-1"])[0],
                  "gap": 123_000 if cause == "expired" else None, "kind": "user", "values": view}  # fmt: skip
        self.windows += [window | {"topic": topic} for topic in names[:3]]
        self.incidents.append({
            "cause": cause, "broker": broker, "t1": t1, "t2": t2, "windows": len(names) + 2, "topics": len(names) + 2,
            "user_topics": len(names), "topic_sample": names[:5], "queues": QUEUES * len(names) if without else 0,
            "ns_without": without, "opened_by": [window["opened_by"]], "longest": t2 - t1, "gap_max": window["gap"],
            "stalled": [], "doubt": None,
        })  # fmt: skip

    def input(self) -> ReportInput:
        intervals = [row for ns in SERVERS for broker in BROKERS for row in self._intervals(ns, broker)]
        return ReportInput(
            t0=T0, t1=T1, verdict=Verdict.FINDINGS,
            options={"journal": "/var/rocketns/journal", "groups": "2, 3, 4", "min_window": "5 s"},
            figures={"events": 30_240_000, "name_servers": 5, "brokers": len(BROKERS), "topics": TOPICS,
                     "incidents": len(self.incidents), "windows": len(self.windows)},
            tables={
                "ns_uptime": Table.of(sorted(self.boots, key=_by_ns), path="results/ns_uptime"),
                "broker_intervals": Table.of(intervals, path="results/broker_intervals"),
                "key_windows": Table.of(self.windows, path="results/key_windows"),
                "incidents": Table.of(self.incidents, path="results/incidents"),
                "departures": Table.of(sorted(self.departures, key=lambda row: row["t1"]), path="results/departures"),
                "missing_topics": Table.of(self.missing, path="results/missing_topics"),
                "broker_load": Table.of([load(broker) for broker in BROKERS], path="results/broker_load"),
                "broker_stats": Table.of([row for broker in BROKERS for row in stats(broker)]),
                "topic_inventory": Table.of([topic(number) for number in range(TOPICS)], path="results/topics"),
                "sources": Table.of([{"ns": ns, "files": 1_008, "events": 6_048_000, "first": T0, "last": T1,
                                      "offset_us": 0, "corrupt": 0, "lost": 0} for ns in SERVERS]),
            },
        )  # fmt: skip

    def _intervals(self, ns: str, broker: str) -> Rows:
        row = {"ns": ns, "cluster": "main", "broker": broker, "bid": 0, "addr": f"10.1.0.{int(broker[2:])}:10911"}
        found, start = [], T0
        for t1, t2, cause in sorted(self.gone.get((ns, broker), [])):
            if t1 > start:
                found.append(
                    row | {"t1": start, "t2": t1, "end_cause": cause, "gap": 123_000 if cause == "expired" else None}
                )
            start = max(start, t2)
        return [*found, row | {"t1": start, "t2": T1, "end_cause": "open", "gap": None}] if start < T1 else found


def _by_ns(row: dict[str, Any]) -> tuple[str, int]:
    return row["ns"], row["t1"]


def topics_of(broker: str) -> list[str]:
    """The user topics of a broker: a tenth of a percent of all, or so."""
    number = int(broker[2:])
    return [name_of(place) for place in range(number % 7, TOPICS, 300)]


def name_of(number: int) -> str:
    return f"{WORDS[number % len(WORDS)]}.team-{number % 37:02}.{number:05}"


def load(broker: str) -> dict[str, Any]:
    names = topics_of(broker)
    return {"broker": broker, "topics": len(names) + 4, "user_topics": len(names), "queues": QUEUES * len(names),
            "topic_sample": names[:5]}  # fmt: skip


def stats(broker: str) -> Rows:
    number = int(broker[2:])
    return [
        {"ns": ns, "broker": broker, "bid": 0, "addr": f"10.1.0.{number}:10911", "up_s": 604_000.0 - number,
         "availability": 0.9999 - number / 1e5, "failures": number % 3, "graceful": 0, "flaps": number % 2,
         "mtbf_s": 1e5, "gap_p50": 30_000.0, "gap_p95": 30_020.0, "gap_p99": 30_450.0, "gap_max": 31_000.0 + number,
         "gaps": 20_000}
        for ns in SERVERS
    ]  # fmt: skip


def topic(number: int) -> dict[str, Any]:
    return {"topic": name_of(number), "kind": "user", "brokers": 8, "queues": 32, "created": T0, "removed": None}
