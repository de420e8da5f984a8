"""Which name servers are listed: those of ``rocketns.peers`` and this one, as far as they answered lookups lately.

Each is asked for a route, again and again: who answers lookups is ready. No peer of a name server may change what it
answers, so each lookup is for another topic that no broker has.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping

from rocketns.addresses import ANY_ADDRESS, bare, with_port
from rocketns.client.name_server import NameServer, UnusableError
from rocketns.client.remoting_client import RemotingClient
from rocketns.client.resolving import others_and_own
from rocketns.config import DiscoveryConfig
from rocketns.protocol.codes import ResponseCode, SerializeType

log = logging.getLogger("rocketns.addressserver")

LISTED_S = 10.0  # three probes. Brokers ask every 10 s, clients every 2 min
STALE_S = 3600.0  # the last list, from the last answer of any name server on
ANSWER_WITHIN_S = 2.0
# A name server without brokers is ready, too: brokers must find it before they can register there. One that refuses
# requests without a signature answers those that have one.
READY = (ResponseCode.SUCCESS, ResponseCode.TOPIC_NOT_EXIST, ResponseCode.NO_PERMISSION)


class ReadyNameServers:
    """The name servers of the cluster by the addresses that brokers and clients use. Times are seconds of one clock.

    If all fail at once, the last list is kept for KEPT_S: more likely this server cannot reach them than that all are
    gone, and an empty list would help nobody. One that said that it is not ready is not kept.
    """

    def __init__(self, client: RemotingClient, serialize_type: SerializeType) -> None:
        self._client = client
        self._serialize_type = serialize_type
        self._asked_at: dict[str, str] = {}
        self._answered_at_s: dict[str, float] = {}
        self._logged: tuple[str, ...] = ()
        self._is_stale = False

    def set_addresses(self, asked_at: Mapping[str, str]) -> None:
        """The addresses that may be listed from now on, each with the one at which it is asked: this server at a local
        one. Known ones keep their last answer.
        """
        self._asked_at = dict(asked_at)
        self._answered_at_s = {addr: at_s for addr, at_s in self._answered_at_s.items() if addr in asked_at}

    def answered(self, addr: str, now_s: float) -> None:
        """It answered a lookup, so it is listed for a while."""
        if addr in self._asked_at:
            self._answered_at_s[addr] = now_s

    def refused(self, addr: str) -> None:
        """It says itself that it answers no lookups, so it is not listed."""
        self._answered_at_s.pop(addr, None)

    def _judged_at_s(self, now_s: float) -> float:
        """Now; while the last list is kept, the time of the last answer."""
        last_s = max(self._answered_at_s.values(), default=now_s)
        return last_s if LISTED_S < now_s - last_s <= STALE_S else now_s

    def listed(self, now_s: float) -> tuple[str, ...]:
        """Sorted, so that all address servers that know the same give the same bytes."""
        judged_at_s = self._judged_at_s(now_s)
        return tuple(sorted(addr for addr, at_s in self._answered_at_s.items() if judged_at_s - at_s <= LISTED_S))

    def log_changes(self, now_s: float) -> None:
        """Log whatever is listed since the last call, or is not any more."""
        listed, logged, is_stale = self.listed(now_s), self._logged, self._judged_at_s(now_s) < now_s
        for addr in sorted({*listed} - {*logged}):
            log.info("the address server lists the name server %s", addr)
        for addr in sorted({*logged} - {*listed}):
            reason = "it answered no lookup lately" if addr in self._asked_at else "it was removed from the peers"
            log.warning("the address server no longer lists the name server %s: %s", addr, reason)
        if logged and not listed:
            log.error("the address server lists no name server: brokers and clients keep the list that they have")
        if is_stale and not self._is_stale:
            log.error("no name server answered the address server for %g s: it goes on listing %s, for %g s at most. "
                      "Check whether they run, and whether this machine reaches them",
                      LISTED_S, ";".join(listed), STALE_S)  # fmt: skip
        if self._is_stale and not is_stale and listed:
            log.info("name servers answer the address server again")
        self._logged, self._is_stale = listed, is_stale

    async def ask_all(self) -> None:
        """Ask each name server once, all at the same time."""
        await asyncio.gather(*(self._ask(addr, at) for addr, at in self._asked_at.items()))
        self.log_changes(asyncio.get_running_loop().time())

    async def _ask(self, addr: str, asked_at: str) -> None:
        try:
            code = await NameServer(self._client, asked_at, self._serialize_type, ANSWER_WITHIN_S).lookup_code()
        except UnusableError as error:
            log.debug("name server %s: %s", addr, error)
            return
        if code in READY:
            self.answered(addr, asyncio.get_running_loop().time())
        elif code != ResponseCode.SYSTEM_BUSY:  # busy for a moment is no reason to send everyone elsewhere
            self.refused(addr)


async def asked_addresses(config: DiscoveryConfig, bind_address: str, port: int) -> dict[str, str]:
    """Each address that may be listed, with the address at which it is asked.

    Entries of ``peers`` that are this machine and port are this server; ``announcedAddress`` takes their place.
    """
    others, names = await others_and_own(config.peer_addresses, port)
    if config.announced_address or not names:
        names = [config.own_address(bind_address, port)]
    host = bare(bind_address)
    # A socket for every address takes IPv4, too.
    local = with_port("127.0.0.1" if host in ANY_ADDRESS else host, port)
    return {addr: addr for addr in others} | {name: local for name in names if name}
