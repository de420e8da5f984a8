"""Whether a consumer group exists, has consumers, may consume, and gets on."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rocketns.doctor.asking.requests import LOOK_AGAIN_AFTER_S, RETRY_PREFIX, BrokerRequest
from rocketns.doctor.checks.showing import again, listed, mqadmin
from rocketns.doctor.facts import BrokerFacts, Consumers, Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _
from rocketns.protocol.codes import MASTER_ID, PERM_READ, PERM_WRITE

GROUP = "group"
BROADCASTING = "BROADCASTING"
LINES_MAX = 5  # of evidence
Settings = Mapping[str, Any]  # of a group at a broker


@dataclass(frozen=True, slots=True)
class Look:
    """``brokers`` are the masters that were asked: of the topics, where topics were asked for."""

    facts: Facts
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
        weight: Weight = Weight.PARTLY, follows: Iterable[str] = (), **more: object,
    ) -> Finding:  # fmt: skip
        """The sentence may name the group and the brokers."""
        words = {"group": self.group, "brokers": listed(one.name for one in where), **more}
        return Finding(GROUP, State.ILL, sentence % words, tuple(evidence), tuple(commands), weight, frozenset(follows))

    def weight(self, where: Sequence[BrokerFacts]) -> Weight:
        """Of a cause at these brokers."""
        return Weight.PRECISELY if len(where) == len(self.brokers) else Weight.PARTLY


def lines(brokers: Sequence[BrokerFacts], message: str) -> tuple[str, ...]:
    """A line of evidence for each of the first brokers; the message has ``%(broker)s`` and ``%(addr)s``."""
    return tuple(message % {"broker": one.name or one.addr, "addr": one.addr} for one in brokers[:LINES_MAX])


def known(look: Look) -> Iterator[Finding]:
    """Where the group does not exist, and does not come to exist by itself."""
    lacking = [one for one in look.brokers if look.group in one.groups and one.groups[look.group] is None]
    closed = [one for one in lacking if one.is_on("autoCreateSubscriptionGroup") is False]
    names = list(dict.fromkeys(name for one in look.brokers for name in one.similar.get(look.group, ())))
    similar = (_("groups with names like it: %(names)s") % {"names": listed(names)},) if names else ()
    commands: tuple[str, ...]
    if closed:
        sentence = _("The consumer group %(group)s does not exist at %(brokers)s, where groups are not created "
                     "automatically: its consumers are refused.")  # fmt: skip
        told = lines(closed, _("%(broker)s (%(addr)s): no such group; autoCreateSubscriptionGroup=false (requests 352 "
                               "and 26)"))  # fmt: skip
        commands = tuple(_updated(look, one, ("-m", "true", "-d", "true")) for one in closed)
        yield look.ill(sentence, closed, (*told, *similar), commands, look.weight(closed))
    elif lacking and len(lacking) == len(look.brokers) and not look.consuming:
        sentence = _("No broker knows the consumer group %(group)s: nobody ever consumed with it. Its name may be "
                     "misspelt, or its consumers reach no broker.")  # fmt: skip
        told = lines(lacking, _("%(broker)s (%(addr)s): no such group (request 201), and no consumer of it (request "
                                "203)"))  # fmt: skip
        commands = (_("# a group comes to exist when its first consumer connects. Where that runs:"),
                    again(look.facts, "--from-client"))  # fmt: skip
        yield look.ill(sentence, (), (*told, *similar), commands, Weight.EXPLAINS)


# updateSubGroup sets what it is not told to its own defaults, so it is told all.
OPTIONS = {
    "-s": "consumeEnable", "-m": "consumeFromMinEnable", "-d": "consumeBroadcastEnable", "-q": "retryQueueNums",
    "-r": "retryMaxTimes", "-i": "brokerId", "-w": "whichBrokerWhenConsumeSlowly",
    "-a": "notifyConsumerIdsChangedEnable", "-o": "consumeMessageOrderly",
}  # fmt: skip


def _updated(look: Look, broker: BrokerFacts, words: Iterable[str]) -> str:
    return mqadmin(look.facts, "updateSubGroup", "-b", broker.addr, "-g", look.group, *words)


def allowed(look: Look) -> Iterator[Finding]:
    """Where consumption is switched off, or the way of consuming is."""
    settings = [(one, found) for one in look.brokers if (found := one.groups.get(look.group)) is not None]
    off = [(one, found) for one, found in settings if found.get("consumeEnable") is False]
    if off:
        sentence = _("The consumer group %(group)s may not consume at %(brokers)s: consumption is switched off.")
        line = _("%(broker)s (%(addr)s): the group has consumeEnable=false (request 352, or 201)")
        yield _forbidden(look, sentence, line, "consumeEnable", off)
    broadcast = {one.addr for one, found in look.consuming if found.model == BROADCASTING}
    refused = [(one, found) for one, found in settings
               if one.addr in broadcast and found.get("consumeBroadcastEnable") is False]  # fmt: skip
    if refused:
        sentence = _("The consumers of %(group)s consume by broadcast, which %(brokers)s does not allow this group.")
        line = _("%(broker)s (%(addr)s): the group has consumeBroadcastEnable=false, and its consumers are "
                 "BROADCASTING (203)")  # fmt: skip
        yield _forbidden(look, sentence, line, "consumeBroadcastEnable", refused)


def _forbidden(look: Look, sentence: str, line: str, switch: str, where: list[tuple[BrokerFacts, Settings]]) -> Finding:
    commands = []
    for one, found in where:
        wanted = {**found, switch: True}
        words = [word for option, name in OPTIONS.items() if name in wanted
                 for word in (option, str(wanted[name]).lower())]  # fmt: skip
        commands.append(_updated(look, one, words))
    brokers = [one for one, _found in where]
    return look.ill(sentence, brokers, lines(brokers, line), commands, look.weight(brokers))


def connected(look: Look) -> Iterator[Finding]:
    """Brokers without a consumer of the group."""
    without = [one for one in look.brokers if look.group in one.consumers and look.consumers(one) is None]
    told = lines(without, _("%(broker)s (%(addr)s): no consumer of the group is connected (request 203)"))
    if without and look.consuming:
        sentence = _("Consumers of the group %(group)s are connected, but not to %(brokers)s: nobody consumes the "
                     "queues there.")  # fmt: skip
        command = mqadmin(look.facts, "consumerConnection", "-g", look.group)
        yield look.ill(sentence, without, told, (command,), follows=("broker-address", "name-servers-agree"))
    elif without:
        sentence = _("No consumer of the group %(group)s is connected to any broker that was asked.")
        refusing = [
            (one, name) for one in without for name in ("aclEnable", "authenticationEnabled") if one.is_on(name)
        ]
        line = _("%(broker)s (%(addr)s): %(name)s=true, so consumers that sign with no key of it are refused "
                 "(request 26)")  # fmt: skip
        told += tuple(line % {"broker": one.name, "addr": one.addr, "name": name} for one, name in refusing[:LINES_MAX])
        commands = (
            _("# start a consumer; the log of one that runs says which address it does not reach. Where it runs:"),
            again(look.facts, "--from-client"),
        )
        yield look.ill(sentence, without, told, commands, Weight.EXPLAINS, ("broker-address",))


def subscribed(look: Look) -> Iterator[Finding]:
    """Topics that were asked for and that the consumers do not subscribe."""
    for topic in look.facts.options.topics:
        others = [(one, found) for one, found in look.consuming if topic not in found.subscribes]
        if others:
            sentence = _("The consumers of the group %(group)s do not subscribe the topic %(topic)s.")
            evidence = (
                _("%(broker)s: they subscribe %(topics)s (request 203)")
                % {"broker": one.name, "topics": listed(set(found.subscribes) - {RETRY_PREFIX + look.group})}
                for one, found in others[:LINES_MAX]
            )
            commands = (
                _("# all consumers of one group subscribe the same topics; a consumer of other topics is in another "
                  "group"),
                mqadmin(look.facts, "consumerConnection", "-g", look.group),
            )  # fmt: skip
            yield look.ill(sentence, (), evidence, commands, Weight.EXPLAINS, topic=topic)


def moving(look: Look) -> Iterator[Finding]:
    """Where messages wait, and no offset moved between two looks."""
    looked = [(one, found, one.consumption.get(look.group)) for one, found in look.consuming]
    stuck = [(one, offsets) for one, found, offsets in looked
             if found.model != BROADCASTING and offsets is not None and offsets.later is not None
             and offsets.lag > 0 and not offsets.moves]  # fmt: skip
    if stuck:
        sentence = _("The group %(group)s does not get on at %(brokers)s: %(lag)d messages wait, its consumers are "
                     "connected, and none was consumed within %(seconds)g s.")  # fmt: skip
        evidence = (
            _("%(broker)s: %(lag)d messages wait; %(fetched).2f a second were fetched within the last minute "
              "(request 208, twice)")
            % {"broker": one.name, "lag": offsets.lag, "fetched": offsets.fetched_per_second}
            for one, offsets in stuck[:LINES_MAX]
        )  # fmt: skip
        commands = (
            _("# the threads of a consumer work or wait in its listener: jstack PID, or its log"),
            mqadmin(look.facts, "consumerProgress", "-g", look.group),
        )
        lag = sum(offsets.lag for _one, offsets in stuck)
        yield look.ill(
            sentence, [one for one, _offsets in stuck], evidence, commands, lag=lag, seconds=LOOK_AGAIN_AFTER_S
        )


def retried(look: Look) -> Iterator[Finding]:
    """A retry topic that consumers cannot use: what fails is then not tried again."""
    topic, both = RETRY_PREFIX + look.group, PERM_READ | PERM_WRITE
    perms = [(one, (one.topics.get(topic) or {}).get("perm")) for one, _found in look.consuming]
    wrong = [(one, perm) for one, perm in perms if isinstance(perm, int) and perm & both != both]
    if wrong:
        sentence = _("Messages that a consumer of %(group)s could not process are not tried again at %(brokers)s: the "
                     "topic %(topic)s cannot be read and written.")  # fmt: skip
        evidence = (
            _("%(broker)s (%(addr)s): perm %(perm)s of %(topic)s (request 351)")
            % {"broker": one.name, "addr": one.addr, "topic": topic, "perm": perm}
            for one, perm in wrong[:LINES_MAX]
        )
        brokers = [one for one, _perm in wrong]
        commands = (mqadmin(look.facts, "updateTopicPerm", "-b", one.addr, "-t", topic, "-p", "6") for one in brokers)
        yield look.ill(sentence, brokers, evidence, commands, topic=topic)


# A group that does not exist, or may not consume, has no consumers: then nothing more is said.
FIRST: tuple[Callable[[Look], Iterable[Finding]], ...] = (known, allowed)
THEN: tuple[Callable[[Look], Iterable[Finding]], ...] = (connected, subscribed, moving, retried)


def group(facts: Facts) -> Iterator[Finding]:
    """The findings of each group that was asked for."""
    names = {name for topic in facts.options.topics for name in facts.queues(topic)}
    masters = [one for one in facts.brokers if one.broker_id == MASTER_ID]
    asked = tuple(one for one in masters if not names or one.name in names)
    for look in (Look(facts, name, asked) for name in facts.options.groups):
        if not any(look.group in one.consumers for one in asked):
            yield _unknown(look)
        else:
            first = [finding for check in FIRST for finding in check(look)]
            yield from first or (finding for check in THEN for finding in check(look))


def _unknown(look: Look) -> Finding:
    sentence = _("No broker said anything about the consumer group %(group)s.") % {"group": look.group}
    code = int(BrokerRequest.GET_CONSUMER_CONNECTION_LIST)
    evidence = tuple(_("%(broker)s (%(addr)s) answered request 203 with code %(code)d")
                     % {"broker": one.name, "addr": one.addr, "code": one.codes[code]}
                     for one in look.brokers if code in one.codes)  # fmt: skip
    commands = (_("# if the brokers want signed requests: --tools-yml conf/tools.yml"),) if evidence else ()
    return Finding(GROUP, State.UNKNOWN, sentence, evidence, commands, Weight.PARTLY,
                   frozenset({"broker-address", "no-broker", "name-server-reachable"}))  # fmt: skip
