"""What the compiled side of the reactors is given, by the configuration and a policy: limits, networks, rates of hosts;
and what it counted: lookups, and whom the rates refused.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rocketns._fast.access.networks import NetworkFlag, Networks
from rocketns._fast.connections.hosts import HostTable
from rocketns._fast.reactor.reactors import Reactors
from rocketns._fast.routes.routes import RouteSlots
from rocketns.access.policy import Policy
from rocketns.addresses import host_of, shown_account, unpacked
from rocketns.config import Configuration, Limits
from rocketns.config.address_texts import Network, packed
from rocketns.config.tls import TlsMode
from rocketns.protocol.codes import RELEASES, SerializeType, language_name
from rocketns.server.control.answering import DEFERRED_S_MAX
from rocketns.server.control.inbox import waiting_bytes_max
from rocketns.server.control.measures import BOUNDS_S

if TYPE_CHECKING:
    from rocketns._fast.reactor.reactors import ReactorLimits

HANDSHAKE_MS_MAX = 10_000  # as Netty's SslHandler
Flagged = tuple[bytes, int, int]  # as of `Networks`


def make_reactors(configuration: Configuration, slots: RouteSlots, tls_mode: TlsMode) -> Reactors:
    """No thread runs yet."""
    proxies = [(*packed(one), int(NetworkFlag.HAS_EVIDENCE)) for one in configuration.access.proxies]
    limits = limits_of(configuration, tls_mode)
    reactors = Reactors(slots, configuration.limits.reactors, limits, Networks(proxies) if proxies else None)
    reactors.limit_idle(configuration.netty.idle_ms_max)
    return reactors


def limits_of(configuration: Configuration, tls_mode: TlsMode) -> ReactorLimits:
    """The reactors' limits, from the configuration."""
    limits, netty, journal = configuration.limits, configuration.netty, configuration.journal
    counts_lookups = journal.journal_path and journal.journal_lookup_seconds
    incoming, outgoing = limits.incoming_bytes_max, limits.outgoing_bytes_total_max
    of_openssl = incoming * 3 // 4
    return {
        "frame_bytes_max": limits.frame_bytes_max,
        "in_flight_max": limits.in_flight_max,
        "connections_max": limits.connections_max,
        "charged_bytes_max": (incoming, outgoing, of_openssl),
        "host_bytes_max": (limits.host_bytes_max(incoming), limits.host_bytes_max(outgoing), of_openssl // 8),
        "listed_bytes_min": (limits.listed_bytes_min(incoming), limits.listed_bytes_min(outgoing), 1),
        "progress_ms_max": limits.progress_seconds * 1000,
        "queued_bytes_max": waiting_bytes_max(limits),
        "outgoing_bytes_max": limits.outgoing_bytes_max,
        "high_water_bytes": netty.water_marks[1],
        "send_buffer_bytes": netty.server_socket_snd_buf_size,
        "receive_buffer_bytes": netty.server_socket_rcv_buf_size,
        "serialize_type": SerializeType[configuration.serialize_type],
        "version": RELEASES[configuration.compatible.compatible_version].version,
        "accepts_plain": tls_mode is not TlsMode.ENFORCING,
        "accepts_tls": tls_mode is not TlsMode.DISABLED,
        "handshake_ms_max": min(limits.progress_seconds * 1000, HANDSHAKE_MS_MAX),
        "deferred_ms_max": int(DEFERRED_S_MAX * 1000),
        "trusts_announced": bool(configuration.access.proxies),
        "lookup_keys_max": journal.journal_lookup_keys_max if counts_lookups else 0,
        "counts_clients": bool(counts_lookups and journal.journal_lookup_clients),
        "reports_clients": configuration.admin.admin_port > 0,
        "latency_bounds_ns": tuple(round(bound * 1e9) for bound in BOUNDS_S),
    }


def flagged_networks(policy: Policy, proxies: Iterable[Network]) -> list[Flagged]:
    """The networks of a policy, and those of the trusted proxies, whose own address is nobody's."""
    flags = NetworkFlag.HAS_EVIDENCE, NetworkFlag.HAS_EVIDENCE | NetworkFlag.MAY_LOOK_UP
    networks = [*policy.networks(), *((network, False) for network in proxies)]
    return [(*packed(network), flags[may_look_up]) for network, may_look_up in networks]


# Topic, client (with journalLookupClients), language, protocol version, lookups, and those that found no route.
LookupCount = tuple[str | None, str | None, str | None, int | None, int, int]


def drain_counts(reactors: Reactors, overflow: str) -> list[LookupCount]:
    """The lookups since the last call. Those that had no room in the counters have ``overflow`` as topic and client."""
    rows, lookups, misses = reactors.drain_lookups()
    counts: list[LookupCount] = [
        (topic, client, language_name(code), version, n, miss) for topic, client, code, version, n, miss in rows
    ]
    return [*counts, (overflow, overflow, None, None, lookups, misses)] if lookups else counts


log = logging.getLogger("rocketns.rates")

REPORT_INTERVAL_S = 10
# Lines of one report for each property. One more counts the other hosts.
HOSTS_NAMED_MAX = 5


# What is refused, what is done then, and the property that has the limit, in the order of `HostTable.drain_refused`.
REFUSED = (
    ("request", "answered SYSTEM_BUSY", "hostRequestsPerSecond"),
    ("connection", "closed at once", "hostConnectionsPerSecond"),
)


class RateWatch:
    """Control only."""

    def __init__(self, limits: Limits, hosts: HostTable) -> None:
        self._limits = limits
        self._hosts = hosts
        self._reported = 0, 0  # requests and connections that were refused up to the last report
        self.apply()

    def apply(self) -> None:
        """The properties may have changed."""
        self._hosts.limit(self._limits.host_requests_per_second, self._limits.host_connections_per_second)

    def report(self) -> None:
        """Log the hosts that were refused most since the last call. Call it every `REPORT_INTERVAL_S`."""
        refused = self._hosts.refused
        if refused == self._reported:
            return
        totals = [now - then for now, then in zip(refused, self._reported, strict=True)]
        self._reported = refused
        limits = self._limits.host_requests_per_second, self._limits.host_connections_per_second
        rows = self._hosts.drain_refused()
        for kind, (what, done, name) in enumerate(REFUSED):
            by_host = {shown_account(host_of(f"{unpacked(host)}:0")): row[kind] for host, *row in rows if row[kind]}
            first = sorted(by_host, key=lambda host: (-by_host[host], host))[:HOSTS_NAMED_MAX]
            for host in first:
                log.warning("%ss of %s beyond rocketns.%s=%d: %d were %s in the last %d s. If they are wanted, raise "
                            "the property in the configuration file and send SIGHUP",
                            what, host, name, limits[kind], by_host[host], done, REPORT_INTERVAL_S,
                            extra={"host": host, "refused": by_host[host]})  # fmt: skip
            others = totals[kind] - sum(by_host[host] for host in first)
            if others > 0:
                log.warning("%ss of other hosts beyond rocketns.%s=%d: %d were %s in the last %d s",
                            what, name, limits[kind], others, done, REPORT_INTERVAL_S)  # fmt: skip
