"""The limits of rocketns itself. Each has a unit and says what happens when it is reached."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from rocketns.config.properties import Effect, OwnConfig, declared, prop
from rocketns.errors import StartupError
from rocketns.javatext import INT_MAX, parse_int

FRAME_MAX_LENGTH = "com.rocketmq.remoting.frameMaxLength"
FRAME_BYTES_MAX = 16 * 1024 * 1024
FRAME_BYTES_MIN = 1024  # enough for a lookup and its answer; a registration needs more
BYTES_MIN, BYTES_MAX = 1 << 20, 1 << 40
REACTORS_MAX = 8
KV_BYTES_MAX = 1 << 30
NAME_BYTES_MAX = 4096
NAME_BYTES_MIN = 1024  # reactors answer lookups of topics of this length
HOST_PARTS = 8
RATE_MAX = 100_000
START = Effect.START


@dataclass(slots=True)
class Limits(OwnConfig):
    """Upper limits of one process."""

    title = "Limits"

    frame_bytes_max: int = FRAME_BYTES_MAX  # Java's system property, not a rocketns. property
    connections_max: int = prop(
        50_000, "open connections", START, unit="connections", at_limit="further ones are closed at once",
        low=1, high=1_000_000,
    )  # fmt: skip
    incoming_bytes_max: int = prop(
        512 * 1024 * 1024, "unfinished frames of all connections", START, unit="bytes",
        at_limit="connections are closed, the longest without progress first", long=True, low=BYTES_MIN, high=BYTES_MAX,
    )  # fmt: skip
    outgoing_bytes_max: int = prop(
        64 * 1024 * 1024, "unsent answers of one connection", START, unit="bytes",
        at_limit="the connection is closed", low=64 * 1024,
    )  # fmt: skip
    outgoing_bytes_total_max: int = prop(
        256 * 1024 * 1024, "unsent answers of all connections", START, unit="bytes",
        at_limit="connections are closed, the longest without progress first", long=True, low=BYTES_MIN, high=BYTES_MAX,
    )  # fmt: skip
    progress_seconds: int = prop(
        30,
        "time in which 16 KiB of an unfinished frame must come, or its rest, in which a peer must take 16 KiB of its "
        "unsent answers, or their rest, and in which a TLS handshake must end, but in 10 s; 0: no limit",
        START, unit="seconds", at_limit="the connection is closed", low=0, high=86_400,
    )  # fmt: skip
    outgoing_connections_max: int = prop(
        256, "connections that the server itself has open to brokers and to other name servers", START,
        unit="connections", at_limit="the one that was idle for longest is closed; if none is idle, nothing is sent",
        low=1, high=10_000,
    )  # fmt: skip
    outgoing_connections_per_host_max: int = prop(
        16, "of these to one host, and connections opened to it in a second", START, unit="connections",
        at_limit="what would be sent over a further one is dropped", low=1, high=10_000,
    )  # fmt: skip
    host_connections_per_second: int = prop(
        0, "new connections of one host in a second, and at once; 0: no limit", Effect.LIVE, unit="connections/s",
        at_limit="further ones are closed at once", low=0, high=RATE_MAX,
    )  # fmt: skip
    host_requests_per_second: int = prop(
        0, "requests of one host in a second, and at once: as many of all connections from which a broker registered, "
        "and as many of all others; 0: no limit", Effect.LIVE, unit="requests/s",
        at_limit="further ones are answered SYSTEM_BUSY", low=0, high=RATE_MAX,
    )  # fmt: skip
    in_flight_max: int = prop(
        1024, "unanswered requests of one connection", START, unit="requests", at_limit="the connection is not read",
        low=1, high=1_000_000,
    )  # fmt: skip
    reactors: int = prop(
        1,
        "threads that carry connections and answer route lookups. One answers 280,000 lookups a second; further ones "
        "get new connections in turn",
        START,
        unit="threads",
        low=1,
        high=REACTORS_MAX,
    )
    turn_requests_max: int = prop(
        64, "requests in one turn of the control thread", START, unit="requests",
        at_limit="sockets, signals and timers have their turn", low=1, high=100_000,
    )  # fmt: skip
    kv_bytes_max: int = prop(
        16 * 1024 * 1024, "all KV namespaces, keys and values as UTF-8, and 100 more for each namespace and key", START,
        unit="bytes", at_limit="a request 100 that needs more is answered SYSTEM_ERROR", low=1, high=KV_BYTES_MAX,
    )  # fmt: skip
    kv_value_bytes_max: int = prop(
        4 * 1024 * 1024, "one KV namespace, key or value as UTF-8", START, unit="bytes",
        at_limit="a request 100 with a larger one is answered SYSTEM_ERROR", low=1, high=FRAME_BYTES_MAX,
    )  # fmt: skip

    name_bytes_max: int = prop(
        NAME_BYTES_MAX, "one name as UTF-8: cluster, broker, address, HA address, zone, topic, filter server, KV "
        "namespace, KV key, or text of a static-topic mapping", START, unit="bytes",
        at_limit="a request with a longer one is answered SYSTEM_ERROR", low=NAME_BYTES_MIN, high=FRAME_BYTES_MAX,
    )  # fmt: skip

    routes_max: int = prop(
        10_000_000, "routes in all tables: queues of a topic on a broker, static-topic mappings and filter servers; "
        "one more for each 256 characters of their names", START, unit="routes",
        at_limit="a registration or request 217 that would add more is answered SYSTEM_ERROR", low=1,
    )  # fmt: skip
    broker_routes_max: int = prop(
        100_000, "of these, queues of topics of one broker name", START, unit="routes",
        at_limit="a registration or request 217 that would add more is answered SYSTEM_ERROR", low=1,
    )  # fmt: skip
    brokers_max: int = prop(
        20_000, "broker names, live brokers, broker ids of all names, and broker names that clusters list; of each",
        START, unit="brokers", at_limit="a registration that would add more is answered SYSTEM_ERROR", low=1,
        high=1_000_000,
    )  # fmt: skip

    def listed_bytes_min(self, total_max: int) -> int:
        """Half of an even share of a total. A connection that holds less is not closed when the total is exceeded."""
        return max(1, total_max // (2 * self.connections_max))

    def host_bytes_max(self, total_max: int) -> int:
        """A host with more bytes of a total is looked at by itself. It is an eighth, and at least one frame."""
        return max(total_max // HOST_PARTS, self.frame_bytes_max)

    def update_live(self, other: Limits) -> None:
        """Take over what takes effect while the server runs."""
        for declaration in declared(self).values():
            if declaration.metadata["effect"] is Effect.LIVE:
                setattr(self, declaration.name, getattr(other, declaration.name))

    def lower_connections(self, connections_max: int, outgoing_connections_max: int) -> None:
        """The system allows fewer connections than were asked for."""
        self.connections_max, self.outgoing_connections_max = connections_max, outgoing_connections_max

    def read_frame_max(self, system: Mapping[str, str]) -> None:
        """Read Java's system property. StartupError for a value out of its range."""
        text = system.get(FRAME_MAX_LENGTH)
        if text is not None:
            frame_max = parse_int(text)
            if frame_max is None or frame_max < FRAME_BYTES_MIN:
                raise StartupError(f"{FRAME_MAX_LENGTH} is {text!r}, but must be a number from {FRAME_BYTES_MIN} "
                                   f"to {INT_MAX}")  # fmt: skip
            self.frame_bytes_max = frame_max
