"""Asks each name server of the cluster for a route, again and again: who answers lookups is ready.

No peer of a name server may change what it answers, so each lookup is for another topic that no broker has.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from rocketns.addressserver.listing import Listing
from rocketns.client.name_server import NameServer, UnusableError
from rocketns.client.remoting_client import RemotingClient
from rocketns.protocol.codes import ResponseCode, SerializeType

log = logging.getLogger("rocketns.addressserver")

EVERY_S = 3.0
ANSWER_WITHIN_S = 2.0
# A name server without brokers is ready, too: brokers must find it before they can register there. One that refuses
# requests without a signature answers those that have one.
READY = (ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST, ResponseCode.NO_PERMISSION)


class Probing:
    """Runs on the event loop of the address server."""

    def __init__(self, client: RemotingClient, listing: Listing, serialize_type: SerializeType) -> None:
        self._client = client
        self._listing = listing
        self._serialize_type = serialize_type
        self._asked_at: dict[str, str] = {}

    def set_addresses(self, asked_at: Mapping[str, str]) -> None:
        """The addresses that may be listed, each with the one at which it is asked: this server at a local one."""
        self._asked_at = dict(asked_at)
        self._listing.set_addresses(self._asked_at)

    async def run(self) -> None:
        """Ask all of them every EVERY_S, until the task is cancelled."""
        while True:
            await self.ask_all()
            await asyncio.sleep(EVERY_S)

    async def ask_all(self) -> None:
        """Ask each name server once, all at the same time."""
        await asyncio.gather(*(self._ask(addr, at) for addr, at in self._asked_at.items()))
        self._listing.tell_changes(asyncio.get_running_loop().time())

    async def _ask(self, addr: str, asked_at: str) -> None:
        try:
            code = await NameServer(self._client, asked_at, self._serialize_type, ANSWER_WITHIN_S).lookup_code()
        except UnusableError as error:
            log.debug("name server %s: %s", addr, error)
            return
        if code in READY:
            self._listing.answered(addr, asyncio.get_running_loop().time())
        elif code != ResponseCode.SYSTEM_BUSY:  # busy for a moment is no reason to send everyone elsewhere
            log.debug("name server %s answered a lookup with code %d", addr, code)
            self._listing.refused(addr)
