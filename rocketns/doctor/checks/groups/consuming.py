"""Whether a group's consumers are connected, subscribe the topic, and get on."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.asking.brokers.requests import LOOK_AGAIN_AFTER_S
from rocketns.doctor.asking.requests import RETRY_PREFIX
from rocketns.doctor.checks.groups.looks import BROADCASTING, LINES_MAX, Look, lines
from rocketns.doctor.checks.showing import again, listed, mqadmin
from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import N_, _
from rocketns.protocol.codes import PERM_READ, PERM_WRITE

NAME = "group"
NO_CONSUMER = N_("%(broker)s (%(addr)s): no consumer of the group is connected (request 203)")


def connected(look: Look) -> Iterator[Finding]:
    """Brokers without a consumer of the group."""
    without = [one for one in look.told if look.consumers(one) is None]
    if without and look.consuming:
        yield _some_unconsumed(look, without)
    elif without:
        yield _nobody(look, without)


def _nobody(look: Look, without: list[BrokerFacts]) -> Finding:
    sentence = _("No consumer of the group %(group)s is connected to any broker that was asked.") % {
        "group": look.group
    }
    commands = (
        _("# start a consumer; the log of one that runs says which address it does not reach. Where it runs:"),
        again(look.facts, "--from-client"),
    )
    follows = frozenset({"broker-address"})
    return Finding(NAME, State.ILL, sentence, lines(without, NO_CONSUMER), commands, Weight.EXPLAINS, follows)


def _some_unconsumed(look: Look, without: list[BrokerFacts]) -> Finding:
    sentence = _(
        "Consumers of the group %(group)s are connected, but not to %(brokers)s: nobody consumes the queues there."
    ) % {"group": look.group, "brokers": listed(one.name for one in without)}
    commands = (mqadmin(look.facts, "consumerConnection", "-g", look.group),)
    follows = frozenset({"broker-address", "name-servers-agree"})
    return Finding(NAME, State.ILL, sentence, lines(without, NO_CONSUMER), commands, Weight.PARTLY, follows)


def subscribed(look: Look) -> Iterator[Finding]:
    """Topics that were asked for and that the consumers do not subscribe."""
    for topic in look.facts.options.topics:
        others = [one for one in look.consuming if not _subscribes(look, one, topic)]
        if others:
            yield _not_subscribed(look, topic, others)


def _subscribes(look: Look, broker: BrokerFacts, topic: str) -> bool:
    consumers = look.consumers(broker)
    return consumers is not None and topic in consumers.subscribes


def _not_subscribed(look: Look, topic: str, others: list[BrokerFacts]) -> Finding:
    sentence = _("The consumers of the group %(group)s do not subscribe the topic %(topic)s.") % {
        "group": look.group, "topic": topic}  # fmt: skip
    evidence = tuple(
        _("%(broker)s: they subscribe %(topics)s (request 203)")
        % {"broker": one.name, "topics": listed(_of_group(look, one))}
        for one in others[:LINES_MAX]
    )
    commands = (
        _("# all consumers of one group subscribe the same topics; a consumer of other topics is in another group"),
        mqadmin(look.facts, "consumerConnection", "-g", look.group),
    )
    return Finding(NAME, State.ILL, sentence, evidence, commands, Weight.EXPLAINS)


def _of_group(look: Look, broker: BrokerFacts) -> list[str]:
    """Without the group's retry topic, which every consumer subscribes."""
    consumers = look.consumers(broker)
    subscribes = () if consumers is None else consumers.subscribes
    return [topic for topic in subscribes if topic != RETRY_PREFIX + look.group]


def moving(look: Look) -> Iterator[Finding]:
    """Where messages wait, and no offset moved between two looks."""
    stuck = [one for one in look.consuming if _is_stuck(look, one)]
    if not stuck:
        return
    sentence = _(
        "The group %(group)s does not get on at %(brokers)s: %(lag)d messages wait, its consumers are connected, and "
        "none was consumed within %(seconds)g s."
    ) % {"group": look.group, "brokers": listed(one.name for one in stuck), "seconds": LOOK_AGAIN_AFTER_S,
         "lag": sum(one.consumption[look.group].lag for one in stuck)}  # fmt: skip
    evidence = tuple(_waiting(look, one) for one in stuck[:LINES_MAX])
    commands = (
        _("# the threads of a consumer work or wait in its listener: jstack PID, or its log"),
        mqadmin(look.facts, "consumerProgress", "-g", look.group),
    )
    yield Finding(NAME, State.ILL, sentence, evidence, commands, Weight.PARTLY)


def _waiting(look: Look, broker: BrokerFacts) -> str:
    looked = broker.consumption[look.group]
    return _("%(broker)s: %(lag)d messages wait; %(fetched).2f a second were fetched within the last minute "
             "(request 208, twice)") % {
        "broker": broker.name, "lag": looked.lag, "fetched": looked.fetched_per_second}  # fmt: skip


def _is_stuck(look: Look, broker: BrokerFacts) -> bool:
    consumers, consumption = look.consumers(broker), broker.consumption.get(look.group)
    if consumers is None or consumption is None or consumers.model == BROADCASTING or consumption.later is None:
        return False
    return consumption.lag > 0 and not consumption.moves


def retried(look: Look) -> Iterator[Finding]:
    """A retry topic that consumers cannot use: what fails is then not tried again."""
    topic = RETRY_PREFIX + look.group
    wrong = [one for one in look.consuming if not _is_usable(one.topics.get(topic))]
    if not wrong:
        return
    sentence = _(
        "Messages that a consumer of %(group)s could not process are not tried again at %(brokers)s: the topic "
        "%(topic)s cannot be read and written."
    ) % {"group": look.group, "topic": topic, "brokers": listed(one.name for one in wrong)}
    evidence = tuple(
        _("%(broker)s (%(addr)s): perm %(perm)s of %(topic)s (request 351)")
        % {"broker": one.name, "addr": one.addr, "topic": topic, "perm": (one.topics.get(topic) or {}).get("perm")}
        for one in wrong[:LINES_MAX]
    )
    commands = tuple(mqadmin(look.facts, "updateTopicPerm", "-b", one.addr, "-t", topic, "-p", "6") for one in wrong)
    yield Finding(NAME, State.ILL, sentence, evidence, commands, Weight.PARTLY)


def _is_usable(settings: object) -> bool:
    """Also where the broker did not say."""
    perm = settings.get("perm") if isinstance(settings, dict) else None
    both = PERM_READ | PERM_WRITE
    return not isinstance(perm, int) or perm & both == both
