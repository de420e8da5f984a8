"""What the host of an address resolves to, and whether that is this machine: name servers may all have one list."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence

from rocketns.addresses import literal, split, with_port

RESOLVE_WITHIN_S = 2.0
IPS_MAX = 16  # of one host; the others are left out


async def addresses_of(host: str, port: int) -> list[str]:
    """The IP addresses of a host, those of IPv4 first, as Java's clients prefer them. OSError, or ValueError for what
    cannot be a host."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    ordered = sorted(found, key=lambda one: one[0] != socket.AF_INET)
    return list(dict.fromkeys(str(one[4][0]) for one in ordered))[:IPS_MAX]


async def every_address(addr: str) -> list[str]:
    """``ip:port`` for each address of a name that has several of one family. Otherwise ``addr`` itself."""
    host, port = split(addr)
    if port is None or literal(host.partition("%")[0]) is not None:
        return [addr]
    try:
        async with asyncio.timeout(RESOLVE_WITHIN_S):
            ips = await addresses_of(host, port)
    except (OSError, ValueError):  # TimeoutError is an OSError; whoever asks the address says what is wrong with it
        return [addr]
    alike = [ip for ip in ips if (":" in ip) == (":" in ips[0])]
    return [with_port(ip, port) for ip in alike] if len(alike) > 1 else [addr]


async def others_and_own(addrs: Sequence[str], own_port: int) -> tuple[list[str], list[str]]:
    """The addresses of other servers, and the addresses of this server (this machine with ``own_port``)."""
    own = await asyncio.gather(*(is_own(addr, own_port) for addr in addrs))
    marked = list(zip(addrs, own, strict=True))
    return [addr for addr, is_this in marked if not is_this], [addr for addr, is_this in marked if is_this]


async def is_own(addr: str, own_port: int) -> bool:
    """Whether ``host:port`` is this machine and ``own_port``. A host that cannot be resolved is not."""
    host, port = split(addr)
    if port != own_port:
        return False
    loop = asyncio.get_running_loop()
    with contextlib.suppress(OSError, ValueError):  # ValueError: it cannot be a host
        async with asyncio.timeout(RESOLVE_WITHIN_S):
            found = await loop.getaddrinfo(host, own_port, type=socket.SOCK_DGRAM)
        return any(_is_of_this_machine(family, address) for family, _, _, _, address in found)
    return False


def _is_of_this_machine(family: int, address: tuple[object, ...]) -> bool:
    """The system binds a socket only to addresses of its own. The scope of an IPv6 address counts, too."""
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind((address[0], 0, *address[2:]))
        except OSError:
            return False
    return True
