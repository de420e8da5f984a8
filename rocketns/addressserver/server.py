"""The address server: an HTTP port that lists the ready name servers.

Java's clients and brokers (DefaultTopAddressing), and those of Go and C++, ask ``GET /rocketmq/nsaddr``, or
``/rocketmq/nsaddr-UNIT?nofix=1`` with a unit name; another word may take the place of nsaddr
(``rocketmq.namesrv.domain.subgroup``). The answer's first line is the list: ``host:port;host:port``. There is one
list, for all of these names. Peers may be anybody.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable

from aiohttp import web

from rocketns.addressserver.listing import ReadyNameServers, asked_addresses
from rocketns.client.remoting_client import RemotingClient
from rocketns.config import Configuration
from rocketns.errors import StartupError
from rocketns.protocol.codes import SerializeType
from rocketns.server.http.connections import HttpGate
from rocketns.server.http.port import AIOHTTP, HttpPort
from rocketns.server.http.secured import TlsPort
from rocketns.server.tls.contexts import TlsContexts

log = logging.getLogger("rocketns.addressserver")

ASKED = re.compile(r"/rocketmq/[^/]+")
# A request takes 0.35 ms of CPU time. 10,000 clients that ask every 2 min are 83 a second.
REQUESTS_PER_S_MAX = 500
EVERY_S = 3.0  # the name servers are asked
COMMON = {"Cache-Control": "no-store", "Server": "rocketns"}
# That a topic does not exist is said in less than 1 KiB.
ANSWER_BYTES_MAX = 64 * 1024
NOTHING_TO_LIST = (
    "rocketns.addressServer would list nothing: the server listens at every address of this machine, and no property "
    "says which of them brokers and clients use. Set rocketns.announcedAddress=host:port, or rocketns.peers"
)


class AddressServer(HttpPort):
    """Made and called by control, except for what its loop calls."""

    def __init__(self, configuration: Configuration, port: int, contexts: TlsContexts) -> None:
        """``port``: where the name server listens. ``contexts``: for ``addressServerTls``. StartupError if its address
        is not usable, or there is nothing to list.
        """
        config = configuration.discovery
        self._config, self._bind_address, self._port = config, configuration.netty.bind_address, port
        if not config.peer_addresses and not config.own_address(self._bind_address, self._port):
            raise StartupError(NOTHING_TO_LIST)
        self._client = RemotingClient(
            lambda: configuration.read_tls().for_own_fleet(), answer_bytes_max=ANSWER_BYTES_MAX, failures=logging.DEBUG
        )
        self._listing = ReadyNameServers(self._client, SerializeType[configuration.serialize_type])
        self._changed = asyncio.Event()
        super().__init__(
            "address server", "address-server", config.address_server_at(self._bind_address),
            HttpGate(requests_per_s_max=REQUESTS_PER_S_MAX),
            TlsPort(contexts) if config.address_server_tls else None,
            ipv4_only=configuration.ipv4_only, chosen_by="rocketns.addressServer",
        )  # fmt: skip

    def reread(self) -> None:
        """``peers`` may have changed."""
        self.call(self._changed.set)

    async def set_up(self) -> Callable[[], asyncio.Protocol]:
        await self._ask_all(addresses_changed=True)
        self._asking = self._loop.create_task(self._ask_again_and_again())
        return web.Server(self._handle, **AIOHTTP)

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        listed = self._listing.listed(self._loop.time())
        if request.method not in ("GET", "HEAD"):
            answer = web.Response(status=405, headers=COMMON | {"Allow": "GET, HEAD"})
        elif not ASKED.fullmatch(request.path):
            answer = web.Response(status=404, headers=COMMON)
        else:  # an empty list with 503: a client that does not look at the status keeps the list that it has, too
            answer = web.Response(text=";".join(listed), status=200 if listed else 503, headers=COMMON)
        answer.force_close()
        return answer

    async def tear_down(self) -> None:
        self._client.close()

    async def _ask_again_and_again(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), EVERY_S)
            await self._ask_all(addresses_changed=self._changed.is_set())

    async def _ask_all(self, *, addresses_changed: bool) -> None:
        """What fails is logged, and tried again after EVERY_S, also the addresses."""
        self._changed.clear()
        try:
            if addresses_changed:
                addresses = await asked_addresses(self._config, self._bind_address, self._port)
                log.info("the address server asks %s whether they are ready", ";".join(sorted(addresses)))
                self._listing.set_addresses(addresses)
            await self._listing.ask_all()
        except Exception:
            log.exception("the address server cannot ask the name servers; it tries again in %g s", EVERY_S)
            self._loop.call_later(EVERY_S, self._changed.set)
