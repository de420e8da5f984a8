"""rocketns' own limits, each with its unit in its name and a defined behaviour when it is reached.

They may be set in the properties file with the prefix ``rocketns.``, as in ``rocketns.connectionsMax=1000``.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from rocketns.config import properties
from rocketns.config.properties import Effect, prop
from rocketns.javatext import parse_int

PREFIX = "rocketns."
FRAME_MAX_LENGTH = "com.rocketmq.remoting.frameMaxLength"
FRAME_BYTES_MAX = 16 * 1024 * 1024
REACTORS_MAX = 8


@dataclass(slots=True)
class Limits:
    """What one process takes at the most."""

    frame_bytes_max: int = FRAME_BYTES_MAX  # Java's system property, not a rocketns. property
    connections_max: int = prop(50_000, "connections; further ones are closed at once", Effect.START)
    incoming_bytes_max: int = prop(
        512 * 1024 * 1024,
        "bytes of unfinished frames; beyond it the connection that holds the most is closed",
        Effect.START,
        long=True,
    )
    outgoing_bytes_max: int = prop(
        64 * 1024 * 1024, "unsent bytes of one connection; beyond it the connection is closed", Effect.START
    )
    in_flight_max: int = prop(1024, "unanswered requests of one connection; beyond it reading pauses", Effect.START)
    reactors: int = prop(
        -1,
        f"threads that may carry plain connections, at most {REACTORS_MAX}; as few as can are in use; "
        "-1 = one for each core, 0 = none: the asyncio loop carries them",
        Effect.START,
    )
    turn_requests_max: int = prop(64, "requests answered before sockets are looked at again", Effect.START)

    @property
    def reactor_count(self) -> int:
        """How many reactor threads there are to be; how many of them are in use is measured (server/balance.py)."""
        wanted = len(os.sched_getaffinity(0)) if self.reactors < 0 else self.reactors
        return min(wanted, REACTORS_MAX)

    def update(self, given: Mapping[str, str], system: Mapping[str, str]) -> None:
        """Take ``rocketns.…`` properties and Java's system properties; what does not parse is left alone."""
        own = {key.removeprefix(PREFIX): text for key, text in given.items() if key.startswith(PREFIX)}
        properties.update(self, own)
        frame_max = parse_int(system.get(FRAME_MAX_LENGTH, ""))
        if frame_max is not None and frame_max > 0:
            self.frame_bytes_max = frame_max
