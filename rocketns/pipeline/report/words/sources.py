"""What was seen from outside: within which times a change came, and what nobody outside can know.

How well the clock of a name server is known, in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any

from rocketns.languages import N_
from rocketns.pipeline.clocks import GIVEN, OBSERVED, REFERENCE, contradicts
from rocketns.pipeline.contract.terms import CLOCK_DOUBT_US, SECOND_US, moment
from rocketns.pipeline.incidents.model import Incident
from rocketns.pipeline.report import text
from rocketns.pipeline.saying import _

Row = Mapping[str, Any]

# What the broker itself said when it was asked, in a sentence.
SAID = {
    "answered": N_("The broker itself answered when it was asked then: it lived."),
    "refused": N_("The broker's address refused a connection then: its process was gone."),
    "silent": N_("The broker did not answer when it was asked then."),
}
# Sections that say so where topics of a name server are not known.
COMPARING = ("divergence", "topics")


def begun_and_ended(incident: Incident) -> str:
    """``it began between 10:02:00 and 10:02:05 and ended between 10:04:30 and 10:04:35``; '' if its times are exact to
    a second."""
    begun = incident.t1_early >= SECOND_US and not incident.before
    ended = incident.t2_early >= SECOND_US and not incident.going_on
    shown = {"begun": _between(incident.t1, incident.t1_early), "ended": _between(incident.t2, incident.t2_early)}
    if begun and ended:
        return _("it began %(begun)s and ended %(ended)s") % shown
    if begun:
        return _("it began %(begun)s") % shown
    return _("it ended %(ended)s") % shown if ended else ""


def _between(at: int, early: int) -> str:
    first, last = moment(at - early), moment(at)
    begin = first[11:] if first[:10] == last[:10] else first
    return _("between %(begin)s and %(end)s") % {"begin": begin, "end": last[11:]}


def said(asked: Sequence[str]) -> str:
    """What the broker said; '' if it was not asked, or several of its addresses said different things."""
    return _(SAID[asked[0]]) if len(asked) == 1 and asked[0] in SAID else ""


def outside_notes(sources: Iterable[Row], uptime: Iterable[Row]) -> dict[str, list[str]]:
    """By section of the page, what to know of name servers that were watched from outside; rows of SOURCES and
    NS_UPTIME."""
    watched = sorted((row for row in sources if row.get("observed")), key=lambda row: str(row["ns"]))
    if not watched:
        return {}
    boots = [row for row in uptime if row.get("observed")]
    hidden = _without_topics(boots)
    outside = _(
        "%(of)s: watched from outside, by rocketns collect or the like. Not visible there, and so not known: why a "
        "broker or a topic went, heartbeats, data versions, lookups, whether the name server itself restarted. What "
        "happened there is never called an expiry or a graceful stop."
    ) % {"of": text.names([str(row["ns"]) for row in watched])}
    return {"quality": [outside, *hidden]} | {name: hidden for name in COMPARING if hidden}


def _without_topics(uptime: Iterable[Row]) -> list[str]:
    """Whose topics were not listed, for a part of the time at least."""
    servers = sorted({str(row["ns"]) for row in uptime if row.get("no_topics")})
    if not servers:
        return []
    return [
        _(
            "%(of)s did not list topics (enableAllTopicList=false) while watched, or for a part of that time. What "
            "topics it had then is not known, and they are not compared with those of others. Its brokers are."
        )
        % {"of": text.names(servers)}
    ]


SAY_IT = N_(
    "If the clocks of all machines are synchronised (NTP), say by how much they differ at most, such as --clocks 1s."
)
NOT_COUNTED = N_("Differences that clocks alone may explain are not counted. They are marked “clocks”.")


def known_to(method: str, uncertainty: int | None) -> str:
    """How well an offset is known: ``to 20 ms``."""
    if method == REFERENCE:
        return _("as the reference")
    if uncertainty is None:
        return _("not at all")
    if method == OBSERVED and not uncertainty:
        return _("as the only clock: the observer's")
    shown = {"length": text.microseconds(uncertainty)}
    return (_("to %(length)s, as --clocks says") if method == GIVEN else _("to %(length)s")) % shown


def clock_notes(offsets: Iterable[Mapping[str, Any]], within: int | None = None) -> list[str]:
    """A note for all name servers whose clocks are known equally badly, and for each that contradicts ``within``
    (--clocks, us); rows: ns, method, uncertainty, and with ``within`` also offset."""
    rows = list(offsets)
    if within is not None:
        return [*_unknown(rows), *_contradicted(rows, within)]
    return [text.sentences(note, _(SAY_IT)) for note in _unknown(rows)]


def _contradicted(rows: Iterable[Mapping[str, Any]], within: int) -> Iterator[str]:
    for row in sorted(rows, key=lambda row: str(row["ns"])):
        if contradicts(row["method"], row["offset"], row["uncertainty"], within):
            shown = {
                "name": text.names([str(row["ns"])]), "off": text.microseconds(abs(row["offset"])),
                "within": text.microseconds(within),
            }  # fmt: skip
            yield (
                _(
                    "The clock of %(name)s was measured to be %(off)s off, more than the %(within)s that the option "
                    "--clocks says. What was measured counts."
                )
                % shown
            )


def _unknown(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    unsure = sorted((row["method"] == OBSERVED, str(row["ns"])) for row in rows if row["uncertainty"] is None)
    return [_note(watched, [ns for _, ns in same]) for watched, same in groupby(unsure, key=itemgetter(0))]


def _note(watched: bool, servers: list[str]) -> str:
    shown = {"names": text.names(servers), "doubt": text.microseconds(CLOCK_DOUBT_US)}
    if watched:
        note = _(
            "The times of %(names)s are those of the machine that watched from outside. Nothing shows how far its "
            "clock is off from the other name servers; it is taken to be off by %(doubt)s at most."
        )
    else:
        note = _.plural(
            "Nothing shows how far the clock of %(names)s is off, since too few brokers changed their data version. It "
            "is not corrected, and taken to be off by %(doubt)s at most.",
            "Nothing shows how far the clocks of %(names)s are off, since too few brokers changed their data version. "
            "They are not corrected, and taken to be off by %(doubt)s at most.",
            len(servers),
        )
    return text.sentences(note % shown, _(NOT_COUNTED))
