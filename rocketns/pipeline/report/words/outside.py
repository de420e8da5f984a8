"""What was seen from outside: within which times a change came, and what nobody outside can know."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rocketns.pipeline.contract.times import SECOND_US, moment
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report import text

Row = Mapping[str, Any]

# What the broker itself said when it was asked, in a sentence.
SAID = {
    "answered": "The broker itself answered when it was asked then: it lived.",
    "refused": "The broker's address refused a connection then: its process was gone.",
    "silent": "The broker did not answer when it was asked then.",
}
# By section of the page: what is not computed of name servers that were watched from outside. ``{of}``: their names.
UNKNOWN = {
    "departures": "{of}: how brokers went is not visible from outside. Such a departure has the kind observed.",
    "brokers": "{of}: what went there is neither a failure nor graceful, since causes are not visible from outside. "
    "There are no heartbeats and no flaps of it.",
    "availability": "{of}: time without a broker counts as observed, and not for the budget, since causes are not "
    "visible from outside.",
    "topics": "{of}: no lookup is visible from outside, so no topic is called dead.",
    "lookups": "{of}: no lookup is visible from outside.",
    "clients": "{of}: no client is visible from outside.",
    "impact": "{of}: no consumer is visible from outside. The model says what differing routes do to any group.",
}
# Sections that say so where topics of a name server are not known.
COMPARING = ("divergence", "topics", "quality")


def begun_and_ended(incident: Incident) -> str:
    """``it began between 10:02:00 and 10:02:05 and ended between 10:04:30 and 10:04:35``; '' if its times are exact to
    a second."""
    parts = []
    if incident.t1_early >= SECOND_US and not incident.before:
        parts.append(f"began {_between(incident.t1, incident.t1_early)}")
    if incident.t2_early >= SECOND_US and not incident.going_on:
        parts.append(f"ended {_between(incident.t2, incident.t2_early)}")
    return f"it {' and '.join(parts)}" if parts else ""


def _between(at: int, early: int) -> str:
    first, last = moment(at - early), moment(at)
    return f"between {first[11:] if first[:10] == last[:10] else first} and {last[11:]}"


def said(asked: Sequence[str]) -> str:
    """What the broker said; '' if it was not asked, or several of its addresses said different things."""
    return SAID.get(asked[0], "") if len(asked) == 1 else ""


def outside_notes(sources: Iterable[Row], uptime: Iterable[Row]) -> dict[str, list[str]]:
    """By section of the page, what to know of name servers that were watched from outside; rows of SOURCES and
    NS_UPTIME."""
    watched = sorted((row for row in sources if row.get("observed")), key=lambda row: str(row["ns"]))
    if not watched:
        return {}
    of = text.names([str(row["ns"]) for row in watched])
    found = {section: [sentence.format(of=of)] for section, sentence in UNKNOWN.items()}
    boots = [row for row in uptime if row.get("observed")]
    gaps, hidden = _gaps(boots), _without_topics(boots)
    found["quality"] = [*(_looks(row, gaps.get(str(row["ns"]), 0)) for row in watched), _nobody_knows(of)]
    return found | {name: [*found.get(name, ()), *hidden] for name in COMPARING if hidden}


def _looks(row: Row, unwatched: int) -> str:
    known = [
        f"a change of {what} to {text.microseconds(row[name])}"
        for what, name in (("brokers", "members_early"), ("topics", "topics_early"))
        if row.get(name) is not None
    ]
    exact = f" When it happened is known for {' and for '.join(known)}, at worst." if known else ""
    missed = f" It was not watched for {text.microseconds(unwatched)} in between." if unwatched else ""
    return f"{text.short(row['ns'])} was watched from outside, by rocketns collect or the like.{exact}{missed}"


def _without_topics(uptime: Iterable[Row]) -> list[str]:
    """Whose topics were not listed, for a part of the time at least."""
    servers = sorted({str(row["ns"]) for row in uptime if row.get("no_topics")})
    if not servers:
        return []
    return [
        f"{text.names(servers)} did not list topics (enableAllTopicList=false) while watched, or for a part of that "
        "time. What topics it had then is not known, and they are not compared with those of others. Its brokers are."
    ]


def _nobody_knows(of: str) -> str:
    return (
        f"Not visible from outside, and so not known of {of}: why a broker or a topic went, heartbeats, data versions, "
        "lookups, whether the name server itself restarted. What happened there is never called an expiry or a "
        "graceful stop."
    )


def _gaps(uptime: Iterable[Row]) -> dict[str, int]:
    """By name server, how long it was not watched between two times of watching, us."""
    ends: dict[str, int] = {}
    gaps: dict[str, int] = {}
    for row in sorted(uptime, key=lambda row: (str(row["ns"]), int(row["t1"]))):
        ns = str(row["ns"])
        gaps[ns] = gaps.get(ns, 0) + max(0, int(row["t1"]) - ends.get(ns, int(row["t1"])))
        ends[ns] = int(row["t2"])
    return gaps
