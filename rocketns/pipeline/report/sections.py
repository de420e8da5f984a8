"""The sections of the page. Each answers one question in a sentence, and lists its tables of the catalogue."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rocketns.languages import N_
from rocketns.pipeline.contract.catalogue import BY_NAME, JOBS, SECTIONS
from rocketns.pipeline.contract.causes import CLOCKS, LOST_RECORDS
from rocketns.pipeline.contract.defaults import TIMEOUT_MS
from rocketns.pipeline.contract.exits import Verdict
from rocketns.pipeline.contract.meanings import CLOCKS_DIFFER, LOST, Meaning
from rocketns.pipeline.contract.tables import Row, Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.columns import VIEWS, columns_of
from rocketns.pipeline.report.grid import Grid, grid
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.timeline import Timeline, timeline
from rocketns.pipeline.saying import _

BARS_MAX = 12
# Of a table whose rows are topics the page has more.
TOPICS_MAX = 10_000
# By doubt: the figure that counts the divergences, the title of their table, what it means, the sentence about them.
DOUBTS = {
    LOST_RECORDS: ("lost_incidents", N_("May be lost records"), LOST,
                   N_("Not counted, because they may be lost records: %(n)s.")),
    CLOCKS: ("clock_incidents", N_("May be clocks"), CLOCKS_DIFFER,
             N_("Not counted, because clocks, or the time between two looks, may explain them: %(n)s.")),
}  # fmt: skip


@dataclass(frozen=True)
class Bars:
    """A figure: rows of a label and (series, its number for the style sheet, part of the width in per cent, text)."""

    caption: str
    rows: Sequence[tuple[str, Sequence[tuple[str, int, float, str]]]]


@dataclass(frozen=True)
class Block:
    """One result: a table, or the timeline, with what it means and what it does not say."""

    title: str
    meaning: Meaning
    grid: Grid | None = None
    figure: Bars | None = None
    timeline: Timeline | None = None


@dataclass(frozen=True)
class Section:
    """One chapter of the page, with its answer in a sentence. ``name``: one of SECTIONS, its anchor, its key in the
    notes. Without ``blocks`` there is nothing to list."""

    name: str
    answer: str
    blocks: Sequence[Block]
    notes: Sequence[str] = ()

    @property
    def title(self) -> str:
        return _(SECTIONS[self.name])


def sections(data: ReportInput) -> list[Section]:
    """All sections in their order. With incomplete input an answer begins with “In what was read”."""
    found = []
    for name in SECTIONS:
        answer = ANSWERS[name](data)
        if data.verdict is Verdict.INCOMPLETE and name != "quality":
            answer = _("In what was read: %(answer)s") % {"answer": f"{answer[:1].lower()}{answer[1:]}"}
        found.append(Section(name, answer, list(_blocks(name, data)), data.notes.get(name, ())))
    return found


def _blocks(section: str, data: ReportInput) -> Iterator[Block]:
    if section == "timeline" and data.name_servers:
        yield Block(_("Timeline"), BY_NAME["broker_intervals"].meaning, timeline=timeline(data, data.name_servers))
    for job in JOBS:
        if job.section != section or job.name not in VIEWS:
            continue
        if job.name == "incidents":
            yield from _divergences(data)
        elif table := data[job.name]:
            figure = FIGURES[job.name](table.rows[:BARS_MAX]) if job.name in FIGURES else None
            yield _listed(job.name, VIEWS[job.name].title, job.meaning, table, figure)


def _listed(name: str, title: str, meaning: Meaning, table: Table, figure: Bars | None = None) -> Block:
    most = {"rows_max": TOPICS_MAX} if name == "topics" else {}
    return Block(_(title), meaning, grid(title, columns_of(name), table, **most), figure)


def _divergences(data: ReportInput) -> Iterator[Block]:
    """A table of those that count, and one for each doubt."""
    for doubt in (None, *DOUBTS):
        rows, total = _doubted(doubt, data)
        if total:
            title, meant = DOUBTS[doubt][1:3] if doubt else (VIEWS["incidents"].title, BY_NAME["incidents"].meaning)
            yield _listed("incidents", title, meant, Table(rows, max(total, len(rows)), data["incidents"].path))


def _doubted(doubt: str | None, data: ReportInput) -> tuple[list[Row], int]:
    """The divergences with a doubt, or without any: those that are here, and how many there are."""
    table = data["incidents"]
    rows = [row for row in table.rows if row.get("doubt") == doubt]
    known = len(rows) if doubt else table.total - len(table.rows) + len(rows)
    return rows, int(data.figures.get(DOUBTS[doubt][0] if doubt else "incidents", known))


def _divergence(data: ReportInput) -> str:
    rows, total = _doubted(None, data)
    answer = _("The name servers agreed on every route, apart from differences shorter than min_window.")
    if data.figures.get("name_servers") == 1:
        answer = _("There is the journal of one name server only, so routes were not compared.")
    if total:
        windows = int(data.figures.get("windows", data["key_windows"].total))
        answer = _("%(divergences)s with %(windows)s of user topics in which name servers disagreed about a route.") % {
            "divergences": _.plural("%(n)s divergence", "%(n)s divergences", total) % {"n": f"{total:,}"},
            "windows": _.plural("%(n)s window", "%(n)s windows", windows) % {"n": f"{windows:,}"},
        }
    if rows:
        worst = max(rows, key=lambda row: (row["t2"] - row["t1"], -row["t1"]))
        longest = _("The longest: %(length)s from %(begin)s, %(broker)s, %(cause)s.") % {
            "length": text.microseconds(worst["t2"] - worst["t1"]), "begin": text.moment(worst["t1"]),
            "broker": text.short(worst["broker"]), "cause": text.cause(worst["cause"]),
        }  # fmt: skip
        answer = text.sentences(answer, longest)
    counts = {sentence: _doubted(doubt, data)[1] for doubt, (_figure, _title, _meant, sentence) in DOUBTS.items()}
    return text.sentences(answer, *[_(said) % {"n": f"{n:,}"} for said, n in counts.items() if n])


def _timeline(data: ReportInput) -> str:
    servers, starts = len(data.name_servers), data["ns_uptime"].total
    if not servers:
        return _("No name server wrote anything in this time.")
    lost = sum(row.get("end_cause") == "lost" for row in data["ns_uptime"].rows)
    ended = _.plural("%(n)s end without a stop record", "%(n)s ends without a stop record", lost) % {"n": f"{lost:,}"}
    return _("%(servers)s, %(starts)s; %(ended)s.") % {
        "servers": _.plural("%(n)s name server", "%(n)s name servers", servers) % {"n": f"{servers:,}"},
        "starts": _.plural("%(n)s start", "%(n)s starts", starts) % {"n": f"{starts:,}"},
        "ended": ended if lost else _("none ended without a stop record"),
    }


def _impact(data: ReportInput) -> str:
    if not data["impact"]:
        return _("No queue is known to be without a consumer, or to have two.")
    worst = data["impact"].rows[0]
    if not worst["orphaned_max"] and not worst["dup_max"]:
        return _("Views differed, but the model found no queue that was orphaned or taken twice.")
    return _(
        "The worst: %(topic)s with %(orphaned)s of %(queues)s queues orphaned and %(twice)s taken twice for "
        "%(length)s (%(strategy)s, %(consumers)s consumers)."
    ) % {
        "topic": text.short(worst["topic"]), "orphaned": text.number(worst["orphaned_max"]),
        "queues": worst["queues"], "twice": text.number(worst["dup_max"]), "strategy": worst["strategy"],
        "length": text.microseconds(worst["t2"] - worst["t1"]), "consumers": worst["c"],
    }  # fmt: skip


def _imbalance(data: ReportInput) -> str:
    shut = _.plural(
        "%(n)s time at which nobody could write to topics of a broker.",
        "%(n)s times at which nobody could write to topics of a broker.",
        data["unwritable"].total,
    ) % {"n": f"{data['unwritable'].total:,}"}
    return text.sentences(_shares(data), shut if data["unwritable"] else "")


def _shares(data: ReportInput) -> str:
    if not data["imbalance"]:
        return _("The model found that every broker got its fair share.")
    worst = data["imbalance"].rows[0]
    return _("The worst: %(part)s of the messages of %(topic)s went to the wrong broker.") % {
        "part": text.percent(worst["tvd"]), "topic": text.short(worst["topic"])
    }  # fmt: skip


def _brokers(data: ReportInput) -> str:
    table = data["broker_stats"]
    if not table:
        return _("No broker registered in this time.")
    lowest = table.rows[0]
    brokers = int(data.figures.get("brokers", len({row["broker"] for row in table.rows})))
    return text.sentences(
        _.plural("%(n)s broker.", "%(n)s brokers.", brokers) % {"n": f"{brokers:,}"},
        _("Lowest availability: %(broker)s at %(ns)s, %(share)s.")
        % {
            "broker": f"{text.short(lowest['broker'])}:{lowest['bid']}", "ns": text.short(lowest["ns"]),
            "share": text.percent(lowest["availability"]),
        },
    )  # fmt: skip


def _departures(data: ReportInput) -> str:
    table = data["departures"]
    if not table:
        return _("No broker left.")
    kinds = Counter(str(row["kind"]) for row in table.rows)
    counted = ({"n": f"{count:,}", "kind": text.code(name)} for name, count in sorted(kinds.items()))
    departures = _.plural("%(n)s departure", "%(n)s departures", table.total) % {"n": f"{table.total:,}"}
    said = _("%(departures)s: %(kinds)s.") if table.is_whole else _("%(departures)s, of those listed: %(kinds)s.")
    return said % {"departures": departures, "kinds": text.row(_("%(n)s %(kind)s") % one for one in counted)}


def _topics(data: ReportInput) -> str:
    users = [row for row in data["topics"].rows if row.get("kind", "user") == "user"]
    known = {
        "topics": sum(row.get("created") is not None for row in users),
        "dead_topics": len(data["dead_topics"].rows),
        "uneven_topics": sum((row.get("skew") or 0) > 1 for row in users),
        "sole_topics": sum(row.get("served") == 1 for row in users),
        "missing_hours": len(data["missing_topics"].rows),
    }
    topics, dead, uneven, sole, hours = (int(data.figures.get(name, count)) for name, count in known.items())
    alone = _.plural(
        "%(n)s is served by one broker only, and stands still when that broker is taken out.",
        "%(n)s are served by one broker only, and stand still when that broker is taken out.",
        sole,
    ) % {"n": f"{sole:,}"}
    missing = _.plural(
        "%(n)s topic hour with unusually many lookups of a topic that no broker had.",
        "%(n)s topic hours with unusually many lookups of a topic that no broker had.",
        hours,
    ) % {"n": f"{hours:,}"}
    counts = _("%(topics)s, %(dead)s dead, %(uneven)s unevenly spread over brokers.") % {
        "topics": _.plural("%(n)s user topic", "%(n)s user topics", topics) % {"n": f"{topics:,}"},
        "dead": f"{dead:,}", "uneven": f"{uneven:,}",
    }  # fmt: skip
    return text.sentences(counts, alone if sole else "", missing if hours else "")


def _clients(data: ReportInput) -> str:
    polls = [row["poll_s"] for row in data["clients"].rows if row.get("poll_s") is not None]
    if not data["clients"]:
        return _("No lookup was journalled.")
    if not polls:
        return _("Single clients are known only with journalLookupClients=true.")
    many = data["clients"].total
    return _.plural(
        "%(n)s client. It learns of a change up to %(longest)s late.",
        "%(n)s clients. The slowest learns of a change up to %(longest)s late.",
        many,
    ) % {"n": f"{many:,}", "longest": text.seconds(max(polls))}


def _access(data: ReportInput) -> str:
    changes, refused, addresses = (data[name].total for name in ("admin_changes", "refused_requests", "new_addresses"))
    return _("%(changes)s, %(refused)s, %(addresses)s.") % {
        "changes": _.plural("%(n)s request of administrators", "%(n)s requests of administrators", changes)
        % {"n": f"{changes:,}"},
        "refused": _.plural("%(n)s kind of refused requests", "%(n)s kinds of refused requests", refused)
        % {"n": f"{refused:,}"},
        "addresses": _.plural("%(n)s new address of brokers", "%(n)s new addresses of brokers", addresses)
        % {"n": f"{addresses:,}"},
    }


def _quality(data: ReportInput) -> str:
    if data.incomplete:
        return _("The input is incomplete: %(reasons)s") % {"reasons": text.sentences(*data.incomplete)}
    return _("Nothing is missing from the journals that were read.")


ANSWERS: Mapping[str, Callable[[ReportInput], str]] = {
    "divergence": _divergence, "timeline": _timeline, "impact": _impact, "imbalance": _imbalance,
    "brokers": _brokers, "departures": _departures, "topics": _topics, "clients": _clients, "access": _access,
    "quality": _quality,
}  # fmt: skip


def _impact_bars(rows: Sequence[Row]) -> Bars:
    series = ((_("orphaned"), "orphaned_qs_max"), (_("taken twice"), "dup_qs_max"))
    label = N_("%(topic)s (%(strategy)s, %(n)s consumers)")
    labels = [_(label) % {"topic": row["topic"], "strategy": row["strategy"], "n": row["c"]} for row in rows]
    return _bars(_("Queue-seconds, the maximum over all spreads"), rows, labels, series, text.number)


def _share_bars(rows: Sequence[Row]) -> Bars:
    labels = [_("%(topic)s, %(broker)s") % {"topic": row["topic"], "broker": row["broker"]} for row in rows]
    series = ((_("share"), "share"), (_("fair"), "fair"))
    return _bars(_("Share and fair share of the messages"), rows, labels, series, text.percent, most=1.0)


def _gap_bars(rows: Sequence[Row]) -> Bars:
    longest = sorted(rows, key=lambda row: -(row.get("gap_max") or 0))
    labels = [_("%(broker)s at %(ns)s") % {"broker": f"{r['broker']}:{r['bid']}", "ns": r["ns"]} for r in longest]
    caption = _("Heartbeat gaps, against the usual timeout of 120 s (the whole width)")
    return _bars(caption, longest, labels, ((_("max"), "gap_max"),), text.milliseconds, most=TIMEOUT_MS)


def _bars(
    caption: str,
    rows: Sequence[Row],
    labels: Sequence[str],
    series: Sequence[tuple[str, str]],
    show: Callable[[float | None], str],
    most: float = 0,
) -> Bars:
    """``most``: the value of the whole width, by default the largest one."""
    whole = max(most, *((row.get(key) or 0) for row in rows for _name, key in series)) or 1
    shown = [
        [
            (name, n, round(100 * (row.get(key) or 0) / whole, 2), show(row.get(key)))
            for n, (name, key) in enumerate(series)
        ]
        for row in rows
    ]
    return Bars(caption, list(zip(labels, shown, strict=True)))


FIGURES: Mapping[str, Callable[[Sequence[Row]], Bars]] = {
    "impact": _impact_bars, "imbalance": _share_bars, "broker_stats": _gap_bars
}  # fmt: skip
