"""Tables of the page: their columns with headings, units and values as text, where they are cut, and which incident a
row belongs to.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, NamedTuple

from rocketns.languages import N_
from rocketns.pipeline.contract.frames import Row, Table
from rocketns.pipeline.contract.terms import HOUR_US, SECOND_US, TIMEOUT_MS
from rocketns.pipeline.incidents.harm import NAME_SERVER
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report import text
from rocketns.pipeline.report.cards import in_page
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.text import moment, plain, visible
from rocketns.pipeline.report.words.names import known_to
from rocketns.pipeline.saying import _
from rocketns.protocol.codes import request_name

ROWS_OPEN = 10  # in the page as HTML; the rest is data that the page's script shows
ROWS_MAX = 2_000  # the page ends here; the whole table is beside the page
NOTHING: tuple[Any, ...] = (None, [], ())
CELL_MAX = 600  # characters of one cell


SLACK_US = 60 * SECOND_US
# What a row is about: the first of these columns that it has, the last one only with the end of a name server.
SUBJECTS = ("broker", "topic", "ns")


class Links:
    """A row is matched by what it is about, and by a time; without a time it belongs to the worst incident."""

    def __init__(self, data: ReportInput) -> None:
        self._by_name: defaultdict[tuple[str, str], list[tuple[str, Incident]]] = defaultdict(list)
        for anchor, incident in in_page(data):
            servers = incident.ns[:1] if incident.kind in NAME_SERVER else ()
            topics = dict.fromkeys((*incident.harm.sample, incident.topic))
            for subject, names in zip(SUBJECTS, (incident.brokers, topics, servers), strict=True):
                for name in names:
                    self._by_name[subject, name].append((anchor, incident))

    def of(self, row: Row) -> str:
        """The anchor of the row's incident, or ''."""
        subject = next((one for one in SUBJECTS if row.get(one) is not None), "")
        if subject == "ns" and row.get("end_cause") is None:
            return ""
        candidates, span = self._by_name.get((subject, str(row.get(subject))), ()), _span(row)
        if span is None:
            return candidates[0][0] if candidates else ""
        t1, t2 = span[0] - SLACK_US, span[1] + SLACK_US
        near = ((abs(one.t1 - span[0]), anchor) for anchor, one in candidates if one.t1 <= t2 and one.t2 >= t1)
        return min(near, default=(0, ""))[1]


def _span(row: Row) -> tuple[int, int] | None:
    if row.get("hour") is not None:
        return int(row["hour"]), int(row["hour"]) + HOUR_US
    if row.get("t1") is None or row.get("t2") is None:
        return None
    # where something ended, that is what went wrong
    return int(row["t2" if row.get("end_cause") is not None else "t1"]), int(row["t2"])


@dataclass(frozen=True)
class Column:
    """One column: its key in a row, its heading with its unit, how a value is shown. ``wide`` columns may wrap; numbers
    are aligned to the right. ``whole`` passes the row to ``show`` instead of the value. ``sort``: what rows are sorted
    by, by default the value if it is a number, else the text. ``most``: the value of a bar as wide as the column; 0
    without bars."""

    key: str
    label: str
    show: Callable[[Any], str] = plain
    number: bool = False
    wide: bool = False
    whole: bool = False
    unit: str = ""
    sort: Callable[[Row], float | None] | None = None
    most: float = 0

    @property
    def style(self) -> str:
        return "bar n" if self.most else "n" if self.number else "w" if self.wide else ""


@dataclass(frozen=True)
class Grid:
    """A table ready for the page. ``name`` is its anchor; ``refs``: of each row the anchor of its incident, or '';
    ``total``: rows of the whole table."""

    caption: str
    meaning: str
    name: str
    columns: Sequence[Column]
    rows: Sequence[Row]
    texts: Sequence[Sequence[str]]
    refs: Sequence[str]
    total: int
    path: str

    @property
    def linked(self) -> bool:
        return any(self.refs)

    def part(self, row: int, column: Column) -> float:
        """The width of a bar in per cent."""
        return round(min(100, 100 * (self.rows[row].get(column.key) or 0) / column.most), 2)


def grid(
    caption: str, meaning: str, columns: Sequence[Column], table: Table, links: Links, rows_max: int = ROWS_MAX
) -> Grid:
    """The first rows of a table as text, without the columns that no row has. ``caption``, ``meaning`` and labels are
    messages; the anchor of the table is that of the English caption."""
    rows = table.rows[:rows_max]
    kept = [c for c in columns if c.whole or any(row.get(c.key) not in NOTHING for row in rows)]
    kept = [replace(column, label=_(column.label)) for column in kept]
    texts = [[cell(column, row) for column in kept] for row in rows]
    refs, total = [links.of(row) for row in rows], max(table.total, len(table.rows))
    return Grid(_(caption), _(meaning), slug(caption), kept, rows, texts, refs, total, table.path)


def cell(column: Column, row: Row) -> str:
    """One value as text, cut at CELL_MAX."""
    text = visible(column.show(row) if column.whole else column.show(row.get(column.key)))
    return text if len(text) <= CELL_MAX else text[: CELL_MAX - 1] + "…"


def slug(caption: str) -> str:
    """``Topics, most uneven first`` → ``t-topics-most-uneven-first``."""
    return "t-" + "-".join(islice(re.findall(r"[a-z0-9]+", caption.lower()), 6))


def packed(grid: Grid) -> dict[str, Any]:
    """The table as data for the page's script: of each column its distinct values, and which of them each row has.
    A value is its text, or [text, number] if rows are sorted by the number."""
    return {
        "name": grid.name,
        "columns": [_packed(column, place, grid) for place, column in enumerate(grid.columns)],
        "refs": grid.refs if grid.linked else [],
    }


def _packed(column: Column, place: int, grid: Grid) -> dict[str, Any]:
    known: dict[tuple[str, float | None], int] = {}
    each = [
        known.setdefault((texts[place], _sort(column, row)), len(known))
        for texts, row in zip(grid.texts, grid.rows, strict=True)
    ]
    return {
        "label": column.label,
        "style": column.style,
        "most": column.most,
        "values": [text if number is None else [text, number] for text, number in known],
        "rows": each,
    }


def _sort(column: Column, row: Row) -> float | None:
    if column.show is moment:  # its text sorts by time
        return None
    value = column.sort(row) if column.sort else row.get(column.key)
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def _earlier(row: Row) -> str:
    """``5 s; 30 s``: by how much earlier its beginning and its end may have been."""
    early = [row.get(name) or 0 for name in ("t1_early", "t2_early")]
    return "; ".join(text.microseconds(us) if us else "0" for us in early) if any(early) else text.NONE


def _lasted(row: Row) -> str:
    return text.microseconds(row["t2"] - row["t1"])


def _known(row: Row) -> str:
    return known_to(str(row.get("clock")), row.get("uncertainty_us"))


def _group(row: Row) -> str:
    is_real = row.get("assignments") == "real"
    shown = {"n": row["c"], "strategy": row["strategy"]}
    spread = (
        _("%(n)s consumers, %(strategy)s, real spread") if is_real else _("%(n)s consumers, %(strategy)s, any spread")
    ) % shown
    spread = _("%(spread)s, capped") % {"spread": spread} if row.get("capped") else spread
    return f"{row['group']}: {spread}" if row.get("group") else spread


def _served(row: Row) -> str:
    """``broker-a: alone``, ``broker-a, broker-b and 3 more``."""
    names, count = list(row.get("brokers") or []), row.get("served") or 0
    if count == 1:
        return _("%(broker)s alone") % {"broker": text.short(names[0])}
    more = [""] * (count - len(names))
    return text.names([*names, *more], 3) if count else text.NONE


def _offset(us: float | None) -> str:
    return text.NONE if us is None else _("%(n)s ms") % {"n": f"{us / 1_000:+,.0f}"}


def _pair(label: str, stem: str) -> Column:
    def show(row: Row) -> str:
        return f"{text.number(row.get(f'{stem}_mean'))} / {text.number(row.get(f'{stem}_max'))}"

    return Column(f"{stem}_max", label, show, number=True, whole=True)


def _number(key: str, label: str, show: Callable[[float | None], str] = text.number, most: float = 0) -> Column:
    return Column(key, label, show, number=True, most=most)


def _wide(key: str, label: str, show: Callable[..., str] = text.plain) -> Column:
    return Column(key, label, show, wide=True)


def _moment(key: str, label: str) -> Column:
    return Column(key, label, text.moment, unit="UTC")


# By the names that VIEWS call them.
COLUMNS = {
    "from": _moment("t1", N_("From")),
    "to": _moment("t2", N_("To")),
    "lasted": Column("t2", N_("Lasted"), _lasted, number=True, whole=True, sort=lambda row: row["t2"] - row["t1"]),
    "early": Column("t1_early", N_("Or earlier by"), _earlier, number=True, whole=True),
    "t": _moment("t", N_("When")),
    "hour": _moment("hour", N_("Hour")),
    "topic": _wide("topic", N_("Topic")),
    "kind": Column("kind", N_("Kind"), text.code),
    "topic_kind": Column("topic_kind", N_("Kind"), text.code),
    "broker": _wide("broker", N_("Broker")),
    "bid": _number("bid", N_("Id")),
    "addr": _wide("addr", N_("Address")),
    "cluster": _wide("cluster", N_("Cluster")),
    "ns": _wide("ns", N_("Name server")),
    "at": _wide("ns", N_("Asked at"), text.names),
    "seen_by": _wide("ns", N_("Seen by"), text.names),
    "cause": _wide("cause", N_("Cause"), text.cause),
    "doubt": Column("doubt", N_("Doubt"), text.doubt),
    "without": _wide("ns_without", N_("Without the route"), text.names),
    "stalled": _wide("stalled", N_("Stalled"), text.names),
    "windows": _number("windows", N_("Windows")),
    "user_topics": _number("user_topics", N_("User topics")),
    "all_topics": _number("topics", N_("All topics")),
    "topics": _number("topics", N_("Topics")),
    "alone": _number("alone", N_("Alone")),
    "hidden": _number("queues", N_("Hidden queues")),
    "queues": _number("queues", N_("Queues")),
    "sample": _wide("topic_sample", N_("Such as"), lambda names: text.names(names, 3)),
    "gap_max": _number("gap_max", N_("Silent before"), text.milliseconds),
    "gap": _number("gap", N_("Silent before"), text.milliseconds),
    "opened_by": Column("opened_by", N_("Opened by")),
    "values": _wide("values", N_("What they said"), text.views),
    "group": Column("strategy", N_("Group"), _group, wide=True, whole=True),
    "orphaned": _pair(N_("Orphaned, mean / max"), "orphaned"),
    "orphaned_qs": _pair(N_("queue-seconds"), "orphaned_qs"),
    "orphaned_ids": _wide("orphaned_ids", N_("Orphaned queues"), text.queue_ids),
    "dup": _pair(N_("Taken twice, mean / max"), "dup"),
    "dup_qs": _pair(N_("queue-seconds"), "dup_qs"),
    "dup_ids": _wide("dup_ids", N_("Queues taken twice"), text.queue_ids),
    "share": _number("share", N_("Share"), text.percent, most=1),
    "fair": _number("fair", N_("Fair"), text.percent, most=1),
    "tvd": _number("tvd", N_("Tvd"), text.percent),
    "peak": _number("peak", N_("Peak")),
    "no_share_ns": _wide("no_share_ns", N_("Views that can send nothing"), text.names),
    "left": _wide("kind", N_("Kind"), text.kind),
    "bids": Column("bids", N_("Broker ids"), text.names),
    "t1_early": _number("t1_early", N_("Or earlier by"), text.microseconds),
    "asked": Column("asked", N_("Asked, it"), text.codes),
    "availability": _number("availability", N_("Availability"), text.percent),
    "up_s": _number("up_s", N_("Up"), text.seconds),
    "failed_s": _number("failed_s", N_("Failed"), text.seconds),
    "planned_s": _number("planned_s", N_("Planned"), text.seconds),
    "failures": _number("failures", N_("Failures")),
    "graceful": _number("graceful", N_("Graceful")),
    "flaps": _number("flaps", N_("Flaps")),
    "unseen": _number("observed", N_("Cause not visible")),
    "mtbf_s": _number("mtbf_s", N_("MTBF"), text.seconds),
    "gap_p50": _number("gap_p50", N_("Heartbeat gap p50"), text.milliseconds),
    "gap_p99": _number("gap_p99", N_("p99"), text.milliseconds),
    "gap_most": _number("gap_max", N_("max"), text.milliseconds, most=TIMEOUT_MS),
    "known_from": _moment("t1", N_("Known from")),
    "until": _moment("t2", N_("Until")),
    "end_cause": _wide("end_cause", N_("How it ended"), text.cause),
    "served": Column("served", N_("Served by"), _served, wide=True, whole=True, sort=lambda row: row.get("served")),
    "skew": _number("skew", N_("Skew")),
    "created": _moment("created", N_("First seen")),
    "removed": _moment("removed", N_("Removed")),
    "n": _number("n", N_("Lookups")),
    "miss": _number("miss", N_("Answered “not exist”")),
    "last_lookup": _moment("last_lookup", N_("Last lookup")),
    "days": _number("days", N_("Days without")),
    "bound": _number("bound", N_("Usual at most")),
    "median": _number("median", N_("Median before")),
    "mad": _number("mad", N_("Deviation before")),
    "client": _wide("client", N_("Client")),
    "lang": Column("lang", N_("Language")),
    "cv": Column("cv", N_("Version"), text.plain, number=True),
    "poll_s": _number("poll_s", N_("Polls every"), text.seconds),
    "host": _wide("host", N_("Host")),
    "principal": _wide("principal", N_("Principal")),
    "access_key": _wide("access_key", N_("Access key")),
    "code": _wide("code", N_("Request"), lambda code: f"{code} {request_name(code)}"),
    "what": _wide("what", N_("Fields")),
    "before": _wide("before", N_("Before")),
    "after": _wide("after", N_("After")),
    "result": _number("result", N_("Response code")),
    "requests": _number("n", N_("Requests")),
    "access": _wide("access", N_("Class")),
    "reason": _wide("reason", N_("Reason")),
    "enforced": Column("enforced", N_("Refused"), lambda enforced: _("yes") if enforced else _("no, only observed")),
    "principals": _wide("principals", N_("Principals"), text.names),
    "access_keys": _wide("access_keys", N_("Access keys"), text.names),
    "before_from": _wide("before", N_("Before from")),
    "hosts": _number("hosts", N_("Hosts before")),
    "files": _number("files", N_("Files")),
    "events": _number("events", N_("Events")),
    "first": _moment("first", N_("First")),
    "last": _moment("last", N_("Last")),
    "offset_us": _number("offset_us", N_("Clock offset"), _offset),
    "clock": Column("clock", N_("Clock estimated from"), text.code),
    "known": Column("uncertainty_us", N_("Clock known"), _known, whole=True),
    "corrupt": _number("corrupt", N_("Corrupt lines")),
    "lost": _number("lost", N_("Lost records")),
    "observed": Column("observed", N_("Seen from outside")),
    "members_early": _number("members_early", N_("Brokers known to"), text.microseconds),
    "topics_early": _number("topics_early", N_("Topics known to"), text.microseconds),
    "fault": Column("kind", N_("What"), text.code),
    "boot": Column("boot", N_("Boot")),
    "count": _number("n", N_("Count")),
    "detail": _wide("detail", N_("Detail")),
}


class TableView(NamedTuple):
    """How a table is listed: its caption, and names of COLUMNS."""

    title: str
    columns: str


# By the tables of the catalogue that the page lists.
VIEWS = {
    "divergences": TableView(N_("Divergence of brokers"),
                      "from lasted early cause broker without stalled windows user_topics all_topics hidden sample "
                      "gap_max doubt"),
    "key_windows": TableView(N_("Windows"), "from lasted early topic broker cause opened_by gap values doubt"),
    "ns_uptime": TableView(N_("Starts and ends of name servers"), "ns known_from until end_cause"),
    "impact": TableView(N_("Segments of a topic with constant views, the worst first"),
                   "from lasted topic group queues orphaned orphaned_qs orphaned_ids dup dup_qs dup_ids"),
    "imbalance": TableView(N_("Shares of brokers in segments, the largest tvd first"),
                      "from lasted topic broker share fair tvd peak no_share_ns"),
    "broker_stats": TableView(N_("Availability"),
                         "broker bid addr ns availability up_s failed_s planned_s failures graceful flaps unseen "
                         "mtbf_s gap_p50 gap_p99 gap_most"),
    "unwritable": TableView(N_("Brokers that nobody could write to"),
                       "from lasted early broker cause topics alone queues sample seen_by"),
    "departures": TableView(N_("Departures"),
                       "from to broker cluster left seen_by bids topics queues sample stalled t1_early asked"),
    "topics": TableView(N_("Topics, by lookups"), "topic kind served queues skew n miss last_lookup created removed"),
    "dead_topics": TableView(N_("Topics, dead"), "topic kind queues created last_lookup days"),
    "missing_topics": TableView(N_("Missing topics"), "hour topic miss n bound median mad at topic_kind"),
    "clients": TableView(N_("Clients"), "client lang cv poll_s topics n miss at from to"),
    "admin_changes": TableView(N_("Who changed what"),
                          "t host principal access_key code what before after result requests ns"),
    "refused_requests": TableView(N_("Refused requests"),
                             "host access code reason enforced requests from to principals access_keys at"),
    "new_addresses": TableView(N_("Brokers from new addresses"), "t broker bid cluster host before_from hosts addr ns"),
    "quality": TableView(N_("Faults of the input"), "fault ns boot from to count detail"),
    "sources": TableView(N_("What was read"),
                    "ns files events first last offset_us clock known corrupt lost observed members_early "
                    "topics_early"),
}  # fmt: skip


def columns_of(table: str) -> list[Column]:
    """The columns of a listed table."""
    return [COLUMNS[name] for name in VIEWS[table].columns.split()]
