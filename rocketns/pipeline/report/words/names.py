"""Who is concerned: kinds, levels, brokers and name servers within a sentence, and an incident's anchor.

The command to copy. Names come from the network, so each is quoted for bash.

Names within a sentence of the page, marked so that they stand out and do not break at a hyphen.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256

from markupsafe import Markup

from rocketns.languages import N_
from rocketns.pipeline.contract import terms
from rocketns.pipeline.incidents.harm import to_ask_about
from rocketns.pipeline.incidents.model import Harm, Incident, Level, Symptom
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
