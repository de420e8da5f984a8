"""PROXY protocol v1 and v2: the header that a load balancer sends first on a connection (haproxy's proxy-protocol.txt).

It takes and refuses the same headers as Netty's HAProxyMessageDecoder, which Java uses. A name server uses only the
announced source address: for log lines, and to share its time fairly between hosts.
"""

from __future__ import annotations

import ipaddress
import re
import struct
from dataclasses import dataclass

from rocketns._fast.codec.proxy_header import fault_of
from rocketns.errors import MalformedFrame
from rocketns.javatext import parse_int

V1_PREFIX = b"PROXY"
V2_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
DETECTION_BYTES = len(V2_SIGNATURE)
V1_LINE_BYTES_MAX = 108  # without CR LF, as Netty counts
V2_BYTES_MAX = 16 + 65_535  # the fixed part and its 16-bit length

# `rocketns.protocol.spec` has the layouts.
_V2_HEAD = struct.Struct(">12sBBH")  # signature, version and command, family and transport, length of what follows
_V2_IPV4 = struct.Struct(">4s4sHH")  # source, destination, their ports
_V2_IPV6 = struct.Struct(">16s16sHH")
_V2_UNIX = struct.Struct(">108s108s")

_LOCAL, _PROXY = 0, 1
_UNIX_FAMILY = 3
_ADDRESSES = {1: _V2_IPV4, 2: _V2_IPV6, _UNIX_FAMILY: _V2_UNIX}
_STREAM, _DATAGRAM = 1, 2

_IPV4 = re.compile(r"[0-9]{1,3}(\.[0-9]{1,3}){3}")


@dataclass(slots=True, frozen=True)
class ProxyHeader:
    """The header's ``size`` in bytes, and ``address:port`` of the real peer; None where the header does not name it."""

    size: int
    source: str | None


def is_proxied(start: bytes) -> bool:
    """Whether a connection's first DETECTION_BYTES announce a PROXY header."""
    return start.startswith(V1_PREFIX) or start == V2_SIGNATURE


def parse(data: bytes) -> ProxyHeader | None:
    """The header at the start of ``data``; None while bytes are missing. MalformedFrame where the connection closes."""
    return _parse_v1(data) if data.startswith(V1_PREFIX) else _parse_v2(data)


def _parse_v1(data: bytes) -> ProxyHeader | None:
    end = data.find(b"\r\n", 0, V1_LINE_BYTES_MAX + 2)
    if end < 0:
        if len(data) >= V1_LINE_BYTES_MAX + 2:
            raise MalformedFrame(f"a PROXY line of more than {V1_LINE_BYTES_MAX} bytes")
        return None
    words = data[:end].decode("ascii", "replace").rstrip(" ").split(" ")  # String.split drops empty words at the end
    return ProxyHeader(end + 2, _v1_source(words))


def _v1_source(words: list[str]) -> str | None:
    if words[0] != "PROXY" or len(words) < 2:
        raise MalformedFrame("not a PROXY line")
    if words[1] == "UNKNOWN":
        return None
    checks = {"TCP4": _ipv4, "TCP6": _ipv6}
    if words[1] not in checks or len(words) != 6:
        raise MalformedFrame("a PROXY line of unknown form")
    source, _ = (checks[words[1]](text) for text in words[2:4])
    ports = [parse_int(text) for text in words[4:6]]
    if any(port is None or not 0 < port <= 65_535 for port in ports):
        raise MalformedFrame("a PROXY line without valid ports")
    return f"{source}:{ports[0]}"


def _ipv4(text: str) -> str:
    if not _IPV4.fullmatch(text) or any(int(part) > 255 for part in text.split(".")):
        raise MalformedFrame("a PROXY line without valid IPv4 addresses")
    return text


def _ipv6(text: str) -> str:
    try:
        address = ipaddress.IPv6Address(text)
    except ValueError as error:
        raise MalformedFrame("a PROXY line without valid IPv6 addresses") from error
    return str(ipaddress.IPv6Address(int(address)))  # without the scope, which may be any text


def _parse_v2(data: bytes) -> ProxyHeader | None:
    if len(data) < _V2_HEAD.size:
        return None
    signature, version_command, family_transport, length = _V2_HEAD.unpack_from(data)
    version, command = version_command >> 4, version_command & 15
    if signature != V2_SIGNATURE or version != 2 or command not in (_LOCAL, _PROXY):
        raise MalformedFrame("a PROXY header of unknown version or command")
    size = _V2_HEAD.size + length
    if len(data) < size:
        return None
    block = data[_V2_HEAD.size : size]
    if command == _LOCAL:
        return ProxyHeader(size, None)
    return ProxyHeader(size, _v2_source(family_transport >> 4, family_transport & 15, block))


def _v2_source(family: int, transport: int, block: bytes) -> str | None:
    if family == transport == 0:
        return None
    if family not in _ADDRESSES or transport not in (_STREAM, _DATAGRAM):
        raise MalformedFrame("a PROXY header of unknown family")
    layout = _ADDRESSES[family]
    if len(block) < layout.size:
        raise MalformedFrame("a PROXY header that is too short for its addresses")
    fault = fault_of(block[layout.size :])
    if fault is not None:
        raise MalformedFrame(fault)
    if family == _UNIX_FAMILY:
        return None
    source, _, source_port, _ = layout.unpack_from(block)
    return f"{ipaddress.ip_address(source)}:{source_port}"
