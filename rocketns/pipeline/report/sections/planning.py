"""The sections about the fleet as its operators plan it: clients, error budgets, single points of failure."""

from __future__ import annotations

from rocketns.languages import N_
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import KIND, TOPIC
from rocketns.pipeline.saying import _

LANGUAGE = (Column("lang", N_("Language")), Column("cv", N_("Version"), text.plain, number=True))
ASKED = (
    Column("n", N_("Lookups"), text.number, number=True),
    Column("miss", N_("Answered “not exist”"), text.number, number=True),
)
SEEN = (Column("t1", N_("From (UTC)"), text.moment), Column("t2", N_("To (UTC)"), text.moment))
ASKED_AT, SEEN_AT = (Column("ns", label, text.names, wide=True) for label in (N_("Asked at"), N_("Seen at")))
CENSUS = (
    *LANGUAGE,
    Column("release", N_("Release")),
    Column("clients", N_("Clients"), text.number, number=True),
    Column("hosts", N_("Hosts"), text.number, number=True),
    *ASKED,
    Column("share", N_("Of all lookups"), text.percent, number=True),
    Column("poll_p50", N_("Polls every"), text.seconds, number=True),
    Column("fast", N_("Fast"), text.number, number=True),
)
CLIENTS = (
    Column("client", N_("Client"), wide=True),
    *LANGUAGE,
    Column("poll_s", N_("Polls every"), text.seconds, number=True),
    Column("topics", N_("Topics"), text.number, number=True),
    *ASKED,
    ASKED_AT,
    *SEEN,
)
ASKERS = (TOPIC, KIND, Column("client", N_("Client"), wide=True), *LANGUAGE, *reversed(ASKED), ASKED_AT, *SEEN)
AVAILABILITY = (
    Column("level", N_("Level"), text.code),
    Column("cluster", N_("Cluster"), wide=True),
    Column("broker", N_("Broker"), wide=True),
    Column("bid", N_("Id"), text.plain, number=True),
    Column("addr", N_("Address"), wide=True),
    Column("availability", N_("Availability"), text.percent, number=True),
    Column("left", N_("Budget left"), text.percent, number=True),
    Column("failed_s", N_("Failed"), text.seconds, number=True),
    Column("budget_s", N_("Budget"), text.seconds, number=True),
    Column("failures", N_("Failures"), text.number, number=True),
    Column("unheard_s", N_("Unheard"), text.seconds, number=True),
    Column("planned_s", N_("Planned"), text.seconds, number=True),
    Column("observed_s", N_("Cause not visible"), text.seconds, number=True),
    Column("listed_s", N_("Listed"), text.seconds, number=True),
)
RADIUS = (
    Column("scope", N_("Loss of a"), text.code),
    Column("name", N_("Name"), wide=True),
    Column("no_write", N_("Topics without write queues"), text.number, number=True),
    Column("no_master", N_("Topics without a master"), text.number, number=True),
    Column("queues", N_("Write queues lost"), text.number, number=True),
    Column("sample", N_("Such as"), text.names, wide=True),
)
SOLE = (
    Column("scope", N_("Loss of a"), text.code),
    Column("name", N_("Name"), wide=True),
    TOPIC,
    KIND,
    Column("loses_masters", N_("No master left")),
    Column("loses_writes", N_("No write queue left")),
    Column("queues", N_("Write queues lost"), text.number, number=True),
)
STORMS = (
    Column("ns", N_("Name server")),
    Column("t1", N_("First (UTC)"), text.moment),
    Column("t2", N_("Last (UTC)"), text.moment),
    Column("trigger", N_("Trigger"), text.code),
    Column("registrations", N_("Registrations"), text.number, number=True),
    Column("peak_s", N_("Most in a second"), text.number, number=True),
    Column("brokers", N_("Brokers"), text.number, number=True),
    Column("topics", N_("Changed topics"), text.number, number=True),
    Column("bytes", N_("Bytes, about"), text.number, number=True),
    Column("first", N_("First broker"), wide=True),
    Column("last", N_("Last broker"), wide=True),
)
REGISTRATIONS = (
    Column("storm", N_("Storm (UTC)"), text.moment),
    Column("ns", N_("Name server")),
    Column("place", N_("Place"), text.number, number=True),
    Column("t", N_("At (UTC)"), text.moment),
    Column("broker", N_("Broker"), wide=True),
    Column("bid", N_("Id"), text.plain, number=True),
    Column("addr", N_("Address"), wide=True),
    Column("away_s", N_("Away"), text.seconds, number=True),
    Column("topics", N_("Changed topics"), text.number, number=True),
    Column("bytes", N_("Bytes, about"), text.number, number=True),
)
ORDERED = (
    TOPIC,
    KIND,
    Column("ordered", N_("Ordered")),
    Column("moved_max", N_("Keys moved"), text.percent, number=True),
    Column("at", N_("At (UTC)"), text.moment),
    Column("n_before", N_("Queues before"), text.number, number=True),
    Column("n_after", N_("After"), text.number, number=True),
    Column("broker", N_("Broker"), wide=True),
    Column("steps", N_("Changes"), text.number, number=True),
    SEEN_AT,
)
DAYS = (
    Column("day", N_("Day (UTC)")),
    Column("topics", N_("Topics"), text.number, number=True),
    Column("entries", N_("Routes"), text.number, number=True),
    Column("brokers", N_("Brokers"), text.number, number=True),
    Column("registration_bytes", N_("Largest registration, bytes"), text.number, number=True),
    Column("broker", N_("Of"), wide=True),
    Column("list_bytes", N_("List of topics, bytes"), text.number, number=True),
)
FRAMES = {"registration": N_("registration of a broker"), "topic_list": N_("list of all topics")}


def _frame(measure: str) -> str:
    return _(FRAMES[measure]) if measure in FRAMES else measure


LIMITS = (
    Column("measure", N_("Frame"), _frame),
    Column("now", N_("Bytes now"), text.number, number=True),
    Column("limit", N_("Limit"), text.number, number=True),
    Column("used", N_("Used"), text.percent, number=True),
    Column("per_day", N_("More each day"), text.number, number=True),
    Column("reached", N_("Reached (UTC)"), text.moment),
)


def clients_section(data: ReportInput) -> Section:
    """Which clients ask, how often, and for what in vain."""
    none = N_("No lookup was journalled.")
    many = data["client_census"].total
    answer = _.plural("%(n)s language and version of clients.", "%(n)s languages and versions of clients.", many) % {
        "n": f"{many:,}"
    }
    blocks = [
        listed(N_("Languages and versions"), meaning("client_census"), CENSUS, data["client_census"], none),
        listed(N_("Topics that do not exist, by client"), meaning("missing_askers"), ASKERS, data["missing_askers"],
               N_("Every topic that was looked up existed.")),
        listed(N_("Clients"), meaning("clients"), CLIENTS, data["clients"], none),
    ]  # fmt: skip
    return Section("clients", answer, blocks)


def availability_section(data: ReportInput) -> Section:
    """Which brokers used up their error budget."""
    table = data["availability"]
    spent = sum(row["level"] == "group" and (row.get("left") or 0) < 0 for row in table.rows)
    answer = _.plural(
        "%(n)s broker group used up the error budget.", "%(n)s broker groups used up the error budget.", spent
    ) % {"n": f"{spent:,}"}
    block = listed(N_("Error budgets"), meaning("availability"), AVAILABILITY, table, N_("No broker was registered."))
    return Section("availability", answer, [block])


def blast_section(data: ReportInput) -> Section:
    """Which brokers and zones are single points of failure."""
    radius = data["blast_radius"]
    none = N_("Every user topic survives the loss of any one broker or zone.")
    answer = _(none)
    if radius:
        worst = radius.rows[0]
        many = worst["no_write"]
        answer = _.plural(
            "The worst loss is that of %(scope)s %(name)s: it leaves %(n)s user topic without a write queue.",
            "The worst loss is that of %(scope)s %(name)s: it leaves %(n)s user topics without a write queue.",
            many,
        ) % {"scope": text.code(worst["scope"]), "name": text.short(worst["name"]), "n": f"{many:,}"}
    blocks = [
        listed(N_("Losses"), meaning("blast_radius"), RADIUS, radius, none),
        listed(N_("Topics that depend on one broker or zone"), meaning("sole_topics"), SOLE, data["sole_topics"], none),
    ]
    return Section("blast", answer, blocks)


def storms_section(data: ReportInput) -> Section:
    """Which name servers many brokers registered with at once."""
    storms, none = data["storms"], N_("No five brokers registered at once.")
    answer = _(none)
    if storms:
        worst = storms.rows[0]
        many = worst["registrations"]
        answer = text.sentences(
            _.plural("%(n)s storm.", "%(n)s storms.", storms.total) % {"n": f"{storms.total:,}"},
            _.plural("The largest: %(n)s registration at %(ns)s.", "The largest: %(n)s registrations at %(ns)s.", many)
            % {"n": f"{many:,}", "ns": text.short(worst["ns"])},
        )
    registrations = data["storm_registrations"]
    blocks = [
        listed(N_("Storms"), meaning("storms"), STORMS, storms, none),
        listed(N_("Order of registrations"), meaning("storm_registrations"), REGISTRATIONS, registrations, none),
    ]
    return Section("storms", answer, blocks)


def ordered_section(data: ReportInput) -> Section:
    """Which topics' keys moved to other queues."""
    table, none = data["ordered_keys"], N_("No topic's write queues changed for longer than 30 s.")
    count = int(data.figures.get("ordered_topics", sum(row["kind"] == "user" for row in table.rows)))
    answer = _("No user topic's write queues changed for longer than 30 s.")
    if count:
        answer = _.plural(
            "The write queues of %(n)s user topic changed, which moves keys.",
            "The write queues of %(n)s user topics changed, which moves keys.",
            count,
        ) % {"n": f"{count:,}"}
    block = listed(N_("Topics whose keys moved"), meaning("ordered_keys"), ORDERED, table, none)
    return Section("ordered", answer, [block])


def growth_section(data: ReportInput) -> Section:
    """When the largest frames reach their limit."""
    limits, none = data["growth_limits"], N_("No topic was registered.")
    soon = [row for row in limits.rows if row.get("reached") is not None]
    answer = _("No frame grows to its limit within ten years.")
    if soon:
        first = min(soon, key=lambda row: row["reached"])
        answer = _("The %(frame)s reaches 16 MiB about %(moment)s.") % {
            "frame": _frame(first["measure"]),
            "moment": text.moment(first["reached"]),
        }
    blocks = [
        listed(N_("Limits"), meaning("growth_limits"), LIMITS, limits, none),
        listed(N_("Day by day"), meaning("growth"), DAYS, data["growth"], none),
    ]
    return Section("growth", answer, blocks)
