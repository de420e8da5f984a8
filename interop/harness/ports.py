"""Free loopback ports that stay free: below Linux's ephemeral range, so that no outgoing connection takes one, and of
several workers each from a part of its own. A port is free until it is used, so the last ones are not given again."""

from __future__ import annotations

import os
import random
import re
import socket
from collections import deque
from collections.abc import Iterable

FIRST, LAST = 15_000, 30_000
TRIES = 200
WORKERS_MAX = 15

IPV6 = "::1"

_given: deque[int] = deque(maxlen=100)


def free_port(offsets: Iterable[int] = (0,)) -> int:
    """A port that can be bound on 127.0.0.1 now, together with every ``port + offset``."""
    wanted = tuple(offsets)
    for _ in range(TRIES):
        port = random.randrange(*_part())
        ports = [port + offset for offset in wanted]
        if all(one not in _given and _is_free(one) for one in ports):
            _given.extend(ports)
            return port
    raise OSError(f"no free port between {FIRST} and {LAST} in {TRIES} tries")


def _part() -> tuple[int, int]:
    """The ports of this process: of all where it is no worker."""
    worker = re.fullmatch(r"gw(\d+)", os.environ.get("PYTEST_XDIST_WORKER", ""))
    if worker is None:
        return FIRST, LAST
    size = (LAST - FIRST) // WORKERS_MAX
    start = FIRST + int(worker[1]) % WORKERS_MAX * size
    return start, start + size


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def has_ipv6() -> bool:
    """Whether this machine has the loopback address of IPv6."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind((IPV6, 0))
    except OSError:
        return False
    return True
