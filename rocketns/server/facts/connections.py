"""The numbers of connections, for the management port."""

from __future__ import annotations

from collections.abc import Mapping

from rocketns._fast.connections.rates import HostRates
from rocketns._fast.reactor.reactors import Reactors
from rocketns.routeinfo.connection import Connection
from rocketns.server.reactors.reactor_transport import ReactorTransport


class ConnectionFacts:
    """Any thread may read all of it, but for `of_all`."""

    def __init__(self, reactors: Reactors, transport: ReactorTransport) -> None:
        self._reactors = reactors
        self._transport = transport

    def of_all(self) -> list[Connection]:
        """Control only. The open connections."""
        return list(self._transport.connections)

    @property
    def open(self) -> int:
        return self._reactors.connections

    @property
    def open_with_tls(self) -> int:
        return self._transport.open_with_tls

    @property
    def opened(self) -> tuple[int, int]:
        """How many, without TLS and with it."""
        return self._transport.opened_total - self._transport.opened_with_tls, self._transport.opened_with_tls

    @property
    def ended(self) -> Mapping[int, int]:
        """How many, by `Ending`."""
        return self._transport.endings

    @property
    def turned_away(self) -> int:
        """Connections that were closed at once because there were too many."""
        return self._reactors.turned_away

    @property
    def strangers_closed(self) -> int:
        """Connections that were closed because no network of the access policy has their address."""
        return self._reactors.strangers_closed

    @property
    def rates(self) -> HostRates:
        """What was refused by the rates of hosts."""
        return self._reactors.rates

    @property
    def incoming_bytes(self) -> int:
        """Bytes of unfinished and waiting frames, and OpenSSL's memory."""
        return self._reactors.incoming_bytes

    @property
    def outgoing_bytes(self) -> int:
        """Bytes of answers that peers have not taken."""
        return self._reactors.outgoing_bytes

    @property
    def queued_bytes(self) -> int:
        """Bytes of frames from reactors that control has not decoded."""
        return self._reactors.queued_bytes

    @property
    def handshakes(self) -> tuple[int, int, int]:
        """TLS handshakes that succeeded, that failed, and the nanoseconds spent on all."""
        return self._reactors.handshakes

    @property
    def reactors_started(self) -> int:
        return self._reactors.count

    @property
    def lookups(self) -> tuple[int, int]:
        """Lookups that reactors answered: with a route, and without."""
        counted = self._reactors.counters()
        return sum(found for found, _ in counted), sum(missing for _, missing in counted)

    @property
    def lookups_handed_over(self) -> int:
        return self._transport.lookups_handed_over

    @property
    def signed_lookups(self) -> int:
        """Lookups that reactors answered by a signature that control verified. They are in ``lookups``, too."""
        return sum(self._reactors.signed_lookups())

    def lookup_latencies(self) -> list[tuple[list[int], int]]:
        """With a route, then without: the counts by bucket of BOUNDS_S, and the sum in ns."""
        return self._reactors.latencies()
