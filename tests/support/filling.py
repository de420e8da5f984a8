"""A peer that sends as much as it can and reads nothing."""

from __future__ import annotations

import contextlib
import socket


def fill(to: socket.socket, data: bytes) -> None:
    """Send it again and again, until the system takes no more."""
    timeout_s, at = to.gettimeout(), 0
    to.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            at = (at + to.send(data[at:])) % len(data)
    to.settimeout(timeout_s)
