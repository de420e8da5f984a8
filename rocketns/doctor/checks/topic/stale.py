"""Topics that name servers route to a broker that does not have them."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.checks.fleet.views import Member, seen
from rocketns.doctor.checks.showing import addrs, mqadmin
from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _

NAME = "topic-not-on-broker"
CAUSES = frozenset({"two-masters", "broker-address", "broker-in-two-clusters"})


def stale(facts: Facts) -> Iterator[Finding]:
    """A finding for each topic and master."""
    for topic, broker in facts.unknown_at():
        yield _finding(facts, topic, broker)


def _finding(facts: Facts, topic: str, broker: BrokerFacts) -> Finding:
    having = [one for one in facts.readable if broker.name in one.queues(topic)]
    words = {"topic": topic, "broker": broker.name, "addr": broker.addr, "at": addrs(having)}
    sentence = _("Name servers route the topic %(topic)s to the broker %(broker)s, and the broker at %(addr)s does not "
                 "have it: it was deleted there, the broker lost its store, or another broker has the same "
                 "name.") % words  # fmt: skip
    evidence = (
        _("%(at)s has %(broker)s in the route of %(topic)s (request 105)") % words,
        _("%(broker)s at %(addr)s does not have %(topic)s (request 351)") % words,
    )
    is_only = set(facts.queues(topic)) == {broker.name}
    weight = Weight.EXPLAINS if is_only else Weight.PARTLY
    is_alone = is_only and len(seen(facts)[Member(broker.name, broker.broker_id)]) == 1
    return Finding(NAME, State.ILL, sentence, evidence, _commands(facts, topic, broker, is_alone), weight, CAUSES)


def _commands(facts: Facts, topic: str, broker: BrokerFacts, is_alone: bool) -> tuple[str, ...]:
    """deleteTopic deletes the topic at all brokers of the cluster, with its messages."""
    again = mqadmin(facts, "updateTopic", "-b", broker.addr, "-t", topic)
    if not is_alone:
        return (again, _("# or, if it was deleted on purpose: do not use deleteTopic, which deletes it on the other "
                         "brokers as well, with its messages"))  # fmt: skip
    return (
        again,
        _("# or, if it was deleted on purpose, also at the name servers:"),
        mqadmin(facts, "deleteTopic", "-c", broker.cluster, "-t", topic),
    )
