"""To which of the addresses that brokers announce the server opens connections, and whether one refuses them.

Anybody can register any address. So only the host that announced an address is connected to, and the networks of
``rocketns.askNetworks``. Otherwise a stranger could let the server look for open ports of a network behind it.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

from rocketns.addresses import Address, is_host_of, literal, split
from rocketns.config.address_texts import Network

RESOLVE_WITHIN_S = 2.0
RESOLVERS = 2
# To a host name with more addresses there is no connection.
ADDRESSES_MAX = 8
CONNECT_WITHIN_S = 0.5  # a refusal takes one round trip

Resolved = tuple[socket.AddressFamily, tuple[object, ...]]
Resolve = Callable[[str, int], list[Resolved]]


def resolve(host: str, port: int) -> list[Resolved]:
    """All addresses of a host name. Waits for the resolver of the operating system. OSError if there is none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(socket.AddressFamily(family), address) for family, _, _, _, address in found]


class ReachRules:
    """Runs on the event loop's thread. Host names are resolved in threads of their own, at most `RESOLVERS`."""

    def __init__(self, networks: Sequence[Network] = (), resolver: Resolve = resolve) -> None:
        self._networks = tuple(networks)
        self._resolver = resolver
        self._threads: ThreadPoolExecutor | None = None

    def is_out(self, addr: str, announced_by: str | None) -> bool:
        """Whether ``host:port`` is an IP address that the server does not connect to. A host name is looked at later.

        ``announced_by`` is the IP address of the host that registered it, None if that is not known.
        """
        if is_host_of(addr, announced_by):
            return False
        address = literal(addr.rpartition(":")[0])
        return address is not None and not any(address in one and _is_meant(address, one) for one in self._networks)

    async def addresses(self, addr: str, announced_by: str | None) -> list[Resolved]:
        """The addresses of ``host:port``; none if there is no connection to one of them.

        OSError, ValueError or TimeoutError if it cannot be resolved.
        """
        host, port = split(addr)
        if port is None or self.is_out(addr, announced_by):
            return []
        if literal(host) is not None:
            return resolve(host, port)
        found = await self._resolved(host, port)
        far = any(self.is_out(f"{address[0]}:{port}", announced_by) for _, address in found)
        return [] if far or len(found) > ADDRESSES_MAX else found

    async def _resolved(self, host: str, port: int) -> list[Resolved]:
        if self._threads is None:
            self._threads = ThreadPoolExecutor(RESOLVERS, thread_name_prefix="resolver")
        found = asyncio.get_running_loop().run_in_executor(self._threads, self._resolver, host, port)
        return await asyncio.wait_for(found, RESOLVE_WITHIN_S)

    def close(self) -> None:
        """Resolve nothing more. Does not wait for a resolver that is busy."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def _is_meant(address: Address, network: Network) -> bool:
    """A large network does not contain the machine itself, nor its link, where clouds keep their credentials."""
    if address.is_multicast or address.is_unspecified:
        return False
    return (network.is_loopback or not address.is_loopback) and (network.is_link_local or not address.is_link_local)


async def refuses(reach: ReachRules, addr: str, announced_by: str | None) -> bool:
    """Whether every address of ``host:port`` refuses a connection: a time-out, an accepted connection or another error
    proves nothing. Never raises. ``announced_by``: see `ReachRules`. An address that is out of reach is not asked.
    """
    try:
        addresses = await reach.addresses(addr, announced_by)
        return bool(addresses) and all([await _refuses(*one) for one in addresses])
    except (OSError, ValueError, UnicodeError, TimeoutError):
        return False


async def _refuses(family: socket.AddressFamily, address: tuple[object, ...]) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            await asyncio.wait_for(asyncio.get_running_loop().sock_connect(asking, address), CONNECT_WITHIN_S)
        except ConnectionRefusedError:
            return True
    return False
