"""A model's end of a connection to a name server: whole frames out and in."""

from __future__ import annotations

import itertools
import json
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interop.harness.wire import frame, json_header
from tests.simulation.world.network import Socket
from tests.simulation.world.scheduler import Process

ONEWAY = 2


@dataclass(slots=True)
class Answer:
    """A decoded answer. ``code`` None: none came, because the connection ended or it took too long."""

    code: int | None
    ext: dict[str, str]
    body: bytes

    @property
    def is_success(self) -> bool:
        return self.code == 0


LOST = Answer(None, {}, b"")
Then = Callable[[Answer], None]


class Channel:
    """An open connection. Requests that get no answer in time close it, as Java's client does."""

    def __init__(self, process: Process, socket: Socket, closed: Callable[[Channel], None], version: int = 513) -> None:
        self.is_open = True
        self._process = process
        self._socket = socket
        self._closed = closed
        self._version = version
        self._buffer = bytearray()
        self._waiting: dict[int, Then] = {}
        self._opaques = itertools.count(1)
        self._is_wanted = False
        socket.receiver = self

    def request(self, code: int, ext: dict[str, Any], body: bytes, then: Then, within_us: int) -> None:
        """Send a request. ``then`` is called once."""
        opaque = next(self._opaques)
        self._waiting[opaque] = then
        self._socket.send(frame(json_header(code, ext, opaque=opaque, version=self._version), body))
        self._process.after(within_us, lambda: self._time_out(opaque))

    def oneway(self, code: int, ext: dict[str, Any], body: bytes = b"") -> None:
        header = json_header(code, ext, opaque=next(self._opaques), version=self._version, flag=ONEWAY)
        self._socket.send(frame(header, body))

    def _time_out(self, opaque: int) -> None:
        if opaque in self._waiting:
            self.close()

    def readable(self) -> None:
        if not self._is_wanted:
            self._is_wanted = True
            self._process.after(0, self._read)

    def writable(self) -> None: ...

    def _read(self) -> None:
        self._is_wanted = False
        self._buffer += self._socket.read()
        while len(self._buffer) >= 4 and len(self._buffer) >= (end := 4 + struct.unpack_from(">i", self._buffer)[0]):
            data = bytes(self._buffer[4:end])
            del self._buffer[:end]
            self._take(data)
        if self._socket.has_ended:
            self.close()

    def _take(self, data: bytes) -> None:
        size = int.from_bytes(data[1:4], "big")
        header = json.loads(data[4 : 4 + size])
        then = self._waiting.pop(header["opaque"], None) if header["flag"] & 1 else None
        if then is not None:
            then(Answer(header["code"], header.get("extFields") or {}, data[4 + size :]))

    def close(self) -> None:
        """End the connection. Requests that wait get no answer."""
        if self.is_open:
            self.is_open = False
            self._socket.close()
            self._closed(self)
            waiting, self._waiting = self._waiting, {}
            for then in waiting.values():
                then(LOST)

    def abandon(self) -> None:
        """The process died: the kernel closes the connection, and nobody is told here."""
        self.is_open = False
        self._waiting.clear()
        self._socket.close()

    def vanish(self) -> None:
        """The host lost its power."""
        self.is_open = False
        self._waiting.clear()
        self._socket.vanish()
