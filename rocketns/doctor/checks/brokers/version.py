"""Whether brokers are older than a client of the version that the user named needs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rocketns.doctor.checks.showing import listed
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import N_, _
from rocketns.protocol.codes import V5_0_0, version_name

NAME = "broker-version"
V4_6_0 = 333


@dataclass(frozen=True, slots=True)
class Feature:
    """What clients from ``since`` on can do, and older brokers do not answer."""

    since: int
    what: str


FEATURES = (
    Feature(V4_6_0, N_("request and reply (Producer.request): the broker has no REPLY_TOPIC")),
    Feature(V5_0_0, N_("pop consumption, so simple consumers and clients over gRPC: request 200050 is not supported")),
    Feature(V5_0_0, N_("messages of any delay (timer messages): the broker delivers them at once")),
    Feature(V5_0_0, N_("static topics, and configurations of single topics and groups: requests 351 and 352")),
)


def version(facts: Facts) -> Iterator[Finding]:
    """One finding for each version that lacks something."""
    client = facts.options.client_version
    if client is None:
        return
    by_version: dict[int, set[str]] = {}
    for broker in facts.brokers:
        if broker.version is not None:
            by_version.setdefault(broker.version, set()).add(broker.name or broker.addr)
    for older, names in sorted(by_version.items()):
        lacking = [one for one in FEATURES if older < one.since <= client]
        if lacking:
            yield _finding(client, older, names, lacking)


def is_given(facts: Facts) -> bool:
    """Without the client's version there is nothing to compare."""
    return facts.options.client_version is not None


def _finding(client: int, older: int, names: set[str], lacking: list[Feature]) -> Finding:
    words = {"client": version_name(client), "broker": version_name(older), "names": listed(names)}
    sentence = _(
        "The brokers %(names)s have version %(broker)s: a client of %(client)s can do things that they cannot."
    )
    evidence = (
        _("%(names)s: the headers of answers say version %(broker)s") % words,
        *(_("not there: %(what)s") % {"what": _(one.what)} for one in lacking),
    )
    commands = (_("# use only what a broker of %(broker)s has, or a newer broker") % words,)
    return Finding(NAME, State.ILL, sentence % words, evidence, commands, Weight.NOTE)
