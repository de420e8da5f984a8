"""Whether an address refuses connections. A time-out, an accepted connection or another error proves nothing."""

from __future__ import annotations

import asyncio
import socket

from rocketns.server.outgoing.reaching import Reach

CONNECT_WITHIN_S = 0.5  # a refusal takes one round trip


class Refusals:
    """Runs on the event loop's thread."""

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def refuses(self, addr: str, announced_by: str | None) -> bool:
        """Whether every address of ``host:port`` refuses a connection. Never raises.

        ``announced_by``: see `Reach`. An address that is out of reach is not asked.
        """
        try:
            addresses = await self._reach.addresses(addr, announced_by)
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
