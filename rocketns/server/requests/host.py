"""A connection as control knows it, whatever lane carries it."""

from __future__ import annotations

import contextlib
import socket
from typing import Protocol, runtime_checkable

from rocketns.routeinfo.events import Cause

_MAPPED = bytes(10) + b"\xff\xff"  # of an IPv4 address as IPv6


@runtime_checkable
class Channel(Protocol):
    """A peer by identity. ``in_flight`` counts its requests that control has not answered.

    ``host`` is its address without the port: connections of one host share one account of control's time.
    """

    address: str
    host: str
    in_flight: int

    def __hash__(self) -> int: ...

    @property
    def is_open(self) -> bool: ...

    @property
    def has_ended(self) -> bool: ...

    @property
    def is_full(self) -> bool:
        """Whether its peer leaves answers above the high-water mark untaken: its further requests wait."""

    def write(self, frame: bytes) -> None:
        """Add an answer; what is written to a closed connection vanishes."""

    def flush(self) -> None:
        """Send the answers added so far."""

    def release(self, size: int) -> None:
        """A frame of ``size`` bytes no longer waits for control."""

    def close(self, why: str) -> None:
        """End the connection after what was already written."""

    def abort(self, cause: Cause, why: str = "") -> None:
        """End the connection at once; ``cause`` is what the broker on it is unregistered for."""


def host_of(address: str) -> str:
    """The host of ``host:port``. Of IPv6 the first 64 bits, as one subscriber has all the rest."""
    host = address.rpartition(":")[0]
    if ":" not in host:
        return host
    with contextlib.suppress(OSError):
        packed = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
        return socket.inet_ntoa(packed[12:]) if packed.startswith(_MAPPED) else packed[:8].hex()
    return host


class FastLane(Protocol):
    """Who may answer look-ups beside control."""

    @property
    def is_behind(self) -> bool:
        """Whether so many answers wait for it that no more should be made."""

    def allow(self, allowed: bool) -> None:
        """False hands every look-up over to control from now on."""
