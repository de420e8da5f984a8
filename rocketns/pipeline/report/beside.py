"""incidents.jsonl: one incident a line, for programs.

report.md: the beginning of the page as Markdown, for a chat or a ticket.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from operator import attrgetter
from typing import Any

from rocketns.languages.texts import ENGLISH
from rocketns.pipeline.contract.terms import CLOCKS, exact_text
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report.cards import level_and_time, when
from rocketns.pipeline.report.model import ReportInput
from rocketns.pipeline.report.summary import counts, headline, period
from rocketns.pipeline.report.text import isolated, sentences
from rocketns.pipeline.report.words.names import LEVELS, command, identities
from rocketns.pipeline.report.words.sentences import first, title, whom
from rocketns.pipeline.saying import _, shown, speaking

VERSION = 1


# The keys of a line: what each means, and its value: attributes of Incident, or what takes the incident and the input.
Value = str | Callable[[Incident, ReportInput], Any]
FIELDS: Mapping[str, tuple[str, Value]] = {
    "v": (f"version of this format: {VERSION}", lambda *_: VERSION),
    "id": ("the same for the same incident in another run of the same time; its anchor in report.html", lambda *_: ""),
    "kind": ("missing, stale_routes, stale_permissions, crash, dead, lost, gone, flap, restarted, killed, emptied, "
             "unwritable, stopped, silent or missing_topic", "kind"),
    "level": ("severe, major or minor", lambda incident, _: incident.level.name.lower()),
    "score": ("queues off the routes times seconds, or misses; only for sorting", "score"),
    "going_on": ("whether it was not over at the end of the observation", "going_on"),
    "since": ("its beginning in UTC, on corrected clocks", lambda incident, _: exact_text(incident.t1)),
    "before": ("whether it was there at the beginning of the observation, and maybe earlier", "before"),
    "until": ("its end; null if it goes on",
              lambda incident, _: None if incident.going_on else exact_text(incident.t2)),
    "t1": ("its beginning, epoch us", "t1"),
    "t2": ("its end, epoch us; the end of the observation if it goes on", "t2"),
    "t1_early": ("by how much earlier its beginning may have been, us, where it was seen from outside; otherwise 0",
                 "t1_early"),
    "t2_early": ("the same of its end", "t2_early"),
    "asked": ("what its brokers said when they were asked then: answered, refused, silent", "asked"),
    "title": ("what is wrong, where, since when", lambda incident, data: title(incident, data.t1)),
    "whom": ("whom it hurts", lambda incident, _: whom(incident)),
    "first": ("what to do first", lambda incident, _: first(incident)),
    "command": ("a command for bash that shows the routes of that time; empty if no topic is known",
                lambda incident, data: command(incident, data.options)),
    "cause": ("cause in the journal, or new and anomaly of a missing topic", "cause"),
    "ns": ("name servers at which it shows", "ns"),
    "brokers": ("brokers concerned", "brokers"),
    "bids": ("ids of the brokers that left; without 0 among them only slaves left; empty if not known", "bids"),
    "addrs": ("addresses of the broker, if it is one", "addrs"),
    "times": ("how often: absences of a flapping broker, hours of a missing topic; of unwritable the topics that no "
              "other broker served", "times"),
    "away_s": ("seconds of absence in all", lambda incident, _: incident.away_us / 1e6),
    "silent_ms": ("ms since the last heartbeat when it began, or null", "silent_ms"),
    "stalled": ("name servers that did not run at its beginning or just before", "stalled"),
    "clocks": ("name servers of `ns` whose clock is not known for certain", "clocks"),
    "topics": ("how many user topics are concerned", "harm.topics"),
    "topic_sample": ("some of them", "harm.sample"),
    "topics_known": ("false if no table says which topics are concerned", "harm.known"),
    "queues": ("read queues of user topics off the routes", "harm.queues"),
    "orphaned": ("queues without a consumer in the worst group of each topic, of the listed results of impact",
                 "harm.orphaned"),
    "twice": ("queues with two or more consumers, likewise", "harm.twice"),
    "misses": ("lookups answered “topic not exist”", "harm.misses"),
    "records": ("journal records that prove it, the first 24: ns, boot (epoch ms or null), ts (epoch us by that name "
                "server's own clock), ev, cause, broker; ev is last record where a killed or silent name server ended; "
                "a missing topic has none", lambda incident, _: [record._asdict() for record in incident.records]),
    "views": ("the name servers side by side, at most 12: ns, says, spans of [t1, t2, up | gone | differs | shut | "
              "down | unwatched]",
              lambda incident, _: [asdict(lane) | {"says": shown(lane.says)} for lane in incident.lanes]),
}  # fmt: skip


def json_lines(data: ReportInput) -> str:
    """All incidents, worst and latest first, in English. ASCII only, so that no name from the network can disturb a
    terminal."""
    identified = zip(identities(data.incidents), data.incidents, strict=True)
    with speaking(ENGLISH):
        return "".join(json.dumps(_line(identity, incident, data)) + "\n" for identity, incident in identified)


def _line(identity: str, incident: Incident, data: ReportInput) -> dict[str, Any]:
    values = {
        name: attrgetter(value)(incident) if isinstance(value, str) else value(incident, data)
        for name, (_meaning, value) in FIELDS.items()
    }
    return values | {"id": identity}


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
    yield f"# {escaped(headline(data))}"
    yield ""
    for worst in data.incidents[:1]:
        said = map(escaped, (level_and_time(worst), whom(worst)))
        yield "\n\n".join((*said, _("**First:** %(first)s") % {"first": escaped(first(worst))}, ""))
        if shell := command(worst, data.options):
            # a code block by indentation: no name can end it, since none has a line break
            yield f"    {shell}\n"
    clocks = data.notes.get(CLOCKS, ())
    for reason in data.incomplete:
        yield _("- **Records are missing:** %(reason)s") % {"reason": escaped(reason)}
    for note in clocks:
        yield _("- **Clocks:** %(note)s") % {"note": escaped(note)}
    if data.incomplete or clocks:
        yield ""
    yield escaped(sentences(counts(data), _("Observation: %(period)s.") % {"period": period(data)}))
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
