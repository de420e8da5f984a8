"""incidents.jsonl: one incident a line, for programs.

report.md: the beginning of the page as Markdown, for a chat or a ticket.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from rocketns.languages.texts import ENGLISH
from rocketns.pipeline.contract.times import exact_text
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report.cards import when
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.summary import summary
from rocketns.pipeline.report.text import isolated, sentences
from rocketns.pipeline.report.words.names import LEVELS, command, identities
from rocketns.pipeline.report.words.sentences import first, title, whom
from rocketns.pipeline.saying import _, speaking

VERSION = 1


class Field(NamedTuple):
    """A key of a line: what it means, and its value. ``value`` takes the incident and the input of the report."""

    meaning: str
    value: Callable[[Incident, ReportInput], Any]


FIELDS: Mapping[str, Field] = {
    "v": Field(f"version of this format: {VERSION}", lambda _incident, _data: VERSION),
    "id": Field("the same for the same incident in another run of the same time; its anchor in report.html",
                lambda *_: ""),
    "kind": Field("missing, stale_routes, stale_permissions, crash, dead, lost, gone, flap, restarted, killed, "
                  "emptied, unwritable, stopped, silent or missing_topic", lambda incident, _data: incident.kind.value),
    "level": Field("severe, major or minor", lambda incident, _data: incident.level.name.lower()),
    "score": Field("queues off the routes times seconds, or misses; only for sorting",
                   lambda incident, _data: incident.score),
    "going_on": Field("whether it was not over at the end of the observation",
                      lambda incident, _data: incident.going_on),
    "since": Field("its beginning in UTC, on corrected clocks", lambda incident, _data: exact_text(incident.t1)),
    "before": Field("whether it was there at the beginning of the observation, and maybe earlier",
                    lambda incident, _data: incident.before),
    "until": Field("its end; null if it goes on",
                   lambda incident, _data: None if incident.going_on else exact_text(incident.t2)),
    "t1": Field("its beginning, epoch us", lambda incident, _data: incident.t1),
    "t2": Field("its end, epoch us; the end of the observation if it goes on", lambda incident, _data: incident.t2),
    "t1_early": Field("by how much earlier its beginning may have been, us, where it was seen from outside; otherwise "
                      "0", lambda incident, _data: incident.t1_early),
    "t2_early": Field("the same of its end", lambda incident, _data: incident.t2_early),
    "asked": Field("what its brokers said when they were asked then: answered, refused, silent",
                   lambda incident, _data: list(incident.asked)),
    "title": Field("what is wrong, where, since when", lambda incident, data: title(incident, data.t1)),
    "whom": Field("whom it hurts", lambda incident, _data: whom(incident)),
    "first": Field("what to do first", lambda incident, _data: first(incident)),
    "command": Field("a command for bash that shows the routes of that time; empty if no topic is known",
                     lambda incident, data: command(incident, data.options)),
    "cause": Field("cause in the journal, or new and anomaly of a missing topic",
                   lambda incident, _data: incident.cause),
    "ns": Field("name servers at which it shows", lambda incident, _data: list(incident.ns)),
    "brokers": Field("brokers concerned", lambda incident, _data: list(incident.brokers)),
    "bids": Field("ids of the brokers that left; without 0 among them only slaves left; empty if not known",
                  lambda incident, _data: list(incident.bids)),
    "addrs": Field("addresses of the broker, if it is one", lambda incident, _data: list(incident.addrs)),
    "times": Field("how often: absences of a flapping broker, hours of a missing topic; of unwritable "
                   "the topics that no other broker served",
                   lambda incident, _data: incident.times),
    "away_s": Field("seconds of absence in all", lambda incident, _data: incident.away_us / 1e6),
    "silent_ms": Field("ms since the last heartbeat when it began, or null",
                       lambda incident, _data: incident.silent_ms),
    "stalled": Field("name servers that did not run at its beginning or just before",
                     lambda incident, _: list(incident.stalled)),
    "clocks": Field("name servers of `ns` whose clock is not known for certain",
                    lambda incident, _data: list(incident.clocks)),
    "topics": Field("how many user topics are concerned", lambda incident, _data: incident.harm.topics),
    "topic_sample": Field("some of them", lambda incident, _data: list(incident.harm.sample)),
    "topics_known": Field("false if no table says which topics are concerned",
                          lambda incident, _data: incident.harm.known),
    "queues": Field("read queues of user topics off the routes", lambda incident, _data: incident.harm.queues),
    "orphaned": Field("queues without a consumer in the worst group of each topic, of the listed results of impact",
                      lambda incident, _data: incident.harm.orphaned),
    "twice": Field("queues with two or more consumers, likewise", lambda incident, _data: incident.harm.twice),
    "misses": Field("lookups answered “topic not exist”", lambda incident, _data: incident.harm.misses),
    "records": Field("journal records that prove it, the first 24: ns, boot (epoch ms or null), ts (epoch us by that "
                     "name server's own clock), ev, cause, broker; ev is last record where a killed or silent name "
                     "server ended; a missing topic has none",
                     lambda incident, _data: [record._asdict() for record in incident.records]),
    "views": Field(
        "the name servers side by side, at most 12: ns, says, spans of [t1, t2, up | gone | differs | down | "
        "unwatched]",
        lambda incident, _data: [
            {"ns": lane.ns, "says": lane.says, "spans": [[a, b, state.value] for a, b, state in lane.spans]}
            for lane in incident.lanes
        ],
    ),
}  # fmt: skip


def json_lines(data: ReportInput) -> str:
    """All incidents, worst and latest first, in English. ASCII only, so that no name from the network can disturb a
    terminal."""
    identified = zip(identities(data.incidents), data.incidents, strict=True)
    with speaking(ENGLISH):
        return "".join(json.dumps(_line(identity, incident, data)) + "\n" for identity, incident in identified)


def _line(identity: str, incident: Incident, data: ReportInput) -> dict[str, Any]:
    return {name: field.value(incident, data) for name, field in FIELDS.items()} | {"id": identity}


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
