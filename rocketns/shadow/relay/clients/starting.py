"""How a connection begins: with a frame, a PROXY header before it, or TLS."""

from __future__ import annotations

from enum import Enum

from rocketns.errors import MalformedFrame
from rocketns.protocol.proxy import DETECTION_BYTES, is_proxied, parse
from rocketns.server.tls.connection import HANDSHAKE_MAGIC_CODE


class Start(Enum):
    """What is passed unread."""

    TLS = "TLS"
    OTHER = "no frame"


def start_of(data: bytes) -> Start | int:
    """Where the first frame begins in a connection's first bytes; its own bytes are not looked at."""
    if data[0] == HANDSHAKE_MAGIC_CODE:
        return Start.TLS
    if not is_proxied(data[:DETECTION_BYTES]):
        return 0
    try:
        header = parse(data)
    except MalformedFrame:
        return Start.OTHER
    return Start.OTHER if header is None else header.size


def header_for(client: tuple[str, int], server: tuple[str, int]) -> bytes:
    """The PROXY header, version 1, that tells the upstream who the client is: addresses and ports of both ends."""
    family = "TCP6" if ":" in client[0] else "TCP4"
    source, target = (host.partition("%")[0] for host in (client[0], server[0]))  # a scope means nothing elsewhere
    return f"PROXY {family} {source} {target} {client[1]} {server[1]}\r\n".encode("ascii")
