"""rocketns' own limits, each with its unit in its name and a defined behaviour when it is reached.

They may be set in the properties file with the prefix ``rocketns.``, as in ``rocketns.connectionsMax=1000``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from rocketns.config import properties
from rocketns.config.properties import Effect, prop
from rocketns.errors import StartupError
from rocketns.javatext import INT_MAX, parse_int

PREFIX = "rocketns."
FRAME_MAX_LENGTH = "com.rocketmq.remoting.frameMaxLength"
FRAME_BYTES_MAX = 16 * 1024 * 1024
FRAME_BYTES_MIN = 1024  # a look-up with its answer; a registration needs more
BYTES_MIN, BYTES_MAX = 1 << 20, 1 << 40
REACTORS_MAX = 8
KV_BYTES_MAX = 1 << 30


@dataclass(slots=True)
class Limits:
    """What one process takes at the most."""

    frame_bytes_max: int = FRAME_BYTES_MAX  # Java's system property, not a rocketns. property
    connections_max: int = prop(
        50_000, "connections; further ones are closed at once", Effect.START, low=1, high=1_000_000
    )
    incoming_bytes_max: int = prop(
        512 * 1024 * 1024,
        "bytes of unfinished frames; beyond it the connection that holds the most is closed",
        Effect.START,
        long=True,
        low=BYTES_MIN,
        high=BYTES_MAX,
    )
    outgoing_bytes_max: int = prop(
        64 * 1024 * 1024,
        "unsent bytes of one connection; beyond it the connection is closed",
        Effect.START,
        low=64 * 1024,
    )
    outgoing_bytes_total_max: int = prop(
        256 * 1024 * 1024,
        "unsent bytes of all connections; beyond it the connection that holds the most is closed",
        Effect.START,
        long=True,
        low=BYTES_MIN,
        high=BYTES_MAX,
    )
    in_flight_max: int = prop(
        1024, "unanswered requests of one connection; beyond it reading pauses", Effect.START, low=1, high=1_000_000
    )
    reactors: int = prop(
        -1,
        f"threads that may carry plain connections, at most {REACTORS_MAX}; as few as can are in use; "
        "-1 = one for each core, 0 = none: the asyncio loop carries them",
        Effect.START,
        low=-1,
        high=REACTORS_MAX,
    )
    turn_requests_max: int = prop(
        64, "requests answered before sockets are looked at again", Effect.START, low=1, high=100_000
    )

    kv_bytes_max: int = prop(
        16 * 1024 * 1024,
        "bytes of all KV namespaces, keys and values as UTF-8, with 100 more for each namespace and key; "
        "a request 100 that would exceed it is answered SYSTEM_ERROR",
        Effect.START,
        low=1,
        high=KV_BYTES_MAX,
    )
    kv_value_bytes_max: int = prop(
        4 * 1024 * 1024,
        "bytes of one KV namespace, key or value as UTF-8; a request 100 with a larger one is answered SYSTEM_ERROR",
        Effect.START,
        low=1,
        high=FRAME_BYTES_MAX,
    )

    @property
    def reactor_count(self) -> int:
        """How many reactor threads are started; server/reactors/balance.py decides how many of them are in use."""
        wanted = len(os.sched_getaffinity(0)) if self.reactors < 0 else self.reactors
        return min(wanted, REACTORS_MAX)

    def lower_connections(self, connections_max: int) -> None:
        """The system allows fewer connections than were asked for."""
        self.connections_max = connections_max

    def update(self, given: Mapping[str, str], system: Mapping[str, str]) -> None:
        """Take ``rocketns.…`` properties and Java's system property; StartupError for what is not within its bounds."""
        properties.update_own(self, given, PREFIX)
        properties.check(self, PREFIX)
        text = system.get(FRAME_MAX_LENGTH)
        if text is not None:
            frame_max = parse_int(text)
            if frame_max is None or frame_max < FRAME_BYTES_MIN:
                raise StartupError(f"{FRAME_MAX_LENGTH} is {text!r}, but must be a number from {FRAME_BYTES_MIN} "
                                   f"to {INT_MAX}")  # fmt: skip
            self.frame_bytes_max = frame_max
