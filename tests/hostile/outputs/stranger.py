"""A stranger with the names that grow most: control characters, which JSON writes in six bytes and the log in four."""

from __future__ import annotations

import random
import struct
import zlib
from dataclasses import dataclass, field

from interop.harness import codes
from interop.harness.payloads import data_version, dumps, register_ext
from interop.harness.wire import Answer, Client

LONG = 4_000
CONTROL = "\x01"
# Those that JSON has no short escape for; any byte → one of them.
CONTROLS = bytes(code for code in range(1, 32) if chr(code) not in "\b\t\n\f\r")
ANY_CONTROL = bytes(CONTROLS[byte % len(CONTROLS)] for byte in range(256))


def deflated(topics: list[str]) -> tuple[bytes, int]:
    """A registration's body with these topics, and its bytes before it was deflated."""
    lines = [topic.encode() + b" 1 1 6 SINGLE_TAG {}" for topic in topics]
    blocks = [dumps(data_version()), *lines, b"[]"]
    parts = [struct.pack(">i", len(block)) + block for block in blocks]
    plain = b"".join([parts[0], struct.pack(">i", len(topics)), *parts[1:], struct.pack(">i", 0)])
    return zlib.compress(plain, 9), len(plain)


@dataclass
class Stranger:
    """Requests on one connection. ``sent`` counts what it sent: header fields, and bodies before they were deflated."""

    client: Client
    sent: int = 0
    version: int = field(default=513)

    def ask(self, code: int, ext: dict[str, str] | None = None, body: bytes = b"", inflated: int = 0) -> Answer:
        self.sent += sum(len(key.encode()) + len(value.encode()) for key, value in (ext or {}).items()) + inflated
        return self.client.request(code, ext, body, binary=True, version=self.version)

    def register(
        self, broker: str, topics: list[str], cluster: str = "C", addr: str = "10.9.9.9:1", **ext: str
    ) -> None:
        """One more broker group."""
        body, inflated = deflated(topics)
        fields = register_ext(cluster, broker, addr, 0, body, compressed="true", **ext)
        assert self.ask(codes.REGISTER_BROKER, fields, body, inflated).code == codes.SUCCESS

    def wipe(self, broker: str, times: int) -> None:
        """Take the write permission of all its topics away, and give it again."""
        for _ in range(times):
            for code in (codes.WIPE_WRITE_PERM_OF_BROKER, codes.ADD_WRITE_PERM_OF_BROKER):
                assert self.ask(code, {"brokerName": broker}).code == codes.SUCCESS


def names(count: int, length: int) -> list[str]:
    """Different names of control characters, mixed: a body that inflates to much more than it has is refused."""
    chance = random.Random(count)
    return [chance.randbytes(length - 6).translate(ANY_CONTROL).decode() + f"{number:06}" for number in range(count)]
