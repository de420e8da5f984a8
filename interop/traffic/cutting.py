"""Cuts what was heard to what differs: each kind of request of each client once, every change once."""

from __future__ import annotations

import json
from collections.abc import Iterable

from interop.harness import codes
from interop.harness.wire import ROCKETMQ, decode_binary_header
from rocketns.protocol.command import decode
from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.frames import split

# Its answer is full of paths and ports; tests/golden/configuration.txt has it without them.
LEFT_OUT = frozenset({codes.GET_NAMESRV_CONFIG})


def cut(pairs: Iterable[Pair]) -> list[Pair]:
    """Without repetitions: the same client, request and answer, but for the opaque. In the same order."""
    kept: dict[tuple[object, ...], Pair] = {}
    for pair in pairs:
        command = decode(pair.request)
        if command.code not in LEFT_OUT and (pair.upstream is not None or command.is_oneway):
            kept.setdefault((pair.peer, _settled(pair.request), _settled(pair.upstream)), pair)
    return [pair._replace(at_ms=pair.at_ms - _first(kept)) for pair in kept.values()]


def _first(kept: dict[tuple[object, ...], Pair]) -> int:
    return min(pair.at_ms for pair in kept.values())


def _settled(frame: bytes | None) -> tuple[object, ...] | None:
    """A frame without its opaque, and without what a signature makes of it."""
    if frame is None:
        return None
    parts = split(frame)
    header = decode_binary_header(parts.header) if parts.kind == ROCKETMQ else json.loads(parts.header)
    return parts.kind, json.dumps(header | {"opaque": 0}, sort_keys=False), parts.body
