"""The state that processors read and change, and the time that they are given."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

from rocketns.access.guard import AccessVerdict, Guard
from rocketns.config import Configuration
from rocketns.errors import RequestError, TablesFull
from rocketns.files import FileWriter, WholeFile
from rocketns.javatext import parse_boolean
from rocketns.kvconfig.manager import KVConfigManager
from rocketns.logs import LogLimiter
from rocketns.processor.trail import Trail
from rocketns.protocol.body.register_broker_body import RegisteredTopics
from rocketns.protocol.codes import ANNOUNCED_ADDRESSES, RELEASES, Release, SerializeType
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.events import Event
from rocketns.routeinfo.tables import RouteTables
from rocketns.routeinfo.unregistration import UnregisterRequest
from rocketns.routeinfo.view import RouteDigests
from rocketns.views.views import View, Views

log = logging.getLogger("rocketns.broker")

LOG_INTERVAL_MS = 1_000
FULL = "the route tables are full, refused a request of", "Raise the limit, or remove brokers and topics"
BOUND = "a bound of the access policy refused a request of", "If it is wanted, raise the bound in the policy"
OBSERVED = "a bound of the access policy would refuse a request of", BOUND[1]


@dataclass(slots=True)
class CountedRefusals:
    """Requests that are refused because of a bound: counted since the start, and logged once a second at the most.

    ``words``: what happened, and what to do. ``last_ms``: when it was, by the monotonic clock; None if it never was.
    ``last``: the broker that was refused last, empty if the request was of none, and its address. ``limit``: by which
    limit of the tables, and its value.
    """

    words: tuple[str, str] = FULL
    count: int = 0
    last_ms: int | None = None
    last: tuple[str, str] = "", ""
    limit: tuple[str, int] = "", 0
    _lines: LogLimiter = field(default_factory=partial(LogLimiter, LOG_INTERVAL_MS))

    def note(self, error: RequestError, address: str, now_ms: int, broker: tuple[str, str] | None = None) -> None:
        """A request of the peer at ``address`` was refused. ``broker``: a name and an address to register."""
        self.count += 1
        self.last_ms, self.last = now_ms, broker or ("", address)
        if isinstance(error, TablesFull):
            self.limit = error.limit
        if count := self._lines.due(now_ms):
            what, advice = self.words
            log.warning("%s %s: %s. Since the last such line: %d. %s", what, address, error.remark, count, advice)


class Now(NamedTuple):
    """One instant on two clocks: ``ms`` never jumps and judges expiry, ``epoch_ms`` is the wall clock."""

    ms: int
    epoch_ms: int


# Topic, client's address, its language and version, and whether no route was found.
CountLookup = Callable[[str | None, str | None, str | None, int, bool], object]


class UnregisterQueue(deque[UnregisterRequest]):
    """BatchUnregistrationService's bounded queue: requests wait here until a batch of them is applied."""

    def __init__(self, capacity: int) -> None:
        super().__init__()
        self.capacity = capacity

    def submit(self, request: UnregisterRequest) -> bool:
        """Whether there was room."""
        if len(self) >= self.capacity:
            return False
        self.append(request)
        return True

    def remove_first(self, most: int) -> list[UnregisterRequest]:
        """Remove and return the first requests."""
        return [self.popleft() for _ in range(min(most, len(self)))]

    def remove_of(self, cluster: str | None, addr: str | None) -> list[UnregisterRequest]:
        """Remove and return the requests that the broker at this address sent itself."""
        own = [one for one in self if one.entry is None and (one.cluster, one.addr) == (cluster, addr)]
        for request in own:
            self.remove(request)
        return own


@dataclass(slots=True)
class RegistrationCounts:
    """Registrations received, and those whose body repeated the last one and was not decoded again."""

    total: int = 0
    repeated: int = 0


@dataclass(slots=True)
class NamesrvContext:
    """The state of one name server. ``events`` collects the effects of mutations until `drain_events`.

    ``cluster_test`` is the property of that name at start: a later change is shown, but has no effect. ``count_lookup``
    counts lookups, ``note_missing`` those without a route. ``registered_topics`` makes what has the topics of a broker
    name that need not be decoded; without it every registration is decoded in full. ``writer`` writes the two files
    that requests change: ``config_file`` and the file of ``kv_config``. ``going_away`` is true during a graceful
    shutdown and a drain, ``restoring`` while the tables are filled. ``release`` is the release of RocketMQ that answers
    follow, ``serialize_type`` the form of their headers. ``views`` says which addresses a client gets. ``guard`` says
    who may do what. ``beyond_bounds`` and ``observed_beyond_bounds`` are requests that add more than their principal
    may register. ``principals`` and ``access_key`` are those of the request that is being processed, none where its
    sender is not known; ``trail`` makes events of admin requests.
    """

    configuration: Configuration
    kv_config: KVConfigManager
    started_ms: int
    count_lookup: CountLookup | None = None
    note_missing: Callable[[str | None, Connection, Now], None] | None = None
    registered_topics: Callable[[str], RegisteredTopics] | None = None
    route_digests: RouteDigests | None = None
    writer: FileWriter = field(default_factory=FileWriter)
    tables: RouteTables = field(default_factory=RouteTables)
    events: list[Event] = field(default_factory=list)
    registrations: RegistrationCounts = field(default_factory=RegistrationCounts)
    refusals: CountedRefusals = field(default_factory=CountedRefusals)
    beyond_bounds: CountedRefusals = field(default_factory=partial(CountedRefusals, BOUND))
    observed_beyond_bounds: CountedRefusals = field(default_factory=partial(CountedRefusals, OBSERVED))
    trail: Trail = field(default_factory=Trail)
    views: Views = field(default_factory=Views)
    principals: tuple[str, ...] = ()
    access_key: str | None = None
    going_away: bool = field(default=False, init=False)
    restoring: bool = field(default=False, init=False)
    cluster_test: bool = field(init=False)
    unregister_queue: UnregisterQueue = field(init=False)
    guard: Guard = field(init=False)
    config_file: WholeFile = field(init=False)
    release: Release = field(init=False)
    serialize_type: SerializeType = field(init=False)

    def __post_init__(self) -> None:
        configuration, config = self.configuration, self.configuration.namesrv
        self.cluster_test = config.cluster_test
        self.unregister_queue = UnregisterQueue(config.un_register_broker_queue_capacity)
        self.guard = Guard(trusts_announced=bool(configuration.access.proxies))
        self.config_file = WholeFile(Path(config.config_store_path), "persist string2File error")
        self.release = RELEASES[configuration.compatible.compatible_version]
        self.serialize_type = SerializeType[configuration.serialize_type]

    @property
    def principal(self) -> str | None:
        """The first of ``principals``."""
        return self.principals[0] if self.principals else None

    def view_of(self, command: RemotingCommand, peer: Connection) -> View | None:
        """The view for which a request is answered. None: with the addresses that brokers announced."""
        if not self.views or parse_boolean(command.ext(ANNOUNCED_ADDRESSES)):
            return None
        return self.views.of(peer)

    def heed(self, verdict: AccessVerdict) -> None:
        """Add the event of a decision, and raise its error, if there are any."""
        if verdict.event is not None:
            self.events.append(verdict.event)
        if verdict.error is not None:
            raise verdict.error

    def drain_events(self) -> list[Event]:
        """All effects since the last call."""
        events, self.events = self.events, []
        return events
