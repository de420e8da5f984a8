"""Makes the compiled side of the reactors from the configuration."""

from __future__ import annotations

from dataclasses import dataclass

from rocketns._fast.reactor.reactors import Reactors
from rocketns._fast.routes.routes import RouteSlots
from rocketns.config import Configuration
from rocketns.config.tls import TlsMode
from rocketns.protocol import proxy
from rocketns.protocol.codes import SerializeType
from rocketns.server.requests.inbox import waiting_bytes_max


@dataclass(slots=True)
class ReactorLimits:
    """`rocketns._fast.reactor.reactors.ReactorLimits`."""

    frame_bytes_max: int
    in_flight_max: int
    connections_max: int
    incoming_bytes_max: int
    queued_bytes_max: int
    first_frames_bytes_max: int
    outgoing_bytes_max: int
    outgoing_bytes_total_max: int
    high_water_bytes: int
    send_buffer_bytes: int
    receive_buffer_bytes: int

    @classmethod
    def of(cls, configuration: Configuration) -> ReactorLimits:
        limits, netty = configuration.limits, configuration.netty
        return cls(
            limits.frame_bytes_max,
            limits.in_flight_max,
            limits.connections_max,
            limits.incoming_bytes_max,
            waiting_bytes_max(limits),
            limits.incoming_bytes_max // 4,
            limits.outgoing_bytes_max,
            limits.outgoing_bytes_total_max,
            netty.water_marks[1],
            netty.server_socket_snd_buf_size,
            netty.server_socket_rcv_buf_size,
        )


def make_reactors(configuration: Configuration, slots: RouteSlots, tls_mode: TlsMode) -> Reactors | None:
    """None with ``--reactors 0``: the asyncio transport carries all connections then. No thread runs yet."""
    if not configuration.limits.reactor_count:
        return None
    reactors = Reactors(
        slots,
        configuration.limits.reactor_count,
        ReactorLimits.of(configuration),
        tls_mode is not TlsMode.ENFORCING,
        proxy.DETECTION_BYTES,
        SerializeType[configuration.serialize_type],
        configuration.netty.idle_ms_max,
    )
    journal = configuration.journal
    if journal.journal_path and journal.journal_lookup_seconds:
        reactors.count_lookups(journal.journal_lookup_keys_max, journal.journal_lookup_clients)
    return reactors
