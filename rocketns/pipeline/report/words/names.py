"""Who is concerned: kinds, levels, brokers and name servers within a sentence, and an incident's anchor.

The command to copy. Names come from the network, so each is quoted for bash.

Names within a sentence of the page, marked so that they stand out and do not break at a hyphen.

What was seen from outside: within which times a change came, and what nobody outside can know.

How well the clock of a name server is known, in words.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from operator import itemgetter
from typing import Any

from markupsafe import Markup

from rocketns.languages import N_
from rocketns.pipeline.clocks import GIVEN, OBSERVED, REFERENCE, contradicts
from rocketns.pipeline.contract import terms
from rocketns.pipeline.contract.frames import Row
from rocketns.pipeline.contract.terms import CLOCK_DOUBT_US, SECOND_US, moment
from rocketns.pipeline.incidents.harm import to_ask_about
from rocketns.pipeline.incidents.model import Harm, Incident, Level, Symptom
from rocketns.pipeline.report import text
from rocketns.pipeline.report.text import in_html, row, short, strict
from rocketns.pipeline.saying import _

NAMES = {
    Symptom.MISSING: N_("broker missing at name servers"),
    Symptom.STALE_ROUTES: N_("different routes"),
    Symptom.STALE_PERMISSIONS: N_("different permissions"),
    Symptom.CRASH: N_("broker crashed"),
    Symptom.DEAD: N_("broker silent"),
    Symptom.LOST: N_("broker lost"),
    Symptom.GONE: N_("broker gone"),
    Symptom.FLAP: N_("broker comes and goes"),
    Symptom.RESTARTED: N_("name server restarted"),
    Symptom.EMPTIED: N_("name server without brokers"),
    Symptom.UNWRITABLE: N_("broker not writable"),
    Symptom.KILLED: N_("name server killed"),
    Symptom.STOPPED: N_("name server stopped"),
    Symptom.SILENT: N_("name server silent"),
    Symptom.MISSING_TOPIC: N_("missing topic"),
}
LEVELS = {Level.SEVERE: N_("Severe"), Level.MAJOR: N_("Major"), Level.MINOR: N_("Minor")}
SHOWN_MAX = 3


def identities(incidents: Sequence[Incident]) -> list[str]:
    """Anchors: each is the same for the same incident in another run of the same time."""
    seen: Counter[str] = Counter()
    found = []
    for incident in incidents:
        name = _identity(incident)
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}-{seen[name]}")
    return found


def _identity(incident: Incident) -> str:
    topic = incident.topic if incident.kind is Symptom.MISSING_TOPIC else ""
    facts = "|".join((incident.kind, *incident.brokers, "", *incident.ns, topic))
    return "i" + sha256(f"{facts}|{incident.t1}".encode("utf-8", "backslashreplace")).hexdigest()[:10]


def brokers(incident: Incident) -> str:
    """``broker-b``, ``slave 1 of broker-b``, ``all 8 brokers``, ``12 brokers (broker-a, broker-b, …)``."""
    if len(incident.brokers) == 1:
        return _member(incident)
    if incident.all_brokers:
        return _("all %(n)s brokers") % {"n": len(incident.brokers)}
    return _("%(n)s brokers (%(some)s)") % {"n": len(incident.brokers), "some": _some(incident.brokers)}


def _member(incident: Incident) -> str:
    broker = short(incident.brokers[0])
    if not incident.bids or 0 in incident.bids:
        return broker
    return _("slave %(ids)s of %(broker)s") % {"ids": row(map(str, incident.bids)), "broker": broker}


def servers(names: Sequence[str]) -> str:
    """``n2``, ``n1 and n2``, ``4 name servers (n1, n2, …)``."""
    shown = [short(name) for name in names]
    if len(shown) > SHOWN_MAX:
        return _("%(n)s name servers (%(some)s)") % {"n": len(shown), "some": _some(names)}
    if len(shown) > 1:
        return _("%(names)s and %(last)s") % {"names": row(shown[:-1]), "last": shown[-1]}
    return shown[0] if shown else _("a name server")


def _some(names: Sequence[str]) -> str:
    shown = row(short(name) for name in names[: SHOWN_MAX - 1])
    return _("%(names)s, …") % {"names": shown} if len(names) >= SHOWN_MAX else shown


def topics(harm: Harm) -> str:
    """``1,248 user topics``."""
    return _.plural("%(n)s user topic", "%(n)s user topics", harm.topics) % {"n": f"{harm.topics:,}"}


def queues(harm: Harm) -> str:
    """``37 queues``."""
    return _.plural("%(n)s queue", "%(n)s queues", harm.queues) % {"n": f"{harm.queues:,}"}


SOON_US = 60_000_000  # long enough after the beginning for clocks that differ a little
PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:%@+,=")


def command(incident: Incident, options: Mapping[str, str]) -> str:
    """A command that shows the routes at that moment; '' if no topic shows the incident, or only topics whose names a
    shell cannot take. ``options``: those of the run, with ``out``."""
    if not to_ask_about([incident.topic]):
        return ""
    out, at = quoted(options.get("out", "OUT")), terms.exact_text(_then(incident))
    return f"rocketns audit explain --out {out} --at {at} -- {quoted(incident.topic)}"


def _then(incident: Incident) -> int:
    """Soon after the beginning; of a name server's outage soon after its start."""
    begin = incident.t1 + incident.away_us if incident.kind in (Symptom.RESTARTED, Symptom.KILLED) else incident.t1
    return min(begin + SOON_US, (begin + incident.t2) // 2)


def quoted(word: str) -> str:
    """A word for bash. Names come from the network: what cannot be seen is written as escapes, and a line break does
    not end the command."""
    if strict(word) == word:
        return shlex.quote(word)
    octets = word.encode("utf-8", "backslashreplace")
    return "$'" + "".join(chr(octet) if octet in PLAIN else f"\\x{octet:02x}" for octet in octets) + "'"


SPOKEN = (
    N_("Previous"), N_("Previous page"), N_("Next"), N_("Next page"), N_("%(from)s to %(to)s of %(all)s"),
    N_("nothing"), N_("Copy"), N_("Copied"), N_("Selected: press Ctrl+C"),
    N_("show"), N_("Incident"), N_("any column"), N_("Search"),
)  # fmt: skip


def marked(sentence: str, names: Iterable[str]) -> Markup:
    """The sentence as HTML with each of these names in a ``span`` of class ``name``."""
    shown = sorted({short(name) for name in names if name}, key=len, reverse=True)
    if not shown:
        return in_html(sentence)
    parts = re.split(f"((?<![\\w-])(?:{'|'.join(map(re.escape, shown))})(?![\\w-]))", sentence)
    span = Markup('<span class="name">{}</span>')
    return Markup("").join(
        span.format(in_html(part)) if place % 2 else in_html(part) for place, part in enumerate(parts)
    )


def spoken() -> dict[str, str]:
    """The texts that are not English, by the English ones."""
    return {text: shown for text in SPOKEN if (shown := _(text)) != text}


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
    for one in sorted(rows, key=lambda one: str(one["ns"])):
        if contradicts(one["method"], one["offset"], one["uncertainty"], within):
            shown = {
                "name": text.names([str(one["ns"])]), "off": text.microseconds(abs(one["offset"])),
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
