"""PROXY protocol v1 and v2, the header that a load balancer puts in front of a connection (haproxy's
proxy-protocol.txt). What is taken and refused is what Netty's HAProxyMessageDecoder, which Java uses, takes and
refuses. On a name server only the announced source address is of use: it stands in log lines.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass

from construct import BitStruct as Bits
from construct import Bytes, ConstructError, Int8ub, Int16ub, Nibble, Struct

from rocketns.errors import MalformedFrame
from rocketns.javatext import parse_int

V1_PREFIX = b"PROXY"
V2_SIGNATURE = b"\r\n\r\n\x00\r\nQUIT\n"
DETECTION_BYTES = len(V2_SIGNATURE)
V1_BYTES_MAX = 108
V2_BYTES_MAX = 16 + 65_535  # the fixed part and its 16-bit length

V2_HEAD = Struct(
    "signature" / Bytes(12),
    "version_command" / Bits("version" / Nibble, "command" / Nibble),
    "family_transport" / Bits("family" / Nibble, "transport" / Nibble),
    "length" / Int16ub,
)
V2_IPV4 = Struct("source" / Bytes(4), "destination" / Bytes(4), "source_port" / Int16ub, "destination_port" / Int16ub)
V2_IPV6 = Struct("source" / Bytes(16), "destination" / Bytes(16), "source_port" / Int16ub, "destination_port" / Int16ub)
V2_TLV_HEAD = Struct("type" / Int8ub, "length" / Int16ub)

_LOCAL, _PROXY = 0, 1
_ADDRESSES = {1: V2_IPV4, 2: V2_IPV6}
_UNIX_BYTES = 216


@dataclass(slots=True, frozen=True)
class ProxyHeader:
    """``size`` bytes to take off; ``source`` is ``address:port`` of the real peer, None where it is not told."""

    size: int
    source: str | None


def is_proxied(start: bytes) -> bool:
    """Whether a connection's first DETECTION_BYTES announce a PROXY header."""
    return start.startswith(V1_PREFIX) or start == V2_SIGNATURE


def parse(data: bytes) -> ProxyHeader | None:
    """The header at the start of ``data``; None while bytes are missing. MalformedFrame where the connection closes."""
    return _parse_v1(data) if data.startswith(V1_PREFIX) else _parse_v2(data)


def _parse_v1(data: bytes) -> ProxyHeader | None:
    end = data.find(b"\r\n", 0, V1_BYTES_MAX)
    if end < 0:
        if len(data) >= V1_BYTES_MAX:
            raise MalformedFrame(f"a PROXY line of more than {V1_BYTES_MAX} bytes")
        return None
    words = data[:end].decode("ascii", "replace").split(" ")
    return ProxyHeader(end + 2, _v1_source(words))


def _v1_source(words: list[str]) -> str | None:
    if words[0] != "PROXY" or len(words) < 2:
        raise MalformedFrame("no PROXY line")
    if words[1] == "UNKNOWN":
        return None
    versions = {"TCP4": 4, "TCP6": 6}
    if words[1] not in versions or len(words) != 6:
        raise MalformedFrame("a PROXY line of unknown form")
    source, _ = (_v1_address(text, versions[words[1]]) for text in words[2:4])
    ports = [parse_int(text) for text in words[4:6]]
    if any(port is None or not 0 <= port <= 65_535 for port in ports):
        raise MalformedFrame("a PROXY line without ports")
    return f"{source}:{ports[0]}"


def _v1_address(text: str, version: int) -> str:
    try:
        address = ipaddress.ip_address(text)
    except ValueError as error:
        raise MalformedFrame("a PROXY line without addresses") from error
    if address.version != version:
        raise MalformedFrame("a PROXY line with addresses of another family")
    return str(address)


def _parse_v2(data: bytes) -> ProxyHeader | None:
    if len(data) < V2_HEAD.sizeof():
        return None
    head = V2_HEAD.parse(data)
    command = head.version_command.command
    if head.version_command.version != 2 or command not in (_LOCAL, _PROXY):
        raise MalformedFrame("a PROXY header of unknown version or command")
    size = V2_HEAD.sizeof() + head.length
    if len(data) < size:
        return None
    return ProxyHeader(size, _v2_source(head, command, data[V2_HEAD.sizeof() : size]))


def _v2_source(head: object, command: int, block: bytes) -> str | None:
    family, transport = head.family_transport.family, head.family_transport.transport  # type: ignore[attr-defined]
    if family > 3 or transport > 2 or (family == 0) != (transport == 0):
        raise MalformedFrame("a PROXY header of unknown family")
    if command == _LOCAL or family == 0:
        return None
    if family not in _ADDRESSES:
        if len(block) < _UNIX_BYTES:
            raise MalformedFrame("a PROXY header that is too short for its addresses")
        return None
    try:
        addresses = _ADDRESSES[family].parse(block)
    except ConstructError as error:
        raise MalformedFrame("a PROXY header that is too short for its addresses") from error
    _check_tlvs(block[_ADDRESSES[family].sizeof() :])
    return f"{ipaddress.ip_address(addresses.source)}:{addresses.source_port}"


def _check_tlvs(rest: bytes) -> None:
    """Netty refuses a type-length-value that runs over the end of the header."""
    at = 0
    while len(rest) - at >= V2_TLV_HEAD.sizeof():
        at += V2_TLV_HEAD.sizeof() + V2_TLV_HEAD.parse(rest[at:]).length
    if at > len(rest):
        raise MalformedFrame("a PROXY header with a cut extension")
