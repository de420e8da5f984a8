"""The section about divergence: when name servers disagreed, about which broker, and why."""

from __future__ import annotations

from collections.abc import Sequence

from rocketns.languages import N_
from rocketns.pipeline.contract.causes import CLOCKS, LOST_RECORDS
from rocketns.pipeline.contract.meanings import CLOCKS_DIFFER, LOST, Meaning
from rocketns.pipeline.contract.tables import Row, Table
from rocketns.pipeline.report import text
from rocketns.pipeline.report.blocks import Block, Section, listed, meaning
from rocketns.pipeline.report.grid import Column
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.sections.common import EARLIER, WHEN, lasted
from rocketns.pipeline.saying import _

DOUBT = Column("doubt", N_("Doubt"), text.doubt)
# By doubt: the figure that counts the divergences, the title of their table, what it means, the sentence about
# them.
DOUBTS = {
    LOST_RECORDS: ("lost_incidents", N_("May be lost records"), LOST,
                   N_("Not counted, because they may be lost records: %(n)s.")),
    CLOCKS: ("clock_incidents", N_("May be clocks"), CLOCKS_DIFFER,
             N_("Not counted, because clocks, or the time between two looks, may explain them: %(n)s.")),
}  # fmt: skip


def divergence_section(data: ReportInput) -> Section:
    """When did which name servers disagree, about which broker, and why."""
    rows = data["incidents"].rows
    certain = [row for row in rows if row.get("doubt") is None]
    total = int(data.figures.get("incidents", data["incidents"].total - len(rows) + len(certain)))
    answer = _("The name servers agreed on every route, apart from differences shorter than min_window.")
    if data.figures.get("name_servers") == 1:
        answer = _("There is the journal of one name server only, so routes were not compared.")
    if total:
        windows = int(data.figures.get("windows", data["key_windows"].total))
        answer = text.sentences(_total(total, windows), _longest(certain))
    blocks = [_brokers(N_("Divergence of brokers"), meaning("incidents"), certain, total, data)]
    for doubt, (figure, title, meant, sentence) in DOUBTS.items():
        doubtful = [row for row in rows if row.get("doubt") == doubt]
        if count := int(data.figures.get(figure, len(doubtful))):
            answer = text.sentences(answer, _(sentence) % {"n": f"{count:,}"})
            blocks.append(_brokers(title, meant, doubtful, count, data))
    return Section("divergence", answer, [*blocks, _windows(data)])


def _total(divergences: int, windows: int) -> str:
    return _("%(divergences)s with %(windows)s of user topics in which name servers disagreed about a route.") % {
        "divergences": _.plural("%(n)s divergence", "%(n)s divergences", divergences) % {"n": f"{divergences:,}"},
        "windows": _.plural("%(n)s window", "%(n)s windows", windows) % {"n": f"{windows:,}"},
    }


def _brokers(title: str, meant: Meaning, rows: Sequence[Row], total: int, data: ReportInput) -> Block:
    columns = (
        *WHEN,
        lasted(data),
        EARLIER,
        Column("cause", N_("Cause"), text.cause, wide=True),
        Column("broker", N_("Broker"), wide=True),
        Column("ns_without", N_("Without the route"), text.names, wide=True),
        Column("stalled", N_("Stalled"), _or_nothing, wide=True),
        Column("windows", N_("Windows"), text.number, number=True),
        Column("user_topics", N_("User topics"), text.number, number=True),
        Column("topics", N_("All topics"), text.number, number=True),
        Column("queues", N_("Hidden queues"), text.number, number=True),
        Column("topic_sample", N_("Such as"), lambda names: text.names(names, 3), wide=True),
        Column("gap_max", N_("Silent before"), text.milliseconds, number=True),
        DOUBT,
    )
    table = Table(rows, max(total, len(rows)), data["incidents"].path)
    return listed(title, meant, columns, table, N_("No divergence."))


def _windows(data: ReportInput) -> Block:
    columns = (
        *WHEN,
        lasted(data),
        EARLIER,
        Column("topic", N_("Topic"), wide=True),
        Column("broker", N_("Broker"), wide=True),
        Column("cause", N_("Cause"), text.cause, wide=True),
        Column("opened_by", N_("Opened by")),
        Column("gap", N_("Silent before"), text.milliseconds, number=True),
        Column("values", N_("What they said"), text.views, wide=True),
        DOUBT,
    )
    return listed(N_("Windows"), meaning("key_windows"), columns, data["key_windows"], N_("No window."))


def _or_nothing(names: Sequence[str] | None) -> str:
    return text.names(names) if names else text.NONE


def _longest(rows: Sequence[Row]) -> str:
    if not rows:
        return ""
    worst = max(rows, key=lambda row: (row["t2"] - row["t1"], -row["t1"]))
    return _("The longest: %(length)s from %(begin)s, %(broker)s, %(cause)s.") % {
        "length": text.microseconds(worst["t2"] - worst["t1"]), "begin": text.moment(worst["t1"]),
        "broker": text.short(worst["broker"]), "cause": text.cause(worst["cause"]),
    }  # fmt: skip
