"""Hand-made rows of the tables about the fleet, beside those about disagreements."""

from __future__ import annotations

from rocketns.pipeline.contract.tables import Table

T0 = 1_785_715_200_000_000  # 2026-08-03 00:00 UTC
HOUR = 3_600_000_000


def fleet_tables() -> dict[str, Table]:
    """A row or two of each."""
    java = {"lang": "JAVA", "cv": 495, "n": 5_000, "miss": 12}
    asker = {"client": "10.0.0.7:40001", "ns": ["n1"], "t1": T0, "t2": T0 + HOUR} | java
    storm = {"ns": "n2", "trigger": "start", "topics": 640, "bytes": 107_520}
    lost = {"scope": "zone", "name": "east", "queues": 16}
    group = {"level": "group", "cluster": "shop", "broker": "broker-b", "failed_s": 2_340.0, "budget_s": 259.2,
             "left": -8.03, "availability": 0.991, "failures": 1, "listed_s": 256_860.0}  # fmt: skip
    return {
        "client_census": Table.of(
            [java | {"release": "5.4.1", "clients": 40, "hosts": 12, "share": 1.0, "poll_p50": 30.0}]
        ),
        "clients": Table.of([asker | {"poll_s": 3.0, "topics": 4}]),
        "missing_askers": Table.of([asker | {"topic": "order_topci", "kind": "user"}]),
        "availability": Table.of([group, group | {"level": "cluster", "broker": None, "left": 0.4}]),
        "sole_topics": Table.of([lost | {"topic": "log_topic", "kind": "user", "loses_writes": True}]),
        "blast_radius": Table.of([lost | {"no_write": 3, "no_master": 2, "sample": ["log_topic"]}]),
        "storms": Table.of([storm | {"t1": T0, "t2": T0 + 9_000_000, "registrations": 8, "brokers": 8, "peak_s": 3}]),
        "storm_registrations": Table.of([storm | {"storm": T0, "t": T0, "place": 1, "broker": "broker-c"}]),
        "ordered_keys": Table.of(
            [{"topic": "order_topic", "kind": "user", "ordered": True, "steps": 2, "moved_max": 0.75, "at": T0}]
        ),
        "growth": Table.of([{"day": "2026-08-03", "topics": 5_000, "entries": 40_000, "registration_bytes": 900_000}]),
        "admin_changes": Table.of(
            [
                {
                    "t": T0,
                    "host": "10.0.0.9",
                    "principal": "ops",
                    "code": 100,
                    "what": "key=k",
                    "before": "v",
                    "after": "w",
                    "result": 0,
                    "n": 1,
                    "ns": "n1",
                }
            ]
        ),
        "refused_requests": Table.of(
            [
                {
                    "host": "10.0.0.8",
                    "access": "admin",
                    "code": 216,
                    "reason": "not_granted",
                    "enforced": True,
                    "n": 3,
                    "t1": T0,
                    "t2": T0 + HOUR,
                    "ns": ["n1"],
                    "principals": [],
                    "access_keys": ["key-1"],
                }
            ]
        ),
        "new_addresses": Table.of(
            [
                {
                    "t": T0,
                    "cluster": "c",
                    "broker": "broker-c",
                    "bid": 0,
                    "host": "10.0.0.7",
                    "before": "10.0.0.3",
                    "hosts": 1,
                    "addr": "10.0.0.7:10911",
                    "ns": "n2",
                }
            ]
        ),
        "growth_limits": Table.of(
            [
                {
                    "measure": "registration",
                    "now": 900_000,
                    "limit": 16_777_216,
                    "used": 0.054,
                    "reached": T0 + 999 * HOUR,
                }
            ]
        ),
    }
