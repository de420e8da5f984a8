"""What a check says, and one row of the table of checks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import IntEnum

from rocketns.doctor.facts import Facts, Outcome


class State(IntEnum):
    """The numbers are the exit statuses of a check."""

    WELL = 0
    ILL = 1
    UNKNOWN = 2


class Weight(IntEnum):
    """How much a finding explains of the question asked. Of several ILL findings the heaviest is shown first."""

    NOTE = 0  # worth knowing; no client fails because of it
    ELSEWHERE = 1  # a fault, but not of the topics and groups that were asked for
    PARTLY = 2  # some clients, some queues or some of the time
    EXPLAINS = 3  # alone it is reason enough that clients of the topic, or of the fleet, fail
    PRECISELY = 4  # likewise, and it names the cause of another finding more exactly


@dataclass(frozen=True, slots=True)
class Finding:
    """Texts are in the user's language, and may hold names from peers: they are escaped where they are printed.

    ``evidence``: how the doctor knows, a line each. ``commands``: what mends it, a line each, to copy; a line that is
    no command begins with ``#``. ``follows``: names of checks whose ILL findings are the cause of this one.
    """

    check: str
    state: State
    sentence: str
    evidence: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    weight: Weight = Weight.EXPLAINS
    follows: frozenset[str] = field(default_factory=frozenset)

    @property
    def matters(self) -> bool:
        """Whether the run's exit status depends on it, where it cannot be told."""
        return self.weight >= Weight.PARTLY


ANSWERS = (Outcome.ANSWERED, Outcome.OTHER_PROTOCOL, Outcome.SPEAKS_TLS, Outcome.SPEAKS_PLAIN)


def always(_facts: Facts) -> bool:
    """For a check that needs nothing."""
    return True


def answered(facts: Facts) -> bool:
    """For a check of what answers: something did, at some address."""
    return any(one.outcome in ANSWERS for one in facts.name_servers)


def with_name_server(facts: Facts) -> bool:
    """For a check of the brokers as name servers show them: one can be read."""
    return bool(facts.readable)


def with_brokers(facts: Facts) -> bool:
    """For a check of the brokers that some name server shows."""
    return bool(facts.groups)


def asked_for_topic(facts: Facts) -> bool:
    """For a check that itself names the topics of which it cannot tell."""
    return bool(facts.options.topics)


def with_topic(facts: Facts) -> bool:
    """For a check of the topics that were asked for, where some name server said whether it has them."""
    asked = facts.options.topics
    return bool(asked) and any(topic in one.routes for one in facts.name_servers for topic in asked)


def routed(facts: Facts) -> bool:
    """For a check of the queues of the topics that were asked for: one has some."""
    return any(facts.queues(topic) for topic in facts.options.topics)


def topics_told(facts: Facts) -> bool:
    """For a check that compares routes with what brokers say of the topics that were asked for."""
    return with_topic(facts) and any(topic in one.topics for one in facts.brokers for topic in facts.options.topics)


def with_group(facts: Facts) -> bool:
    """For a check of the consumer groups that were asked for, where some broker could be asked."""
    return bool(facts.options.groups and facts.brokers)


def with_addresses(facts: Facts) -> bool:
    """For a check of announced addresses: some were tried."""
    return any(one.outcome is not Outcome.NOT_TRIED for one in facts.addresses.values())


def with_broker(facts: Facts) -> bool:
    """For a check of what brokers say: one said something."""
    return bool(facts.brokers)


@dataclass(frozen=True, slots=True)
class Check:
    """``about`` says in one line what it looks for: a message to look up.

    ``run`` gives its findings; none: all is well. Where ``applies`` is False it does not run, and is not said to be
    well.
    """

    name: str
    about: str
    run: Callable[[Facts], Iterable[Finding]]
    applies: Callable[[Facts], bool] = always
