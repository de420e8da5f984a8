"""Whether an address is the server's own: all name servers of a cluster may have the same list."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Sequence

from rocketns.addresses import split

RESOLVE_WITHIN_S = 2.0


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
    with contextlib.suppress(OSError, TimeoutError):
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
