"""Every job in one row. The run, the stored tables, the page and docs/audit.md all go over these rows.

Findings are listed in the order of the rows, and of the jobs that could run, the first one runs.
To add a job: write its function below ``jobs``, a row here, and a test on a few rows in tests/pipeline/jobs.
tests/pipeline/contract/test_catalogue.py names the step that is missing.
"""

from __future__ import annotations

from rocketns.languages import N_
from rocketns.pipeline.contract import meanings, schema
from rocketns.pipeline.contract.job import Finding, Job

USERS_FIRST = "if(kind = 'user', 0, 1)"
LONGEST_FIRST = "t1 - t2"
CERTAIN = "doubt is null"
CERTAIN_FIRST = f"if({CERTAIN}, 0, 1)"

JOBS = (
    Job("divergence.key_windows", "a stretch of time in which name servers disagree about one topic on one broker",
        schema.KEY_WINDOWS, "divergence", "divergence", meanings.WINDOWS,
        (CERTAIN_FIRST, USERS_FIRST, LONGEST_FIRST, "topic", "broker", "t1")),
    Job("incidents.incidents", "windows with the same broker and cause that begin close to each other",
        schema.INCIDENTS, "divergence", "divergence", meanings.INCIDENTS,
        (CERTAIN_FIRST, LONGEST_FIRST, "broker", "cause", "t1"),
        Finding("incidents", f"count_if({CERTAIN})",
                N_("divergences: name servers disagreed about routes of a broker"))),
    Job("segments.topic_segments", "a stretch of a topic's windows in which no view changes", schema.TOPIC_SEGMENTS,
        "divergence", "divergence", meanings.SEGMENTS),
    Job("queues.consumers.group_members", "a consumer of a group at a name server", schema.GROUP_MEMBERS, "impact",
        "impact", meanings.GROUP_MEMBERS),
    Job("queues.impact.impact", "a segment, a strategy and a group size, or a real group", schema.IMPACT, "impact",
        "impact", meanings.IMPACT,
        ("orphaned_qs_max + dup_qs_max desc", "topic", "t1", "strategy", "c", "assignments", "group")),
    Job("queues.imbalance.imbalance", "a broker in a segment", schema.IMBALANCE, "impact", "imbalance",
        meanings.IMBALANCE, ("tvd desc_nulls_last", "topic", "t1", "broker")),
    Job("load.broker_load", "a broker, with what it holds", schema.BROKER_LOAD, "brokers", "brokers", meanings.LOAD,
        ("queues desc", "broker")),
    Job("departures.departures", "a broker's departure, as all name servers saw it", schema.DEPARTURES, "brokers",
        "departures", meanings.DEPARTURES, ("t1 desc", "broker"),
        Finding("departures", "count_if(kind <> 'graceful')",
                N_("departures of brokers that were not graceful, or whose cause is not visible"))),
    Job("brokers.broker_stats", "a broker address at a name server", schema.BROKER_STATS, "brokers", "brokers",
        meanings.BROKERS, ("availability asc_nulls_last", "broker", "ns", "bid", "addr"),
        Finding("flaps", "count(distinct if(flaps > 0, broker, null))",
                N_("brokers that flapped: they failed and came back within ten minutes"))),
    Job("history.state.ns_uptime", "a start of a name server", schema.NS_UPTIME, "state", "timeline", meanings.SERVERS,
        ("ns", "t1"),
        Finding("killed", "count_if(end_cause = 'lost')", N_("name servers that ended without a stop record"))),
    Job("history.state.broker_intervals", "a stretch in which a name server listed a broker address",
        schema.BROKER_INTERVALS, "state", "timeline", meanings.TIMELINE,
        ("end_cause in ('open', 'stop')", "broker", "ns", "bid", "addr", "t1")),
    Job("history.state.topic_intervals",
        "a stretch in which a name server had a topic with the same queues on a broker", schema.TOPIC_INTERVALS,
        "state", "timeline", meanings.TOPIC_INTERVALS),
    Job("history.doubts.topic_doubts",
        "a stretch in which a name server's queues of a topic on a broker may be out of date", schema.TOPIC_DOUBTS,
        "state", "quality", meanings.DOUBTS),
    Job("topics.topic_days", "a UTC day and a kind of topics", schema.TOPIC_DAYS, "topics", "topics",
        meanings.TOPIC_DAYS, ("day", "kind")),
    Job("topics.topic_inventory", "a topic", schema.TOPIC_INVENTORY, "topics", "topics", meanings.INVENTORY,
        (USERS_FIRST, "kind", "topic")),
    Job("topics.uncovered_days", "a day on which a name server journalled no lookup", schema.UNCOVERED_DAYS, "topics",
        "topics", meanings.UNCOVERED),
    Job("topics.dead_topics", "a topic that nobody looked up", schema.DEAD_TOPICS, "topics", "topics", meanings.DEAD,
        (USERS_FIRST, "kind", "topic")),
    Job("topics.hot_topics", "a topic that was looked up", schema.HOT_TOPICS, "topics", "lookups", meanings.LOOKUPS,
        (USERS_FIRST, "kind", "rank", "topic")),
    Job("topics.skew", "a topic at the end of the observation", schema.SKEW, "topics", "topics", meanings.SKEW,
        (USERS_FIRST, "skew desc_nulls_last", "topic")),
    Job("missing.missing_topics", "an hour with unusually many lookups of a topic that no broker had",
        schema.MISSING_TOPICS, "topics", "lookups", meanings.MISSING,
        ("if(topic_kind = 'system', 1, 0)", "hour desc", "topic"),
        Finding("missing_topics", "count_if(topic_kind <> 'system')",
                N_("hours with unusually many lookups of a topic that does not exist"))),
    Job("fleet.census.clients", "a client with its language and version", schema.CLIENTS, "fleet", "clients",
        meanings.CLIENTS, ("poll_s asc_nulls_last", "n desc", "client", "lang", "cv")),
    Job("fleet.census.client_census", "a language and version of clients", schema.CLIENT_CENSUS, "fleet", "clients",
        meanings.CENSUS, ("n desc", "lang", "cv")),
    Job("fleet.census.missing_askers", "a client and a topic that it asked for and that did not exist",
        schema.MISSING_ASKERS, "fleet", "clients", meanings.ASKERS, ("miss desc", "topic", "client", "lang", "cv")),
    Job("fleet.availability.availability", "a broker, a broker group or a cluster", schema.AVAILABILITY, "fleet",
        "availability", meanings.AVAILABILITY, ("left asc_nulls_last", "level", "cluster", "broker", "bid", "addr"),
        Finding("budgets", "count_if(level = 'group' and left < 0)",
                N_("broker groups that used up their error budget"))),
    Job("fleet.blast.sole_topics", "a topic that does not survive the loss of one broker or zone", schema.SOLE_TOPICS,
        "fleet", "blast", meanings.SOLE_TOPICS, (USERS_FIRST, "scope", "name", "topic")),
    Job("fleet.blast.blast_radius", "a broker or zone that takes topics with it", schema.BLAST_RADIUS, "fleet", "blast",
        meanings.BLAST, ("no_write desc", "no_master desc", "scope", "name")),
    Job("fleet.storms.storm_registrations", "a registration in a storm of registrations", schema.STORM_REGISTRATIONS,
        "fleet", "storms", meanings.STORM_REGISTRATIONS, ("storm", "ns", "place")),
    Job("fleet.storms.storms", "a storm of registrations at a name server", schema.STORMS, "fleet", "storms",
        meanings.STORMS, ("registrations desc", "t1", "ns")),
    Job("fleet.ordered.ordered_keys", "a topic whose keys moved to other queues", schema.ORDERED_KEYS, "fleet",
        "ordered", meanings.ORDERED, (USERS_FIRST, "if(ordered, 0, 1)", "moved_max desc", "topic")),
    Job("fleet.growth.growth", "a UTC day", schema.GROWTH, "fleet", "growth", meanings.GROWTH, ("day",)),
    Job("fleet.growth.growth_limits", "a frame that has a limit", schema.GROWTH_LIMITS, "fleet", "growth",
        meanings.LIMITS, ("used desc", "measure")),
    Job("fleet.access.admin_changes", "a request of an administrator, or several that changed nothing",
        schema.ADMIN_CHANGES, "fleet", "access", meanings.ADMIN_CHANGES, ("t desc", "ns", "code")),
    Job("fleet.access.refused_requests", "a host and a kind of request that was refused, or would have been",
        schema.REFUSED_REQUESTS, "fleet", "access", meanings.REFUSED,
        ("n desc", "host", "access", "code", "reason", "enforced")),
    Job("fleet.access.new_addresses", "a host from which a broker had not registered before", schema.NEW_ADDRESSES,
        "fleet", "access", meanings.NEW_ADDRESSES, ("t desc", "broker", "bid", "cluster", "host")),
    Job("history.clocks.clock_days", "a name server's clock on a day", schema.CLOCK_DAYS, "clocks", "quality",
        meanings.CLOCKS),
    Job("history.clocks.clock_offsets", "a name server's clock on the last day", schema.OFFSETS, "clocks", "quality",
        meanings.CLOCKS),
    Job("history.quality.sources", "a name server's journal", schema.SOURCES, "input", "quality", meanings.SOURCES,
        ("ns",)),
    Job("history.quality.quality", "something that is missing from a journal", schema.QUALITY, "input", "quality",
        meanings.QUALITY, ("kind", "ns", "t1")),
)  # fmt: skip

BY_NAME = {job.name: job for job in JOBS}
FINDINGS = {job.finding.name: job.finding for job in JOBS if job.finding}
LISTED = tuple(job.name for job in JOBS if job.order)
