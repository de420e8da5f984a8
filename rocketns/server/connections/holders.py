"""How many bytes each connection of the asyncio lane holds, and one that holds the most.

Connections are kept in classes by powers of two, so a change costs little however many there are.
"""

from __future__ import annotations

from itertools import islice
from typing import Generic, TypeVar

Key = TypeVar("Key")

COMPARED_MAX = 64


class Holders(Generic[Key]):
    """``total`` is the sum in bytes."""

    def __init__(self) -> None:
        self.total = 0
        self._bytes: dict[Key, int] = {}
        self._classes: dict[int, dict[Key, None]] = {}

    def hold(self, key: Key, size: int) -> int:
        """The connection holds so many bytes from now on; how many more that is."""
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

        Of more than `COMPARED_MAX` in its power of two it may be another one, which holds at least half as much.
        """
        if not self._classes:
            return None, 0
        first = islice(self._classes[max(self._classes)], COMPARED_MAX)
        key = max(first, key=self._bytes.__getitem__)
        return key, self._bytes[key]
