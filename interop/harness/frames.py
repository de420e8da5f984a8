"""Reads what passed a relay: whole frames with JSON headers, and requests with their answers."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterator
from typing import Any, NamedTuple

from interop.harness.relay import Relay

ANSWER, ONEWAY = 1, 2


class Frame(NamedTuple):
    """One frame: its header as JSON, and its body."""

    header: dict[str, Any]
    body: bytes

    @property
    def fields(self) -> dict[str, str]:
        """extFields; empty where there are none."""
        return self.header.get("extFields") or {}


def frames(passed: bytes) -> Iterator[Frame]:
    """The whole frames of one direction of a connection, in order."""
    at = 0
    while len(passed) - at >= 8:
        size, word = struct.unpack_from(">iI", passed, at)
        if len(passed) - at < 4 + size:
            return
        body_at = at + 8 + (word & 0xFFFFFF)
        yield Frame(json.loads(passed[at + 8 : body_at]), passed[body_at : at + 4 + size])
        at += 4 + size


def answered(relay: Relay, code: int) -> Iterator[tuple[Frame, Frame]]:
    """(request, answer) of all requests with this code that were answered, by connection."""
    for sent, received in zip(relay.sent, relay.received, strict=False):  # a new connection may have only the one yet
        by_opaque = {one.header["opaque"]: one for one in frames(bytes(received)) if one.header["flag"] & ANSWER}
        for request in frames(bytes(sent)):
            answer = by_opaque.get(request.header["opaque"])
            if request.header["code"] == code and not request.header["flag"] & ANSWER and answer:
                yield request, answer
