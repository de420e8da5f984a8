"""Host addresses as texts: with and without brackets, and IPv4 addresses of sockets for both families."""

from __future__ import annotations

import ipaddress

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

# Java listens at every address of both families for 0.0.0.0, too.
ANY_ADDRESS = ("", "0.0.0.0", "::")


def bare(host: str) -> str:
    """Without the brackets that an IPv6 address may have. A scope (``%eth0``) stays."""
    return host[1:-1] if host.startswith("[") and host.endswith("]") else host


def with_port(host: str, port: int) -> str:
    """``host:port``, with brackets around an IPv6 address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def unmapped(host: str) -> str:
    """An IPv4 peer of a socket for both families is ``::ffff:10.0.0.1`` there. Java shows it as IPv4."""
    head, _, tail = host.rpartition(":")
    return tail if head == "::ffff" and "." in tail else host


def literal(host: str) -> Address | None:
    """An IP address as text, with or without brackets. None for any other text. An IPv4 address has one form only."""
    try:
        found = ipaddress.ip_address(bare(host))
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def is_host_of(addr: str, host: str | None) -> bool:
    """Whether ``host:port`` is at the host, an IP address."""
    given = bare(addr.rpartition(":")[0])
    if given == host:
        return True
    # Only addresses of IPv6 have several forms.
    if host is None or not (":" in given or ":" in host):
        return False
    found = literal(given)
    return found is not None and found == literal(host)
