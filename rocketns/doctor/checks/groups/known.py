"""Whether a consumer group exists, and may consume."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rocketns.doctor.checks.groups.looks import BROADCASTING, Look, lines
from rocketns.doctor.checks.showing import again, listed, mqadmin
from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import N_, _

NAME = "group"
NOT_CREATED = N_("%(broker)s (%(addr)s): no such group; autoCreateSubscriptionGroup=false (requests 352 and 26)")
UNKNOWN = N_("%(broker)s (%(addr)s): no such group (request 201), and no consumer of it (request 203)")
SWITCHED_OFF = N_("%(broker)s (%(addr)s): the group has consumeEnable=false (request 352, or 201)")
NO_BROADCAST = N_(
    "%(broker)s (%(addr)s): the group has consumeBroadcastEnable=false, and its consumers are BROADCASTING (203)"
)
# updateSubGroup sets what it is not told to its own defaults, so it is told all.
OPTIONS = {
    "-s": "consumeEnable", "-m": "consumeFromMinEnable", "-d": "consumeBroadcastEnable", "-q": "retryQueueNums",
    "-r": "retryMaxTimes", "-i": "brokerId", "-w": "whichBrokerWhenConsumeSlowly",
    "-a": "notifyConsumerIdsChangedEnable", "-o": "consumeMessageOrderly",
}  # fmt: skip


def known(look: Look) -> Iterator[Finding]:
    """Where the group does not exist, and does not come to exist by itself."""
    lacking = look.lacking
    closed = [one for one in lacking if one.is_on("autoCreateSubscriptionGroup") is False]
    if closed:
        yield _not_created(look, closed)
    elif lacking and len(lacking) == len(look.brokers) and not look.consuming:
        yield _nobody_knows(look)


def _not_created(look: Look, closed: list[BrokerFacts]) -> Finding:
    sentence = _(
        "The consumer group %(group)s does not exist at %(brokers)s, where groups are not created automatically: its "
        "consumers are refused."
    ) % {"group": look.group, "brokers": listed(one.name for one in closed)}
    commands = tuple(
        mqadmin(look.facts, "updateSubGroup", "-b", one.addr, "-g", look.group, "-m", "true", "-d", "true")
        for one in closed
    )
    weight = Weight.PRECISELY if len(closed) == len(look.brokers) else Weight.PARTLY
    return Finding(NAME, State.ILL, sentence, (*lines(closed, NOT_CREATED), *_similar(look)), commands, weight)


def _nobody_knows(look: Look) -> Finding:
    sentence = _(
        "No broker knows the consumer group %(group)s: nobody ever consumed with it. Its name may be misspelt, or its "
        "consumers reach no broker."
    ) % {"group": look.group}
    commands = (
        _("# a group comes to exist when its first consumer connects. Where that runs:"),
        again(look.facts, "--from-client"),
    )
    evidence = (*lines(look.lacking, UNKNOWN), *_similar(look))
    return Finding(NAME, State.ILL, sentence, evidence, commands, Weight.EXPLAINS)


def _similar(look: Look) -> tuple[str, ...]:
    names = list(dict.fromkeys(name for one in look.brokers for name in one.similar.get(look.group, ())))
    return (_("groups with names like it: %(names)s") % {"names": listed(names)},) if names else ()


def allowed(look: Look) -> Iterator[Finding]:
    """Where consumption is switched off, or the way of consuming is."""
    off = [(one, found) for one, found in look.settings if found.get("consumeEnable") is False]
    if off:
        sentence = _("The consumer group %(group)s may not consume at %(brokers)s: consumption is switched off.")
        yield _forbidden(look, sentence, SWITCHED_OFF, "consumeEnable", off)
    no_broadcast = [(one, found) for one, found in look.settings if _refuses_broadcast(look, one, found)]
    if no_broadcast:
        sentence = _("The consumers of %(group)s consume by broadcast, which %(brokers)s does not allow this group.")
        yield _forbidden(look, sentence, NO_BROADCAST, "consumeBroadcastEnable", no_broadcast)


def _refuses_broadcast(look: Look, broker: BrokerFacts, found: Mapping[str, Any]) -> bool:
    consumers = look.consumers(broker)
    return consumers is not None and consumers.model == BROADCASTING and found.get("consumeBroadcastEnable") is False


def _forbidden(
    look: Look, sentence: str, line: str, switch: str, where: list[tuple[BrokerFacts, Mapping[str, Any]]]
) -> Finding:
    brokers = [one for one, _found in where]
    commands = tuple(_update(look, one, {**found, switch: True}) for one, found in where)
    words = {"group": look.group, "brokers": listed(one.name for one in brokers)}
    weight = Weight.PRECISELY if len(brokers) == len(look.brokers) else Weight.PARTLY
    return Finding(NAME, State.ILL, sentence % words, lines(brokers, line), commands, weight)


def _update(look: Look, broker: BrokerFacts, wanted: Mapping[str, Any]) -> str:
    words = [part for option, name in OPTIONS.items() if name in wanted for part in (option, str(wanted[name]).lower())]
    return mqadmin(look.facts, "updateSubGroup", "-b", broker.addr, "-g", look.group, *words)
