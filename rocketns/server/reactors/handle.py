"""What the compiled side of the reactors is given: limits and networks, from the configuration and a policy."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rocketns._fast.access.networks import NetworkFlag, Networks
from rocketns._fast.reactor.reactors import Reactors
from rocketns._fast.routes.routes import RouteSlots
from rocketns.access.policy import Policy
from rocketns.config import Configuration
from rocketns.config.address_texts import Network, packed
from rocketns.config.tls import TlsMode
from rocketns.protocol.codes import RELEASES, SerializeType
from rocketns.server.requests.deferred_lookups import DEFERRED_S_MAX
from rocketns.server.requests.inbox import waiting_bytes_max

if TYPE_CHECKING:
    from rocketns._fast.reactor.reactors import Limits

HANDSHAKE_MS_MAX = 10_000  # as Netty's SslHandler
Flagged = tuple[bytes, int, int]  # as of `Networks`


def make_reactors(configuration: Configuration, slots: RouteSlots, tls_mode: TlsMode) -> Reactors:
    """No thread runs yet."""
    reactors = Reactors(slots, configuration.limits.reactors, limits_of(configuration, tls_mode))
    reactors.limit_idle(configuration.netty.idle_ms_max)
    if configuration.access.proxies:
        proxies = [(*packed(one), int(NetworkFlag.HAS_EVIDENCE)) for one in configuration.access.proxies]
        reactors.trust_proxies(Networks(proxies))
    journal = configuration.journal
    if journal.journal_path and journal.journal_lookup_seconds:
        reactors.count_lookups(journal.journal_lookup_keys_max, journal.journal_lookup_clients)
    return reactors


def limits_of(configuration: Configuration, tls_mode: TlsMode) -> Limits:
    """The reactors' limits, from the configuration."""
    limits, netty = configuration.limits, configuration.netty
    totals = (limits.incoming_bytes_max, limits.outgoing_bytes_total_max)
    of_openssl = limits.incoming_bytes_max * 3 // 4
    return {
        "frame_bytes_max": limits.frame_bytes_max,
        "in_flight_max": limits.in_flight_max,
        "connections_max": limits.connections_max,
        "held_bytes_max": (*totals, of_openssl),
        "host_bytes_max": (*map(limits.host_bytes_max, totals), of_openssl // 8),
        "listed_bytes_min": (*map(limits.listed_bytes_min, totals), 1),
        "progress_ms_max": limits.progress_seconds * 1000,
        "queued_bytes_max": waiting_bytes_max(limits),
        "first_frames_bytes_max": limits.incoming_bytes_max // 4,
        "small_hosts_frames_bytes_max": limits.incoming_bytes_max * 3 // 8,
        "known_frames_bytes_max": limits.incoming_bytes_max // 2,
        "outgoing_bytes_max": limits.outgoing_bytes_max,
        "high_water_bytes": netty.water_marks[1],
        "send_buffer_bytes": netty.server_socket_snd_buf_size,
        "receive_buffer_bytes": netty.server_socket_rcv_buf_size,
        "serialize_type": SerializeType[configuration.serialize_type],
        "version": RELEASES[configuration.compatible.compatible_version].version,
        "takes_plain": tls_mode is not TlsMode.ENFORCING,
        "takes_tls": tls_mode is not TlsMode.DISABLED,
        "handshake_ms_max": min(limits.progress_seconds * 1000, HANDSHAKE_MS_MAX),
        "deferred_ms_max": int(DEFERRED_S_MAX * 1000),
        "trusts_announced": bool(configuration.access.proxies),
    }


def flagged_networks(policy: Policy, proxies: Iterable[Network]) -> list[Flagged]:
    """The networks of a policy, and those of the trusted proxies, whose own address is nobody's."""
    looks_up = NetworkFlag.HAS_EVIDENCE | NetworkFlag.MAY_LOOK_UP
    flags = {True: looks_up, False: NetworkFlag.HAS_EVIDENCE}
    of_principals = [(*packed(network), flags[may_look_up]) for network, may_look_up in policy.networks()]
    return of_principals + [(*packed(network), NetworkFlag.HAS_EVIDENCE) for network in proxies]
