"""Which name servers are listed: those of ``rocketns.peers`` and this one, as far as they answered lookups lately.

Each is asked for a route, again and again: who answers lookups is ready. No peer of a name server may change what it
answers, so each lookup is for another topic that no broker has.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Mapping
from math import inf
from typing import NamedTuple

from rocketns.addresses import ANY_ADDRESS, bare, with_port
from rocketns.client.name_server import NameServer, UnusableError
from rocketns.client.remoting_client import RemotingClient
from rocketns.client.resolving import others_and_own
from rocketns.config import DiscoveryConfig
from rocketns.protocol.codes import ResponseCode, SerializeType

log = logging.getLogger("rocketns.addressserver")

# Three probes, one every 3 s. Brokers ask every 10 s, clients every 2 min.
LISTED_S = 10.0
EVERY_S = 3.0
ANSWER_WITHIN_S = 2.0
# A name server without brokers is ready, too: brokers must find it before they can register there. One that refuses
# requests without a signature answers those that have one.
READY = (ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST, ResponseCode.NO_PERMISSION)
LOOPBACK = "127.0.0.1"  # a socket for every address takes IPv4, too


class ListedNameServers(NamedTuple):
    """What brokers and clients are told. ``kept_s``: seconds since one of them was ready; None if some are ready."""

    addresses: tuple[str, ...]
    kept_s: float | None = None


class ReadyNameServers:
    """The name servers of the cluster by the addresses that brokers and clients use. Times are seconds of one clock.

    If all fail at once, the last list is kept for ``keep_s``: more likely this server cannot reach them than that all
    are gone, and an empty list would help nobody. One that said that it is not ready is not kept.
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._answered_at_s: dict[str, float | None] = {}
        self._logged = ListedNameServers(())

    def set_addresses(self, addresses: Iterable[str]) -> None:
        """The addresses that may be listed from now on. Known ones keep their last answer."""
        self._answered_at_s = {addr: self._answered_at_s.get(addr) for addr in addresses}

    def answered(self, addr: str, now_s: float) -> None:
        """It answered a lookup, so it is listed for a while."""
        if addr in self._answered_at_s:
            self._answered_at_s[addr] = now_s

    def refused(self, addr: str) -> None:
        """It says itself that it answers no lookups, so it is not listed."""
        if addr in self._answered_at_s:
            self._answered_at_s[addr] = None

    def listed(self, now_s: float) -> ListedNameServers:
        """Sorted, so that all address servers that know the same give the same bytes."""
        answered = {addr: at_s for addr, at_s in self._answered_at_s.items() if at_s is not None}
        last_s = max(answered.values(), default=-inf)
        failed_s = now_s - last_s - LISTED_S
        if failed_s > self._keep_s:
            return ListedNameServers(())
        since_s = min(now_s, last_s) if failed_s > 0 else now_s
        addresses = tuple(sorted(addr for addr, at_s in answered.items() if since_s - at_s <= LISTED_S))
        return ListedNameServers(addresses, failed_s if failed_s > 0 else None)

    def log_changes(self, now_s: float) -> None:
        """Log whatever is listed since the last call, or is not any more."""
        listed, logged = self.listed(now_s), self._logged
        for addr in sorted({*listed.addresses} - {*logged.addresses}):
            log.info("the address server lists the name server %s", addr)
        for addr in sorted({*logged.addresses} - {*listed.addresses}):
            reason = "it answered no lookup lately" if addr in self._answered_at_s else "it was removed from the peers"
            log.warning("the address server no longer lists the name server %s: %s", addr, reason)
        if not listed.addresses and logged.addresses:
            log.error("the address server lists no name server: brokers and clients keep the list that they have")
        if listed.kept_s is not None and logged.kept_s is None:
            log.error("no name server answered the address server for %g s: it goes on listing %s for %g s. Check "
                      "whether they run, and whether this machine reaches them", LISTED_S,
                      ";".join(listed.addresses), self._keep_s)  # fmt: skip
        if listed.kept_s is None and logged.kept_s is not None and listed.addresses:
            log.info("name servers answer the address server again")
        self._logged = listed


class Probing:
    """Runs on the event loop of the address server."""

    def __init__(self, client: RemotingClient, listing: ReadyNameServers, serialize_type: SerializeType) -> None:
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
        self._listing.log_changes(asyncio.get_running_loop().time())

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


async def asked_addresses(config: DiscoveryConfig, bind_address: str, port: int) -> dict[str, str]:
    """Each address that may be listed, with the address at which it is asked.

    Entries of ``peers`` that are this machine and port are this server; ``announcedAddress`` takes their place.
    """
    others, names = await others_and_own(config.peer_addresses, port)
    if config.announced_address or not names:
        names = [config.own_address(bind_address, port)]
    host = bare(bind_address)
    local = with_port(LOOPBACK if host in ANY_ADDRESS else host, port)
    return {addr: addr for addr in others} | {name: local for name in names if name}
