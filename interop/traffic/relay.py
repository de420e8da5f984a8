"""A relay that notes each request with the answer that it got, and cuts what it heard to what differs.

Its ``label`` stands for the client's address.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import socket
import threading
import time
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from interop.harness.wire import ROCKETMQ, decode_binary_header
from interop.parity.compare import settled
from rocketns.protocol.command import RemotingCommand, decode
from rocketns.protocol.frame import FRAME_SIZE_MAX_BYTES, next_frame
from rocketns.shadow.pairs import Pair
from rocketns.shadow.recording.frames import split

CHUNK = 1 << 16


class Heard:
    """The pairs of all relays, in the order in which they were answered."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = itertools.count(1)
        self.pairs: list[Pair] = []

    def connection(self) -> int:
        return next(self._numbers)

    def note(self, pair: Pair) -> None:
        with self._lock:
            self.pairs.append(pair)


class Listener:
    """The name server at ``to_port`` for one client, behind a port of its own."""

    def __init__(self, label: str, to_port: int, heard: Heard) -> None:
        self._label, self._to_port, self._heard = label, to_port, heard
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._to_port))
                talk = _Talk(self._label, self._heard)
                for source, sink, note in ((near, far, talk.asked), (far, near, talk.answered)):
                    threading.Thread(target=_pass, args=(source, sink, note), daemon=True).start()


class _Talk:
    """One connection: the requests that wait for their answers."""

    def __init__(self, label: str, heard: Heard) -> None:
        self._label, self._heard, self._number = label, heard, heard.connection()
        self._waiting: dict[int, tuple[int, bytes]] = {}
        self._lock = threading.Lock()

    def asked(self, frame: bytes, command: RemotingCommand) -> None:
        if command.is_response:
            return
        at_ms = int(time.time() * 1000)
        if command.is_oneway:
            self._note(at_ms, frame, None)
        else:
            with self._lock:
                self._waiting[command.opaque] = (at_ms, frame)

    def answered(self, frame: bytes, command: RemotingCommand) -> None:
        with self._lock:
            found = self._waiting.pop(command.opaque, None) if command.is_response else None
        if found is not None:
            self._note(*found, frame)

    def _note(self, at_ms: int, request: bytes, answer: bytes | None) -> None:
        self._heard.note(Pair(self._number, self._label, at_ms, request, answer, None, None, None))


def _pass(source: socket.socket, sink: socket.socket, note: object) -> None:
    """Note each frame before it goes on, so that an answer never overtakes its request."""
    assert callable(note)
    buffer = bytearray()
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK):
            buffer += data
            for frame in _frames(buffer):
                note(frame, decode(frame))
            sink.sendall(data)
    for one in (source, sink):
        with contextlib.suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)


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
