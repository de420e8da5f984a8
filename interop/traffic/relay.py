"""A relay that notes each request with the answer that it got, and cuts what it heard to what differs.

Its ``label`` stands for the client's address.
"""

from __future__ import annotations

import itertools
import json
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from interop.harness.relay import Relay
from interop.harness.wire import ROCKETMQ, decode_binary_header
from interop.parity.compare import settled
from rocketns._fast.codec.wire import next_frame
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.command import decode
from rocketns.shadow.frames import split
from rocketns.shadow.pairs import Pair

_connections = itertools.count(1)


class Listener(Relay):
    """The name server at ``to_port`` for one client, behind a port of its own. ``heard``: the pairs of all clients, in
    the order in which they were answered."""

    def __init__(self, label: str, to_port: int, heard: list[Pair]) -> None:
        self._label, self._heard = label, heard
        self._numbers: defaultdict[int, int] = defaultdict(lambda: next(_connections))
        self._waiting: dict[tuple[int, int], tuple[int, bytes]] = {}
        super().__init__(to_port)

    def note(self, passed: list[bytearray], number: int, data: bytes) -> None:
        """Each frame is noted before it goes on, so that an answer never overtakes its request."""
        super().note(passed, number, data)
        for frame in _frames(passed[number]):
            command = decode(frame)
            key = number, command.opaque
            if passed is self.sent and not command.is_response:
                self._waiting[key] = int(time.time() * 1000), frame
                if command.is_oneway:
                    self._answered(key, None)
            elif passed is self.received and command.is_response and key in self._waiting:
                self._answered(key, frame)

    def _answered(self, key: tuple[int, int], answer: bytes | None) -> None:
        at_ms, request = self._waiting.pop(key)
        self._heard.append(Pair(self._numbers[key[0]], self._label, at_ms, request, answer, None, None, None))


def _frames(buffer: bytearray) -> Iterator[bytes]:
    """The whole frames at the start of the buffer, which loses them."""
    while (size := next_frame(buffer, 0, FRAME_SIZE_MAX_BYTES)) > 0:
        yield bytes(buffer[:size])
        del buffer[:size]
    assert size == 0, "no frame of RocketMQ"


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
