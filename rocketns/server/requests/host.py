"""The host of a connection, by which control's time is shared."""

from __future__ import annotations

import contextlib
import socket

_IPV4_MAPPED = bytes(10) + b"\xff\xff"  # the prefix of an IPv4 address written as IPv6


def host_of(address: str) -> str:
    """The host of ``host:port``. Of an IPv6 address the first 64 bits: one subscriber owns all the others."""
    host = address.rpartition(":")[0]
    if ":" not in host:
        return host
    with contextlib.suppress(OSError):
        packed = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
        return socket.inet_ntoa(packed[12:]) if packed.startswith(_IPV4_MAPPED) else packed[:8].hex()
    return host
