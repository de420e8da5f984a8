"""Hand-made input for the report: a fleet in one day with a partition, a crash, a restart and a topic nobody asks for;
the same with names from a hostile network; nothing at all; and far too much."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rocketns.pipeline.contract.frames import Table
from rocketns.pipeline.contract.terms import AuditVerdict
from rocketns.pipeline.report.model import ReportInput

T0 = 1_785_715_200_000_000  # 2026-08-03 00:00 UTC
MINUTE = 60_000_000
HOUR = 60 * MINUTE
T1 = T0 + 24 * HOUR
SERVERS = ("n1", "n2", "n3")
BROKERS = tuple(f"broker-{letter}" for letter in "abcdefgh")
HOSTILE = "<script>alert('x')</script>\"'&{{7*7}}$\\frac{1}{0}$\u202e\x00\n#0b1d01 https://evil.example/x.js"
Rows = list[dict[str, Any]]


def sample() -> ReportInput:
    """The ordinary page: every section has something."""
    return ReportInput(
        t0=T0,
        t1=T1,
        verdict=AuditVerdict.FINDINGS,
        options={"journal": "journal", "groups": "2, 3", "min_window": "5 s", "dead_days": "7", "master": "local[2]"},
        figures={
            "events": 1_734_211, "name_servers": 3, "brokers": 8, "topics": 5_000,
        },
        notes={"topics": ["Lookups were journalled on 1 of 7 days, so no topic can be called dead for 7 days."]},
        tables={
            "ns_uptime": Table.of(uptime(), path="tables/ns_uptime.parquet"),
            "broker_intervals": Table.of(intervals(), path="tables/broker_intervals.parquet"),
            "key_windows": Table.of(windows(), 7_490, path="tables/key_windows.parquet"),
            "divergences": Table.of(incident_rows(), path="tables/divergences.parquet"),
            "impact": Table.of(impact(), path="tables/impact.parquet"),
            "imbalance": Table.of(imbalance(), path="tables/imbalance.parquet"),
            "broker_stats": Table.of(stats(), path="tables/broker_stats.parquet"),
            "topics": Table.of([*looked_up(), *[topic(i) for i in range(30)]], 5_000, "tables/topics.parquet"),
            "dead_topics": Table.of(
                [{"topic": "legacy_topic", "kind": "user", "last_lookup": T0 - 9 * 24 * HOUR, "days": 9}]
            ),
            "missing_topics": Table.of(missing()),
            "departures": Table.of(departures(), path="tables/departures.parquet"),
            "sources": Table.of([source(ns) for ns in SERVERS]),
        }
        | fleet_tables(),
    )  # fmt: skip


def going_on() -> ReportInput:
    """The same with the partition at the end, where it is not over."""
    at = T1 - 39 * MINUTE
    open_rows = [row for row in intervals() if (row["ns"], row["broker"]) != ("n2", "broker-b")]
    before = {**intervals()[0], "ns": "n2", "broker": "broker-b", "addr": "10.0.0.2:10911", "t2": at, "gap": 123_000}
    partition = incident_rows()[0] | {"t1": at, "t2": T1}
    return with_tables(
        sample(),
        broker_intervals=Table.of([*open_rows, before | {"end_cause": "expired"}]),
        divergences=Table.of([partition, *incident_rows()[1:]]),
        key_windows=Table.of([row | {"t1": at, "t2": T1} for row in windows()]),
        departures=Table.of([row for row in departures() if row["kind"] != "partition"]),
    )


def clean() -> ReportInput:
    """A whole journal in which nothing was found."""
    full = sample()
    up = Table.of([row | {"t1": T0, "t2": T1, "end_cause": "open"} for row in uptime() if row["boot"] == 1])
    steady = Table.of([row for row in intervals() if row["broker"] == "broker-a" and row["t1"] < T0 + HOUR])
    return ReportInput(
        t0=T0, t1=T1, verdict=AuditVerdict.NOTHING, options=full.options,
        tables={
            "ns_uptime": up, "broker_intervals": steady, "topics": full["topics"],
            "sources": full["sources"],
        },
    )  # fmt: skip


def healthy() -> ReportInput:
    """The same with all that a quiet day has to list."""
    full, data = sample(), clean()
    tables = {name: full[name] for name in ("broker_stats", "clients", "topics", "sources")}
    return replace(with_tables(data, **tables), figures=full.figures)


def outside() -> ReportInput:
    """The incidents of the ordinary page, seen between two looks."""
    full = sample()
    seen = [row | {"t1_early": 90_000_000, "t2_early": 95_000_000} for row in incident_rows()]
    return with_tables(full, divergences=Table.of(seen))


def nothing() -> ReportInput:
    """A journal without a record."""
    return ReportInput(t0=T0, t1=T1, verdict=AuditVerdict.INCOMPLETE, incomplete=["No name server wrote anything."])


def incomplete() -> ReportInput:
    """The ordinary page with lost records."""
    faults: Rows = [
        {"kind": "hole", "ns": "n2", "boot": 2, "t1": T0 + 9 * HOUR, "t2": T0 + 9 * HOUR + MINUTE, "n": 412},
        {"kind": "corrupt", "ns": "n3", "n": 1, "detail": "dt=2026-08-03/ns=n3/1-4.jsonl"},
    ]
    reasons = ["412 records of n2 are missing in a hole of its sequence.", "1 line of n3 does not parse."]
    data = with_tables(sample(), quality=Table.of(faults))
    return replace(data, verdict=AuditVerdict.INCOMPLETE, incomplete=reasons)


def hostile() -> ReportInput:
    """Every name is what an attacker would register."""
    return _renamed(incomplete(), HOSTILE)


def huge(count: int) -> ReportInput:
    """``count`` windows and incidents, as many of everything else, with names as long as the protocol lets them be."""
    many = [windows()[0] | {"topic": f"{'t' * 120}{i}", "t1": T0 + i, "t2": T1 - i} for i in range(count)]
    one = impact()[0] | {"orphaned_ids": [f"broker-{'x' * 100}{i}:{i}" for i in range(64)]}
    flapping = [
        intervals()[0] | {"ns": f"n{i % 40}", "broker": f"{'b' * 120}{i % 300}", "t1": T0 + i * MINUTE // 10,
                          "t2": T0 + i * MINUTE // 10 + MINUTE // 20, "end_cause": "expired"}
        for i in range(count)
    ]  # fmt: skip
    incidents = [
        incident_rows()[0]
        | {"broker": f"{'b' * 120}{i % 300}", "t1": T0 + i * MINUTE // 12, "t2": T0 + i * MINUTE // 10}
        for i in range(count)
    ]
    return with_tables(
        sample(),
        broker_intervals=Table.of(flapping),
        key_windows=Table.of(many, path="tables/key_windows.parquet"),
        divergences=Table.of(incidents),
        impact=Table.of([one | {"topic": f"{'t' * 120}{i}"} for i in range(count)]),
        imbalance=Table.of([imbalance()[0] | {"broker": f"{'b' * 120}{i}"} for i in range(count)]),
        broker_stats=Table.of([stats()[0] | {"broker": f"{'b' * 120}{i}"} for i in range(count)]),
        departures=Table.of([departures()[0] | {"broker": f"{'b' * 120}{i}"} for i in range(count)]),
    )


def with_tables(data: ReportInput, **tables: Table) -> ReportInput:
    """The input with some tables replaced."""
    return replace(data, tables={**data.tables, **tables})


def uptime() -> Rows:
    """n3 restarts at 18:00 and is away for 25 minutes."""
    up = [{"ns": ns, "boot": 1, "t1": T0, "t2": T1, "end_cause": "open"} for ns in ("n1", "n2")]
    stopped = {"ns": "n3", "boot": 1, "t1": T0, "t2": T0 + 18 * HOUR, "end_cause": "stop"}
    return [*up, stopped, {"ns": "n3", "boot": 2, "t1": T0 + 18 * HOUR + 25 * MINUTE, "t2": T1, "end_cause": "open"}]


def intervals() -> Rows:
    """broker-b is cut from n2 for 39 minutes, broker-c crashes twice, broker-d is stopped for an upgrade."""
    gone = {
        "broker-b": {"n2": [(9 * HOUR, 39 * MINUTE, "expired")]},
        "broker-c": {
            ns: [(13 * HOUR, 12 * MINUTE, "channel_close"), (20 * HOUR, HOUR, "channel_close")] for ns in SERVERS
        },
        "broker-d": {ns: [(4 * HOUR, 45 * MINUTE, "unregister")] for ns in SERVERS},
    }
    return [
        row for broker in BROKERS for ns in SERVERS for row in _intervals(ns, broker, gone.get(broker, {}).get(ns, []))
    ]


def _intervals(ns: str, broker: str, gone: list[tuple[int, int, str]]) -> Rows:
    if ns == "n3":
        gone = sorted([*gone, (18 * HOUR, 25 * MINUTE, "stop")])
    addr = f"10.0.0.{BROKERS.index(broker) + 1}:10911"
    base = {"ns": ns, "cluster": "shop", "broker": broker, "bid": 0, "addr": addr, "timeout_ms": 120_000}
    rows, start = [], T0 + MINUTE
    for at, length, cause in gone:
        gap = 123_000 if cause == "expired" else None
        rows.append(base | {"t1": start, "t2": T0 + at, "end_cause": cause, "gap": gap})
        start = T0 + at + length
    return [*rows, base | {"t1": start, "t2": T1, "end_cause": "open", "gap": None}]


def windows() -> Rows:
    """The keys of broker-b that n2 lacked."""
    return [
        {
            "topic": f"{name}_topic", "broker": "broker-b", "t1": T0 + 9 * HOUR, "t2": T0 + 9 * HOUR + 39 * MINUTE,
            "cause": "expired", "opened_by": "n2", "gap": 123_000,
            "values": [{"ns": ns, "present": ns != "n2", "r": 4, "w": 4, "p": 6} for ns in SERVERS],
        }
        for name in ("order", "payment", "stock", "mail", "audit", "click", "cart", "price", "user", "refund", "log")
    ]  # fmt: skip


def incident_rows() -> Rows:
    """The partition, the crash as n1 saw it first, and n3's start without any broker."""
    partition = {
        "cause": "expired", "broker": "broker-b", "t1": T0 + 9 * HOUR, "t2": T0 + 9 * HOUR + 39 * MINUTE,
        "windows": 1_250, "topics": 1_250, "user_topics": 1_248, "queues": 4_992,
        "topic_sample": ["audit_topic", "cart_topic", "click_topic"],
        "ns_without": ["n2"], "opened_by": ["n2"], "longest": 39 * MINUTE, "gap_max": 123_000,
    }  # fmt: skip
    crash = partition | {
        "cause": "channel_close", "broker": "broker-c", "t1": T0 + 13 * HOUR, "t2": T0 + 13 * HOUR + 6_500_000,
        "windows": 640, "topics": 640, "user_topics": 640, "queues": 2_560,
        "ns_without": ["n1", "n3"], "opened_by": ["n1"], "gap_max": 11_200,
    }  # fmt: skip
    at = T0 + 18 * HOUR + 25 * MINUTE
    start = partition | {"cause": "start", "t1": at, "t2": at + 28_000_000, "ns_without": ["n3"], "opened_by": ["n3"],
                         "gap_max": None, "windows": 700, "topics": 700,
                         "user_topics": 698, "queues": 2_792}  # fmt: skip
    return [partition, crash, *(start | {"broker": broker} for broker in BROKERS)]


def impact() -> Rows:
    """The worked example's counts for the time of the partition, for two strategies and group sizes."""
    ids = [f"broker-b:{q}" for q in range(4)]
    base = {
        "topic": "order_topic", "t1": T0 + 9 * HOUR, "t2": T0 + 9 * HOUR + 39 * MINUTE, "strategy": "averagely", "c": 2,
        "assignments": "model", "queues": 8, "orphaned_mean": 3.0, "orphaned_max": 4.0, "dup_mean": 1.0, "dup_max": 2.0,
        "orphaned_qs_mean": 7_020.0, "orphaned_qs_max": 9_360.0, "dup_qs_mean": 2_340.0, "dup_qs_max": 4_680.0,
        "orphaned_ids": ids, "dup_ids": ["broker-a:2", "broker-a:3"], "capped": False,
    }  # fmt: skip
    circle = base | {
        "strategy": "circle", "orphaned_mean": 2.0, "orphaned_max": 2.0, "dup_mean": 0.0, "dup_max": 0.0,
        "orphaned_qs_mean": 4_680.0, "orphaned_qs_max": 4_680.0, "dup_qs_mean": 0.0, "dup_qs_max": 0.0,
        "orphaned_ids": ["broker-b:1", "broker-b:3"], "dup_ids": [],
    }  # fmt: skip
    real = base | {"topic": "payment_topic", "c": 3, "assignments": "real", "group": "pay", "orphaned_mean": 8 / 3,
                   "dup_mean": 2 / 3, "orphaned_qs_mean": 6_240.0, "dup_qs_max": 2_340.0}  # fmt: skip
    return [base, base | {"topic": "stock_topic"}, real, circle]


def imbalance() -> Rows:
    """Half of the producers see both brokers, half broker-a alone."""
    base = {"topic": "order_topic", "t1": T0 + 9 * HOUR, "t2": T0 + 9 * HOUR + 39 * MINUTE, "tvd": 0.25, "peak": 1.5,
            "fair": 0.5, "no_share_ns": []}  # fmt: skip
    return [base | {"broker": "broker-a", "share": 0.75}, base | {"broker": "broker-b", "share": 0.25}]


def stats() -> Rows:
    """Of each broker at each name server, the lowest availability first."""
    rows = []
    for row in intervals():
        if row["end_cause"] != "open":
            continue
        lost = {"broker-b": 0.0271 * (row["ns"] == "n2"), "broker-c": 0.05, "broker-d": 0.03125}.get(row["broker"], 0.0)
        failures = {"broker-b": int(row["ns"] == "n2"), "broker-c": 2}.get(row["broker"], 0)
        up_s = 86_340 * (1 - lost)
        rows.append({
            "ns": row["ns"], "broker": row["broker"], "bid": 0, "addr": row["addr"], "up_s": up_s,
            "availability": 1 - lost, "failures": failures, "graceful": int(row["broker"] == "broker-d"), "flaps": 0,
            "failed_s": 86_340 * lost, "planned_s": 0.0,
            "mtbf_s": up_s / failures if failures else None, "gap_p50": 30_000.0, "gap_p95": 30_020.0,
            "gap_p99": 30_450.0, "gap_max": 61_200.0 if failures else 31_050.0, "gaps": 2_871,
        })  # fmt: skip
    return sorted(rows, key=lambda row: float(row["availability"]))


def missing() -> Rows:
    """One topic with a history, one without."""
    return [
        {"topic": "order_topci", "hour": T0 + 10 * HOUR, "miss": 480, "median": 2.0, "mad": 1.0, "kind": "anomaly"},
        {"topic": "new_topic", "hour": T0 + 11 * HOUR, "miss": 25, "median": None, "mad": None, "kind": "new"},
    ]


def departures() -> Rows:
    """One of each kind but silent."""
    had = {"topics": 640, "queues": 2_560, "topic_sample": ["audit_topic", "cart_topic", "click_topic"]}
    base = {"cluster": "shop", "bids": [0], "ns": list(SERVERS)} | had
    times = ((4, "broker-d", "graceful"), (9, "broker-b", "partition"), (13, "broker-c", "crash"),
             (20, "broker-c", "crash"))  # fmt: skip
    rows = [
        base | {"broker": broker, "kind": kind, "t1": T0 + hour * HOUR, "t2": T0 + hour * HOUR + 900_000}
        for hour, broker, kind in times
    ]
    rows[1]["ns"] = ["n2"]
    return rows


def looked_up() -> Rows:
    """Eight topics of users, the last one uneven and on one broker, and what two consumer groups ask for."""
    users: Rows = [
        {"topic": f"hot_topic_{i}", "kind": "user", "served": 4, "brokers": ["broker-a", "broker-b"], "queues": 16,
         "skew": 1.0, "created": T0, "n": 90_000 // i, "miss": 0}
        for i in range(1, 9)
    ]  # fmt: skip
    users[-1] |= {"served": 1, "brokers": ["broker-a"], "skew": 2.0}
    groups = [{"topic": f"%RETRY%group-{i}", "kind": "retry", "n": 700, "miss": 700} for i in (1, 2)]
    return [*users, *groups]


def topic(index: int) -> dict[str, Any]:
    """One line of the inventory."""
    return {"topic": f"topic_{index:04}", "kind": "user", "served": 8, "brokers": ["broker-a"], "queues": 32,
            "created": T0 + MINUTE, "removed": None}  # fmt: skip


def source(ns: str) -> dict[str, Any]:
    """What was read of one name server."""
    return {"ns": ns, "files": 25, "events": 578_070, "first": T0, "last": T1 - 1_000_000, "offset_us": 12_000,
            "corrupt": 0, "lost": 0}  # fmt: skip


def _renamed(data: ReportInput, name: str) -> ReportInput:
    tables = {
        of: Table([_renamed_row(row, name) for row in table.rows], table.total, name)
        for of, table in data.tables.items()
    }
    return replace(data, tables=tables, options={name: name}, incomplete=[name], notes={"topics": [name]})


def _renamed_row(row: Any, name: str) -> dict[str, Any]:
    return {key: _renamed_value(value, name) for key, value in row.items() if key != "detail"} | {"detail": name}


def _renamed_value(value: Any, name: str) -> Any:
    if isinstance(value, str):
        return f"{name}:0" if value.startswith("broker-") and ":" in value else name
    if isinstance(value, list):
        return [_renamed_row(v, name) if isinstance(v, dict) else _renamed_value(v, name) for v in value]
    return value


def fleet_tables() -> dict[str, Table]:
    """A row or two of each."""
    java = {"lang": "JAVA", "cv": 495, "n": 5_000, "miss": 12}
    asker = {"client": "10.0.0.7:40001", "ns": ["n1"], "t1": T0, "t2": T0 + HOUR} | java
    return {
        "clients": Table.of([asker | {"poll_s": 3.0, "topics": 4}]),
        "admin_changes": Table.of([{
            "t": T0, "host": "10.0.0.9", "principal": "ops", "code": 100, "what": "key=k", "before": "v", "after": "w",
            "result": 0, "n": 1, "ns": "n1",
        }]),
        "refused_requests": Table.of([{
            "host": "10.0.0.8", "access": "admin", "code": 216, "reason": "not_granted", "enforced": True, "n": 3,
            "t1": T0, "t2": T0 + HOUR, "ns": ["n1"], "principals": [], "access_keys": ["key-1"],
        }]),
        "new_addresses": Table.of([{
            "t": T0, "cluster": "c", "broker": "broker-c", "bid": 0, "host": "10.0.0.7", "before": "10.0.0.3",
            "hosts": 1, "addr": "10.0.0.7:10911", "ns": "n2",
        }]),
    }  # fmt: skip
