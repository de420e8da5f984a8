"""The numbers of both transports, with and without reactors."""

from __future__ import annotations

from collections.abc import Mapping

from rocketns._fast.reactor.reactors import Reactors
from rocketns.routeinfo.connection import Connection
from rocketns.server.connections.asyncio_transport import AsyncioTransport
from rocketns.server.reactors.balancer import Balancer
from rocketns.server.reactors.reactor_transport import ReactorTransport
from rocketns.server.requests.rates import Rates
from rocketns.server.tls.handshakes import Handshakes


class ConnectionFacts:
    """Any thread may read all of it, but for `of_all`. ``of_loop`` counts the connections of control's loop."""

    def __init__(
        self, loop: AsyncioTransport, reactors: Reactors | None, carried: ReactorTransport | None,
        balancer: Balancer | None,
    ) -> None:  # fmt: skip
        self._loop = loop
        self._reactors = reactors
        self._carried = carried
        self._balancer = balancer

    def of_all(self) -> list[Connection]:
        """Control only. The open connections, those of the reactors first."""
        carried = () if self._carried is None else self._carried.connections
        return [*carried, *self._loop.connections]

    @property
    def open(self) -> int:
        return self.of_loop if self._reactors is None else self._reactors.connections

    @property
    def of_loop(self) -> int:
        return len(self._loop.connections)

    @property
    def of_reactors(self) -> int:
        return 0 if self._reactors is None else max(0, self._reactors.connections - self.of_loop)

    @property
    def opened_by_loop(self) -> int:
        return self._loop.opened_total

    @property
    def opened_by_reactors(self) -> int:
        return 0 if self._carried is None else self._carried.opened_total

    @property
    def ended_by_loop(self) -> Mapping[str, int]:
        """How many, by the reason that the loop's transport gives."""
        return self._loop.ended

    @property
    def ended_by_reactors(self) -> Mapping[int, int]:
        """How many, by `Ending`."""
        return {} if self._carried is None else self._carried.endings

    @property
    def turned_away(self) -> int:
        """Connections that the reactors closed at once because there were too many."""
        return 0 if self._reactors is None else self._reactors.turned_away

    @property
    def strangers_closed(self) -> int:
        """Connections that the reactors closed because no network of the access policy has their address."""
        return 0 if self._reactors is None else self._reactors.strangers_closed

    @property
    def turned_away_by_rate(self) -> int:
        """Likewise, because their host opened too many in a second."""
        return 0 if self._reactors is None else self._reactors.rates.refused_connections

    @property
    def rates(self) -> Rates:
        """What was refused by the rates of hosts, of both transports."""
        return self._loop.rates

    @property
    def incoming_bytes(self) -> int:
        """Bytes of unfinished and waiting frames, of both transports."""
        return (self._reactors or self._loop).incoming_bytes

    @property
    def outgoing_bytes(self) -> int:
        """Bytes of answers that peers have not taken, of both transports."""
        return (self._reactors or self._loop).outgoing_bytes

    @property
    def queued_bytes(self) -> int:
        """Bytes of frames from reactors that control has not decoded."""
        return 0 if self._reactors is None else self._reactors.queued_bytes

    @property
    def handshakes(self) -> Handshakes:
        """The counts of TLS handshakes."""
        return self._loop.handshakes

    @property
    def reactors_started(self) -> int:
        return 0 if self._reactors is None else self._reactors.count

    @property
    def reactors_in_use(self) -> int:
        """The reactors that get new connections."""
        return self.reactors_started if self._balancer is None else self._balancer.balance.active

    @property
    def lookups(self) -> tuple[int, int]:
        """Lookups that reactors answered: with a route, and without."""
        counted = [] if self._reactors is None else self._reactors.counters()
        return sum(found for found, _ in counted), sum(missing for _, missing in counted)

    @property
    def lookups_handed_over(self) -> int:
        return 0 if self._carried is None else self._carried.lookups_handed_over

    @property
    def signed_lookups(self) -> int:
        """Lookups that reactors answered by a signature that control verified. They are in ``lookups``, too."""
        return 0 if self._reactors is None else sum(self._reactors.signed_lookups())

    def lookup_latencies(self) -> list[tuple[list[int], int]]:
        """With a route, then without: the counts by bucket of BOUNDS_S, and the sum in ns. Empty without reactors."""
        return [] if self._reactors is None else self._reactors.latencies()
