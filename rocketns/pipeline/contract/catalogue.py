"""Every result table in one row, with what it means. The stored tables, the page and docs/audit-reference.md all go
over these rows.

Findings are listed in the order of the rows. To add a table: write its function below ``jobs``, a row here, its call in
``batch/run.py``, and a test on a few rows in tests/pipeline/jobs.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.types import StructType

from rocketns.languages import N_
from rocketns.pipeline.contract import schema

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
    message where the page lists the table. ``order``: how rows are sorted there; empty where the page does not list the
    table. SQL here means the same to Spark and to SQLite."""

    name: str
    rows: str
    schema: StructType
    section: str
    meaning: str
    order: tuple[str, ...] = ()
    finding: FindingCount | None = None


# What each result table means. The page prints those that are messages; docs/audit-reference.md says more.
DIVERGENCES = N_(
    "A window is a stretch of time in which the running name servers disagreed about one topic on one broker. "
    "Windows with the same broker and cause that begin within 10 s of each other are one row. “Without the route” "
    "names the name servers that did not have the broker when a window began. If it is empty, all had the broker, "
    "but with different queue counts or permissions. “Hidden queues”: read queues of user topics that one name "
    "server showed and another did not. “Stalled” names those that did not run themselves when a window began, or "
    "up to 30 s before. Their view was late."
)
WINDOWS = N_("The longest windows one by one, with the view of each name server when the window began.")
CLOCKS_DIFFER = N_(
    "A change that reached all name servers at once looks like a difference for as long as their clocks differ. "
    "These windows are shorter than that, and every name server showed within that time what the others showed. "
    "None of them is counted as a disagreement. The same holds for the time between two looks at name servers "
    "that were watched from outside."
)
LOST = N_(
    "In these windows only doubtful values differ: records of a name server were lost, and a topic change may be "
    "among them. The doubt about a topic on a broker ends when the journal names it again: in a record, or in the "
    "next whole snapshot. None of these windows is counted as a disagreement."
)
SEGMENTS = (
    "The time of all windows of a topic, cut wherever a name server's view of the topic changes. Within a segment "
    "each name server shows one route. The page does not list it."
)
SERVERS = N_(
    "Each start of a name server: from when and until when its state is known, and how it ended. “Lost” means "
    "that it ended without a stop record: it was killed or its machine failed. Of a name server that was watched "
    "from outside: each time in which it was watched; “no longer watched” says nothing about the name server."
)
INTERVALS = "When each name server listed a broker address, and how that ended. The page does not list it."
TOPIC_INTERVALS = "When each name server had a topic on a broker, with its queues and permission, and how that ended."
IMPACT = N_(
    "While views differ, the members of one consumer group divide different queue lists. Orphaned queues have no "
    "consumer, and their messages wait. Queues taken twice have two or more consumers, and messages may be "
    "consumed twice. Queue-seconds are queues times the length of the segment. “Any spread” gives mean and "
    "maximum over all ways to spread C consumers over the differing views. “Real spread” uses the name servers "
    "that the group's members really asked, where lookups of its %RETRY% topic show them. Queue ids are those of "
    "the worst spread."
)
GROUP_MEMBERS = (
    "Which client of which consumer group asked which name server for a topic, and when. A client that looks up a "
    "topic and %RETRY%<group> at one name server is a member of that group. Empty unless the name servers journal "
    "lookups for each client (journalLookupClients). The page does not list it."
)
IMBALANCE = N_(
    "Share is the part of the messages that a broker gets while views differ. Fair is the part that it would get "
    "if every producer saw all brokers. Tvd is the part of all messages that goes to the wrong broker (0: none). "
    "Peak is the largest share divided by its fair share: at 1.5 a broker gets 50 % more than it should."
)
UNWRITABLE = N_(
    "Brokers whose user topics lost the permission to write at every name server that listed them: a wiped write "
    "permission, or topics that were made read-only. Name servers agree there, so it is no divergence. Alone: topics "
    "that no other broker took meanwhile, so nobody could send to them."
)
BROKERS = N_(
    "One row per broker address and name server. Availability: time registered divided by that time and the time that "
    "it was away after a failure. Failure: heartbeats stopped or the connection ended. Graceful: the broker "
    "unregistered. Flap: a failure followed by a new registration within 10 minutes. MTBF: time up per failure. Cause "
    "not visible: it went as seen from outside, which is none of these. Planned: away after it unregistered."
)
DEPARTURES = N_(
    "A departure joins the times at which several name servers lost the same broker within a short time. "
    "Graceful: it unregistered. Crash: its connections broke at all running name servers. Silent: its heartbeats "
    "stopped at all of them. Partition: some lost it while another still received its heartbeats. Observed: only "
    "seen from outside, where causes are not visible. Unclear: none of these holds at all name servers. “Asked, "
    "it”: what the broker itself said when it was asked then: answered (it lived), refused (its process was "
    "gone), silent. Topics and queues: what it had at any time, of users. “Stalled” names those that did not run "
    "themselves when they lost it, or up to 30 s before."
)
TOPICS = N_(
    "Each topic that a broker had or a client asked for. Served by: the brokers that producers could send it to at the "
    "end, those with a master and writable queues. If it is one, the topic stands still when that broker is taken out. "
    "Queues: read queues at the end. Skew: the most on one broker divided by the mean of its brokers; 1 is even. "
    "Lookups: how often clients asked for its route, all name servers together. System, %RETRY% and %DLQ% topics are "
    "listed last."
)
DEAD = N_("Topics that were registered and that nobody looked up for the number of days of the option dead_days.")
MISSING = N_(
    "Hours in which clients asked unusually often for a topic that no broker had: at least 20 times, and more "
    "often than the median plus five times the usual deviation of the topic's previous 168 hours. “New” means "
    "that there were fewer than 24 hours to compare with."
)
CLIENTS = N_(
    "Who asked for routes, the fastest first. A lookup counts for its language and version. Polls: the mean time "
    "between two lookups of one topic. RocketMQ's clients ask for each of their topics every 30 s. A client is a "
    "connection: a process that connects again counts twice. Without journalLookupClients=true one row stands for all "
    "clients of a language and version, and how often each polls is not known."
)
CLOCKS = (
    "How far each name server's clock is ahead of the reference, from how many samples that was estimated, and by "
    "how much the estimate may be wrong."
)
SOURCES = N_(
    "What was read, per name server. Its times were corrected by the clock offset before name servers were "
    "compared. “Clock known to” is by how much the offset may be wrong."
)
QUALITY = N_(
    "Gaps in the sequence numbers and drop records are lost records. Corrupt lines could not be read. A silent "
    "name server wrote nothing for longer than it should. Any of these makes the run incomplete, and never clean."
)
ADMIN_CHANGES = N_(
    "Requests that change a name server: KV items, properties, permissions of a broker, deleted topics. “Before” "
    "and “after” say what changed. Where both are empty, nothing did, or it is a password."
)
REFUSED = N_(
    "Requests that access control refused, by host, class, request and reason. Where a class is only observed, "
    "they were answered, and would be refused."
)
NEW_ADDRESSES = N_(
    "Hosts from which a broker (cluster, name and id) registered for the first time. The first host of each "
    "broker is not listed. Who takes a broker's place from elsewhere is in this list; so is a pod that returns "
    "with another address."
)


USERS_FIRST = "kind <> 'user'"
LONGEST_FIRST = "t1 - t2"
CERTAIN = "doubt is null"
CERTAIN_FIRST = "doubt is not null"

JOBS = (
    Job("key_windows", "a stretch of time in which name servers disagree about one topic on one broker",
        schema.KEY_WINDOWS, "divergence", WINDOWS,
        (CERTAIN_FIRST, USERS_FIRST, LONGEST_FIRST, "topic", "broker", "t1")),
    Job("divergences", "windows with the same broker and cause that begin close to each other",
        schema.DIVERGENCES, "divergence", DIVERGENCES,
        (CERTAIN_FIRST, LONGEST_FIRST, "broker", "cause", "t1"),
        FindingCount("divergences", f"count(*) filter (where {CERTAIN})",
                N_("divergences: name servers disagreed about routes of a broker"))),
    Job("topic_segments", "a stretch of a topic's windows in which no view changes", schema.TOPIC_SEGMENTS,
        "divergence", SEGMENTS),
    Job("group_members", "a consumer of a group at a name server", schema.GROUP_MEMBERS,
        "impact", GROUP_MEMBERS),
    Job("impact", "a segment, a strategy and a group size, or a real group", schema.IMPACT,
        "impact", IMPACT,
        ("orphaned_qs_max + dup_qs_max desc", "topic", "t1", "strategy", "c", "assignments", "`group`")),
    Job("imbalance", "a broker in a segment", schema.IMBALANCE, "imbalance",
        IMBALANCE, ("tvd desc", "topic", "t1", "broker")),
    Job("unwritable", "a stretch in which nobody may write to topics of a broker", schema.UNWRITABLE, "imbalance",
        UNWRITABLE, ("alone desc", "t1 - t2", "broker", "t1"),
        FindingCount("unwritable", "count(*)", N_("times at which nobody could write to topics of a broker"))),
    Job("departures", "a broker's departure, as all name servers saw it", schema.DEPARTURES,
        "departures", DEPARTURES, ("t1 desc", "broker"),
        FindingCount("departures", "count(*) filter (where kind <> 'graceful')",
                N_("departures of brokers that were not graceful, or whose cause is not visible"))),
    Job("broker_stats", "a broker address at a name server", schema.BROKER_STATS, "brokers",
        BROKERS, ("availability asc nulls last", "broker", "ns", "bid", "addr"),
        FindingCount("flaps", "count(distinct broker) filter (where flaps > 0)",
                N_("brokers that flapped: they failed and came back within ten minutes"))),
    Job("ns_uptime", "a start of a name server", schema.NS_UPTIME, "servers", SERVERS,
        ("ns", "t1"),
        FindingCount("killed", "count(*) filter (where end_cause = 'lost')",
                N_("name servers that ended without a stop record"))),
    Job("broker_intervals", "a stretch in which a name server listed a broker address",
        schema.BROKER_INTERVALS, "servers", INTERVALS,
        ("end_cause in ('open', 'stop')", "broker", "ns", "bid", "addr", "t1")),
    Job("topic_intervals",
        "a stretch in which a name server had a topic with the same queues on a broker", schema.TOPIC_INTERVALS,
        "servers", TOPIC_INTERVALS),
    Job("topics", "a topic that a broker had or a client asked for", schema.TOPICS, "topics",
        TOPICS, (USERS_FIRST, "n desc", "topic")),
    Job("dead_topics", "a topic that nobody looked up", schema.DEAD_TOPICS, "topics", DEAD,
        (USERS_FIRST, "kind", "topic")),
    Job("missing_topics", "an hour with unusually many lookups of a topic that no broker had",
        schema.MISSING_TOPICS, "topics", MISSING,
        ("topic_kind = 'system'", "hour desc", "topic"),
        FindingCount("missing_topics", "count(*) filter (where topic_kind <> 'system')",
                N_("hours with unusually many lookups of a topic that does not exist"))),
    Job("clients", "a client with its language and version", schema.CLIENTS, "clients",
        CLIENTS, ("poll_s asc nulls last", "n desc", "client", "lang", "cv")),
    Job("admin_changes", "a request of an administrator, or several that changed nothing",
        schema.ADMIN_CHANGES, "access", ADMIN_CHANGES, ("t desc", "ns", "code")),
    Job("refused_requests", "a host and a kind of request that was refused, or would have been",
        schema.REFUSED_REQUESTS, "access", REFUSED,
        ("n desc", "host", "access", "code", "reason", "enforced")),
    Job("new_addresses", "a host from which a broker had not registered before", schema.NEW_ADDRESSES,
        "access", NEW_ADDRESSES, ("t desc", "broker", "bid", "cluster", "host")),
    Job("clock_days", "a name server's clock on a day", schema.CLOCK_DAYS, "quality",
        CLOCKS),
    Job("sources", "a name server's journal", schema.SOURCES, "quality", SOURCES,
        ("ns",)),
    Job("quality", "something that is missing from a journal", schema.QUALITY, "quality",
        QUALITY, ("kind", "ns", "t1")),
)  # fmt: skip

BY_NAME = {job.name: job for job in JOBS}
FINDINGS = {job.finding.name: job.finding for job in JOBS if job.finding}
LISTED = tuple(job.name for job in JOBS if job.order)
