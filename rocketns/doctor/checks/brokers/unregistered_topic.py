"""Topics that a broker has, and that a name server does not show for it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from rocketns.doctor.checks.showing import addrs, mqadmin
from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.finding import Finding, State, Weight
from rocketns.doctor.words import _
from rocketns.protocol.codes import MASTER_ID

NAME = "topic-not-registered"
CAUSES = frozenset({"broker-registers-elsewhere", "registration-size", "name-servers-agree", "tls"})


def unregistered_topic(facts: Facts) -> Iterator[Finding]:
    """A finding for each topic and master."""
    for broker in facts.brokers:
        for topic in facts.options.topics:
            settings = broker.topics.get(topic)
            if settings is None or broker.broker_id != MASTER_ID:
                continue
            lacking = [one for one in facts.readable if topic in one.routes and broker.name not in one.queues(topic)]
            if lacking:
                yield _finding(facts, broker, topic, settings, lacking)


def _finding(
    facts: Facts, broker: BrokerFacts, topic: str, settings: Mapping[str, Any], lacking: list[NameServerFacts]
) -> Finding:
    words = {"broker": broker.name or broker.addr, "addr": broker.addr, "topic": topic, "lacking": addrs(lacking),
             "read": settings.get("readQueueNums"), "write": settings.get("writeQueueNums"),
             "perm": settings.get("perm")}  # fmt: skip
    sentence = (
        _(
            "The broker %(broker)s has the topic %(topic)s, and %(lacking)s does not show it there: its "
            "registration did not arrive."
        )
        % words
    )
    evidence = (
        _(
            "%(broker)s (%(addr)s): %(topic)s has %(write)s queues to write, %(read)s to read, perm %(perm)s (351, "
            "or 21)"
        )
        % words,
        _("%(lacking)s: the route of %(topic)s does not name %(broker)s (request 105)") % words,
    )
    missing = topic in set(facts.missing_topics())
    return Finding(NAME, State.ILL, sentence, evidence, _commands(facts, broker, topic, settings),
                   Weight.EXPLAINS if missing else Weight.PARTLY, CAUSES)  # fmt: skip


def _commands(facts: Facts, broker: BrokerFacts, topic: str, settings: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = [str(settings.get(name)) for name in ("readQueueNums", "writeQueueNums", "perm")]
    return (
        _("# writes the topic again unchanged, so that the broker registers again:"),
        mqadmin(
            facts, "updateTopic", "-b", broker.addr, "-t", topic, "-r", numbers[0], "-w", numbers[1], "-p", numbers[2]
        ),
        _("# if it still is not there, the broker's log says why:"),
        shlex.join(("grep", "-i", "registerBroker", "broker.log")),
    )
