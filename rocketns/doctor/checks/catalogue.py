"""The table of all checks. Of findings with one weight, those of earlier checks are shown first.

The order is that of the path from a client to a queue: name servers, brokers, topics, groups. docs/doctor.md says what
each of them means.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rocketns.doctor.checks import address, brokers, fleet, groups, missing, name_servers, registering, topics
from rocketns.doctor.facts import FleetFacts, Reaction
from rocketns.doctor.finding import Diagnosis
from rocketns.doctor.words import N_


@dataclass(frozen=True, slots=True)
class Check:
    """``about`` says in one line what it looks for: a message to look up.

    ``run`` gives its findings; none: all is well. Where ``applies`` is False it does not run, and is not said to be
    well.
    """

    name: str
    about: str
    run: Callable[[FleetFacts], Iterable[Diagnosis]]
    applies: Callable[[FleetFacts], bool] = lambda _facts: True


ANSWERS = (Reaction.ANSWERED, Reaction.OTHER_PROTOCOL, Reaction.SPEAKS_TLS, Reaction.SPEAKS_PLAIN)


def answered(facts: FleetFacts) -> bool:
    """Whether something answers, at some address."""
    return any(one.outcome in ANSWERS for one in facts.name_servers)


def with_brokers(facts: FleetFacts) -> bool:
    """Whether some name server shows a broker."""
    return bool(facts.groups)


def with_topic(facts: FleetFacts) -> bool:
    """Whether some name server said that it has a topic that was asked for, or that it has not."""
    return any(topic in one.routes for one in facts.name_servers for topic in facts.options.topics)


def topics_told(facts: FleetFacts) -> bool:
    """Whether a broker said so, too."""
    return with_topic(facts) and any(topic in one.topics for one in facts.brokers for topic in facts.options.topics)


def routed(facts: FleetFacts) -> bool:
    """Whether a topic that was asked for has queues."""
    return any(facts.queues(topic) for topic in facts.options.topics)


CHECKS: tuple[Check, ...] = (
    Check(name_servers.REACHABLE, N_("each name server accepts connections, and answers route lookups"),
          name_servers.reachable),
    Check(name_servers.KIND, N_("what answers is a name server; its kind and version"), name_servers.kind, answered),
    Check(name_servers.TLS, N_("name servers and brokers speak TLS, or plain, as the client does"),
          name_servers.transport, answered),
    Check(fleet.NO_BROKER, N_("at least one broker is registered"), fleet.present, lambda facts: bool(facts.readable)),
    Check(fleet.TWO_MASTERS, N_("each broker has one master"), fleet.two_masters, with_brokers),
    Check(fleet.TWO_CLUSTERS, N_("no broker name is registered in two clusters"), fleet.clusters, with_brokers),
    Check(fleet.NO_MASTER, N_("each broker has a master"), fleet.no_master, with_brokers),
    Check(address.ADDRESS, N_("the addresses that brokers announce lead to them"), address.address,
          lambda facts: any(one.outcome is not Reaction.NOT_TRIED for one in facts.addresses.values())),
    Check(registering.SIZE, N_("no broker's registration is near the size that a name server reads"),
          registering.registration_size, lambda facts: bool(facts.brokers)),
    Check(registering.LIST, N_("lists of name servers have the form that RocketMQ reads"),
          registering.lists, registering.has_list),
    Check(registering.ELSEWHERE, N_("each broker registers at every name server that was given"),
          registering.elsewhere, registering.has_configuration),
    Check(missing.MISSING, N_("each topic is on some broker"), missing.missing,
          lambda facts: bool(facts.options.topics)),
    Check(registering.NOT_REGISTERED, N_("each broker that has a topic is in the topic's route"),
          registering.unregistered_topic, topics_told),
    Check(missing.ON_SOME, N_("each topic is known at every name server"),
          missing.on_some, lambda facts: with_topic(facts) and len(facts.name_servers) > 1),
    Check(topics.STALE, N_("each topic is on the brokers that its route names"), topics.stale, topics_told),
    Check(topics.ORDER, N_("clients can read the order configuration of each topic"), topics.order, topics.order_told),
    Check(topics.WIPED, N_("no broker has lost its permission to write"), topics.wiped, topics.permissions_told),
    Check(topics.READ_ONLY, N_("each topic can be written and read"), topics.read_only, routed),
    Check(name_servers.AGREE, N_("all name servers know the same brokers and topics"),
          name_servers.agreement, lambda facts: len(facts.readable) > 1),
    Check(fleet.MOVES, N_("each broker id has one address, and each address one id"), fleet.moves, with_brokers),
    Check(topics.FEW, N_("topics are on all brokers of their cluster"), topics.few, routed),
    Check(groups.GROUP, N_("each consumer group exists, has consumers, may consume, and gets on"),
          groups.group, lambda facts: bool(facts.options.groups and facts.brokers)),
    Check(brokers.CLOCKS, N_("the clocks of the brokers agree"),
          brokers.clocks, lambda facts: any(one.clock is not None for one in facts.brokers)),
    Check(brokers.VERSION, N_("no broker is older than the client needs"), brokers.version, brokers.is_told),
)  # fmt: skip
