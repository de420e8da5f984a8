"""Which of many holds the most bytes, also host by host.

Classes by powers of two: the cost of a change does not depend on their number.
"""

from __future__ import annotations

from itertools import islice
from typing import Generic, TypeVar

Key = TypeVar("Key")

COMPARED_MAX = 64


class Largest(Generic[Key]):
    """``total`` is the sum in bytes."""

    def __init__(self) -> None:
        self.total = 0
        self._bytes: dict[Key, int] = {}
        self._classes: dict[int, dict[Key, None]] = {}

    def hold(self, key: Key, size: int) -> int:
        """Set the bytes of a key. Returns the change."""
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

    def bytes_of(self, key: Key) -> int:
        """The bytes that were set last for the key."""
        return self._bytes.get(key, 0)

    def _leave(self, key: Key, number: int) -> None:
        if number:
            members = self._classes[number]
            del members[key]
            if not members:
                del self._classes[number]

    def largest(self) -> tuple[Key | None, int]:
        """The key with the most bytes, and how many.

        If more than `COMPARED_MAX` are in its power of two, it may be one that has at least half as many.
        """
        if not self._classes:
            return None, 0
        first = islice(self._classes[max(self._classes)], COMPARED_MAX)
        key = max(first, key=self._bytes.__getitem__)
        return key, self._bytes[key]


class LargestByHost(Generic[Key]):
    """The bytes of connections, by host and of each host by connection."""

    def __init__(self) -> None:
        self.hosts: Largest[str] = Largest()
        self._connections: dict[str, Largest[Key]] = {}

    def hold(self, key: Key, host: str, size: int) -> None:
        """Set the bytes of a connection."""
        of_host = self._connections.setdefault(host, Largest())
        of_host.hold(key, size)
        self.hosts.hold(host, of_host.total)
        if not of_host.total:
            del self._connections[host]

    def largest_of(self, host: str) -> tuple[Key | None, int]:
        """The connection of a host with the most bytes, and how many."""
        of_host = self._connections.get(host)
        return (None, 0) if of_host is None else of_host.largest()
