"""Texts with the addresses of name servers: ``host:port;host:port``, as `rocketns.addresses.listed` separates them."""

from __future__ import annotations

from rocketns.addresses import read_server
from rocketns.errors import StartupError

SERVERS_MAX = 16


def check_address(name: str, addr: str) -> None:
    """StartupError, which names the property, unless the text is ``host:port``."""
    if read_server(addr) is None:
        raise StartupError(f"{name} has {addr!r}, but each must be host:port")


def check_addresses(name: str, addresses: list[str]) -> None:
    """StartupError, which names the property, for an address that is none, and for too many."""
    for addr in addresses:
        check_address(name, addr)
    if len(addresses) > SERVERS_MAX:
        raise StartupError(f"{name} names {len(addresses)} name servers, but at most {SERVERS_MAX} are allowed")
