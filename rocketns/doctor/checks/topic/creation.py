"""Whether brokers create a missing topic by themselves: they do while they have the topic TBW102."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.checks.showing import listed
from rocketns.doctor.checks.topic.derived import instead
from rocketns.doctor.checks.topic.missing import creating
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _
from rocketns.protocol.names import CREATION_TOPIC

NAME = "automatic-creation"
PROPERTY = "autoCreateTopicEnable"


def can_be_told(facts: Facts) -> bool:
    """Where some name server has brokers, and said which of them have TBW102."""
    return bool(facts.groups) and any(CREATION_TOPIC in one.routes for one in facts.readable)


def creation(facts: Facts) -> Iterator[Finding]:
    """A finding for each missing topic that no broker creates, or only some. Otherwise what is known. Where it
    `can_be_told`."""
    creators = set(facts.queues(CREATION_TOPIC))
    others = set(facts.groups) - creators
    missing = [topic for topic in facts.missing_topics() if instead(facts, topic) is None]
    for topic in missing:
        if not creators:
            yield _nobody(facts, topic, others)
        elif others:
            yield _some(facts, topic, creators, others)
        else:
            yield Finding(NAME, State.WELL, _everybody(facts))
    if not missing:
        yield Finding(NAME, State.WELL, _everybody(facts))


def _nobody(facts: Facts, topic: str, brokers: set[str]) -> Finding:
    sentence = _("The topic %(topic)s was never created, and no broker creates topics by itself (autoCreateTopicEnable "
                 "is off).") % {"topic": topic}  # fmt: skip
    evidence = (_absent(brokers), *_configured(facts))
    commands = (
        *creating(facts, topic),
        _("# or, where topics may come into being by themselves, in broker.conf of every broker, then restart it:"),
        "autoCreateTopicEnable=true",
    )
    return Finding(NAME, State.ILL, sentence, evidence, commands, Weight.PRECISELY, frozenset({"misspelt"}))


def _some(facts: Facts, topic: str, creators: set[str], others: set[str]) -> Finding:
    sentence = _("A producer of %(topic)s creates it on %(creators)s only: %(others)s creates no topics by itself.") % {
        "topic": topic, "creators": listed(creators), "others": listed(others)}  # fmt: skip
    evidence = (_absent(others), *_configured(facts))
    return Finding(NAME, State.ILL, sentence, evidence, creating(facts, topic), Weight.NOTE)


def _everybody(facts: Facts) -> str:
    creators = set(facts.queues(CREATION_TOPIC))
    if not creators:
        return _("no broker creates topics by itself")
    if creators >= set(facts.groups):
        return _("every broker creates a topic at the first message to it")
    return _("a topic is created at the first message to it on %(brokers)s") % {"brokers": listed(creators)}


def _absent(brokers: set[str]) -> str:
    return _("the route of TBW102 lacks %(brokers)s: a broker has that topic while it creates others by itself") % {
        "brokers": listed(brokers)
    }


def _configured(facts: Facts) -> Iterator[str]:
    """What brokers that were asked say themselves."""
    for broker in facts.brokers:
        value = (broker.configuration or {}).get(PROPERTY)
        if value is not None:
            yield _("%(broker)s at %(addr)s has autoCreateTopicEnable=%(value)s (request 26)") % {
                "broker": broker.name, "addr": broker.addr, "value": value}  # fmt: skip
