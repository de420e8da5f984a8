"""Free loopback ports that stay free: below Linux's ephemeral range, so that no outgoing connection takes one."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterable

FIRST, LAST = 15_000, 30_000
TRIES = 200


def free_port(offsets: Iterable[int] = (0,)) -> int:
    """A port that can be bound on 127.0.0.1 now, together with every ``port + offset``."""
    wanted = tuple(offsets)
    for _ in range(TRIES):
        port = random.randrange(FIRST, LAST)
        if all(_is_free(port + offset) for offset in wanted):
            return port
    raise OSError(f"no free port between {FIRST} and {LAST} in {TRIES} tries")


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
