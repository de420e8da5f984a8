"""What Python callers see of reactors.pyx."""

from typing import Protocol, TypedDict

from rocketns._fast.access.networks import Networks
from rocketns._fast.connections.hosts import HostTable
from rocketns._fast.routes.routes import RouteSlots
from rocketns._fast.tls.openssl import ServerContext

REACTORS_MAX: int

class ReactorLimits(TypedDict):
    """The struct of this name in reactor_state.pxd: bytes, frames and connections. Fixed once the reactors run."""

    frame_bytes_max: int
    in_flight_max: int
    connections_max: int
    charged_bytes_max: tuple[int, int, int]
    """Of all connections together: input that is not worked off, with OpenSSL's memory; unsent answers; OpenSSL's."""
    host_bytes_max: tuple[int, int, int]
    """A host with more is looked at by itself when all together hold too much."""
    listed_bytes_min: tuple[int, int, int]
    """A connection with less is not closed because all together hold too much."""
    progress_ms_max: int
    """A connection without progress for so long is closed; 0 is no limit."""
    queued_bytes_max: int
    outgoing_bytes_max: int
    high_water_bytes: int
    send_buffer_bytes: int
    """0 is the system's own choice, as of ``receive_buffer_bytes``."""
    receive_buffer_bytes: int
    serialize_type: int
    """0 writes JSON headers, 1 binary ones."""
    version: int
    """The release of RocketMQ that the answers follow, as its number in headers."""
    accepts_plain: bool
    accepts_tls: bool
    handshake_ms_max: int
    """Of a PROXY header and a TLS handshake together; 0 is no limit."""
    deferred_ms_max: int
    """A lookup without a route waits so long for registrations that came before it."""
    trusts_announced: bool
    """Whether the address of a PROXY header says in which networks its peer is. False: it is in none."""
    lookup_keys_max: int
    """Of counted lookups, for each reactor; 0 counts none."""
    counts_clients: bool
    """Whether the client is a part of the key."""
    reports_clients: bool
    """Give LOOKED_UP for each connection that looks up."""
    latency_bounds_ns: tuple[int, ...]
    """The upper bounds of the buckets of `Reactors.latencies`: 16, and a last bucket has none."""

class Receiver(Protocol):
    """Takes the messages of the reactors, a method for each `MessageKind` to control. ``connection``: its number."""

    def frame(self, connection: int, frame: bytes | memoryview, is_beyond_rate: bool) -> None:
        """FRAME: a request; only its header where the host made more requests than it may. Then comes `end_frame`."""

    def opened(self, connection: int, host: int, is_tls: bool, peer: tuple[str, str | None, bytes, int]) -> None:
        """OPENED: a connection, with the number of its host. ``peer``: its address; that of its socket, if a PROXY
        header announced the other; its certificate in DER, if its names are proven; the number of its listener.
        """

    def refused(self, ending: int, address: str, reason: str) -> None:
        """REFUSED: a connection ended before it was opened. ``ending``: an `Ending`. ``reason`` may be empty."""

    def tls_wanted(self) -> None:
        """TLS_WANTED: a connection begins with TLS. It waits for `Reactors.use_context`."""

    def closed(self, connection: int, ending: int) -> None:
        """CLOSED: it has ended; ``ending`` is an `Ending`."""

    def answers_delivered(self, connection: int) -> None:
        """DELIVERED: the peer took the answers of a `reply` that asked about it."""

    def looked_up(self, connection: int, language: int, version: int) -> None:
        """LOOKED_UP: its first lookup at a reactor had this language code, or -1, and version."""

class Reactors:
    """The reactors of one server: `listen`, `run` each on a thread, and then `deliver` whenever `fileno` is readable.

    A connection is a number that is never used again. OSError where the system lacks memory or descriptors.

    Control only: `listen`, `deliver`, `reply`, `done_with`, `end_frame`, `count_here`, `drain_lookups`,
    `drain_missing`, `stop`. A reactor's thread: `run`. Any thread: all others.

    ``proxies``: from where PROXY headers count; None: from everywhere.
    """

    slots: RouteSlots
    count: int
    hosts: HostTable

    def __init__(
        self, slots: RouteSlots, count: int, limits: ReactorLimits, proxies: Networks | None = None
    ) -> None: ...
    def run(self, number: int) -> None:
        """A reactor's loop, without the GIL, until `stop`. The last number, ``count``, is the handshake thread's."""

    def use_context(self, made: ServerContext | None) -> None:
        """Control only. New connections with TLS get this context; None: they are closed."""

    def listen(self, listen_fd: int) -> None:
        """Accept from a listening, non-blocking socket that stays the caller's. Call it once for each of 17 at most:
        they are numbered from 0 in that order.
        """

    def fileno(self) -> int:
        """Readable when there is something to `deliver`."""

    def deliver(self, most: int, receiver: Receiver) -> None:
        """Give up to ``most`` messages to the receiver. If it raises, the others wait for the next call.

        Hosts take turns; the messages of a host keep their order. A host is that of the socket, or the announced one if
        only trusted proxies announce hosts.
        """

    def done_with(self, frame_bytes: int, host: int) -> None:
        """A frame no longer waits for control: its bytes make room under ``queued_bytes_max``, and for its host."""

    def end_frame(self) -> None:
        """A frame has taken effect, or never will. With the last one, lookups that wait for them are answered."""

    @property
    def is_applied(self) -> bool:
        """Any thread. Whether all frames that reactors handed over have ended."""

    def reply(
        self,
        connection: int,
        done: int,
        data: bytes | bytearray | memoryview,
        awaits_delivery: bool = False,
        is_broker: bool = False,
        allowed_in: int = 0,
    ) -> None:
        """Send ``data``; ``done`` requests are no longer in flight. Does nothing where the connection is gone.

        With ``awaits_delivery``, DELIVERED comes when the connection's unsent bytes are below the high-water mark.
        ``is_broker``: a broker registered from the connection. It stays so until the next answer.
        ``allowed_in``: not 0 lets reactors answer the connection's lookups under the policy of this generation.
        """

    def set_access(self, lookups_guarded: bool, close_strangers: bool, networks: list[tuple[bytes, int, int]]) -> None:
        """Control only. Put a policy in force for all reactors; until the first call nothing is checked.

        ``networks`` as of `rocketns._fast.access.networks.Networks`, with `NetworkFlag`s. ``lookups_guarded``: reactors
        answer a lookup only if the network has MAY_LOOK_UP, or `remember_allowed` or ``allowed_in`` of `reply` let it
        pass. All other lookups are handed over. ``close_strangers``: a connection from an address without flags is
        closed when it is accepted, and an open one at its next frame. Balancers that send PROXY headers need a flag.

        What was remembered under an earlier policy is forgotten. ValueError and MemoryError come before
        any change.
        """

    def remember_allowed(self, frame: bytes | memoryview) -> bool:
        """Control only. Let reactors answer lookups with the same ext fields, under the present policy.

        Only for a lookup whose signature control has verified, and which everybody may send who has that signature: the
        decision must not depend on the connection. False, and nothing is remembered, if the frame has no signature, has
        a body, has more than 4 KiB of ext fields, or is none that a reactor can answer.
        """

    def count_here(self, change: int) -> bool:
        """Count bytes of answers to this server's own requests as incoming. Over the limit a reactor closes a
        connection for them. False: none is to be closed, or the limit is far exceeded: the caller closes its own.
        """

    def end(self, connection: int) -> None:
        """Close after the unsent answers."""

    def abort(self, connection: int) -> None:
        """Close at once."""

    def lookups_of(self, connection: int) -> int:
        """How many lookups of a connection reactors answered. -1 where it is gone."""

    def limit_idle(self, idle_ms_max: int) -> None:
        """The idle limit of new connections; 0, as at first, is none."""

    def close_idle(self, now_ms: int) -> None:
        """Close the connections that had no byte for their limit."""

    def enable(self, enabled: bool) -> None:
        """Whether reactors answer lookups; otherwise, as at first, they hand all over."""

    def latencies(self) -> list[tuple[list[int], int]]:
        """Of lookups with a route, and of those without: the sampled ones by bucket, and their nanoseconds in all."""

    def drain_lookups(self) -> tuple[list[tuple[str, str | None, int, int, int, int]], int, int]:
        """Rows that were counted since the last call; and lookups and misses that found no room among the rows.

        A row: topic, client where counts are kept by client, language code or -1, version, lookups, misses.
        """

    def drain_missing(self) -> list[tuple[str, int, int, bytes | None, int]]:
        """The topics without a route that reactors were asked for since the last call, at most 128 a reactor.

        A row: topic, lookups, the connection that asked last, its address of 16 bytes, or None where that was announced
        or is no IP address, and the number of the host that asked first. A topic may have a row of each reactor.
        """

    def stop(self) -> None:
        """End the loops. They close all connections."""

    @property
    def rounds(self) -> list[int]:
        """For each reactor, how often it has served all ready sockets."""

    @property
    def has_news(self) -> bool:
        """Whether a message waits to be taken."""

    @property
    def incoming_bytes(self) -> int:
        """Bytes of frames that are incomplete or must wait, and of OpenSSL."""

    @property
    def outgoing_bytes(self) -> int:
        """Bytes of answers that peers have not taken."""

    @property
    def replied_bytes(self) -> int:
        """Bytes of control's answers that no reactor has looked at."""

    @property
    def queued_bytes(self) -> int:
        """Bytes of frames that control has not decoded."""

    @property
    def handshakes(self) -> tuple[int, int, int]:
        """Handshakes that succeeded, that failed, and the nanoseconds spent on all."""

    @property
    def connections(self) -> int:
        """Open connections."""

    @property
    def access_generation(self) -> int:
        """Any thread. How often `set_access` was called."""

    @property
    def strangers_closed(self) -> int:
        """Connections that were closed because their address has no flags."""

    @property
    def turned_away(self) -> int:
        """Connections beyond ``connections_max``, which were closed at once."""

    def lookups_of_views(self) -> list[int]:
        """Those of clients in a view, by its number from 1. Any thread."""

    @property
    def signed_lookups(self) -> int:
        """Lookups that `remember_allowed` let pass. They count in `lookups`, too."""

    @property
    def lookups(self) -> tuple[int, int]:
        """Lookups answered with a route, and with "topic not exist"."""
