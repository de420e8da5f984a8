"""Whether an address refuses connections. A time-out, an accepted connection or another error proves nothing."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from rocketns.javatext import parse_int

CONNECT_WITHIN_S = 0.5  # a refusal takes one round trip
RESOLVE_WITHIN_S = 2.0
RESOLVERS = 2
# Of a host name with more addresses nothing is asked.
ADDRESSES_MAX = 8

Resolve = Callable[[str, int], list[tuple[socket.AddressFamily, tuple[object, ...]]]]


def resolve(host: str, port: int) -> list[tuple[socket.AddressFamily, tuple[object, ...]]]:
    """All addresses of a host name. Waits for the resolver of the operating system. OSError if there is none."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [(socket.AddressFamily(family), address) for family, _, _, _, address in found]


class Refusals:
    """Runs on the event loop's thread. Host names are resolved in threads of their own, at most `RESOLVERS`."""

    def __init__(self, resolver: Resolve = resolve) -> None:
        self._resolver = resolver
        self._threads: ThreadPoolExecutor | None = None

    async def refuses(self, addr: str) -> bool:
        """Whether every address of ``host:port`` refuses a connection. Never raises."""
        try:
            addresses = await self._addresses(addr)
            return 0 < len(addresses) <= ADDRESSES_MAX and all([await _refuses(*one) for one in addresses])
        except (OSError, ValueError, UnicodeError, TimeoutError):
            return False

    async def _addresses(self, addr: str) -> list[tuple[socket.AddressFamily, tuple[object, ...]]]:
        host, _, port_text = addr.rpartition(":")
        host, port = host.strip("[]"), parse_int(port_text)
        if not host or port is None or not 0 < port < 65_536:
            return []
        if _is_literal(host):
            return resolve(host, port)
        if self._threads is None:
            self._threads = ThreadPoolExecutor(RESOLVERS, thread_name_prefix="resolver")
        found = asyncio.get_running_loop().run_in_executor(self._threads, self._resolver, host, port)
        return await asyncio.wait_for(found, RESOLVE_WITHIN_S)

    def close(self) -> None:
        """Resolve nothing more. Does not wait for a resolver that is busy."""
        if self._threads is not None:
            self._threads.shutdown(wait=False, cancel_futures=True)


def _is_literal(host: str) -> bool:
    """Whether it is an IP address, which needs no resolver."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


async def _refuses(family: socket.AddressFamily, address: tuple[object, ...]) -> bool:
    with socket.socket(family, socket.SOCK_STREAM) as asking:
        asking.setblocking(False)
        try:
            await asyncio.wait_for(asyncio.get_running_loop().sock_connect(asking, address), CONNECT_WITHIN_S)
        except ConnectionRefusedError:
            return True
    return False
