"""PROXY protocol headers as a load balancer writes them, assembled by hand (haproxy's proxy-protocol.txt)."""

from __future__ import annotations

import socket
import struct

SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
LOCAL, PROXY = 0, 1
UNSPEC, TCP4, UDP4, TCP6, UDP6, UNIX_STREAM, UNIX_DGRAM = 0x00, 0x11, 0x12, 0x21, 0x22, 0x31, 0x32

UNIX_ADDRESSES = b"/run/a".ljust(108, b"\0") + b"/run/b".ljust(108, b"\0")


def v1(protocol: str, source: str, destination: str, *ports: int | str) -> bytes:
    """``v1("TCP4", "192.0.2.7", "192.0.2.1", 56324, 443)``."""
    return f"PROXY {protocol} {source} {destination} {' '.join(map(str, ports))}\r\n".encode()


def v2(family: int, block: bytes = b"", *, command: int = PROXY, version: int = 2, length: int | None = None) -> bytes:
    """A v2 header around any address block (with its TLVs). ``length`` replaces the correct length."""
    size = len(block) if length is None else length
    return SIGNATURE + struct.pack(">BBH", version << 4 | command, family, size) + block


def addresses4(source: str, port: int, destination: str = "192.0.2.1", destination_port: int = 9876) -> bytes:
    packed = socket.inet_pton(socket.AF_INET, source) + socket.inet_pton(socket.AF_INET, destination)
    return packed + struct.pack(">HH", port, destination_port)


def addresses6(source: str, port: int, destination: str = "2001:db8::1", destination_port: int = 9876) -> bytes:
    packed = socket.inet_pton(socket.AF_INET6, source) + socket.inet_pton(socket.AF_INET6, destination)
    return packed + struct.pack(">HH", port, destination_port)


def tlv(kind: int, value: bytes, *, length: int | None = None) -> bytes:
    """A type-length-value. ``length`` replaces the correct length."""
    return struct.pack(">BH", kind, len(value) if length is None else length) + value
