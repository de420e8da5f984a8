"""Whether the name servers know the same brokers and topics, and which one lacks what."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.checks.showing import addrs, listed, members, namesrv_addr
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _

NAME = "name-servers-agree"
# Topics that brokers make for themselves. Nobody misses them.
INTERNAL = ("rmq_sys_", "RMQ_SYS_", "SCHEDULE_TOPIC_")


def agreement(facts: Facts) -> Iterator[Finding]:
    """Two halves without a broker in common, or for each name server what it lacks."""
    if len(facts.readable) < 2:
        return
    if halves := _strangers(facts):
        yield _split(facts, *halves)
        return
    for one in facts.readable:
        groups = {name: group for name, group in facts.groups.items() if name not in (one.groups or {})}
        topics = _lacked_topics(one, facts)
        if groups or topics:
            evidence = tuple(
                _("%(broker)s (%(members)s): known at %(at)s, not at %(addr)s")
                % {"broker": name, "members": members(group), "at": addrs(_having(facts, name)), "addr": one.addr}
                for name, group in sorted(groups.items())[:10]
            )
            yield Finding(NAME, State.ILL, _sentence(one, list(groups), topics), evidence, _commands(facts, groups),
                          _weight(facts, one))  # fmt: skip


def _strangers(facts: Facts) -> tuple[NameServerFacts, NameServerFacts] | None:
    """Two name servers that both have brokers, and none in common. Where only addresses differ see `two-masters`."""
    having = [one for one in facts.readable if one.groups]
    for one in having[1:]:
        if set(one.groups or {}) != set(having[0].groups or {}) and not _addresses(one) & _addresses(having[0]):
            return having[0], one
    return None


def _addresses(one: NameServerFacts) -> set[str]:
    return {addr for group in (one.groups or {}).values() for _id, addr in group.addrs}


def _split(facts: Facts, one: NameServerFacts, other: NameServerFacts) -> Finding:
    sentence = _("The name servers %(one)s and %(other)s have no broker in common: they belong to two fleets. A client "
                 "that lists both finds the topics of one of them only.") % {
        "one": one.addr, "other": other.addr}  # fmt: skip
    evidence = tuple(
        _("%(addr)s has the brokers %(names)s") % {"addr": each.addr, "names": listed(each.groups or {})}
        for each in facts.readable
    )
    commands = (
        _("# if they are one fleet, in broker.conf of every broker, then restart it:"),
        f"namesrvAddr={namesrv_addr(facts)}",
        _("# if they are two, give each client the name servers of one of them only"),
    )
    weight = Weight.EXPLAINS if not facts.options.topics or any(True for _topic in _divided(facts)) else Weight.PARTLY
    return Finding(NAME, State.ILL, sentence, evidence, commands, weight)


def _divided(facts: Facts) -> Iterator[str]:
    """The topics asked for that some name servers have and others do not."""
    for topic in facts.options.topics:
        if any(one.has(topic) for one in facts.readable) and any(one.lacks(topic) for one in facts.readable):
            yield topic


def _having(facts: Facts, broker: str) -> list[NameServerFacts]:
    return [one for one in facts.readable if broker in (one.groups or {})]


def _lacked_topics(one: NameServerFacts, facts: Facts) -> list[str]:
    """The topics that others list. Where it lists none, nothing is known to be lacking."""
    if one.topics is None:
        return []
    found = frozenset().union(*(other.topics or () for other in facts.readable)) - one.topics
    return [topic for topic in found if topic not in facts.groups and not topic.startswith(INTERNAL)]


def _sentence(one: NameServerFacts, groups: list[str], topics: list[str]) -> str:
    words = {"addr": one.addr, "brokers": listed(groups), "topics": listed(topics)}
    if not topics:
        return _("The name server %(addr)s lacks brokers that others have: %(brokers)s.") % words
    if not groups:
        return _("The name server %(addr)s lacks topics that others have: %(topics)s.") % words
    return _("The name server %(addr)s lacks brokers that others have (%(brokers)s), and with them topics "
             "(%(topics)s).") % words  # fmt: skip


def _commands(facts: Facts, groups: object) -> tuple[str, ...]:
    if not groups:
        return (_("# a broker sends its topics again within 30 s; if the topics are still lacking then, see its log:"),
                "grep -i registerBroker ~/logs/rocketmqlogs/broker.log | tail")  # fmt: skip
    return (
        _("# in broker.conf of these brokers, then restart them, one at a time:"),
        f"namesrvAddr={namesrv_addr(facts)}",
    )


def _weight(facts: Facts, one: NameServerFacts) -> Weight:
    if facts.options.topics and not any(one.lacks(topic) for topic in _divided(facts)):
        return Weight.ELSEWHERE
    return Weight.PARTLY
