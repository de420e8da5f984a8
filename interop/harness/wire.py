"""A raw RocketMQ remoting client for tests.

It encodes frames on its own, without rocketns.protocol, so that a test never checks the code against itself,
and it can send what no correct peer would send.
"""

from __future__ import annotations

import itertools
import json
import socket
import struct
import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any

JSON, ROCKETMQ = 0, 1
LANGUAGE_CODES = {"JAVA": 0, "CPP": 1, "PYTHON": 3, "GO": 9, "RUST": 12}
# Deadlines of what always happens, only later where other programs have the cores: long, since none is a measurement.
# Less than the 120 s after which a silent broker expires: what ends by then alone did not happen.
ANSWER_TIMEOUT_S = 60.0
HAPPENS_WITHIN_S = 60.0

_opaques = itertools.count(1)


@dataclass
class Answer:
    """One response frame: the decoded header, its bytes as sent, and the body (None when absent)."""

    header: dict[str, Any]
    header_bytes: bytes
    body: bytes | None
    serialize_type: int

    @property
    def code(self) -> int:
        return self.header["code"]

    @property
    def opaque(self) -> int:
        return self.header["opaque"]

    @property
    def remark(self) -> str | None:
        return self.header.get("remark")

    @property
    def ext(self) -> dict[str, str] | None:
        """extFields, or None where the key is absent (not the same as ``{}``)."""
        return self.header.get("extFields")

    def json(self) -> Any:
        """The body as JSON. Only for standard-mode bodies: unquoted numeric keys fail here."""
        assert self.body is not None, f"no body in {self.header}"
        return json.loads(self.body)


def frame(header: bytes, body: bytes = b"", serialize_type: int = JSON) -> bytes:
    """A whole frame around header bytes of any content."""
    word = (serialize_type << 24) | len(header)
    return struct.pack(">iI", 4 + len(header) + len(body), word) + header + body


def json_header(
    code: int,
    ext: dict[str, Any] | None = None,
    *,
    opaque: int = 1,
    version: int = 513,
    flag: int = 0,
    language: str = "JAVA",
) -> bytes:
    """A JSON header as Java writes it. ``ext=None`` leaves the key out."""
    header: dict[str, Any] = {"code": code}
    if ext is not None:
        header["extFields"] = ext
    header |= {
        "flag": flag,
        "language": language,
        "opaque": opaque,
        "serializeTypeCurrentRPC": "JSON",
        "version": version,
    }
    return json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()


def binary_header(
    code: int,
    ext: dict[str, str] | None = None,
    *,
    opaque: int = 1,
    version: int = 513,
    flag: int = 0,
    language: int = 0,
    remark: bytes = b"",
) -> bytes:
    """A ROCKETMQ (binary) header: RocketMQSerializable.rocketMQProtocolEncode."""
    pairs = bytearray()
    for key, value in (ext or {}).items():
        k, v = key.encode(), value.encode()
        pairs += struct.pack(">h", len(k)) + k + struct.pack(">i", len(v)) + v
    fixed = struct.pack(">hBhii", code, language, version, opaque, flag)
    return fixed + struct.pack(">i", len(remark)) + remark + struct.pack(">i", len(pairs)) + pairs


def decode_binary_header(data: bytes) -> dict[str, Any]:
    """A binary header as a dictionary with the JSON header's keys."""
    code, language, version, opaque, flag, remark_length = struct.unpack_from(">hBhiii", data)
    at = 17
    header: dict[str, Any] = {"code": code, "flag": flag, "language": language, "opaque": opaque, "version": version}
    if remark_length:
        header["remark"] = data[at : at + remark_length].decode()
    at += remark_length
    (ext_length,) = struct.unpack_from(">i", data, at)
    at += 4
    ext, end = {}, at + ext_length
    while at < end:
        (n,) = struct.unpack_from(">h", data, at)
        key, at = data[at + 2 : at + 2 + n].decode(), at + 2 + n
        (n,) = struct.unpack_from(">i", data, at)
        ext[key], at = data[at + 4 : at + 4 + n].decode(), at + 4 + n
    if ext_length:
        header["extFields"] = ext
    return header


@dataclass
class Client:
    """One TCP connection, from the address ``source`` if one is given. Usable as a context manager."""

    port: int
    host: str = "127.0.0.1"
    timeout_s: float = ANSWER_TIMEOUT_S
    source: str | None = None
    socket: socket.socket = field(init=False)
    _buffer: bytearray = field(default_factory=bytearray, init=False)

    def __post_init__(self) -> None:
        source = None if self.source is None else (self.source, 0)
        self.socket = socket.create_connection((self.host, self.port), self.timeout_s, source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self.socket.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def request(
        self,
        code: int,
        ext: dict[str, Any] | None = None,
        body: bytes = b"",
        *,
        binary: bool = False,
        **header: Any,
    ) -> Answer:
        """Send one request and wait for the answer with its opaque; other answers on the way are an error."""
        opaque = self.post(code, ext, body, binary=binary, **header)
        answer = self.receive()
        assert answer.opaque == opaque, f"answer to {answer.opaque}, asked {opaque}"
        return answer

    def post(
        self, code: int, ext: dict[str, Any] | None = None, body: bytes = b"", *, binary: bool = False, **header: Any
    ) -> int:
        """Send one request without waiting; returns its opaque."""
        opaque = header.setdefault("opaque", next(_opaques))
        if binary:
            self.send(frame(binary_header(code, ext, **header), body, ROCKETMQ))
        else:
            self.send(frame(json_header(code, ext, **header), body))
        return opaque

    def receive(self) -> Answer:
        """The next whole answer; ConnectionError if the server closed, TimeoutError if nothing came."""
        data = self.receive_frame()[4:]
        (word,) = struct.unpack(">I", data[:4])
        end = 4 + (word & 0xFFFFFF)
        header_bytes, body, kind = data[4:end], data[end:], word >> 24
        header = decode_binary_header(header_bytes) if kind == ROCKETMQ else json.loads(header_bytes)
        return Answer(header, header_bytes, body or None, kind)

    def receive_frame(self) -> bytes:
        """The bytes of the next whole frame, its length field included; errors as in ``receive``."""
        size = self._exactly(4)
        return size + self._exactly(struct.unpack(">i", size)[0])

    def _exactly(self, n: int) -> bytes:
        while len(self._buffer) < n:
            chunk = self.socket.recv(1 << 16)
            if not chunk:
                raise ConnectionError("closed by the server")
            self._buffer += chunk
        data = bytes(self._buffer[:n])
        del self._buffer[:n]  # unlike bytes, it does not copy the rest
        return data

    @property
    def has_buffered(self) -> bool:
        """Whether bytes were read from the socket that no `receive` has taken."""
        return bool(self._buffer)

    def is_closed_by_server(self, within_s: float = HAPPENS_WITHIN_S) -> bool:
        """Whether the server closes (FIN or RST) within the time, having sent nothing more."""
        self.socket.settimeout(within_s)
        try:
            data = self.socket.recv(1)
            assert not data, f"the server sent {data!r}"
            return True
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        finally:
            self.socket.settimeout(self.timeout_s)


def eventually(condition: Any, within_s: float = HAPPENS_WITHIN_S, every_s: float = 0.02) -> Any:
    """Poll until ``condition()`` is truthy and return its value; AssertionError when time is up."""
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {within_s} s: {condition}"
        time.sleep(every_s)
    return value
