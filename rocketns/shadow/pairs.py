"""One request with its two answers, and the bytes in which the relay hands it to the judge.

The relay counts pairs of equal frames itself and sends the others, and the first pair of every connection: of it the
judge learns which clients there are, and counts it if it is equal.

A packed pair is a length (of what follows) and the fields below; all numbers are big-endian. A length of -1 is a
missing answer, and not-a-number a missing time. Frames are whole, with their own four bytes of length.
"""

from __future__ import annotations

import math
import struct
from enum import StrEnum
from typing import NamedTuple

# Two answers of 16 MiB, the largest frame of Java's own decoder, and a request. A larger pair is skipped.
PAIR_BYTES_MAX = 40 * 1024 * 1024
PEER_BYTES_MAX = 255
# An own answer that comes so long after the upstream's is `late`.
LATE_MS = 1000.0

_LENGTH = struct.Struct(">I")
# connection, at_ms, upstream_ms, own_ms; bytes of peer, request, upstream's and own answer
_FIELDS = struct.Struct(">qqddHiii")
_NONE = -1


class Outcome(StrEnum):
    """One for each pair. Pairs for which the judge had no room were not compared: they are counted as skipped."""

    EQUAL = "equal"  # the same bytes
    ORDER = "order"  # equal but for the order of lists and maps, time stamps, and the numbers of releases and machines
    LISTED = "listed"  # a listed difference of docs/differences.md; its id is counted too
    SETTLED = "settled"  # differed, and was the same when both were asked again
    NOISE = "noise"  # the reference differs from the upstream in the same place
    LATE = "late"  # rocketns answered more than LATE_MS after the upstream
    DIFFERENT = "different"
    MISSING = "missing"  # one of the two gave no answer
    WARMING = "warming"  # differed soon after the start of rocketns, when brokers had not registered there yet


# What an operator looks at before rocketns replaces the upstream.
UNWANTED = frozenset({Outcome.DIFFERENT, Outcome.LATE, Outcome.MISSING})


class Pair(NamedTuple):
    """A request, and the frames that answered it. ``at_ms`` is the wall clock's when it was read; the two times are
    milliseconds from then to the answer. An answer is None if none came, or the connection closed first."""

    connection: int
    peer: str
    at_ms: int
    request: bytes
    upstream: bytes | None
    own: bytes | None
    upstream_ms: float | None
    own_ms: float | None


# The connection of what is no pair, but a notice of the relay.
NOTICE = -1


def own_began(at_ms: int, addr: str) -> Pair:
    """The relay's notice that its own half answers at ``host:port``, and since when: at the start, and again when the
    half or the judge was started again."""
    return Pair(NOTICE, addr, at_ms, b"", None, None, None, None)


def bounded(pair: Pair) -> bool:
    """Whether the pair fits into a message; the relay counts others as skipped."""
    return len(pair.request) + _size(pair.upstream) + _size(pair.own) <= PAIR_BYTES_MAX - _FIELDS.size - PEER_BYTES_MAX


def packed(pair: Pair) -> bytes:
    """The message of a pair. ValueError if it is not `bounded`."""
    if not bounded(pair):
        raise ValueError(f"a pair of more than {PAIR_BYTES_MAX} bytes")
    peer = pair.peer.encode("utf-8", "replace")[:PEER_BYTES_MAX]
    upstream, own = pair.upstream, pair.own
    fields = _FIELDS.pack(
        pair.connection,
        pair.at_ms,
        _time(pair.upstream_ms),
        _time(pair.own_ms),
        len(peer),
        len(pair.request),
        _NONE if upstream is None else len(upstream),
        _NONE if own is None else len(own),
    )
    size = len(fields) + len(peer) + len(pair.request) + _size(upstream) + _size(own)
    return b"".join((_LENGTH.pack(size), fields, peer, pair.request, upstream or b"", own or b""))


class Unpacking:
    """Pairs from a stream of packed ones. It holds one unfinished message at most, which is below PAIR_BYTES_MAX."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Pair]:
        """The pairs that these bytes finish. ValueError for bytes that no relay sends: the stream is lost then."""
        self._rest += data
        found, start = [], 0
        while (end := self._end(start)) is not None:
            found.append(_unpacked(bytes(memoryview(self._rest)[start + _LENGTH.size : end])))
            start = end
        del self._rest[:start]
        return found

    def _end(self, start: int) -> int | None:
        """Where the message that starts here ends; None while it is not whole."""
        if len(self._rest) < start + _LENGTH.size:
            return None
        (size,) = _LENGTH.unpack_from(self._rest, start)
        if not _FIELDS.size <= size <= PAIR_BYTES_MAX:
            raise ValueError(f"a pair of {size} bytes")
        end = start + _LENGTH.size + int(size)
        return end if end <= len(self._rest) else None


def _unpacked(data: bytes) -> Pair:
    connection, at_ms, upstream_ms, own_ms, *sizes = _FIELDS.unpack_from(data)
    if min(sizes[:2]) < 0 or min(sizes) < _NONE or _FIELDS.size + sum(max(size, 0) for size in sizes) != len(data):
        raise ValueError("a pair whose lengths do not add up")
    parts: list[bytes | None] = []
    start = _FIELDS.size
    for size in sizes:
        parts.append(None if size == _NONE else data[start : start + size])
        start += max(size, 0)
    peer, request, upstream, own = parts
    assert peer is not None
    assert request is not None
    shown = peer.decode("utf-8", "replace")
    return Pair(connection, shown, at_ms, request, upstream, own, _known(upstream_ms), _known(own_ms))


def _size(answer: bytes | None) -> int:
    return 0 if answer is None else len(answer)


def _time(value: float | None) -> float:
    return math.nan if value is None else value


def _known(value: float) -> float | None:
    return None if math.isnan(value) else value
