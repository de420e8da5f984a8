"""Topics: their queues and the brokers that serve them, who asks for them, and which are dead.

Every frame has ``kind``: user, system, retry (``%RETRY%``) or dlq (``%DLQ%``). The report lists the last three apart.

Bursts of lookups of topics that do not exist.

A lookup counts in the hour of its interval's middle, so a small clock difference does not move it. A topic's history
begins with its first lookup, found or not, and has at most HISTORY_HOURS. Hours without a lookup count as 0 misses.

Who asks for routes, which name servers, and how often: a client learns of a change that much later.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import partial
from itertools import product
from statistics import median

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from rocketns.pipeline.contract.frames import (
    Observation,
    Row,
    by_group,
    columns,
    conform,
    each,
    plain_rows,
)
from rocketns.pipeline.contract.schema import CLIENTS, DEAD_TOPICS, MISSING_TOPICS, TOPICS
from rocketns.pipeline.contract.terms import DAY_US, DEAD_DAYS, HOUR_US, NS_ENDINGS
from rocketns.pipeline.jobs.tallies import named

# A name server that was up for less time of a day is not expected to journal lookups on that day.
COVERED_US = 3_600_000_000
# org.apache.rocketmq.common.topic.TopicValidator, 5.5.0
SYSTEM_TOPICS = {
    "TBW102", "SCHEDULE_TOPIC_XXXX", "BenchmarkTest", "RMQ_SYS_TRANS_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_HALF_TOPIC",
    "RMQ_SYS_TRACE_TOPIC", "RMQ_SYS_TRANS_OP_HALF_TOPIC", "RMQ_SYS_ROCKSDB_TRANS_OP_HALF_TOPIC",
    "TRANS_CHECK_MAX_TIME_TOPIC", "SELF_TEST_TOPIC", "OFFSET_MOVED_EVENT", "CHECKPOINT_TOPIC",
}  # fmt: skip
SYSTEM_PREFIX = "rmq_sys_"
MASTER = 0
WRITE = 2  # the bit of ``p`` without which nothing can be sent
BROKERS_MAX, SAMPLE_MAX = 16, 5  # names of a row


def system_topics(broker_intervals: Iterable[Row]) -> frozenset[str]:
    """The topics that each broker makes for itself: its name, its cluster's name, the cluster's reply topic. From rows
    with ``cluster`` and ``broker``."""
    named = {(row["cluster"], row["broker"]) for row in broker_intervals}
    return frozenset(name for cluster, broker in named for name in (broker, cluster, f"{cluster}_REPLY_TOPIC"))


def kind_of(topic: str, system_topics: Set[str]) -> str:
    """The kind of a topic; ``system_topics`` as the function of that name returns it."""
    if topic.startswith(("%RETRY%", "%DLQ%")):
        return "retry" if topic.startswith("%RETRY%") else "dlq"
    is_system = topic in SYSTEM_TOPICS or topic.startswith(SYSTEM_PREFIX) or topic in system_topics
    return "system" if is_system else "user"


def writable_queues(value: Row) -> int:
    """How many queues of a broker may be written to, of a row with its ``w`` and ``p``."""
    queues: int = value["w"] if value["p"] & WRITE else 0
    return queues


def is_unread(topic: str, system_topics: Set[str], members: Sequence[Row]) -> bool:
    """Whether it is a system topic that none of its ``members`` looked up. Every broker makes them for itself, so they
    would hide the topics that matter to consumers."""
    return not members and kind_of(topic, system_topics) == "system"


def topics(
    topic_intervals: DataFrame,
    broker_intervals: Iterable[Row],
    ns_uptime: Iterable[Row],
    callers: DataFrame,
    system_topics: Set[str],
    observation: Observation,
) -> DataFrame:
    """TOPICS: each topic that a broker had or a client asked for. ``callers``: CALLERS.

    Queues and brokers are those at the end, at name servers that were up then; the largest number where they differ. A
    broker serves a topic if it has a master and queues that may be written to. An acting master cannot be sent
    to."""
    end = max((up["t2"] for up in ns_uptime), default=0)
    masters = frozenset(row["broker"] for row in broker_intervals if row["bid"] == MASTER and row["t2"] >= end)
    work = partial(_row_of_topic, masters, system_topics, end, observation.t1)
    return by_group("topic", work, TOPICS, intervals=topic_intervals, asked=named(callers))


def _row_of_topic(
    masters: Set[str], system_topics: Set[str], end: int, t1: int, topic: str, rows: Mapping[str, Sequence[Row]]
) -> Iterator[Row]:
    """Its row of TOPICS. ``end``: when the last name server's state is known; ``t1``: the end of the observation."""
    lives, asked = rows["intervals"], rows["asked"]
    last = max((row["t2"] for row in lives), default=t1)
    last_unknown = max((row["t2"] for row in lives if row["end_cause"] in NS_ENDINGS), default=-1)
    read, writable = Counter[str](), Counter[str]()
    for row in lives:
        if row["t2"] >= end:
            read[row["broker"]] = max(read[row["broker"]], row["r"])
            writable[row["broker"]] = max(writable[row["broker"]], writable_queues(row))
    queues = sum(read.values())
    serving = sorted(broker for broker, w in writable.items() if w > 0 and broker in masters)
    yield {
        "topic": topic, "kind": kind_of(topic, system_topics),
        "served": len(serving), "brokers": serving[:BROKERS_MAX], "queues": queues,
        "skew": max(read.values()) * len(read) / queues if queues else None,
        "created": min((row["t1"] for row in lives), default=None),
        "removed": last if last_unknown < last < t1 else None,
        "n": sum(row["n"] or 0 for row in asked), "miss": sum(row["miss"] for row in asked),
        "last_lookup": max((row["t2"] for row in asked), default=None),
    }  # fmt: skip


def dead_topics(
    topics: DataFrame, uncovered: Set[Uncovered], observation: Observation, dead_days: int = DEAD_DAYS
) -> DataFrame:
    """DEAD_TOPICS: present for the last ``dead_days`` days, and never looked up. Empty if a name server that was up on
    one of these days journalled no lookup on it (``uncovered``): then it is unknown which topics were looked up."""
    since = observation.t1 - dead_days * DAY_US
    quiet = F.col("last_lookup").isNull() | (F.col("last_lookup") < since)
    there = topics.where((F.col("queues") > 0) & (F.col("created") <= since) & quiet & F.lit(not uncovered))
    return conform(there.withColumn("days", F.lit(dead_days)), DEAD_TOPICS)


Uncovered = tuple[str | None, int]


def uncovered(
    covered: Iterable[Row], ns_uptime: Iterable[Row], observation: Observation, dead_days: int
) -> set[Uncovered]:
    """Which name server journalled no lookup on which of the last ``dead_days`` 24-hour days before the end (0: the
    last one), although it was up for at least COVERED_US of it. None: a day on which no name server was up. From rows
    of COVERED and NS_UPTIME."""
    up = Counter[tuple[str, int]]()
    for row, ago in product(ns_uptime, range(dead_days)):
        end = observation.t1 - ago * DAY_US
        up[row["ns"], ago] += max(0, min(row["t2"], end) - max(row["t1"], end - DAY_US))
    expected = {of_day for of_day, time in up.items() if time >= COVERED_US}
    # An hour reaches into two of these days at most.
    wrote = {(row["ns"], (observation.t1 - 1 - row[end]) // DAY_US) for row in covered for end in ("first", "last")}
    nobody = set(range(dead_days)) - {ago for _ns, ago in expected}
    return {*(expected - wrote), *((None, ago) for ago in nobody)}


def user_topics_of_brokers(
    topic_intervals: DataFrame, system_topics: Set[str], observation: Observation
) -> dict[str, Row]:
    """By broker a row of topics, queues, topic_sample: the user topics that it had at any time, their read queues, each
    topic with its largest number, and their first names. What is at stake if it goes."""
    seen = topic_intervals.where((F.col("t1") < observation.t1) & (F.col("t2") > observation.t0))
    had = seen.groupBy("broker", "topic").agg(F.max("r").alias("r"))
    found = by_group("broker", partial(_user_topics_of_broker, system_topics), USER_TOPICS, had=had)
    return {row["broker"]: row for row in plain_rows(found)}


USER_TOPICS = columns("broker:string topics:long queues:long topic_sample:strings")


def _user_topics_of_broker(system_topics: Set[str], broker: str, rows: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    users = {row["topic"]: row["r"] for row in rows["had"] if kind_of(row["topic"], system_topics) == "user"}
    sample = sorted(users)[:SAMPLE_MAX]
    yield {"broker": broker, "topics": len(users), "queues": sum(users.values()), "topic_sample": sample}


HISTORY_HOURS = 168
HISTORY_HOURS_MIN = 24
MISSES_MIN = 20
SPREADS = 5
# The standard deviation of a normal distribution is this multiple of its median absolute deviation.
MAD_SCALE = 1.4826


def missing_topics(hours: DataFrame, system_topics: Set[str]) -> DataFrame:
    """MISSING_TOPICS, of HOURS, a row for each flagged (topic, hour). Clients themselves look up system topics such as
    TBW102 where a topic is missing, so those are no finding."""
    # No other topic can be flagged.
    most = F.max("miss").over(Window.partitionBy("topic"))
    missed = hours.withColumn("most", most).where(F.col("most") >= MISSES_MIN).drop("most")
    return by_group("topic", partial(_missing_hours, system_topics), MISSING_TOPICS, hours=missed)


def _missing_hours(system_topics: Set[str], topic: str, rows: Mapping[str, Sequence[Row]]) -> Iterator[Row]:
    """Its rows of MISSING_TOPICS."""
    by_hour = {row["hour"]: row for row in rows["hours"]}
    misses: list[int] = []
    is_first = True
    for hour in range(min(by_hour), max(by_hour) + 1):
        miss = by_hour[hour]["miss"] if hour in by_hour else 0
        if miss >= MISSES_MIN:
            past = misses[-HISTORY_HOURS:]
            usual = median(past or [0])
            spread = median([abs(each - usual) for each in past] or [0.0])
            bound = None if len(past) < HISTORY_HOURS_MIN else usual + SPREADS * max(MAD_SCALE * spread, 1.0)
            kind = ("new" if is_first else None) if bound is None else "anomaly" if miss > bound else None
            if kind is not None:
                yield {
                    "topic": topic, "hour": hour * HOUR_US, "kind": kind, "miss": miss, "n": by_hour[hour]["n"],
                    "ns": by_hour[hour]["ns"], "hours": len(past), "bound": bound,
                    "topic_kind": kind_of(topic, system_topics),
                    **({"median": usual, "mad": spread} if past else {}),
                }  # fmt: skip
            is_first = False
        misses.append(miss)


CALLER = ("client", "lang", "cv")


def clients(callers: DataFrame) -> DataFrame:
    """CLIENTS, of CALLERS. ``poll_s``: the mean time between two lookups of one topic; null without a client."""
    found = (
        named(callers)
        .groupBy(*CALLER)
        .agg(
            F.sort_array(F.collect_set("ns")).alias("ns"),
            F.count_distinct("topic").alias("topics"),
            *each(F.sum, "n", "miss", "iv_ms"),
            *each(F.min, "t1"),
            *each(F.max, "t2"),
        )
    )
    poll_s = F.when(F.col("client").isNotNull(), F.try_divide(F.col("iv_ms") / 1000, "n"))
    return conform(found.withColumn("poll_s", poll_s), CLIENTS)
