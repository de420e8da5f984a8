"""The facts that the management port shows, by name, and the few things that it may ask for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from rocketns.files import FileWriter
from rocketns.fleet.state import FleetState
from rocketns.processor import client
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG
from rocketns.server.control.measures import Measures
from rocketns.server.core import Core
from rocketns.server.fleet import FleetWatch
from rocketns.server.reactors.transport import ReactorTransport
from rocketns.server.tls.contexts import TlsContexts


class JournalFacts(NamedTuple):
    """The journal's numbers. ``losing``: records that found no room since the last `drop` record. ``failure``: why the
    last attempt to write failed; empty if it did not.
    """

    records: int
    written_bytes: int
    waiting_bytes: int
    losing: int
    lost: int
    failures: int
    failure: str


class Facts:
    """Any thread may read numbers, also how many entries a table has, and what never changes, such as the views in
    force; but no entry.

    Control only: what is in the tables of ``context``, in ``tables``, ``kv`` and ``asked``, the topics without a route;
    all methods of the parts, and of this but ``now``, `why_not_ready` and `counts`.

    Nothing is changed through it, but by `drain`, and by what makes the server count: `measure` and ``watch``, which
    are called before it starts.
    """

    def __init__(
        self, core: Core, name: str, transport: ReactorTransport, tls: TlsContexts, fleet: FleetWatch,
        writer: FileWriter, read_journal: Callable[[], JournalFacts | None],
    ) -> None:  # fmt: skip
        """``name``: bindAddress and the port at which it listens, for people."""
        self.configuration = core.configuration
        self.name = name
        self.context = core.context
        self.tables = core.context.tables
        self.kv: Mapping[str, Mapping[str, str | None]] = core.context.kv_config.config_table
        self.control = core.control
        self.asked = core.missing.asked
        self.slots = core.publisher.slots
        self.stalls = core.stalls
        self.reactors = core.reactors
        self.transport = transport
        self.tls = tls
        self.writer = writer
        self.now = core.clock.now
        self.watch = core.delivery.watch
        self._core = core
        self._fleet = fleet
        self._read_journal = read_journal

    def drain(self, *, begins: bool) -> None:
        """Begin or end the drain."""
        self.context.going_away = begins
        self._core.lookup_switch.update(self.now())

    def measure(self, measures: Measures) -> None:
        """Count requests and turns."""
        self._core.answering.measures = measures

    def order_of(self, topic: str) -> str | None:
        """The order configuration of a topic."""
        return self.context.kv_config.get(NAMESPACE_ORDER_TOPIC_CONFIG, topic)

    def why_not_ready(self) -> str | None:
        """Any thread. None if lookups are answered from complete tables, and the server wants to be asked."""
        context = self.context
        if context.restoring:
            return "the routes are being restored"
        if not self.stalls.has_begun:
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
    def lookups_of_views(self) -> dict[str, int]:
        """Lookups that reactors answered since the start, by the view of the client. Any thread."""
        return self._core.view_counts.totals(self.context.views)

    @property
    def bytes_of_views(self) -> dict[str, int]:
        """Memory at the reactors, by view."""
        sizes = self.slots.view_bytes()
        return {view.name: size for view, size in zip(self.context.views, sizes, strict=False)}

    def counts(self) -> dict[str, int]:
        """Any thread. The lengths of queues and the numbers of connections, for the thread dump."""
        journal = self.journal
        return {
            "requests in the inbox": self.control.waiting_requests,
            "unregistrations": len(self.context.unregister_queue),
            "unconfirmed brokers": len(self.tables.unconfirmed),
            "connections": self.reactors.connections,
            "unsent bytes of the reactors": self.reactors.outgoing_bytes,
            "bytes of unfinished frames at the reactors": self.reactors.incoming_bytes,
            "bytes in the journal's buffer": 0 if journal is None else journal.waiting_bytes,
        }
