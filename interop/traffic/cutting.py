"""Cuts what was heard to what differs: each kind of request of each client once, every change once."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from interop.parity.compare import settled
from interop.harness.wire import ROCKETMQ, decode_binary_header
from rocketns.protocol.command import decode
from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.frames import split


def cut(pairs: Iterable[Pair], home: Path) -> list[Pair]:
    """Without repetitions: the same client, request and answer, but for the opaque. In the same order.

    ``home``: the folder of the name server, which is in no answer then.
    """
    kept: dict[tuple[object, ...], Pair] = {}
    for pair in pairs:
        command = decode(pair.request)
        if pair.upstream is not None or command.is_oneway:
            upstream = None if pair.upstream is None else settled(pair.upstream, home)
            kept.setdefault((pair.peer, _settled(pair.request), _settled(upstream)), pair._replace(upstream=upstream))
    return list(_in_order(kept.values()))


def _in_order(pairs: Collection[Pair]) -> Iterator[Pair]:
    """With times from 0 on that follow the order, which is that of the answers."""
    first = latest = min(pair.at_ms for pair in pairs)
    for pair in pairs:
        latest = max(latest, pair.at_ms)
        yield pair._replace(at_ms=latest - first)


def _settled(frame: bytes | None) -> tuple[object, ...] | None:
    """A frame without its opaque, and without what a signature makes of it."""
    if frame is None:
        return None
    parts = split(frame)
    header = decode_binary_header(parts.header) if parts.kind == ROCKETMQ else json.loads(parts.header)
    return parts.kind, json.dumps(header | {"opaque": 0}, sort_keys=False), parts.body
