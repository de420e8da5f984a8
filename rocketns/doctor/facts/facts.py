"""All that was gathered, and questions that several checks ask of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.name_servers import NameServerFacts
from rocketns.doctor.facts.options import Options
from rocketns.doctor.facts.reach import AddressFacts
from rocketns.fleet.group_view import GroupView
from rocketns.protocol.body.route import QueueData
from rocketns.protocol.codes import MASTER_ID


@dataclass(frozen=True, slots=True)
class Requests:
    """What was sent to one kind of peer: how often each kind may be sent to one address, and was, by address."""

    to: str
    most: Mapping[str, int]
    sent: Mapping[str, Mapping[str, int]]


@dataclass(frozen=True)
class Facts:
    """No field changes, so what is asked of them often is kept: there may be 10,000s of brokers.

    ``addresses`` by ``host:port`` as announced; ``brokers`` in no particular order.

    ``left_out`` counts brokers that were not asked, because there are too many. ``requests``: for the output.
    """

    options: Options
    name_servers: tuple[NameServerFacts, ...]
    addresses: Mapping[str, AddressFacts] = field(default_factory=dict)
    brokers: tuple[BrokerFacts, ...] = ()
    left_out: int = 0
    requests: tuple[Requests, ...] = ()

    @cached_property
    def readable(self) -> list[NameServerFacts]:
        """The name servers that showed their brokers."""
        return [one for one in self.name_servers if one.is_readable]

    @cached_property
    def groups(self) -> dict[str, GroupView]:
        """Each broker group as the first name server that has it shows it."""
        found: dict[str, GroupView] = {}
        for name_server in self.readable:
            for name, group in (name_server.groups or {}).items():
                found.setdefault(name, group)
        return found

    @cached_property
    def clusters(self) -> dict[str, set[str]]:
        """The broker names of each cluster, at any name server."""
        found: dict[str, set[str]] = {}
        for name, group in self.groups.items():
            found.setdefault(group.cluster or "", set()).add(name)
        return found

    def queues(self, topic: str) -> dict[str, QueueData]:
        """The queues of a topic by broker name, at any name server that has its route."""
        if topic not in self._queues:
            found = self._queues[topic] = {}
            for name_server in self.name_servers:
                for name, queues in name_server.queues(topic).items():
                    found.setdefault(name, queues)
        return self._queues[topic]

    @cached_property
    def _queues(self) -> dict[str, dict[str, QueueData]]:
        return {}

    def missing_topics(self) -> Iterator[str]:
        """The topics that were asked for, and that no name server has; at least one said so."""
        for topic in self.options.topics:
            if not any(one.has(topic) for one in self.name_servers) and any(
                one.lacks(topic) for one in self.name_servers
            ):
                yield topic

    def unknown_at(self) -> Iterator[tuple[str, BrokerFacts]]:
        """The topics that were asked for, each with a master that name servers route to, and that does not have it."""
        for topic in self.options.topics:
            queues = self.queues(topic)
            for broker in self.brokers:
                is_routed = broker.broker_id == MASTER_ID and broker.is_announced and broker.name in queues
                if is_routed and broker.topics.get(topic, broker) is None:
                    yield topic, broker

    def masters(self) -> dict[str, str]:
        """The address of each group's master by broker name."""
        found = {name: dict(group.addrs).get(MASTER_ID) for name, group in self.groups.items()}
        return {name: addr for name, addr in found.items() if addr is not None}

    def broker(self, addr: str) -> BrokerFacts | None:
        """What the broker at an announced address said, if it was asked."""
        return next((one for one in self.brokers if one.addr == addr), None)
