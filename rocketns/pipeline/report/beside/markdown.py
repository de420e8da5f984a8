"""report.md: the beginning of the page as Markdown, for a chat or a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocketns.pipeline.report.cards import when
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.scripts import isolated
from rocketns.pipeline.report.summary import summary
from rocketns.pipeline.report.text import sentences
from rocketns.pipeline.report.words.harms import whom
from rocketns.pipeline.report.words.names import LEVELS
from rocketns.pipeline.report.words.titles import title
from rocketns.pipeline.saying import _

INCIDENTS_MAX = 20
# Everything that may begin a mark of Markdown, an HTML tag, a table's cell, or a mention of people.
MARKS = re.compile(r"([\\`*_{}\[\]()#|~!^$])")


def markdown(data: ReportInput) -> str:
    """The headline, and the worst INCIDENTS_MAX incidents as a table."""
    return "\n".join(_lines(data)) + "\n"


def escaped(text: str) -> str:
    """Text from the network as Markdown that shows it as it is: no mark, no tag, no link, no mention."""
    plain = MARKS.sub(r"\\\1", isolated(text).replace("&", "&amp;"))
    for sign, entity in (("<", "&lt;"), (">", "&gt;"), ("@", "&#64;"), ("://", "&#58;//"), ("www.", "www&#46;")):
        plain = plain.replace(sign, entity)
    return plain


def _lines(data: ReportInput) -> Iterator[str]:
    top = summary(data)
    yield f"# {escaped(top.headline)}"
    yield ""
    if top.when:
        yield escaped(top.when)
        yield ""
    if top.whom:
        yield escaped(top.whom)
        yield ""
        yield _("**First:** %(first)s") % {"first": escaped(top.first)}
        yield ""
    if top.command:
        # a code block by indentation: no name can end it, since none has a line break
        yield f"    {top.command}"
        yield ""
    for reason in top.incomplete:
        yield _("- **Records are missing:** %(reason)s") % {"reason": escaped(reason)}
    for note in top.clocks:
        yield _("- **Clocks:** %(note)s") % {"note": escaped(note)}
    if top.incomplete or top.clocks:
        yield ""
    yield escaped(sentences(top.counts, _("Observation: %(period)s.") % {"period": top.period}))
    if data.incidents:
        yield from _table(data)


def _table(data: ReportInput) -> Iterator[str]:
    yield ""
    yield _("| Level | What | When | Whom it hurts |")
    yield "|---|---|---|---|"
    for incident in data.incidents[:INCIDENTS_MAX]:
        level = (_("%(level)s, goes on") if incident.going_on else "%(level)s") % {"level": _(LEVELS[incident.level])}
        cells = (level, title(incident, data.t1), when(incident), whom(incident))
        yield f"| {' | '.join(map(escaped, cells))} |"
    more = len(data.incidents) - INCIDENTS_MAX
    if more > 0:
        yield ""
        yield _("%(n)s more are in incidents.jsonl.") % {"n": f"{more:,}"}
