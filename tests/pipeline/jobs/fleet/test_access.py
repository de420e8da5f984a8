"""Who changed what, whose requests were refused, and brokers that came from new addresses."""

from __future__ import annotations

from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import EVENTS
from rocketns.pipeline.jobs.fleet.access import NAMED_MAX, admin_changes, new_addresses, refused_requests
from tests.pipeline.intervals import Row, frame, rows
from tests.pipeline.journals import SECOND

SEEN = Observation(100 * SECOND, 1_000 * SECOND)
BY = {"from_host": "10.0.0.9", "principal": "ops", "access_key": "key-1", "n": 1}


def record(ev: str, at_s: int, ns: str = "n1", **values: object) -> Row:
    return {"ns": ns, "boot": 1, "seq": at_s, "ts": at_s * SECOND, "ev": ev} | values


def broker(at_s: int, host: str | None, ns: str = "n1", ev: str = "reg", **more: object) -> Row:
    named = {"cluster": "c", "broker": "b", "bid": 0, "addr": f"{host}:10911", "from_host": host}
    return record(ev, at_s, ns, **named) | more


def test_a_request_of_an_administrator_is_told_with_its_fields(spark: SparkSession) -> None:
    fields = [{"k": "namespace", "v": "ns"}, {"k": "key", "v": None}]
    told = [
        record("admin", 200, **BY, code=100, result=0, client="10.0.0.9:1", fields=fields, before="v", after="w"),
        record("admin", 201, code=216, result=1, n=7),
        record("admin", 99, code=205, result=0), record("admin", 1_000, code=205, result=0),
        record("kv", 200, ns_key="ns", key="k", val="w"),
    ]  # fmt: skip
    found = admin_changes(frame(spark, EVENTS, told), SEEN)
    assert rows(found, "t", "code", "result", "n", "host", "client", "principal", "what", "before", "after") == [
        (200 * SECOND, 100, 0, 1, "10.0.0.9", "10.0.0.9:1", "ops", "namespace=ns key=", "v", "w"),
        (201 * SECOND, 216, 1, 7, None, None, None, None, None, None),
    ]


def test_refused_requests_are_summed_by_host_class_code_and_reason(spark: SparkSession) -> None:
    what = {"access": "lookup", "code": 105, "reason": "no_evidence", "enforced": True}
    told = [
        record("refused", 200, **BY | what), record("refused", 300, "n2", **BY | what | {"n": 5, "principal": None}),
        record("refused", 400, **BY | what | {"enforced": False}),
        *(record("refused", 500 + n, **what, from_host="h", access_key=f"k{n:02}", n=1) for n in range(NAMED_MAX + 2)),
        record("refused", 99, **BY | what),
    ]  # fmt: skip
    found = refused_requests(frame(spark, EVENTS, told), SEEN)
    keys = [f"k{n:02}" for n in range(NAMED_MAX)]
    assert rows(found, "host", "enforced", "n", "t1", "t2", "ns", "principals", "access_keys") == [
        ("10.0.0.9", False, 1, 400 * SECOND, 400 * SECOND, ["n1"], ["ops"], ["key-1"]),
        ("10.0.0.9", True, 6, 200 * SECOND, 300 * SECOND, ["n1", "n2"], ["ops"], ["key-1"]),
        ("h", True, NAMED_MAX + 2, 500 * SECOND, (501 + NAMED_MAX) * SECOND, ["n1"], [], keys),
    ]


def test_a_broker_that_comes_from_another_host_is_listed_once(spark: SparkSession) -> None:
    """Its first host is not new, and a host that it returns to neither."""
    told = [
        broker(50, "h1"), broker(200, "h2"), broker(201, "h2", "n2"), broker(300, "h1"),
        broker(400, "h3", "n2", "hb"), broker(500, None), broker(600, "h1", "n2", "snap"),
        broker(200, "h9", bid=1), broker(200, "h9", broker="other"),
    ]  # fmt: skip
    found = new_addresses(frame(spark, EVENTS, told), SEEN)
    assert rows(found, "broker", "bid", "host", "before", "hosts", "t", "ns", "addr") == [
        ("b", 0, "h2", "h1", 1, 200 * SECOND, "n1", "h2:10911"),
        ("b", 0, "h3", "h2", 2, 400 * SECOND, "n2", "h3:10911"),
    ]


def test_what_a_broker_did_before_the_observation_is_known_and_not_listed(spark: SparkSession) -> None:
    told = frame(spark, EVENTS, [broker(10, "h1"), broker(20, "h2"), broker(200, "h2")])
    assert rows(new_addresses(told, SEEN)) == []
