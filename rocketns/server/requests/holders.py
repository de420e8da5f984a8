"""The bytes that each connection of the asyncio transport holds, and a connection that holds the most.

Connections are kept in classes by powers of two, so the cost of a change does not depend on their number.
"""

from __future__ import annotations

from itertools import islice
from typing import Generic, Protocol, TypeVar

from rocketns.routeinfo.events import Cause

Key = TypeVar("Key")

COMPARED_MAX = 64

INPUT, OUTPUT = 0, 1  # kinds of bytes: frames that are not processed yet, and unsent answers
TOO_MUCH_UNFINISHED = "over the limit for unfinished frames (incomingBytesMax), and this connection holds the most"
TOO_MUCH_UNSENT = "over the limit for unsent answers (outgoingBytesTotalMax), and this connection holds the most"


class Held(Protocol):
    """A connection, accepted or opened by the server, whose bytes count in the totals."""

    def __hash__(self) -> int: ...

    @property
    def unsent_bytes(self) -> int: ...

    def abort(self, cause: Cause, why: str = "") -> None:
        """End it at once."""


class Holders(Generic[Key]):
    """``total`` is the sum in bytes."""

    def __init__(self) -> None:
        self.total = 0
        self._bytes: dict[Key, int] = {}
        self._classes: dict[int, dict[Key, None]] = {}

    def hold(self, key: Key, size: int) -> int:
        """Set the bytes that the connection holds. Returns the change."""
        before = self._bytes.get(key, 0)
        if size.bit_length() != before.bit_length():
            self._leave(key, before.bit_length())
            if size:
                self._classes.setdefault(size.bit_length(), {})[key] = None
        if size:
            self._bytes[key] = size
        elif before:
            del self._bytes[key]
        self.total += size - before
        return size - before

    def _leave(self, key: Key, number: int) -> None:
        if number:
            members = self._classes[number]
            del members[key]
            if not members:
                del self._classes[number]

    def largest(self) -> tuple[Key | None, int]:
        """The connection that holds the most, and how much.

        If more than `COMPARED_MAX` are in its power of two, it may be one that holds at least half as much.
        """
        if not self._classes:
            return None, 0
        first = islice(self._classes[max(self._classes)], COMPARED_MAX)
        key = max(first, key=self._bytes.__getitem__)
        return key, self._bytes[key]
