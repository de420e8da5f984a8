"""Host addresses as texts: with and without brackets and ports, in lists, IPv4 ones of sockets for both families."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket

from rocketns.javatext import parse_int

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Java listens at every address of both families for 0.0.0.0, too.
ANY_ADDRESS = ("", "0.0.0.0", "::")
_HALF_DIGITS = 16  # of the first 64 bits of an IPv6 address, as `host_of` writes them
_IPV4_MAPPED = bytes(10) + b"\xff\xff"  # the prefix of an IPv4 address written as IPv6
# Lists as people type them, also with the comma, the semicolon and the mark between words of Chinese keyboards. No
# address, network, host name, name of a property or cipher suite has any of these characters.
_SEPARATORS = re.compile("[,;\\s\uff0c\uff1b\u3001]+")
_PORT = re.compile(r"[0-9]{1,5}")
_LABEL = re.compile(r"(?!-)[\w-]{1,63}(?<!-)")
HOST_CHARACTERS_MAX = 253


def listed(text: str) -> list[str]:
    """The items of a list. Commas, semicolons and blanks separate them, also several together."""
    return [item for item in _SEPARATORS.split(text) if item]


def is_host(host: str) -> bool:
    """Whether it can be a host: an IPv6 address with or without brackets, an IPv4 address, or a name of labels."""
    if ":" in host or host.startswith("["):
        found = literal(host)
        return isinstance(found, ipaddress.IPv6Address) or (found is not None and ":" in host)
    labels = host.removesuffix(".").split(".")
    if not all(_LABEL.fullmatch(label) for label in labels) or len(host) > HOST_CHARACTERS_MAX:
        return False
    # No name ends with a label of digits, so this must be an address.
    return not labels[-1].isdecimal() or literal(host) is not None


def read_server(text: str) -> tuple[str, int] | None:
    """Host without brackets, and port. None for a text that cannot be a server: no port, a network, a number, a list.

    An IPv6 address may have brackets or none: its port is behind the last colon, as RocketMQ reads it.
    """
    host, colon, port = text.rpartition(":")
    if not (colon and is_host(host) and _PORT.fullmatch(port) and 0 < int(port) < 65_536):
        return None
    return bare(host), int(port)


def bare(host: str) -> str:
    """Without the brackets that an IPv6 address may have. A scope (``%eth0``) stays."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def with_port(host: str, port: int) -> str:
    """``host:port``, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def split(addr: str) -> tuple[str, int | None]:
    """Host without brackets, and port; the port is None if it is no ``host:port``."""
    host, _, port_text = addr.rpartition(":")
    host, port = host.strip("[]"), parse_int(port_text)
    return host, port if host and port is not None and 0 < port < 65_536 else None


def host_of(address: str) -> str:
    """The host of ``host:port``, as accounts have it. Of IPv6 the first 64 bits: one subscriber owns all the others."""
    host = address.rpartition(":")[0]
    if ":" not in host:
        return host
    with contextlib.suppress(OSError):
        packed = socket.inet_pton(socket.AF_INET6, host.partition("%")[0])
        return socket.inet_ntoa(packed[12:]) if packed.startswith(_IPV4_MAPPED) else packed[:8].hex()
    return host


def unpacked(address: bytes) -> str:
    """An address of 16 bytes as a text; an IPv4 one is mapped there."""
    found = ipaddress.IPv6Address(address)
    return str(found.ipv4_mapped or found)


def shown_account(host: str) -> str:
    """A host as `host_of` has it, as people read it; of IPv6 the network of its first 64 bits."""
    if len(host) == _HALF_DIGITS and ":" not in host and "." not in host:
        with contextlib.suppress(ValueError):
            return str(ipaddress.IPv6Network((bytes.fromhex(host) + bytes(8), 64)))
    return host


def unmapped(host: str) -> str:
    """An IPv4 peer of a socket for both families is ``::ffff:10.0.0.1`` there. Java shows it as IPv4."""
    return str(literal(host) or host)


def literal(host: str) -> Address | None:
    """An IP address as text, with or without brackets. None for any other text. An IPv4 address has one form only."""
    try:
        found = ipaddress.ip_address(bare(host))
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def is_host_of(addr: str, host: str | None) -> bool:
    """Whether ``host:port`` is at the host, an IP address."""
    own = bare(addr.rpartition(":")[0])
    if own == host:
        return True
    # Only addresses of IPv6 have several forms.
    if host is None or not (":" in own or ":" in host):
        return False
    found = literal(own)
    return found is not None and found == literal(host)
