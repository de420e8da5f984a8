"""Texts with the addresses of name servers: ``host:port;host:port``."""

from __future__ import annotations

import re

from rocketns.errors import StartupError

# RocketMQ splits at the last colon, so an IPv6 address may stand in brackets or without them, with a scope or without.
ADDRESS = re.compile(r"\S+:[0-9]{1,5}")
SERVERS_MAX = 16


def split_addresses(text: str) -> list[str]:
    """The addresses of a list one by one, as they are written."""
    return [addr.strip() for addr in text.split(";") if addr.strip()]


def check_address(name: str, addr: str) -> None:
    """StartupError, which names the property, unless the text is ``host:port``."""
    _, _, port = addr.rpartition(":")
    if not ADDRESS.fullmatch(addr) or not 0 < int(port) < 65_536:
        raise StartupError(f"{name} has {addr!r}, but each must be host:port")


def check_addresses(name: str, addresses: list[str]) -> None:
    """StartupError, which names the property, for an address that is none, and for too many."""
    for addr in addresses:
        check_address(name, addr)
    if len(addresses) > SERVERS_MAX:
        raise StartupError(f"{name} names {len(addresses)} name servers, but at most {SERVERS_MAX} are allowed")
