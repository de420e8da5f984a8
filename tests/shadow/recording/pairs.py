"""Pairs for tests of recordings."""

from __future__ import annotations

from typing import Any

from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from rocketns.shadow.pairs import Pair

ANSWERED = frame(json_header(0, flag=1))


def request(code: int, ext: dict[str, Any] | None = None, body: bytes = b"", *, binary: bool = False) -> bytes:
    """A request in one of the two header forms."""
    if binary:
        return frame(binary_header(code, ext), body, ROCKETMQ)
    return frame(json_header(code, ext), body)


def answer(body: bytes = b"", ext: dict[str, Any] | None = None, *, code: int = 0, **header: Any) -> bytes:
    """An answer with a JSON header."""
    return frame(json_header(code, ext, flag=1, **header), body)


def pair(asked: bytes, upstream: bytes | None = ANSWERED, own: bytes | None = None, connection: int = 1) -> Pair:
    """A pair as a relay sees it."""
    return Pair(connection, "10.0.0.7:40000", 1_700_000_000_000, asked, upstream, own, 1.0, None)
