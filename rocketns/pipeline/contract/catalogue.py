"""Every result table in one row. The stored tables, the page and docs/audit-reference.md all go over these rows.

Findings are listed in the order of the rows. To add a table: write its function below ``jobs``, a row here, its call in
``batch/tables.py``, and a test on a few rows in tests/pipeline/jobs.

What a row of the catalogue says about a result table, and the sections of the page.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import StructType

from rocketns.languages import N_
from rocketns.pipeline.contract import meanings, schema

# Sections of the page, in their order, with their titles.
SECTIONS = {
    "divergence": N_("Divergence"),
    "servers": N_("Name servers"),
    "impact": N_("Consumer impact"),
    "imbalance": N_("Producer imbalance"),
    "brokers": N_("Brokers"),
    "departures": N_("Departures"),
    "topics": N_("Topics and lookups"),
    "clients": N_("Clients"),
    "access": N_("Administrators and access"),
    "quality": N_("Data quality"),
}


@dataclass(frozen=True)
class FindingCount:
    """What in a table counts as a finding. ``count``: SQL over the whole table; ``words``: what follows the number in
    the output. A run with any finding ends with exit status 1."""

    name: str
    count: str
    words: str


@dataclass(frozen=True)
class Job:
    """One result table. ``name``: its folder below results/. ``rows``: what one row is. ``meaning``: how to read it, a
    message where the page lists the table. ``order``: how rows are sorted there, SQL expressions with an optional last
    word such as desc (a method of Column); empty where the page does not list the table."""

    name: str
    rows: str
    schema: StructType
    section: str
    meaning: str
    order: tuple[str, ...] = ()
    finding: FindingCount | None = None


USERS_FIRST = "if(kind = 'user', 0, 1)"
LONGEST_FIRST = "t1 - t2"
CERTAIN = "doubt is null"
CERTAIN_FIRST = f"if({CERTAIN}, 0, 1)"

JOBS = (
    Job("key_windows", "a stretch of time in which name servers disagree about one topic on one broker",
        schema.KEY_WINDOWS, "divergence", meanings.WINDOWS,
        (CERTAIN_FIRST, USERS_FIRST, LONGEST_FIRST, "topic", "broker", "t1")),
    Job("divergences", "windows with the same broker and cause that begin close to each other",
        schema.DIVERGENCES, "divergence", meanings.DIVERGENCES,
        (CERTAIN_FIRST, LONGEST_FIRST, "broker", "cause", "t1"),
        FindingCount("divergences", f"count_if({CERTAIN})",
                N_("divergences: name servers disagreed about routes of a broker"))),
    Job("topic_segments", "a stretch of a topic's windows in which no view changes", schema.TOPIC_SEGMENTS,
        "divergence", meanings.SEGMENTS),
    Job("group_members", "a consumer of a group at a name server", schema.GROUP_MEMBERS,
        "impact", meanings.GROUP_MEMBERS),
    Job("impact", "a segment, a strategy and a group size, or a real group", schema.IMPACT,
        "impact", meanings.IMPACT,
        ("orphaned_qs_max + dup_qs_max desc", "topic", "t1", "strategy", "c", "assignments", "group")),
    Job("imbalance", "a broker in a segment", schema.IMBALANCE, "imbalance",
        meanings.IMBALANCE, ("tvd desc_nulls_last", "topic", "t1", "broker")),
    Job("unwritable", "a stretch in which nobody may write to topics of a broker", schema.UNWRITABLE, "imbalance",
        meanings.UNWRITABLE, ("alone desc", "t1 - t2", "broker", "t1"),
        FindingCount("unwritable", "count(*)", N_("times at which nobody could write to topics of a broker"))),
    Job("departures", "a broker's departure, as all name servers saw it", schema.DEPARTURES,
        "departures", meanings.DEPARTURES, ("t1 desc", "broker"),
        FindingCount("departures", "count_if(kind <> 'graceful')",
                N_("departures of brokers that were not graceful, or whose cause is not visible"))),
    Job("broker_stats", "a broker address at a name server", schema.BROKER_STATS, "brokers",
        meanings.BROKERS, ("availability asc_nulls_last", "broker", "ns", "bid", "addr"),
        FindingCount("flaps", "count(distinct if(flaps > 0, broker, null))",
                N_("brokers that flapped: they failed and came back within ten minutes"))),
    Job("ns_uptime", "a start of a name server", schema.NS_UPTIME, "servers", meanings.SERVERS,
        ("ns", "t1"),
        FindingCount("killed", "count_if(end_cause = 'lost')", N_("name servers that ended without a stop record"))),
    Job("broker_intervals", "a stretch in which a name server listed a broker address",
        schema.BROKER_INTERVALS, "servers", meanings.INTERVALS,
        ("end_cause in ('open', 'stop')", "broker", "ns", "bid", "addr", "t1")),
    Job("topic_intervals",
        "a stretch in which a name server had a topic with the same queues on a broker", schema.TOPIC_INTERVALS,
        "servers", meanings.TOPIC_INTERVALS),
    Job("topics", "a topic that a broker had or a client asked for", schema.TOPICS, "topics",
        meanings.TOPICS, (USERS_FIRST, "n desc", "topic")),
    Job("dead_topics", "a topic that nobody looked up", schema.DEAD_TOPICS, "topics", meanings.DEAD,
        (USERS_FIRST, "kind", "topic")),
    Job("missing_topics", "an hour with unusually many lookups of a topic that no broker had",
        schema.MISSING_TOPICS, "topics", meanings.MISSING,
        ("if(topic_kind = 'system', 1, 0)", "hour desc", "topic"),
        FindingCount("missing_topics", "count_if(topic_kind <> 'system')",
                N_("hours with unusually many lookups of a topic that does not exist"))),
    Job("clients", "a client with its language and version", schema.CLIENTS, "clients",
        meanings.CLIENTS, ("poll_s asc_nulls_last", "n desc", "client", "lang", "cv")),
    Job("admin_changes", "a request of an administrator, or several that changed nothing",
        schema.ADMIN_CHANGES, "access", meanings.ADMIN_CHANGES, ("t desc", "ns", "code")),
    Job("refused_requests", "a host and a kind of request that was refused, or would have been",
        schema.REFUSED_REQUESTS, "access", meanings.REFUSED,
        ("n desc", "host", "access", "code", "reason", "enforced")),
    Job("new_addresses", "a host from which a broker had not registered before", schema.NEW_ADDRESSES,
        "access", meanings.NEW_ADDRESSES, ("t desc", "broker", "bid", "cluster", "host")),
    Job("clock_days", "a name server's clock on a day", schema.CLOCK_DAYS, "quality",
        meanings.CLOCKS),
    Job("sources", "a name server's journal", schema.SOURCES, "quality", meanings.SOURCES,
        ("ns",)),
    Job("quality", "something that is missing from a journal", schema.QUALITY, "quality",
        meanings.QUALITY, ("kind", "ns", "t1")),
)  # fmt: skip

BY_NAME = {job.name: job for job in JOBS}
FINDINGS = {job.finding.name: job.finding for job in JOBS if job.finding}
LISTED = tuple(job.name for job in JOBS if job.order)
