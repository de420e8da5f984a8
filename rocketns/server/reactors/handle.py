"""Makes the compiled side of the reactors from the configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocketns._fast.reactor.reactors import Reactors
from rocketns._fast.routes.routes import RouteSlots
from rocketns.config import Configuration
from rocketns.config.tls import TlsMode
from rocketns.protocol import proxy
from rocketns.protocol.codes import RELEASES, SerializeType
from rocketns.server.requests.inbox import waiting_bytes_max

if TYPE_CHECKING:
    from rocketns._fast.reactor.reactors import Limits


def make_reactors(configuration: Configuration, slots: RouteSlots, tls_mode: TlsMode) -> Reactors | None:
    """None with ``--reactors 0``: the asyncio transport carries all connections then. No thread runs yet."""
    if not configuration.limits.reactor_count:
        return None
    reactors = Reactors(slots, configuration.limits.reactor_count, limits_of(configuration, tls_mode))
    reactors.limit_idle(configuration.netty.idle_ms_max)
    journal = configuration.journal
    if journal.journal_path and journal.journal_lookup_seconds:
        reactors.count_lookups(journal.journal_lookup_keys_max, journal.journal_lookup_clients)
    return reactors


def limits_of(configuration: Configuration, tls_mode: TlsMode) -> Limits:
    """The reactors' limits, from the configuration."""
    limits, netty = configuration.limits, configuration.netty
    totals = (limits.incoming_bytes_max, limits.outgoing_bytes_total_max)
    return {
        "frame_bytes_max": limits.frame_bytes_max,
        "in_flight_max": limits.in_flight_max,
        "connections_max": limits.connections_max,
        "held_bytes_max": totals,
        "host_bytes_max": (limits.host_bytes_max(totals[0]), limits.host_bytes_max(totals[1])),
        "listed_bytes_min": (limits.listed_bytes_min(totals[0]), limits.listed_bytes_min(totals[1])),
        "progress_ms_max": limits.progress_seconds * 1000,
        "queued_bytes_max": waiting_bytes_max(limits),
        "first_frames_bytes_max": limits.incoming_bytes_max // 4,
        "small_hosts_frames_bytes_max": limits.incoming_bytes_max * 3 // 8,
        "known_frames_bytes_max": limits.incoming_bytes_max // 2,
        "outgoing_bytes_max": limits.outgoing_bytes_max,
        "high_water_bytes": netty.water_marks[1],
        "send_buffer_bytes": netty.server_socket_snd_buf_size,
        "receive_buffer_bytes": netty.server_socket_rcv_buf_size,
        "detection_bytes": proxy.DETECTION_BYTES,
        "serialize_type": SerializeType[configuration.serialize_type],
        "version": RELEASES[configuration.compatible.compatible_version].version,
        "takes_plain": tls_mode is not TlsMode.ENFORCING,
        "trusts_announced": bool(configuration.access.proxies),
    }
