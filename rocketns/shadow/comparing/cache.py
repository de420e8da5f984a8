"""What was found of two bodies, by their hashes: peers ask the same again and again, and tables rarely change."""

from __future__ import annotations

from collections import OrderedDict
from hashlib import blake2b
from typing import Generic, TypeVar

Found = TypeVar("Found")

HASH_BYTES = 16


def key(*parts: bytes) -> bytes:
    """A key of two or more parts that nobody can make collide. All but the last two have a fixed length."""
    *small, one, other = parts
    return b"".join((*small, *(blake2b(body, digest_size=HASH_BYTES).digest() for body in (one, other))))


class Cache(Generic[Found]):
    """``most`` entries; the one that was used least recently goes."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[bytes, Found] = OrderedDict()

    def __len__(self) -> int:
        return len(self._found)

    def get(self, of: bytes) -> Found | None:
        """What is known, None for nothing."""
        found = self._found.get(of)
        if found is not None:
            self._found.move_to_end(of)
        return found

    def put(self, of: bytes, found: Found) -> Found:
        """Keep what was found, and return it."""
        self._found[of] = found
        if len(self._found) > self._most:
            self._found.popitem(last=False)
        return found
