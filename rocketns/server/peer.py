"""A connection as control knows it, whatever lane carries it."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from rocketns.routeinfo.events import Cause


@runtime_checkable
class Channel(Protocol):
    """A peer by identity. ``in_flight`` counts its requests that control has not answered."""

    address: str
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

    def abort(self, cause: Cause, why: str = "") -> None:
        """End the connection at once; ``cause`` is what the broker on it is unregistered for."""


class FastLane(Protocol):
    """Who may answer look-ups beside control."""

    @property
    def is_behind(self) -> bool:
        """Whether so many answers wait for it that no more should be made."""

    def allow(self, allowed: bool) -> None:
        """False hands every look-up over to control from now on."""
