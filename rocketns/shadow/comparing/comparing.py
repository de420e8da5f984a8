"""What one pair is: equal, equal but for order, a listed difference, or different, and then in what."""

from __future__ import annotations

import re
from collections import OrderedDict
from hashlib import blake2b
from typing import NamedTuple

from rocketns.languages import N_
from rocketns.protocol.codes import SerializeType
from rocketns.shadow.comparing.even import as_before_5_0, differing
from rocketns.shadow.comparing.explaining import explained
from rocketns.shadow.comparing.listed import listed
from rocketns.shadow.frames import Parts, ReadRequest, split
from rocketns.shadow.pairs import MemberDifference, Outcome, Pair
from rocketns.shadow.tree import UnreadableError

# Bodies that are equal but for order, 200 bytes each.
REMEMBERED_MAX = 50_000
_VERSION = re.compile(rb'"version":-?\d+\}$')
_BINARY_VERSION = slice(3, 5)
_CODE_BYTES = len('{"code":1500')
_TIME = b'"timestamp":'
NO_FRAME = "an answer is no frame"

HASH_BYTES = 16


class PairVerdict(NamedTuple):
    """``listed`` is an id of docs/differences.md. ``differences`` are the first members that differ."""

    outcome: Outcome
    listed: str = ""
    note: str = ""
    differences: tuple[MemberDifference, ...] = ()


EQUAL, ORDER = PairVerdict(Outcome.EQUAL), PairVerdict(Outcome.ORDER)


class Comparing:
    """Remembers which bodies are equal but for order. Its results do not depend on what it remembers."""

    def __init__(self, remembered_max: int = REMEMBERED_MAX) -> None:
        self._remembered_max = remembered_max
        self._remembered: OrderedDict[bytes, None] = OrderedDict()  # the one that was used least recently goes

    def compare(self, pair: Pair, request: ReadRequest | None = None) -> PairVerdict:
        """EQUAL, ORDER, LISTED, DIFFERENT or MISSING. ``request``: the pair's, where it is decoded already."""
        request = request or ReadRequest(pair.request)
        if pair.upstream is None or pair.own is None:
            return _one_missing(pair, request)
        if pair.upstream == pair.own:
            return EQUAL
        try:
            return self._of_frames(pair, request, pair.upstream, as_before_5_0(pair.upstream, pair.own))
        except UnreadableError as error:
            return PairVerdict(Outcome.DIFFERENT, note=f"{NO_FRAME}: {error}")

    def _of_frames(self, pair: Pair, request: ReadRequest, upstream: bytes, own: bytes) -> PairVerdict:
        one, other = split(upstream), split(own)
        if one.kind != other.kind or _plain(one) != _plain(other):
            return _found(pair, request, upstream, own)
        if one.body == other.body:
            return ORDER
        if _TIME in one.body or _TIME in other.body:  # what differs depends on the time
            return _found(pair, request, upstream, own)
        hashes = (blake2b(body, digest_size=HASH_BYTES).digest() for body in (one.body, other.body))
        key = b"".join((request.code.to_bytes(4, "big", signed=True), _code_of(one), *hashes))
        if key not in self._remembered:
            found = _found(pair, request, upstream, own)
            if found.outcome is not Outcome.ORDER:
                return found
            self._remembered[key] = None
        self._remembered.move_to_end(key)
        if len(self._remembered) > self._remembered_max:
            self._remembered.popitem(last=False)
        return ORDER


def _plain(parts: Parts) -> bytes:
    """A header without the number of its release."""
    header = parts.header
    if parts.kind == SerializeType.ROCKETMQ:
        return header[: _BINARY_VERSION.start] + header[_BINARY_VERSION.stop :]
    return _VERSION.sub(b"", header)


def _code_of(parts: Parts) -> bytes:
    """The beginning of a header, in which the response code is: of a fixed length."""
    return parts.header[: 2 if parts.kind == SerializeType.ROCKETMQ else _CODE_BYTES].ljust(_CODE_BYTES)


def _one_missing(pair: Pair, request: ReadRequest) -> PairVerdict:
    if pair.upstream is None and pair.own is None:
        return EQUAL
    if found := listed(pair, request):
        return PairVerdict(Outcome.LISTED, found)
    note = N_("the upstream gave no answer") if pair.upstream is None else N_("rocketns gave no answer")
    return PairVerdict(Outcome.MISSING, note=note)


def _found(pair: Pair, request: ReadRequest, upstream: bytes, own: bytes) -> PairVerdict:
    """By everything that the bytes say."""
    parts = differing(upstream, own, pair.at_ms, no_opaque=request.has_no_opaque, code=request.code)
    if not parts:
        return ORDER
    found = listed(pair._replace(own=own), request)
    return PairVerdict(Outcome.LISTED if found else Outcome.DIFFERENT, found, "", explained(parts))
