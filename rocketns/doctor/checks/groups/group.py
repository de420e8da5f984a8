"""All that can be wrong with a consumer group."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from rocketns.doctor.asking.brokers.requests import BrokerRequest
from rocketns.doctor.checks.groups import consuming, known
from rocketns.doctor.checks.groups.looks import Look, looks
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _

NAME = "group"
# A group that does not exist, or may not consume, has no consumers: then nothing more is said.
FIRST: tuple[Callable[[Look], Iterable[Finding]], ...] = (known.known, known.allowed)
THEN: tuple[Callable[[Look], Iterable[Finding]], ...] = (
    consuming.connected, consuming.subscribed, consuming.moving, consuming.retried,
)  # fmt: skip


def group(facts: Facts) -> Iterator[Finding]:
    """The findings of each group."""
    for look in looks(facts):
        if not look.told:
            yield _unknown(look)
            continue
        first = [finding for check in FIRST for finding in check(look)]
        yield from first
        if not first:
            yield from (finding for check in THEN for finding in check(look))


def _unknown(look: Look) -> Finding:
    sentence = _("No broker said anything about the consumer group %(group)s.") % {"group": look.group}
    code = int(BrokerRequest.GET_CONSUMER_CONNECTION_LIST)
    evidence = tuple(_("%(broker)s (%(addr)s) answered request 203 with code %(code)d")
                     % {"broker": one.name, "addr": one.addr, "code": one.codes[code]}
                     for one in look.brokers if code in one.codes)  # fmt: skip
    commands = (_("# if the brokers want signed requests: --tools-yml conf/tools.yml"),) if evidence else ()
    return Finding(NAME, State.UNKNOWN, sentence, evidence, commands, Weight.PARTLY,
                   frozenset({"broker-address", "no-broker", "name-server-reachable"}))  # fmt: skip
