"""What brokers said of one consumer group."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from rocketns.doctor.facts.brokers import BrokerFacts, Consumers
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.words import _
from rocketns.protocol.codes import MASTER_ID

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
