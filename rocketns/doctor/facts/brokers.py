"""What one broker said of itself, its topics and its consumer groups."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Clock:
    """How far a broker's clock is ahead of this machine's, in ms: somewhere between the two; negative is behind.

    A broker says when it started, and for how many whole seconds it has run, both by its own clock. So there is at
    least a second between them, and what its answer took.
    """

    from_ms: int
    to_ms: int


@dataclass(frozen=True, slots=True)
class Consumers:
    """Who consumes with a group at a broker. ``subscribes``: the expression by topic. ``peers``: the first few."""

    count: int
    peers: tuple[str, ...] = ()
    model: str = ""
    subscribes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Offsets:
    """One queue at a broker, for a group. ``last_ms``: when the last consumed message was stored; 0: none was."""

    topic: str
    queue: int
    at_broker: int
    consumed: int
    last_ms: int = 0

    @property
    def lag(self) -> int:
        return max(0, self.at_broker - self.consumed)


@dataclass(frozen=True, slots=True)
class Consumption:
    """How far a group is at a broker. ``fetched_per_second`` within the last minute. ``later`` is a second look, some
    seconds after the first one; None where there was no need."""

    first: tuple[Offsets, ...] = ()
    fetched_per_second: float = 0.0
    later: tuple[Offsets, ...] | None = None

    @property
    def lag(self) -> int:
        """Messages that are not consumed yet, at the last look."""
        return sum(one.lag for one in (self.first if self.later is None else self.later))

    @property
    def moves(self) -> bool:
        """Whether a message was consumed between the two looks."""
        before = {(one.topic, one.queue): one.consumed for one in self.first}
        return any(one.consumed > before.get((one.topic, one.queue), 0) for one in self.later or ())


@dataclass(frozen=True, slots=True)
class BrokerFacts:
    """``addr`` is ``host:port`` as announced, or as given. ``version`` is the ordinal in the headers of its answers.

    Name, id and cluster are those of the name servers. Of a broker that no name server shows they are its own
    (``is_announced`` is False), and empty where it does not say.

    ``configuration`` (request 26) and ``runtime`` (28) are None where they were not answered. ``topics`` has the
    configuration of each topic that was asked for; None: the broker does not have it. ``groups``: likewise of consumer
    groups. ``similar``: other groups of the broker by the group that it does not have. ``consumers`` and
    ``consumption`` by group; None: no consumer is connected. ``topics_bytes``: the size of all its topics as JSON, as
    in a registration, by the mean of the first thousand; None: not asked. ``topics_count``: their number, if known.
    ``codes`` has the response code of each request that was not answered with success, by request code.
    """

    name: str
    broker_id: int
    cluster: str
    addr: str
    is_announced: bool = True
    version: int | None = None
    configuration: Mapping[str, str] | None = None
    runtime: Mapping[str, str] | None = None
    clock: Clock | None = None
    topics: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    groups: Mapping[str, Mapping[str, Any] | None] = field(default_factory=dict)
    similar: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    consumers: Mapping[str, Consumers | None] = field(default_factory=dict)
    consumption: Mapping[str, Consumption] = field(default_factory=dict)
    topics_bytes: int | None = None
    topics_count: int | None = None
    codes: Mapping[int, int] = field(default_factory=dict)

    def setting(self, name: str) -> str | None:
        """A property of its configuration. None: unknown."""
        return None if self.configuration is None else self.configuration.get(name)

    def is_on(self, name: str) -> bool | None:
        """A property that is true or false. None: unknown."""
        text = self.setting(name)
        return None if text is None else text.strip().lower() == "true"
