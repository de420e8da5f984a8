"""What one name server said."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rocketns.doctor.facts.reach import Outcome
from rocketns.fleet.group_view import GroupView
from rocketns.protocol.body.route import QueueData, TopicRouteData


class Kind(StrEnum):
    """What answers at the address."""

    JAVA = "java"
    ROCKETNS = "rocketns"
    OTHER = "other"  # it answers, and is no name server
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Look:
    """The broker groups at one time, seconds since the first look."""

    at_s: float
    groups: Mapping[str, GroupView]


@dataclass(frozen=True, slots=True)
class NameServerFacts:
    """``addr`` is ``host:port`` as given. Names come from peers: they are escaped where they are shown.

    ``error`` says why there is no answer, or which answers could not be read. ``version`` is the ordinal in the headers
    of its answers. ``clusters``: the broker names by cluster. ``topics`` is None where it does not list them.
    ``routes`` has each topic that was asked for; None: it has no route. ``codes`` has the response code of each request
    that was not answered with success, by request code. ``order``: the order configurations by topic. ``looks`` are
    later views of the groups. ``is_here``: it runs on this machine.
    """

    addr: str
    outcome: Outcome
    error: str = ""
    ips: tuple[str, ...] = ()
    is_here: bool = False
    kind: Kind = Kind.UNKNOWN
    version: int | None = None
    groups: Mapping[str, GroupView] | None = None
    clusters: Mapping[str, frozenset[str]] = field(default_factory=dict)
    topics: frozenset[str] | None = None
    routes: Mapping[str, TopicRouteData | None] = field(default_factory=dict)
    configuration: Mapping[str, str] | None = None
    order: Mapping[str, str] = field(default_factory=dict)
    codes: Mapping[int, int] = field(default_factory=dict)
    looks: tuple[Look, ...] = ()

    @property
    def is_readable(self) -> bool:
        return self.groups is not None

    def has(self, topic: str) -> bool:
        """Whether it has a route of a topic that was asked for."""
        return self.routes.get(topic) is not None

    def lacks(self, topic: str) -> bool:
        """Whether it said that it has no route of the topic. Both are False where it did not say."""
        return topic in self.routes and self.routes[topic] is None

    def queues(self, topic: str) -> dict[str, QueueData]:
        """The queues of a topic by broker name."""
        route = self.routes.get(topic)
        return {} if route is None else dict(route.queue_datas)
