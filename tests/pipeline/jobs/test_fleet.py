"""The whole fleet: availability, storms of registrations, single points of failure, keys, clients and access.

Cases of a job are in one frame each, apart by cluster, name server, broker or topic. Times are in s.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from rocketns.pipeline.contract.frames import Observation
from rocketns.pipeline.contract.schema import BROKER_INTERVALS, EVENTS, NS_UPTIME, TOPIC_INTERVALS
from rocketns.pipeline.jobs.earlier.tallies import callers
from rocketns.pipeline.jobs.fleet.access import NAMED_MAX, admin_changes, new_addresses, refused_requests
from rocketns.pipeline.jobs.fleet.availability import availability
from rocketns.pipeline.jobs.fleet.blast import blast_radius, sole_topics
from rocketns.pipeline.jobs.fleet.census import asked, client_census, clients, missing_askers
from rocketns.pipeline.jobs.fleet.growth import sizes
from rocketns.pipeline.jobs.fleet.ordered import ordered_keys
from rocketns.pipeline.jobs.fleet.storms import storm_registrations, storms
from rocketns.pipeline.jobs.topics import system_topics
from tests.pipeline.frames import Row, frame, rows
from tests.pipeline.journals import SECOND

END = 1000
SEEN = Observation(0, END * SECOND)


def listed(t1: float, t2: float = END, cause: str = "open", bid: int = 0, ns: str = "n1", **more: object) -> Row:
    broker = str(more.get("broker", "a"))
    row = {"ns": ns, "cluster": "c", "broker": broker, "bid": bid, "addr": f"{broker}:{bid}", "end_cause": cause}
    return row | {"t1": int(t1 * SECOND), "t2": int(t2 * SECOND)} | more


def held(broker: str, t1: float = 0, t2: float = END, w: int = 4, topic: str = "t", **more: object) -> Row:
    row = {"ns": "n1", "topic": topic, "broker": broker, "r": w, "w": w, "p": 6, "cause": "register"}
    return row | {"t1": int(t1 * SECOND), "t2": int(t2 * SECOND), "end_cause": "open"} | more


def up(t1: float = 0, t2: float = END, ns: str = "n1", cause: str = "open") -> Row:
    return {"ns": ns, "boot": int(t1), "t1": int(t1 * SECOND), "t2": int(t2 * SECOND), "end_cause": cause}


# cluster → intervals of its brokers, and its listed, failed, planned and unheard seconds and failures, by level
AVAILABLE: dict[str, tuple[list[Row], dict[str, list[tuple[float, ...]]]]] = {
    # 99 %. Of 100 s that a target of 90 % allows, 90 % are left.
    "listed again after 10 s": (
        [listed(0, 500, "channel_close", gap=7000), listed(510)],
        {level: [(990, 10, 0, 0, 1)] for level in ("broker", "cluster", "group", "master")},
    ),
    "only failures": (
        [
            listed(100, 200, "unregister", ns="away"),  # nothing before the first registration; 100 s planned
            listed(300, 400, "stop", ns="away"),  # the name server was away from 400 to 450, and knew nobody until 480
            listed(480, 600, "expired", ns="away", gap=123_000),  # 50 s failed
            listed(650, 700, "conflict", ns="away"),
            listed(750, 800, "unregister", ns="away"),  # planned until the end: it was taken away
        ],
        {"broker": [(420, 50, 300, 123, 1)]},
    ),
    "while the name server is known, and until the end": (
        [listed(0, 300, "expired", ns="lost", gap=0), listed(0)], {"broker": [(1300, 500, 0, 0, 1)]},
    ),
    # The master fails from 200 to 400, the slave from 300 to 500: both are away for 100 s.
    "a group is listed while any member is, and has a master while id 0 is": (
        [listed(0, 200, "expired"), listed(400), listed(0, 300, "channel_close", 1), listed(500, bid=1)],
        {"group": [(900, 100, 0, 0, 1)], "master": [(800, 200, 0, 0, 1)], "broker": [(800, 200, 0, 0, 1)] * 2},
    ),
}  # fmt: skip


def test_failures_spend_the_budget_until_the_broker_is_listed_again(spark: SparkSession) -> None:
    intervals = [row | {"cluster": cluster} for cluster, (cases, _) in AVAILABLE.items() for row in cases]
    ups = [up(), up(0, 400, "away", "stop"), up(450, ns="away"), up(0, 400, "lost", "lost"),
           up(500, 900, "lost", "silent")]  # fmt: skip
    names = ("listed_s", "failed_s", "planned_s", "unheard_s", "failures", "availability", "target", "budget_s", "left")
    table = availability(frame(spark, BROKER_INTERVALS, intervals), frame(spark, NS_UPTIME, ups), SEEN, 90.0)
    found: dict[str, dict[str, list[tuple[float, ...]]]] = {cluster: {} for cluster in AVAILABLE}
    first = next(iter(AVAILABLE))
    for cluster, level, *figures in rows(table, "cluster", "level", *names):
        found[cluster].setdefault(level, []).append(tuple(figures[:5]))
        if cluster == first:
            assert figures[5:] == [0.99, 0.9, pytest.approx(100.0), pytest.approx(0.9)]
    for cluster, (_, expected) in AVAILABLE.items():
        assert {level: found[cluster][level] for level in expected} == expected, cluster
    whole = availability(frame(spark, BROKER_INTERVALS, [listed(0, 9)]), frame(spark, NS_UPTIME, [up()]), SEEN, 100)
    assert rows(whole.where("level = 'group'"), "budget_s", "left") == [(0.0, None)]


def test_registrations_that_follow_each_other_within_half_a_minute_are_a_storm(spark: SparkSession) -> None:
    """A registration has about 663 bytes, and 144 and twice the name for each topic the broker has that day."""
    end, times = 10_000, (1000, 1030, 1060, 1060, 1090, 1120.001, 1130, 1140, 1150)  # five; then four
    members = [listed(t, end, ns="five", broker=f"b{n}") for n, t in enumerate(times)]
    # Three of five were listed before; of the other name server two of five.
    away = {"new": 2, "return": 3}
    members += [listed(2000 + n, end, bid=n, ns=ns) for ns in away for n in range(5)]
    members += [listed(500, 1990, bid=n, ns=ns) for ns, count in away.items() for n in range(count)]
    first = {"start": 120, "later": 120.001}
    members += [listed(t + n, end, ns=ns, broker=f"b{n}") for ns, t in first.items() for n in range(5)]
    members += [listed(0, end, ns="there", broker=f"b{n}") for n in range(9)]  # it had them when it became known
    members += [listed(200 + n, end, ns="one", broker=f"b{n}") for n in range(4)] + [listed(202, end, ns="other")]
    topics = [held("b0", 1000, end, topic="one", ns="five"), held("b0", 1000.5, end, topic="three", ns="five"),
              held("b0", 1002, end, topic="later", ns="five"),
              held("b1", 1030, end, topic="x", ns="five", cause="topic")]  # fmt: skip
    there = frame(spark, TOPIC_INTERVALS, topics)
    ups = frame(spark, NS_UPTIME, [up(0, end, ns) for ns in ("five", *away, *first, "there", "one", "other")])
    members_frame = frame(spark, BROKER_INTERVALS, members)
    told = storm_registrations(members_frame, there, ups, sizes(there, Observation(0, end * SECOND))).cache()
    assert rows(told.where("ns = 'five'"), "place", "broker", "t", "topics", "bytes") == [
        (1, "b0", 1000 * SECOND, 2, 663 + 3 * 144 + 2 * (3 + 5 + 5)), (2, "b1", 1030 * SECOND, 0, 663 + 144 + 2),
        *((place, f"b{place - 1}", times[place - 1] * SECOND, 0, None) for place in (3, 4, 5)),
    ]  # fmt: skip
    assert rows(told.where("ns in ('new', 'return')"), "ns", "trigger", "bid", "away_s") == [
        (ns, ns, n, 10.0 + n if n < count else None) for ns, count in away.items() for n in range(5)
    ]
    found = rows(storms(told), "ns", "trigger", "registrations", "brokers", "peak_s", "first", "last", "topics")
    assert found == [
        ("five", "new", 5, 5, 2, "b0", "b4", 2), ("later", "new", 5, 5, 1, "b0", "b4", 0),
        ("new", "new", 5, 1, 1, "a", "a", 0), ("return", "return", 5, 1, 1, "a", "a", 0),
        ("start", "start", 5, 5, 1, "b0", "b4", 0),
    ]  # fmt: skip


def test_a_topic_on_one_broker_goes_with_it_and_with_its_zone(spark: SparkSession) -> None:
    """Brokers that can only be read keep masters but no write queues. Only masters that are listed at the end count."""
    zones = {"a": "east", "b": "east", "c": "west"}
    members = [listed(0, broker=name, zone=zone) for name, zone in zones.items()]
    members += [listed(0, broker=name) for name in "defg"]
    members += [listed(0, 90, broker="h"), listed(0, broker="h", bid=1), listed(0, broker="i", ns="n2")]
    topics = [held(broker, topic=name) for name, broker in (
        ("one", "a"), ("near", "a"), ("wide", "a"), ("wide", "c"), ("free", "d"), ("free", "a"), ("t", "d"),
        ("gone", "g"), ("gone", "h"), ("both", "g"), ("was", "g"), ("%RETRY%g", "f"), ("g", "g"),
    )]  # fmt: skip
    topics += [held("b", w=8, topic="near"), held("e", p=4, topic="t"), held("f", w=0, topic="t"),
               held("e", p=4, topic="still"), held("i", topic="both", ns="n2"),
               held("i", 0, 90, topic="was")]  # fmt: skip
    brokers = frame(spark, BROKER_INTERVALS, members)
    sole = sole_topics(
        frame(spark, TOPIC_INTERVALS, topics), brokers, frame(spark, NS_UPTIME, [up(), up(ns="n2")]),
        system_topics(brokers),
    ).cache()  # fmt: skip
    assert rows(sole) == [
        ("broker", "a", "one", "user", True, True, 4),
        ("broker", "d", "t", "user", False, True, 4),
        ("broker", "e", "still", "user", True, False, 0),
        ("broker", "f", "%RETRY%g", "retry", True, True, 4),
        ("broker", "g", "g", "system", True, True, 4),
        ("broker", "g", "gone", "user", True, True, 4),
        ("broker", "g", "was", "user", True, True, 4),
        ("zone", "east", "near", "user", True, True, 12),
        ("zone", "east", "one", "user", True, True, 4),
    ]
    assert rows(blast_radius(sole)) == [
        ("broker", "a", 1, 1, 4, ["one"]), ("broker", "d", 0, 1, 4, ["t"]), ("broker", "e", 1, 0, 0, ["still"]),
        ("broker", "g", 2, 2, 8, ["gone", "was"]), ("zone", "east", 2, 2, 16, ["near", "one"]),
    ]  # fmt: skip


# topic → its intervals; its steps, the largest part of moved keys, when, queues before and after, first and last
# step
MOVED: dict[str, tuple[list[Row], tuple[float, ...] | None]] = {
    # a0-3 b0-3 → a0-7 b0-7: hashes 0 to 3 of 16 stay.
    "twice the queues": (
        [held("a", 0, 500), held("b", 0, 500), held("a", 500, w=8), held("b", 500, w=8)],
        (1, 0.75, 500, 8, 16, 500, 500),
    ),
    # Six steps of two kinds. The earliest of a kind is named, and the last one of all.
    "a broker goes and returns every day": (
        [held("a"), *(held("b", *span) for span in ((0, 300), (400, 500), (600, 700), (800, END)))],
        (6, 0.5, 300, 8, 4, 300, 800),
    ),
    # broker-a with 2 and b with 2 become b with 2 and c with 2: b's queues are first now, and a's keys are c's.
    "another order": ([held("a", 0, 500, 2), held("b", w=2), held("c", 500, w=2)], (1, 1, 500, 4, 4, 500, 500)),
    "what not every producer saw": ([held("a"), held("b", 0, 300), held("b", 329.999)], None),
    "read queues, empty lists and what can only be read": (
        [held("a", 0, 300), held("a", 400, 500), held("a", 500) | {"r": 9}, held("b", 0, 600, p=4)], None,
    ),
    # Steps are those of one name server.
    "ordered": (
        [held("a", ns=ns) for ns in ("n1", "n2")] + [held("b", 300), held("b", 301, ns="n2")],
        (1, 0.5, 300, 4, 8, 300, 301),
    ),
}  # fmt: skip


def test_keys_that_moved_to_other_queues(spark: SparkSession) -> None:
    kv = [{"ns": "n1", "ev": "kv", "ns_key": space, "key": key, "val": val} for space, key, val in (
        ("ORDER_TOPIC_CONFIG", "ordered", "a:4"), ("OTHER", "another order", "a:4"),
        ("ORDER_TOPIC_CONFIG", "what all saw", None),
    )]  # fmt: skip
    topics = [row | {"topic": topic} for topic, (cases, _) in MOVED.items() for row in cases]
    nobody = system_topics(frame(spark, BROKER_INTERVALS, []))
    table = ordered_keys(frame(spark, TOPIC_INTERVALS, topics), frame(spark, EVENTS, kv), nobody)
    found = {}
    names = ("topic", "ordered", "steps", "moved_max", "at", "n_before", "n_after", "t1", "t2")
    for topic, ordered, steps, moved, at, before, after, t1, t2 in rows(table, *names):
        assert ordered == (topic == "ordered")
        found[topic] = (steps, pytest.approx(moved), at // SECOND, before, after, t1 // SECOND, t2 // SECOND)
    assert found == {topic: expected for topic, (_, expected) in MOVED.items() if expected is not None}


JAVA, GO = {"lang": "JAVA", "cv": 495}, {"lang": "GO", "cv": 317}


def asked_by(topic: str, at_s: int, n: int, client: str | None = "10.0.0.1:1", ns: str = "n1", **more: object) -> Row:
    """Lookups of the minute before ``at_s``."""
    told = {"ns": ns, "ev": "lookup", "ts": at_s * SECOND, "topic": topic, "client": client, "n": n, "iv_ms": 60_000}
    return told | JAVA | more


def test_clients_ask_each_at_their_own_pace_and_for_absent_topics(spark: SparkSession) -> None:
    records = [
        asked_by("T", 60, 2), asked_by("T", 120, 2), asked_by("U", 60, 2),  # every 30 s
        # every 2 s
        asked_by("T", 60, 30, "10.0.0.2:1", **GO), asked_by("gone", 120, 30, "10.0.0.2:1", "n2", miss=30, **GO),
        asked_by("T", 60, 2, "10.0.0.2:2", **GO), asked_by("gone", 180, 2, "10.0.0.2:2", miss=1, **GO),
        asked_by("T", 60, 4, "10.0.0.2:3", **GO),  # every 15 s, which is not yet fast
        asked_by("%RETRY%g", 60, 2, None, miss=2),
        asked_by("*", 60, 99, "*", lang=None, cv=None), asked_by("T", 3600, 5), asked_by("T", -1, 5),
    ]  # fmt: skip
    counted = asked(callers(frame(spark, EVENTS, records), Observation(0, 3600 * SECOND))).cache()
    found = clients(counted).cache()
    assert rows(found, "client", "lang", "ns", "topics", "n", "miss", "poll_s", "t1", "t2") == [
        ("10.0.0.1:1", "JAVA", ["n1"], 2, 6, 0, 30.0, 0, 120 * SECOND),
        ("10.0.0.2:1", "GO", ["n1", "n2"], 2, 60, 30, 2.0, 0, 120 * SECOND),
        ("10.0.0.2:2", "GO", ["n1"], 2, 4, 1, 30.0, 0, 180 * SECOND),
        ("10.0.0.2:3", "GO", ["n1"], 1, 4, 0, 15.0, 0, 60 * SECOND),
        (None, "JAVA", ["n1"], 1, 2, 2, None, 0, 60 * SECOND),
    ]
    names = ("lang", "cv", "release", "clients", "hosts", "n", "miss", "share", "poll_p50", "fast")
    assert rows(client_census(found), *names) == [
        ("GO", 317, "4.5.2", 3, 1, 68, 31, 68 / 76, 15.0, 1), ("JAVA", 495, "5.4.1", 1, 1, 8, 2, 8 / 76, 30.0, 0),
    ]  # fmt: skip
    vain = missing_askers(counted, system_topics(frame(spark, BROKER_INTERVALS, [])))
    assert rows(vain, "topic", "kind", "client", "ns", "n", "miss", "t1") == [
        ("%RETRY%g", "retry", None, ["n1"], 2, 2, 0),
        ("gone", "user", "10.0.0.2:1", ["n2"], 30, 30, 60 * SECOND),
        ("gone", "user", "10.0.0.2:2", ["n1"], 2, 1, 120 * SECOND),
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
