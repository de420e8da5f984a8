"""Every job in one row. The run, the stored tables, the page, docs/audit.md and the twin tests all go over these rows.

Findings are listed in the order of the rows, and of the jobs that could run, the first one runs.
To add a job: write its function below ``jobs``, a row here, and its SQL twin in tests/pipeline/duck.
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
    Job(
        "key_windows", "a stretch of time in which name servers disagree about one topic on one broker",
        schema.KEY_WINDOWS, "divergence.key_windows",
        (
            "topic_intervals", "ns_uptime", "observation", "min_window_us", "broker_intervals", "keep", "topic_doubts",
            "clock_days", "system_topics", "settled",
        ),
        "divergence", "divergence", meanings.WINDOWS,
        (CERTAIN_FIRST, USERS_FIRST, LONGEST_FIRST, "topic", "broker", "t1"),
    ),
    Job(
        "incidents", "windows with the same broker and cause that begin close to each other",
        schema.INCIDENTS, "incidents.incidents", ("key_windows", "events"),
        "divergence", "divergence", meanings.INCIDENTS, (CERTAIN_FIRST, LONGEST_FIRST, "broker", "cause", "t1"),
        Finding("incidents", f"count_if({CERTAIN})", N_("divergences: name servers disagreed about routes of a "
                                                        "broker")),
    ),
    Job(
        "topic_segments", "a stretch of a topic's windows in which no view changes",
        schema.TOPIC_SEGMENTS, "segments.topic_segments",
        ("topic_intervals", "ns_uptime", "key_windows", "observation", "keep", "settled"),
        "divergence", "divergence", meanings.SEGMENTS,
    ),
    Job(
        "group_members", "a consumer of a group at a name server",
        schema.GROUP_MEMBERS, "queues.consumers.group_members", ("callers",),
        "impact", "impact", meanings.GROUP_MEMBERS,
    ),
    Job(
        "impact", "a segment, a strategy and a group size, or a real group",
        schema.IMPACT, "queues.impact.impact", ("read_segments", "group_sizes", "group_members", "keep"),
        "impact", "impact", meanings.IMPACT,
        ("orphaned_qs_max + dup_qs_max desc", "topic", "t1", "strategy", "c", "assignments", "group"),
    ),
    Job(
        "imbalance", "a broker in a segment",
        schema.IMBALANCE, "queues.imbalance.imbalance", ("read_segments", "broker_intervals", "settled"),
        "impact", "imbalance", meanings.IMBALANCE, ("tvd desc_nulls_last", "topic", "t1", "broker"),
    ),
    Job(
        "broker_load", "a broker, with what it holds",
        schema.BROKER_LOAD, "load.broker_load", ("topic_intervals", "system_topics", "observation"),
        "brokers", "brokers", meanings.LOAD, ("queues desc", "broker"),
    ),
    Job(
        "departures", "a broker's departure, as all name servers saw it",
        schema.DEPARTURES, "departures.departures",
        ("broker_intervals", "events", "observation", "heard", "clock_days"),
        "brokers", "departures", meanings.DEPARTURES, ("t1 desc", "broker"),
        Finding(
            "departures", "count_if(kind <> 'graceful')",
            N_("departures of brokers that were not graceful, or whose cause is not visible"),
        ),
    ),
    Job(
        "broker_stats", "a broker address at a name server",
        schema.BROKER_STATS, "brokers.broker_stats", ("broker_intervals", "gaps", "ns_uptime", "observation"),
        "brokers", "brokers", meanings.BROKERS, ("availability asc_nulls_last", "broker", "ns", "bid", "addr"),
        Finding(
            "flaps", "count(distinct if(flaps > 0, broker, null))",
            N_("brokers that flapped: they failed and came back within ten minutes"),
        ),
    ),
    Job(
        "ns_uptime", "a start of a name server",
        schema.NS_UPTIME, "history.state.ns_uptime", ("base",),
        "state", "timeline", meanings.SERVERS, ("ns", "t1"),
        Finding("killed", "count_if(end_cause = 'lost')", N_("name servers that ended without a stop record")),
    ),
    Job(
        "broker_intervals", "a stretch in which a name server listed a broker address",
        schema.BROKER_INTERVALS, "history.state.broker_intervals", ("events", "base", "observation"),
        "state", "timeline", meanings.TIMELINE,
        ("end_cause in ('open', 'stop')", "broker", "ns", "bid", "addr", "t1"),
    ),
    Job(
        "topic_intervals", "a stretch in which a name server had a topic with the same queues on a broker",
        schema.TOPIC_INTERVALS, "history.state.topic_intervals", ("events", "base", "observation"),
        "state", "timeline", meanings.TOPIC_INTERVALS,
    ),
    Job(
        "topic_doubts", "a stretch in which a name server's queues of a topic on a broker may be out of date",
        schema.TOPIC_DOUBTS, "history.doubts.topic_doubts", ("events", "base", "topic_intervals", "observation"),
        "state", "quality", meanings.DOUBTS,
    ),
    Job(
        "topic_days", "a UTC day and a kind of topics",
        schema.TOPIC_DAYS, "topics.topic_days", ("topic_intervals", "system_topics"),
        "topics", "topics", meanings.TOPIC_DAYS, ("day", "kind"),
    ),
    Job(
        "topic_inventory", "a topic",
        schema.TOPIC_INVENTORY, "topics.topic_inventory",
        ("topic_intervals", "ns_uptime", "system_topics", "observation"),
        "topics", "topics", meanings.INVENTORY, (USERS_FIRST, "kind", "topic"),
    ),
    Job(
        "uncovered_days", "a day on which a name server journalled no lookup",
        schema.UNCOVERED_DAYS, "topics.uncovered_days", ("covered", "ns_uptime", "observation", "dead_days"),
        "topics", "topics", meanings.UNCOVERED,
    ),
    Job(
        "dead_topics", "a topic that nobody looked up",
        schema.DEAD_TOPICS, "topics.dead_topics",
        ("topic_intervals", "callers", "covered", "ns_uptime", "system_topics", "observation", "dead_days"),
        "topics", "topics", meanings.DEAD, (USERS_FIRST, "kind", "topic"),
    ),
    Job(
        "hot_topics", "a topic that was looked up",
        schema.HOT_TOPICS, "topics.hot_topics", ("callers", "system_topics", "observation"),
        "topics", "lookups", meanings.LOOKUPS, (USERS_FIRST, "kind", "rank", "topic"),
    ),
    Job(
        "skew", "a topic at the end of the observation",
        schema.SKEW, "topics.skew", ("topic_intervals", "ns_uptime", "system_topics"),
        "topics", "topics", meanings.SKEW, (USERS_FIRST, "skew desc_nulls_last", "topic"),
    ),
    Job(
        "missing_topics", "an hour with unusually many lookups of a topic that no broker had",
        schema.MISSING_TOPICS, "missing.missing_topics", ("hours", "system_topics"),
        "topics", "lookups", meanings.MISSING, ("if(topic_kind = 'system', 1, 0)", "hour desc", "topic"),
        Finding(
            "missing_topics", "count_if(topic_kind <> 'system')",
            N_("hours with unusually many lookups of a topic that does not exist"),
        ),
    ),
    Job(
        "clients", "a client with its language and version",
        schema.CLIENTS, "fleet.census.clients", ("asked",),
        "fleet", "clients", meanings.CLIENTS, ("poll_s asc_nulls_last", "n desc", "client", "lang", "cv"),
    ),
    Job(
        "client_census", "a language and version of clients",
        schema.CLIENT_CENSUS, "fleet.census.client_census", ("clients",),
        "fleet", "clients", meanings.CENSUS, ("n desc", "lang", "cv"),
    ),
    Job(
        "missing_askers", "a client and a topic that it asked for and that did not exist",
        schema.MISSING_ASKERS, "fleet.census.missing_askers", ("asked", "system_topics"),
        "fleet", "clients", meanings.ASKERS, ("miss desc", "topic", "client", "lang", "cv"),
    ),
    Job(
        "availability", "a broker, a broker group or a cluster",
        schema.AVAILABILITY, "fleet.availability.availability",
        ("broker_intervals", "ns_uptime", "observation", "target_percent"),
        "fleet", "availability", meanings.AVAILABILITY,
        ("left asc_nulls_last", "level", "cluster", "broker", "bid", "addr"),
        Finding("budgets", "count_if(level = 'group' and left < "
                           "0)", N_("broker groups that used up their error "
                                                                        "budget")),
    ),
    Job(
        "sole_topics", "a topic that does not survive the loss of one broker or zone",
        schema.SOLE_TOPICS, "fleet.blast.sole_topics",
        ("topic_intervals", "broker_intervals", "ns_uptime", "system_topics"),
        "fleet", "blast", meanings.SOLE_TOPICS, (USERS_FIRST, "scope", "name", "topic"),
    ),
    Job(
        "blast_radius", "a broker or zone that takes topics with it",
        schema.BLAST_RADIUS, "fleet.blast.blast_radius", ("sole_topics",),
        "fleet", "blast", meanings.BLAST, ("no_write desc", "no_master desc", "scope", "name"),
    ),
    Job(
        "storm_registrations", "a registration in a storm of registrations",
        schema.STORM_REGISTRATIONS, "fleet.storms.storm_registrations",
        ("broker_intervals", "topic_intervals", "ns_uptime", "sizes"),
        "fleet", "storms", meanings.STORM_REGISTRATIONS, ("storm", "ns", "place"),
    ),
    Job(
        "storms", "a storm of registrations at a name server",
        schema.STORMS, "fleet.storms.storms", ("storm_registrations",),
        "fleet", "storms", meanings.STORMS, ("registrations desc", "t1", "ns"),
    ),
    Job(
        "ordered_keys", "a topic whose keys moved to other queues",
        schema.ORDERED_KEYS, "fleet.ordered.ordered_keys", ("topic_intervals", "events", "system_topics", "keep"),
        "fleet", "ordered", meanings.ORDERED, (USERS_FIRST, "if(ordered, 0, 1)", "moved_max desc", "topic"),
    ),
    Job(
        "growth", "a UTC day",
        schema.GROWTH, "fleet.growth.growth", ("sizes",),
        "fleet", "growth", meanings.GROWTH, ("day",),
    ),
    Job(
        "growth_limits", "a frame that has a limit",
        schema.GROWTH_LIMITS, "fleet.growth.growth_limits", ("growth", "observation"),
        "fleet", "growth", meanings.LIMITS, ("used desc", "measure"),
    ),
    Job(
        "admin_changes", "a request of an administrator, or several that changed nothing",
        schema.ADMIN_CHANGES, "fleet.access.admin_changes", ("events", "observation"),
        "fleet", "access", meanings.ADMIN_CHANGES, ("t desc", "ns", "code"),
    ),
    Job(
        "refused_requests", "a host and a kind of request that was refused, or would have been",
        schema.REFUSED_REQUESTS, "fleet.access.refused_requests", ("events", "observation"),
        "fleet", "access", meanings.REFUSED, ("n desc", "host", "access", "code", "reason", "enforced"),
    ),
    Job(
        "new_addresses", "a host from which a broker had not registered before",
        schema.NEW_ADDRESSES, "fleet.access.new_addresses", ("events", "observation"),
        "fleet", "access", meanings.NEW_ADDRESSES, ("t desc", "broker", "bid", "cluster", "host"),
    ),
    Job(
        "clock_days", "a name server's clock on a day",
        schema.CLOCK_DAYS, "history.clocks.clock_days", ("estimates", "earlier_clocks", "clocks_within_us"),
        "clocks", "quality", meanings.CLOCKS,
    ),
    Job(
        "clock_offsets", "a name server's clock on the last day",
        schema.OFFSETS, "history.clocks.clock_offsets", ("clock_days",),
        "clocks", "quality", meanings.CLOCKS,
    ),
    Job(
        "sources", "a name server's journal",
        schema.SOURCES, "history.quality.sources", ("counts", "files", "clock_offsets"),
        "input", "quality", meanings.SOURCES, ("ns",),
    ),
    Job(
        "quality", "something that is missing from a journal",
        schema.QUALITY, "history.quality.quality", ("events", "files", "base", "observation"),
        "input", "quality", meanings.QUALITY, ("kind", "ns", "t1"),
    ),
)  # fmt: skip

BY_NAME = {job.name: job for job in JOBS}
FINDINGS = {job.finding.name: job.finding for job in JOBS if job.finding}
LISTED = tuple(job.name for job in JOBS if job.order)
