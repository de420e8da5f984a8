"""A relay that notes each request with the answer that it got. Its ``label`` stands for the client's address."""

from __future__ import annotations

import contextlib
import itertools
import socket
import threading
import time
from collections.abc import Iterator

from rocketns.protocol.command import RemotingCommand, decode
from rocketns.protocol.frame import FRAME_SIZE_MAX_BYTES, next_frame
from rocketns.shadow.pairs import Pair

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
