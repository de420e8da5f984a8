"""Host addresses as texts: with and without brackets, and IPv4 addresses of sockets for both families."""

from __future__ import annotations

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
