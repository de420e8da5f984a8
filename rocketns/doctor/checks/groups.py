"""Whether a consumer group exists, has consumers, may consume, and gets on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketns.doctor.asking.requests import LOOK_AGAIN_AFTER_S, RETRY_PREFIX, BrokerRequest
from rocketns.doctor.checks.showing import again, listed, mqadmin
from rocketns.doctor.facts import BROADCASTING, BrokerFacts, Consumers, FleetFacts
from rocketns.doctor.finding import Diagnosis, Health, Weight
from rocketns.doctor.words import _
from rocketns.protocol.codes import MASTER_ID

GroupConfig = tuple[BrokerFacts, Mapping[str, Any]]  # a broker, and its configuration of the group


@dataclass(frozen=True, slots=True)
class GroupCase:
    """``brokers`` are the masters that were asked: of the topics, where topics were asked for."""

    facts: FleetFacts
    group: str
    brokers: tuple[BrokerFacts, ...]

    def consumers(self, broker: BrokerFacts) -> Consumers | None:
        """Those of the group at a broker. None: there are none, or it did not say."""
        found = broker.consumers.get(self.group)
        return found if found is not None and found.count else None

    @property
    def consuming(self) -> list[tuple[BrokerFacts, Consumers]]:
        """The brokers that consumers are connected to."""
        return [(one, found) for one in self.brokers if (found := self.consumers(one)) is not None]

    def ill(
        self, sentence: str, where: Sequence[BrokerFacts], evidence: Iterable[str], commands: Iterable[str],
        weight: Weight = Weight.PARTLY, follows: tuple[str, ...] = (), **more: object,
    ) -> Diagnosis:  # fmt: skip
        """The sentence may name the group and the brokers."""
        words = {"group": self.group, "brokers": listed(one.name for one in where), **more}
        return Diagnosis(sentence % words, tuple(evidence), tuple(commands), weight, follows)

    def weight(self, where: Sequence[BrokerFacts]) -> Weight:
        """Of a cause at these brokers."""
        return Weight.PRECISELY if len(where) == len(self.brokers) else Weight.PARTLY


def lines(brokers: Sequence[BrokerFacts], message: str) -> tuple[str, ...]:
    """A line of evidence for each broker; the message has ``%(broker)s`` and ``%(addr)s``."""
    return tuple(message % {"broker": one.name or one.addr, "addr": one.addr} for one in brokers)


def exists(case: GroupCase) -> Iterator[Diagnosis]:
    """Where the group does not exist, and does not come to exist by itself."""
    lacking = [one for one in case.brokers if case.group in one.groups and one.groups[case.group] is None]
    closed = [one for one in lacking if one.is_on("autoCreateSubscriptionGroup") is False]
    names = list(dict.fromkeys(name for one in case.brokers for name in one.similar.get(case.group, ())))
    similar = (_("groups with names like it: %(names)s") % {"names": listed(names)},) if names else ()
    commands: tuple[str, ...]
    if closed:
        sentence = _("The consumer group %(group)s does not exist at %(brokers)s, where groups are not created "
                     "automatically: its consumers are refused.")  # fmt: skip
        evidence = lines(closed, _("%(broker)s (%(addr)s): no such group; autoCreateSubscriptionGroup=false "
                                   "(requests 352 and 26)"))  # fmt: skip
        commands = tuple(_updated(case, one, ("-m", "true", "-d", "true")) for one in closed)
        yield case.ill(sentence, closed, (*evidence, *similar), commands, case.weight(closed))
    elif lacking and len(lacking) == len(case.brokers) and not case.consuming:
        sentence = _("No broker knows the consumer group %(group)s: nobody ever consumed with it. Its name may be "
                     "misspelt, or its consumers reach no broker.")  # fmt: skip
        evidence = lines(lacking, _("%(broker)s (%(addr)s): no such group (request 201), and no consumer of it "
                                    "(request 203)"))  # fmt: skip
        commands = (_("# a group comes to exist when its first consumer connects. Where that runs:"),
                    again(case.facts, "--from-client"))  # fmt: skip
        yield case.ill(sentence, (), (*evidence, *similar), commands, Weight.EXPLAINS)


# updateSubGroup sets what it is not told to its own defaults, so it is told all.
OPTIONS = {
    "-s": "consumeEnable", "-m": "consumeFromMinEnable", "-d": "consumeBroadcastEnable", "-q": "retryQueueNums",
    "-r": "retryMaxTimes", "-i": "brokerId", "-w": "whichBrokerWhenConsumeSlowly",
    "-a": "notifyConsumerIdsChangedEnable", "-o": "consumeMessageOrderly",
}  # fmt: skip


def _updated(case: GroupCase, broker: BrokerFacts, words: Iterable[str]) -> str:
    return mqadmin(case.facts, "updateSubGroup", "-b", broker.addr, "-g", case.group, *words)


def allowed(case: GroupCase) -> Iterator[Diagnosis]:
    """Where consumption is switched off, or the way of consuming is."""
    settings = [(one, found) for one in case.brokers if (found := one.groups.get(case.group)) is not None]
    off = [(one, found) for one, found in settings if found.get("consumeEnable") is False]
    if off:
        sentence = _("The consumer group %(group)s may not consume at %(brokers)s: consumption is switched off.")
        line = _("%(broker)s (%(addr)s): the group has consumeEnable=false (request 352, or 201)")
        yield _forbidden(case, sentence, line, "consumeEnable", off)
    broadcast = {one.addr for one, found in case.consuming if found.model == BROADCASTING}
    refused = [(one, found) for one, found in settings
               if one.addr in broadcast and found.get("consumeBroadcastEnable") is False]  # fmt: skip
    if refused:
        sentence = _("The consumers of %(group)s consume by broadcast, which %(brokers)s does not allow this group.")
        line = _("%(broker)s (%(addr)s): the group has consumeBroadcastEnable=false, and its consumers are "
                 "BROADCASTING (203)")  # fmt: skip
        yield _forbidden(case, sentence, line, "consumeBroadcastEnable", refused)


def _forbidden(case: GroupCase, sentence: str, line: str, switch: str, where: list[GroupConfig]) -> Diagnosis:
    commands = []
    for one, found in where:
        wanted = {**found, switch: True}
        words = [word for option, name in OPTIONS.items() if name in wanted
                 for word in (option, str(wanted[name]).lower())]  # fmt: skip
        commands.append(_updated(case, one, words))
    brokers = [one for one, _found in where]
    return case.ill(sentence, brokers, lines(brokers, line), commands, case.weight(brokers))


def connected(case: GroupCase) -> Iterator[Diagnosis]:
    """Brokers without a consumer of the group."""
    without = [one for one in case.brokers if case.group in one.consumers and case.consumers(one) is None]
    evidence = lines(without, _("%(broker)s (%(addr)s): no consumer of the group is connected (request 203)"))
    if without and case.consuming:
        sentence = _("Consumers of the group %(group)s are connected, but not to %(brokers)s: nobody consumes the "
                     "queues there.")  # fmt: skip
        command = mqadmin(case.facts, "consumerConnection", "-g", case.group)
        yield case.ill(sentence, without, evidence, (command,), follows=("broker-address", "name-servers-agree"))
    elif without:
        sentence = _("No consumer of the group %(group)s is connected to any broker that was asked.")
        refusing = [
            (one, name) for one in without for name in ("aclEnable", "authenticationEnabled") if one.is_on(name)
        ]
        line = _("%(broker)s (%(addr)s): %(name)s=true, so consumers that sign with no key of it are refused "
                 "(request 26)")  # fmt: skip
        evidence += tuple(line % {"broker": one.name, "addr": one.addr, "name": name} for one, name in refusing)
        commands = (
            _("# start a consumer; the log of one that runs says which address it does not reach. Where it runs:"),
            again(case.facts, "--from-client"),
        )
        yield case.ill(sentence, without, evidence, commands, Weight.EXPLAINS, ("broker-address",))


def subscribed(case: GroupCase) -> Iterator[Diagnosis]:
    """Topics that were asked for and that the consumers do not subscribe."""
    for topic in case.facts.options.topics:
        others = [(one, found) for one, found in case.consuming if topic not in found.subscribes]
        if others:
            sentence = _("The consumers of the group %(group)s do not subscribe the topic %(topic)s.")
            evidence = (
                _("%(broker)s: they subscribe %(topics)s (request 203)")
                % {"broker": one.name, "topics": listed(found.subscribes - {RETRY_PREFIX + case.group})}
                for one, found in others
            )
            commands = (
                _("# all consumers of one group subscribe the same topics; a consumer of other topics is in another "
                  "group"),
                mqadmin(case.facts, "consumerConnection", "-g", case.group),
            )  # fmt: skip
            yield case.ill(sentence, (), evidence, commands, Weight.EXPLAINS, topic=topic)


def moving(case: GroupCase) -> Iterator[Diagnosis]:
    """Where messages wait, and no offset moved between two looks."""
    looked = [(one, found, one.consumption.get(case.group)) for one, found in case.consuming]
    stuck = [(one, offsets) for one, found, offsets in looked
             if found.model != BROADCASTING and offsets is not None and offsets.later is not None
             and offsets.lag > 0 and not offsets.moves]  # fmt: skip
    if stuck:
        sentence = _("The group %(group)s does not get on at %(brokers)s: %(lag)d messages wait, its consumers are "
                     "connected, and none was consumed within %(seconds)g s.")  # fmt: skip
        evidence = (
            _("%(broker)s: %(lag)d messages wait (request 208, twice)") % {"broker": one.name, "lag": offsets.lag}
            for one, offsets in stuck
        )  # fmt: skip
        commands = (
            _("# the threads of a consumer work or wait in its listener: jstack PID, or its log"),
            mqadmin(case.facts, "consumerProgress", "-g", case.group),
        )
        lag = sum(offsets.lag for _one, offsets in stuck)
        yield case.ill(
            sentence, [one for one, _offsets in stuck], evidence, commands, lag=lag, seconds=LOOK_AGAIN_AFTER_S
        )


# A group that does not exist, or may not consume, has no consumers: then nothing more is said.
FIRST: tuple[Callable[[GroupCase], Iterable[Diagnosis]], ...] = (exists, allowed)
THEN: tuple[Callable[[GroupCase], Iterable[Diagnosis]], ...] = (connected, subscribed, moving)


def group(facts: FleetFacts) -> Iterator[Diagnosis]:
    """The findings of each group that was asked for."""
    names = {name for topic in facts.options.topics for name in facts.queues(topic)}
    masters = [one for one in facts.brokers if one.broker_id == MASTER_ID]
    asked = tuple(one for one in masters if not names or one.name in names)
    for case in (GroupCase(facts, name, asked) for name in facts.options.groups):
        if not any(case.group in one.consumers for one in asked):
            yield _unknown(case)
        else:
            first = [finding for check in FIRST for finding in check(case)]
            yield from first or (finding for check in THEN for finding in check(case))


def _unknown(case: GroupCase) -> Diagnosis:
    sentence = _("No broker said anything about the consumer group %(group)s.") % {"group": case.group}
    code = int(BrokerRequest.GET_CONSUMER_CONNECTION_LIST)
    evidence = tuple(_("%(broker)s (%(addr)s) answered request 203 with code %(code)d")
                     % {"broker": one.name, "addr": one.addr, "code": one.codes[code]}
                     for one in case.brokers if code in one.codes)  # fmt: skip
    sign = _("# if the brokers want signed requests: set ROCKETNS_ACCESS_KEY and ROCKETNS_SECRET_KEY")
    commands = (sign,) if evidence else ()
    follows = ("broker-address", "no-broker", "name-server-reachable")
    return Diagnosis(sentence, evidence, commands, Weight.PARTLY, follows, Health.UNKNOWN)
