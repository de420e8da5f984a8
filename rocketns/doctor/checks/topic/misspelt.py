"""Topics that no broker has, but one with nearly the same name."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rocketns.doctor.checks.showing import listed
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _
from rocketns.fleet.nearest import nearest
from rocketns.protocol.names import is_valid

NAME = "misspelt"
_NUMBERS = re.compile("[0-9]+")
# Brokers make these of groups and of topics: nobody means one that was not asked for in full.
DERIVED = ("%RETRY%", "%DLQ%", "rmq_sys_", "SCHEDULE_TOPIC_", "RMQ_SYS_")


def misspelt(facts: Facts) -> Iterator[Finding]:
    """A finding for each missing topic whose name no topic can have, or that is like the name of another."""
    for topic in facts.missing_topics():
        if not is_valid(topic):
            yield _invalid(topic)
        elif names := near(topic, facts):
            yield _near(facts, topic, names)
        elif not any(one.topics is not None for one in facts.readable):
            yield _unlisted(facts, topic)


def near(topic: str, facts: Facts) -> tuple[str, ...]:
    """The nearest names among the topics of all name servers."""
    names = frozenset().union(*(one.topics or () for one in facts.readable))
    return nearest(topic, [name for name in names if topic.startswith(DERIVED) or not name.startswith(DERIVED)])


def _invalid(topic: str) -> Finding:
    sentence = _("No broker can have a topic named \"%(topic)s\": a name has the characters A-Z, a-z, 0-9, %%, |, - "
                 "and _, and at most 127 of them.") % {"topic": topic}  # fmt: skip
    command = _("# correct the name of the topic in the client")
    return Finding(NAME, State.ILL, sentence, (), (command,), Weight.PRECISELY)


def _near(facts: Facts, topic: str, names: tuple[str, ...]) -> Finding:
    likely = [name for name in names if not _is_series(topic, name)]
    name = (likely or names)[0]
    evidence = (
        _("no name server has a route of %(topic)s (request 105, code 17)") % {"topic": topic},
        *(_("%(addr)s lists the topic %(name)s (request 206)") % {"addr": one.addr, "name": name}
          for one in facts.readable if name in (one.topics or ())),
        *([_("other names like it: %(names)s") % {"names": listed(others)}]
          if (others := [other for other in names if other != name]) else []),
    )  # fmt: skip
    commands = (
        _("# in the client: the topic %(name)s instead of %(topic)s") % {"name": name, "topic": topic},
        _("# or, if another topic is meant, create it: see topic-missing"),
    )
    sentence = _sentence(topic, name, is_likely=bool(likely)) % {"topic": topic, "name": name}
    weight = Weight.PRECISELY if likely else Weight.PARTLY
    return Finding(NAME, State.ILL, sentence, evidence, commands, weight)


def _sentence(topic: str, name: str, *, is_likely: bool) -> str:
    if name.casefold() == topic.casefold():
        return _("There is no topic %(topic)s, but %(name)s: only the case of letters differs.")
    if "%" in name and name.rpartition("%")[2] == topic:
        return _("There is no topic %(topic)s, but %(name)s: the client names it without its namespace.")
    if is_likely:
        return _("There is no topic %(topic)s, but %(name)s: the name looks misspelt.")
    return _("There is no topic %(topic)s, but %(name)s, which has nearly the same name.")


def _is_series(topic: str, name: str) -> bool:
    """Whether only numbers differ, or a single capital at the end: ``shard-1`` and ``shard-2``, rather both meant."""
    if topic.casefold() == name.casefold():
        return False
    if _NUMBERS.sub("", topic) == _NUMBERS.sub("", name):
        return True
    return topic[:-1] == name[:-1] and not topic[:-1].isupper() and topic[-1].isupper() and name[-1].isupper()


def _unlisted(facts: Facts, topic: str) -> Finding:
    sentence = _("Whether another topic has nearly the name of %(topic)s cannot be told: no name server lists its "
                 "topics.") % {"topic": topic}  # fmt: skip
    evidence = tuple(
        _("%(addr)s refuses request 206; enableAllTopicList=false, or access control, may be why") % {"addr": one.addr}
        for one in facts.readable
    )
    return Finding(NAME, State.UNKNOWN, sentence, evidence, (), Weight.NOTE)
