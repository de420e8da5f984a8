"""The facts that the management port shows, by name, and the few things that it may ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rocketns._fast.reactor.reactors import Reactors
from rocketns.access.classes import Mode
from rocketns.access.guard import Decided
from rocketns.config import Configuration
from rocketns.filewriter import FileWriter
from rocketns.fleet.state import FleetState
from rocketns.processor import client
from rocketns.processor.context import Now
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.control.measures import BOUNDS_S, Measures
from rocketns.server.core import Core
from rocketns.server.fleet.watching import FleetWatch
from rocketns.server.missing.asked import AskedTopic
from rocketns.server.publishing.delivery import Watcher
from rocketns.server.reactors.transport import ReactorTransport
from rocketns.server.tls.contexts import TlsContexts
from rocketns.views.views import Views


class JournalFacts(NamedTuple):
    """The journal's numbers. ``losing``: records that found no room since the last `drop` record."""

    records: int
    written_bytes: int
    waiting_bytes: int
    losing: int
    lost: int
    failures: int
    is_failing: bool


class Facts:
    """Any thread may read the numbers, also how many entries a table has, but no entry.

    Control only: what is in ``tables`` and ``kv``, the methods of ``tls``, and all methods but `now`.

    Nothing is changed through it, but by `drain`, and by what makes the server count: `measure`, `watch` and
    `tell_clients`, which are called before it starts.
    """

    def __init__(
        self, core: Core, name: str, transport: ReactorTransport, tls: TlsContexts, fleet: FleetWatch,
        writer: FileWriter, read_journal: Callable[[], JournalFacts | None],
    ) -> None:  # fmt: skip
        """``name``: bindAddress and the port at which it listens, for people."""
        self.configuration: Configuration = core.configuration
        self.name = name
        self.tables: RouteTables = core.context.tables
        self.kv: Mapping[str, Mapping[str, str | None]] = core.context.kv_config.config_table
        self.reactors: Reactors = core.reactors
        self.transport = transport
        self._core = core
        self.tls = tls
        self._fleet = fleet
        self._writer = writer
        self._read_journal = read_journal

    def now(self) -> Now:
        """Any thread."""
        return self._core.clock.now()

    def drain(self, *, begins: bool) -> None:
        """Begin or end the drain."""
        context = self._core.context
        context.go_away() if begins else context.stay()
        self._core.lookup_switch.update(self.now())

    def measure(self, measures: Measures) -> None:
        """Count requests and turns, and let the reactors sample the times of lookups."""
        self._core.control.measure(measures)
        self.reactors.measure_lookups([round(bound * 1e9) for bound in BOUNDS_S])

    def watch(self, watcher: Watcher) -> None:
        """Give ``watcher`` the events of each mutation."""
        self._core.delivery.watch(watcher)

    def tell_clients(self) -> None:
        """Let the reactors tell language and version of clients."""
        self.reactors.tell_clients()

    def order_of(self, topic: str) -> str | None:
        """The order configuration of a topic."""
        return self._core.context.kv_config.get(NAMESPACE_ORDER_TOPIC_CONFIG, topic)

    def why_not_ready(self) -> str | None:
        """Any thread. None if lookups are answered from complete tables, and the server wants to be asked."""
        context = self._core.context
        if context.restoring:
            return "the routes are being restored"
        if not self._core.stalls.has_begun:
            return "it starts"
        if context.going_away:
            return "it drains"
        return None if client.is_ready(context, self.now()) else "waitSecondsForService is not over"

    @property
    def journal(self) -> JournalFacts | None:
        """None without a journal."""
        return self._read_journal()

    @property
    def fleet(self) -> FleetState:
        """The differences to the name servers of `rocketns.peers`."""
        return self._fleet.state

    @property
    def views(self) -> Views:
        """Those in force. Any thread."""
        return self._core.context.views

    @property
    def lookups_of_views(self) -> dict[str, int]:
        """Lookups that reactors answered since the start, by the view of the client. Any thread."""
        return self._core.view_counts.totals(self.views)

    @property
    def bytes_of_views(self) -> dict[str, int]:
        """Memory at the reactors, by view."""
        sizes = self._core.publisher.slots.mapped_bytes()
        return {view.name: size for view, size in zip(self.views, sizes, strict=False)}

    @property
    def is_draining(self) -> bool:
        return self._core.context.going_away

    @property
    def started_ms(self) -> int:
        """On the clock of ``now().ms``."""
        return self._core.context.started_ms

    @property
    def start_s(self) -> float:
        """How long the start took. 0 until it is over."""
        return self._core.stalls.start_s

    @property
    def kv_bytes(self) -> int:
        return self._core.context.kv_config.bytes

    @property
    def slot_bytes(self) -> int:
        """The routes as the reactors have them."""
        return self._core.publisher.slots.memory_bytes

    @property
    def registrations(self) -> int:
        return self._core.context.registrations.total

    @property
    def access_decisions(self) -> Mapping[Decided, int]:
        """Requests that access control decided. Any thread may copy it."""
        return self._core.context.guard.decisions

    @property
    def registrations_refused(self) -> int:
        """Because the tables are full."""
        return self._core.context.refusals.count

    @property
    def registrations_beyond_bounds(self) -> dict[str, int]:
        """Those with more than their principal may register: refused, and only observed."""
        context = self._core.context
        observed = context.observed_beyond_bounds.count
        return {Mode.ENFORCE.word: context.beyond_bounds.count, Mode.OBSERVE.word: observed}

    @property
    def missing_topics(self) -> int:
        """Topics without a route that were asked for within the last hour."""
        return self._core.missing.asked.missing

    def asked_topics(self) -> list[AskedTopic]:
        """These topics."""
        return list(self._core.missing.asked.all_missing())

    @property
    def waiting_requests(self) -> int:
        return self._core.control.waiting_requests

    @property
    def waiting_bytes(self) -> int:
        return self._core.control.waiting_bytes

    @property
    def waiting_unregistrations(self) -> int:
        return len(self._core.context.unregister_queue)

    @property
    def slow_turns(self) -> int:
        return self._core.control.slow_turns.count

    @property
    def unwritten(self) -> int:
        """Changes of the KV and configuration files that are not on the disk."""
        return self._writer.unwritten

    @property
    def write_failures(self) -> int:
        """Of these files."""
        return self._writer.failures

    @property
    def certificate_ends_s(self) -> float | None:
        """In seconds since 1970; None until TLS is used."""
        return self.tls.certificate_ends_s

    @property
    def tls_load_failures(self) -> int:
        return self.tls.load_failures

    def counts(self) -> dict[str, int]:
        """Any thread. The lengths of queues and the numbers of connections, for the thread dump."""
        journal = self.journal
        return {
            "requests in the inbox": self.waiting_requests,
            "unregistrations": self.waiting_unregistrations,
            "unconfirmed brokers": len(self.tables.unconfirmed),
            "connections": self.reactors.connections,
            "unsent bytes of the reactors": self.reactors.outgoing_bytes,
            "bytes of unfinished frames at the reactors": self.reactors.incoming_bytes,
            "bytes in the journal's buffer": 0 if journal is None else journal.waiting_bytes,
        }
