"""The sections about the fleet as its operators plan it: clients, error budgets, single points of failure."""

from __future__ import annotations

from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import KIND, TOPIC
from rocketns.pipeline.report.text import plural

LANGUAGE = (Column("lang", "Language"), Column("cv", "Version", text.plain, number=True))
ASKED = (
    Column("n", "Lookups", text.number, number=True),
    Column("miss", "Answered “not exist”", text.number, number=True),
)
SEEN = (Column("t1", "From (UTC)", text.moment), Column("t2", "To (UTC)", text.moment))
ASKED_AT, SEEN_AT = (Column("ns", label, text.names, wide=True) for label in ("Asked at", "Seen at"))
CENSUS = (
    *LANGUAGE,
    Column("release", "Release"),
    Column("clients", "Clients", text.number, number=True),
    Column("hosts", "Hosts", text.number, number=True),
    *ASKED,
    Column("share", "Of all lookups", text.percent, number=True),
    Column("poll_p50", "Polls every", text.seconds, number=True),
    Column("fast", "Fast", text.number, number=True),
)
CLIENTS = (
    Column("client", "Client", wide=True),
    *LANGUAGE,
    Column("poll_s", "Polls every", text.seconds, number=True),
    Column("topics", "Topics", text.number, number=True),
    *ASKED,
    ASKED_AT,
    *SEEN,
)
ASKERS = (TOPIC, KIND, Column("client", "Client", wide=True), *LANGUAGE, *reversed(ASKED), ASKED_AT, *SEEN)
AVAILABILITY = (
    Column("level", "Level"),
    Column("cluster", "Cluster", wide=True),
    Column("broker", "Broker", wide=True),
    Column("bid", "Id", text.plain, number=True),
    Column("addr", "Address", wide=True),
    Column("availability", "Availability", text.percent, number=True),
    Column("left", "Budget left", text.percent, number=True),
    Column("failed_s", "Failed", text.seconds, number=True),
    Column("budget_s", "Budget", text.seconds, number=True),
    Column("failures", "Failures", text.number, number=True),
    Column("unheard_s", "Unheard", text.seconds, number=True),
    Column("planned_s", "Planned", text.seconds, number=True),
    Column("observed_s", "Cause not visible", text.seconds, number=True),
    Column("listed_s", "Listed", text.seconds, number=True),
)
RADIUS = (
    Column("scope", "Loss of a"),
    Column("name", "Name", wide=True),
    Column("no_write", "Topics without write queues", text.number, number=True),
    Column("no_master", "Topics without a master", text.number, number=True),
    Column("queues", "Write queues lost", text.number, number=True),
    Column("sample", "Such as", text.names, wide=True),
)
SOLE = (
    Column("scope", "Loss of a"),
    Column("name", "Name", wide=True),
    TOPIC,
    KIND,
    Column("loses_masters", "No master left"),
    Column("loses_writes", "No write queue left"),
    Column("queues", "Write queues lost", text.number, number=True),
)
STORMS = (
    Column("ns", "Name server"),
    Column("t1", "First (UTC)", text.moment),
    Column("t2", "Last (UTC)", text.moment),
    Column("trigger", "Trigger"),
    Column("registrations", "Registrations", text.number, number=True),
    Column("peak_s", "Most in a second", text.number, number=True),
    Column("brokers", "Brokers", text.number, number=True),
    Column("topics", "Changed topics", text.number, number=True),
    Column("bytes", "Bytes, about", text.number, number=True),
    Column("first", "First broker", wide=True),
    Column("last", "Last broker", wide=True),
)
REGISTRATIONS = (
    Column("storm", "Storm (UTC)", text.moment),
    Column("ns", "Name server"),
    Column("place", "Place", text.number, number=True),
    Column("t", "At (UTC)", text.moment),
    Column("broker", "Broker", wide=True),
    Column("bid", "Id", text.plain, number=True),
    Column("addr", "Address", wide=True),
    Column("away_s", "Away", text.seconds, number=True),
    Column("topics", "Changed topics", text.number, number=True),
    Column("bytes", "Bytes, about", text.number, number=True),
)
ORDERED = (
    TOPIC,
    KIND,
    Column("ordered", "Ordered"),
    Column("moved_max", "Keys moved", text.percent, number=True),
    Column("at", "At (UTC)", text.moment),
    Column("n_before", "Queues before", text.number, number=True),
    Column("n_after", "After", text.number, number=True),
    Column("broker", "Broker", wide=True),
    Column("steps", "Changes", text.number, number=True),
    SEEN_AT,
)
DAYS = (
    Column("day", "Day (UTC)"),
    Column("topics", "Topics", text.number, number=True),
    Column("entries", "Routes", text.number, number=True),
    Column("brokers", "Brokers", text.number, number=True),
    Column("registration_bytes", "Largest registration, bytes", text.number, number=True),
    Column("broker", "Of", wide=True),
    Column("list_bytes", "List of topics, bytes", text.number, number=True),
)
FRAMES = {"registration": "registration of a broker", "topic_list": "list of all topics"}


def _frame(measure: str) -> str:
    return FRAMES.get(measure, measure)


LIMITS = (
    Column("measure", "Frame", _frame),
    Column("now", "Bytes now", text.number, number=True),
    Column("limit", "Limit", text.number, number=True),
    Column("used", "Used", text.percent, number=True),
    Column("per_day", "More each day", text.number, number=True),
    Column("reached", "Reached (UTC)", text.moment),
)


def clients_section(data: ReportInput) -> Section:
    """Which clients ask, how often, and for what in vain."""
    none = "No lookup was journalled."
    kinds = plural(data["client_census"].total, "language and version", "languages and versions")
    blocks = [
        listed("Languages and versions", meaning("client_census"), CENSUS, data["client_census"], none),
        listed("Topics that do not exist, by client", meaning("missing_askers"), ASKERS, data["missing_askers"],
               "Every topic that was looked up existed."),
        listed("Clients", meaning("clients"), CLIENTS, data["clients"], none),
    ]  # fmt: skip
    return Section("clients", f"{kinds} of clients.", blocks)


def availability_section(data: ReportInput) -> Section:
    """Which brokers used up their error budget."""
    table = data["availability"]
    spent = sum(row["level"] == "group" and (row.get("left") or 0) < 0 for row in table.rows)
    groups = plural(spent, "broker group")
    block = listed("Error budgets", meaning("availability"), AVAILABILITY, table, "No broker was registered.")
    return Section("availability", f"{groups} used up the error budget.", [block])


def blast_section(data: ReportInput) -> Section:
    """Which brokers and zones are single points of failure."""
    radius = data["blast_radius"]
    answer = "Every user topic survives the loss of any one broker or zone."
    if radius:
        worst = radius.rows[0]
        answer = (
            f"The worst loss is that of {worst['scope']} {text.short(worst['name'])}: it leaves "
            f"{plural(worst['no_write'], 'user topic')} without a write queue."
        )
    blocks = [
        listed("Losses", meaning("blast_radius"), RADIUS, radius, answer),
        listed("Topics that depend on one broker or zone", meaning("sole_topics"), SOLE, data["sole_topics"], answer),
    ]
    return Section("blast", answer, blocks)


def storms_section(data: ReportInput) -> Section:
    """Which name servers many brokers registered with at once."""
    storms, none = data["storms"], "No five brokers registered at once."
    answer = none
    if storms:
        worst = storms.rows[0]
        answer = (
            f"{plural(storms.total, 'storm')}. The largest: {plural(worst['registrations'], 'registration')} at "
            f"{text.short(worst['ns'])}."
        )
    registrations = data["storm_registrations"]
    blocks = [
        listed("Storms", meaning("storms"), STORMS, storms, none),
        listed("Order of registrations", meaning("storm_registrations"), REGISTRATIONS, registrations, none),
    ]
    return Section("storms", answer, blocks)


def ordered_section(data: ReportInput) -> Section:
    """Which topics' keys moved to other queues."""
    table, none = data["ordered_keys"], "No topic's write queues changed for longer than 30 s."
    count = int(data.figures.get("ordered_topics", sum(row["kind"] == "user" for row in table.rows)))
    answer = "No user topic's write queues changed for longer than 30 s."
    if count:
        answer = f"The write queues of {plural(count, 'user topic')} changed, which moves keys."
    block = listed("Topics whose keys moved", meaning("ordered_keys"), ORDERED, table, none)
    return Section("ordered", answer, [block])


def growth_section(data: ReportInput) -> Section:
    """When the largest frames reach their limit."""
    limits, none = data["growth_limits"], "No topic was registered."
    soon = [row for row in limits.rows if row.get("reached") is not None]
    answer = "No frame grows to its limit within ten years."
    if soon:
        first = min(soon, key=lambda row: row["reached"])
        answer = f"The {_frame(first['measure'])} reaches 16 MiB about {text.moment(first['reached'])}."
    blocks = [
        listed("Limits", meaning("growth_limits"), LIMITS, limits, none),
        listed("Day by day", meaning("growth"), DAYS, data["growth"], none),
    ]
    return Section("growth", answer, blocks)
