"""The address server: an HTTP port that lists the ready name servers.

Java's clients and brokers (DefaultTopAddressing), and those of Go and C++, ask ``GET /rocketmq/nsaddr``, or
``/rocketmq/nsaddr-UNIT?nofix=1`` with a unit name; another word may take the place of nsaddr
(``rocketmq.namesrv.domain.subgroup``). The answer's first line is the list: ``host:port;host:port``. There is one
list, for all of these names. Peers may be anybody.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Coroutine
from dataclasses import replace

from aiohttp import web

from rocketns.addressserver.listing import ListedNameServers, Probing, ReadyNameServers, asked_addresses
from rocketns.client.remoting_client import RemotingClient
from rocketns.config import Configuration
from rocketns.config.tls import TlsConfig, TlsMode
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
# Seconds since a name server was ready, where a list is given although none is.
KEPT = "X-Rocketns-Kept-Seconds"
COMMON = {"Cache-Control": "no-store", "Server": "rocketns"}
# That a topic does not exist is said in less than 1 KiB.
ANSWER_BYTES_MAX = 64 * 1024
NOTHING_TO_LIST = (
    "rocketns.addressServer would list nothing: the server listens at every address of this machine, and no property "
    "says which of them brokers and clients use. Set rocketns.announcedAddress=host:port, or rocketns.peers"
)


class AddressServer(HttpPort):
    """Made and called by control, except for what its loop calls."""

    def __init__(self, configuration: Configuration, contexts: TlsContexts | None = None) -> None:
        """``contexts``: for ``addressServerTls``. StartupError if its address is not usable, or there is nothing
        to list.
        """
        netty, config = configuration.netty, configuration.discovery
        self._config, self._bind_address, self._port = config, netty.bind_address, netty.listen_port
        if not config.peer_addresses and not config.own_address(self._bind_address, self._port):
            raise StartupError(NOTHING_TO_LIST)
        self._listing = ReadyNameServers(config.address_server_keep_seconds)
        self._client = RemotingClient(
            lambda: probe_tls(configuration.read_tls()), answer_bytes_max=ANSWER_BYTES_MAX, failures=logging.DEBUG
        )
        self._probing = Probing(self._client, self._listing, SerializeType[configuration.serialize_type])
        self._tasks: set[asyncio.Task[None]] = set()
        super().__init__(
            "address server", "address-server", config.address_server_at(self._bind_address),
            HttpGate(requests_per_s_max=REQUESTS_PER_S_MAX),
            TlsPort(contexts) if contexts is not None and config.address_server_tls else None,
            ipv4_only=configuration.ipv4_only, chosen_by="rocketns.addressServer",
        )  # fmt: skip

    def start(self, port: int) -> None:
        """Serve. The name server listens already, at ``port``."""
        self._port = port
        self.serve()

    def reread(self) -> None:
        """``peers`` may have changed."""
        self.call(lambda: self._go_on(self._set_addresses()))

    async def set_up(self) -> Callable[[], asyncio.Protocol]:
        await self._set_addresses()
        self._go_on(self._probing.run())
        return web.Server(self._handle, **AIOHTTP)

    async def _handle(self, request: web.BaseRequest) -> web.Response:
        answer = _answer(request.method, request.path, lambda: self._listing.listed(self._loop.time()))
        answer.force_close()
        return answer

    async def tear_down(self) -> None:
        for task in self._tasks:
            task.cancel()
        self._client.close()

    def _go_on(self, work: Coroutine[None, None, None]) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _set_addresses(self) -> None:
        addresses = await asked_addresses(self._config, self._bind_address, self._port)
        log.info("the address server asks %s whether they are ready", ";".join(sorted(addresses)))
        self._probing.set_addresses(addresses)
        await self._probing.ask_all()


def _answer(method: str, path: str, listed: Callable[[], ListedNameServers]) -> web.Response:
    if method not in ("GET", "HEAD"):
        return web.Response(status=405, headers=COMMON | {"Allow": "GET, HEAD"})
    if not ASKED.fullmatch(path):
        return web.Response(status=404, headers=COMMON)
    found = listed()
    # Without a body: a client that does not look at the status finds no address either, and keeps the list it has.
    status = 200 if found.addresses else 503
    kept = {} if found.kept_s is None else {KEPT: f"{found.kept_s:.0f}"}
    return web.Response(text=";".join(found.addresses), status=status, headers=COMMON | kept)


def probe_tls(config: TlsConfig) -> TlsConfig:
    """A name server that takes TLS alone is asked over TLS, and so are the others of its cluster."""
    return replace(config, enable=True) if config.mode is TlsMode.ENFORCING else config
