"""Who asks for routes, and who changes name servers or is refused. Times are in s."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.jobs.access import NAMED_MAX, admin_changes, new_addresses, refused_requests
from rocketns.pipeline.jobs.tallies import callers
from rocketns.pipeline.jobs.topics import clients
from tests.pipeline.frames import Row, frame, rows
from tests.pipeline.journals import SECOND

END = 1000


JAVA, GO = {"lang": "JAVA", "cv": 495}, {"lang": "GO", "cv": 317}


def asked_by(topic: str, at_s: int, n: int, client: str | None = "10.0.0.1:1", ns: str = "n1", **more: object) -> Row:
    """Lookups of the minute before ``at_s``."""
    told = {"ns": ns, "ev": "lookup", "ts": at_s * SECOND, "topic": topic, "client": client, "n": n, "iv_ms": 60_000}
    return told | JAVA | more


def test_clients_ask_each_at_their_own_pace(spark: SparkSession) -> None:
    records = [
        asked_by("T", 60, 2), asked_by("T", 120, 2), asked_by("U", 60, 2),  # every 30 s
        # every 2 s
        asked_by("T", 60, 30, "10.0.0.2:1", **GO), asked_by("gone", 120, 30, "10.0.0.2:1", "n2", miss=30, **GO),
        asked_by("T", 60, 2, "10.0.0.2:2", **GO), asked_by("gone", 180, 2, "10.0.0.2:2", miss=1, **GO),
        asked_by("T", 60, 4, "10.0.0.2:3", **GO),  # every 15 s, which is not yet fast
        asked_by("%RETRY%g", 60, 2, None, miss=2),
        asked_by("*", 60, 99, "*", lang=None, cv=None), asked_by("T", 3600, 5), asked_by("T", -1, 5),
    ]  # fmt: skip
    found = clients(callers(frame(spark, EVENTS, records), Observation(0, 3600 * SECOND)))
    assert rows(found, "client", "lang", "ns", "topics", "n", "miss", "poll_s", "t1", "t2") == [
        ("10.0.0.1:1", "JAVA", ["n1"], 2, 6, 0, 30.0, 0, 120 * SECOND),
        ("10.0.0.2:1", "GO", ["n1", "n2"], 2, 60, 30, 2.0, 0, 120 * SECOND),
        ("10.0.0.2:2", "GO", ["n1"], 2, 4, 1, 30.0, 0, 180 * SECOND),
        ("10.0.0.2:3", "GO", ["n1"], 1, 4, 0, 15.0, 0, 60 * SECOND),
        (None, "JAVA", ["n1"], 1, 2, 2, None, 0, 60 * SECOND),
    ]


BY = {"from_host": "10.0.0.9", "principal": "ops", "access_key": "key-1", "n": 1}


def record(ev: str, at_s: int, ns: str = "n1", **values: object) -> Row:
    return {"ns": ns, "boot": 1, "seq": at_s, "ts": at_s * SECOND, "ev": ev} | values


def broker(at_s: int, host: str | None, ns: str = "n1", ev: str = "reg", **more: object) -> Row:
    named = {"cluster": "c", "broker": "b", "bid": 0, "addr": f"{host}:10911", "from_host": host}
    return record(ev, at_s, ns, **named) | more


def test_changes_refusals_and_new_addresses_are_those_of_the_observation(spark: SparkSession) -> None:
    """The first host of a broker is not new, and one that it returns to neither; what was before is known, not told."""
    fields = [{"k": "namespace", "v": "ns"}, {"k": "key", "v": None}]
    what = {"access": "lookup", "code": 105, "reason": "no_evidence", "enforced": True}
    told = frame(spark, EVENTS, [
        record("admin", 200, **BY, code=100, result=0, client="10.0.0.9:1", fields=fields, before="v", after="w"),
        record("admin", 201, code=216, result=1, n=7),
        record("admin", 99, code=205, result=0), record("admin", 1_000, code=205, result=0),
        record("kv", 200, ns_key="ns", key="k", val="w"),
        record("refused", 200, **BY | what), record("refused", 300, "n2", **BY | what | {"n": 5, "principal": None}),
        record("refused", 400, **BY | what | {"enforced": False}),
        *(record("refused", 500 + n, **what, from_host="h", access_key=f"k{n:02}", n=1) for n in range(NAMED_MAX + 2)),
        record("refused", 99, **BY | what),
        broker(50, "h1"), broker(200, "h2"), broker(201, "h2", "n2"), broker(300, "h1"),
        broker(400, "h3", "n2", "hb"), broker(500, None), broker(600, "h1", "n2", "snap"),
        broker(200, "h9", bid=1), broker(200, "h9", broker="other"),
        broker(10, "h1", broker="known"), broker(20, "h2", broker="known"), broker(200, "h2", broker="known"),
    ]).cache()  # fmt: skip
    seen = Observation(100 * SECOND, END * SECOND)
    names = ("t", "code", "result", "n", "host", "client", "principal", "what", "before", "after")
    assert rows(admin_changes(told, seen), *names) == [
        (200 * SECOND, 100, 0, 1, "10.0.0.9", "10.0.0.9:1", "ops", "namespace=ns key=", "v", "w"),
        (201 * SECOND, 216, 1, 7, None, None, None, None, None, None),
    ]
    keys = [f"k{n:02}" for n in range(NAMED_MAX)]
    names = ("host", "enforced", "n", "t1", "t2", "ns", "principals", "access_keys")
    assert rows(refused_requests(told, seen), *names) == [
        ("10.0.0.9", False, 1, 400 * SECOND, 400 * SECOND, ["n1"], ["ops"], ["key-1"]),
        ("10.0.0.9", True, 6, 200 * SECOND, 300 * SECOND, ["n1", "n2"], ["ops"], ["key-1"]),
        ("h", True, NAMED_MAX + 2, 500 * SECOND, (501 + NAMED_MAX) * SECOND, ["n1"], [], keys),
    ]
    assert rows(new_addresses(told, seen), "broker", "bid", "host", "before", "hosts", "t", "ns", "addr") == [
        ("b", 0, "h2", "h1", 1, 200 * SECOND, "n1", "h2:10911"),
        ("b", 0, "h3", "h2", 2, 400 * SECOND, "n2", "h3:10911"),
    ]
