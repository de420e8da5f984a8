"""The command to copy. Names come from the network, so each is quoted for bash."""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from rocketns.pipeline.contract import times
from rocketns.pipeline.incidents.harm import to_ask_about
from rocketns.pipeline.incidents.model import Incident, Kind
from rocketns.pipeline.report.scripts import strict

SOON_US = 60_000_000  # long enough after the beginning for clocks that differ a little
PLAIN = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./:%@+,=")


def command(incident: Incident, options: Mapping[str, str]) -> str:
    """A command that shows the routes at that moment; '' if no topic shows the incident, or only topics whose names a
    shell cannot take. ``options``: those of the run, with journal and out."""
    if not to_ask_about([incident.topic]):
        return ""
    words = ["rocketns", "audit", "explain", "--journal", quoted(options.get("journal", "JOURNAL"))]
    if "out" in options:  # it knows the clocks of the run, and records that the journal has no more
        words += ["--out", quoted(options["out"])]
    return " ".join([*words, "--at", times.exact_text(_then(incident)), "--", quoted(incident.topic)])


def _then(incident: Incident) -> int:
    """Soon after the beginning; of a name server's outage soon after its start."""
    begin = incident.t1 + incident.away_us if incident.kind in (Kind.RESTARTED, Kind.KILLED) else incident.t1
    return min(begin + SOON_US, (begin + incident.t2) // 2)


def quoted(word: str) -> str:
    """A word for bash. Names come from the network: what cannot be seen is written as escapes, and a line break does
    not end the command."""
    if strict(word) == word:
        return shlex.quote(word)
    octets = word.encode("utf-8", "backslashreplace")
    return "$'" + "".join(chr(octet) if octet in PLAIN else f"\\x{octet:02x}" for octet in octets) + "'"
