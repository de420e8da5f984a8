"""Whether a consumer group exists, has consumers, may consume, and gets on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rocketns.doctor.asking.requests import LOOK_AGAIN_AFTER_S, RETRY_PREFIX, BrokerRequest
from rocketns.doctor.checks.showing import again, listed, mqadmin
from rocketns.doctor.facts import BrokerFacts, Consumers, Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import N_, _
from rocketns.protocol.codes import MASTER_ID, PERM_READ, PERM_WRITE

BROADCASTING = "BROADCASTING"
LINES_MAX = 5  # of evidence


@dataclass(frozen=True, slots=True)
class Look:
    """``brokers`` are the masters that were asked: of the topics, where topics were asked for."""

    facts: Facts
    group: str
    brokers: tuple[BrokerFacts, ...]

    @property
    def told(self) -> list[BrokerFacts]:
        """The brokers that said who consumes."""
        return [one for one in self.brokers if self.group in one.consumers]

    def consumers(self, broker: BrokerFacts) -> Consumers | None:
        """Those of the group at a broker. None: there are none, or it did not say."""
        found = broker.consumers.get(self.group)
        return found if found is not None and found.count else None

    @property
    def consuming(self) -> list[BrokerFacts]:
        """The brokers that consumers are connected to."""
        return [one for one in self.brokers if self.consumers(one) is not None]

    @property
    def settings(self) -> Iterator[tuple[BrokerFacts, Mapping[str, Any]]]:
        """The group's configuration at each broker that has it."""
        for broker in self.brokers:
            found = broker.groups.get(self.group)
            if found is not None:
                yield broker, found

    @property
    def lacking(self) -> list[BrokerFacts]:
        """The brokers that say that they do not have the group."""
        return [one for one in self.brokers if self.group in one.groups and one.groups[self.group] is None]


def looks(facts: Facts) -> Iterator[Look]:
    """One for each group that was asked for."""
    topics = [set(facts.queues(topic)) for topic in facts.options.topics]
    names = set().union(*topics) if topics else set()
    masters = [one for one in facts.brokers if one.broker_id == MASTER_ID]
    asked = tuple(one for one in masters if not names or one.name in names)
    for group in facts.options.groups:
        yield Look(facts, group, asked)


def lines(brokers: Iterable[BrokerFacts], message: str, **more: object) -> tuple[str, ...]:
    """A line of evidence for each of the first brokers; the message has ``%(broker)s`` and ``%(addr)s``."""
    return tuple(
        _(message) % ({"broker": one.name or one.addr, "addr": one.addr} | more) for one in islice(brokers, LINES_MAX)
    )


GROUP = "group"
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
    return Finding(GROUP, State.ILL, sentence, (*lines(closed, NOT_CREATED), *_similar(look)), commands, weight)


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
    return Finding(GROUP, State.ILL, sentence, evidence, commands, Weight.EXPLAINS)


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
    return Finding(GROUP, State.ILL, sentence % words, lines(brokers, line), commands, weight)


def _update(look: Look, broker: BrokerFacts, wanted: Mapping[str, Any]) -> str:
    words = [part for option, name in OPTIONS.items() if name in wanted for part in (option, str(wanted[name]).lower())]
    return mqadmin(look.facts, "updateSubGroup", "-b", broker.addr, "-g", look.group, *words)


KEYS = ("aclEnable", "authenticationEnabled")
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
    closed = [(one, name) for one in without for name in KEYS if one.is_on(name)]
    evidence = (
        *lines(without, NO_CONSUMER),
        *(_("%(broker)s (%(addr)s): %(name)s=true, so consumers that sign with no key of it are refused (request 26)")
          % {"broker": one.name, "addr": one.addr, "name": name} for one, name in closed[:LINES_MAX]),
    )  # fmt: skip
    return Finding(GROUP, State.ILL, sentence, evidence, commands, Weight.EXPLAINS, follows)


def _some_unconsumed(look: Look, without: list[BrokerFacts]) -> Finding:
    sentence = _(
        "Consumers of the group %(group)s are connected, but not to %(brokers)s: nobody consumes the queues there."
    ) % {"group": look.group, "brokers": listed(one.name for one in without)}
    commands = (mqadmin(look.facts, "consumerConnection", "-g", look.group),)
    follows = frozenset({"broker-address", "name-servers-agree"})
    return Finding(GROUP, State.ILL, sentence, lines(without, NO_CONSUMER), commands, Weight.PARTLY, follows)


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
    return Finding(GROUP, State.ILL, sentence, evidence, commands, Weight.EXPLAINS)


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
    yield Finding(GROUP, State.ILL, sentence, evidence, commands, Weight.PARTLY)


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
    yield Finding(GROUP, State.ILL, sentence, evidence, commands, Weight.PARTLY)


def _is_usable(settings: object) -> bool:
    """Also where the broker did not say."""
    perm = settings.get("perm") if isinstance(settings, dict) else None
    both = PERM_READ | PERM_WRITE
    return not isinstance(perm, int) or perm & both == both


# A group that does not exist, or may not consume, has no consumers: then nothing more is said.
FIRST: tuple[Callable[[Look], Iterable[Finding]], ...] = (known, allowed)
THEN: tuple[Callable[[Look], Iterable[Finding]], ...] = (
    connected, subscribed, moving, retried,
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
    return Finding(GROUP, State.UNKNOWN, sentence, evidence, commands, Weight.PARTLY,
                   frozenset({"broker-address", "no-broker", "name-server-reachable"}))  # fmt: skip
