"""The address server: its port, and the thread on which it runs an event loop of its own."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import threading
from collections.abc import Callable
from dataclasses import replace

from rocketns.addresses import bare, with_port
from rocketns.addressserver.listing import Probing, ReadyNameServers, asked_addresses
from rocketns.client.remoting_client import RemotingClient
from rocketns.config import Configuration
from rocketns.config.tls import TlsConfig, TlsMode
from rocketns.errors import StartupError
from rocketns.extras import install_command
from rocketns.protocol.codes import SerializeType
from rocketns.server.http.secured import TlsPort
from rocketns.server.listening import bind
from rocketns.server.sharing import share_python
from rocketns.server.tls.contexts import TlsContexts

log = logging.getLogger("rocketns.addressserver")

THREAD = "address-server"
STOP_WITHIN_S = 2.0
# That a topic does not exist is said in less than 1 KiB.
ANSWER_BYTES_MAX = 64 * 1024
EXTRA_MISSING = (
    f"rocketns.addressServer needs aiohttp, and it is not installed. Install it with: {install_command('admin')}"
)
NOTHING_TO_LIST = (
    "rocketns.addressServer would list nothing: the server listens at every address of this machine, and no property "
    "says which of them brokers and clients use. Set rocketns.announcedAddress=host:port, or rocketns.peers"
)


class AddressServer:
    """Made and called by control, except for the methods that say otherwise."""

    def __init__(self, configuration: Configuration, contexts: TlsContexts | None = None) -> None:
        """``contexts``: for ``addressServerTls``.

        StartupError if its address is not usable, the extra is missing, or there is nothing to list.
        """
        if importlib.util.find_spec("aiohttp") is None:
            raise StartupError(EXTRA_MISSING)
        netty = configuration.netty
        self._config, self._bind_address, self._port = configuration.discovery, netty.bind_address, netty.listen_port
        config, bind_address = self._config, self._bind_address
        if not config.peer_addresses and not config.own_address(bind_address, self._port):
            raise StartupError(NOTHING_TO_LIST)
        self._address = config.address_server_at(bind_address)
        self._listening = bind(*self._address, ipv4_only=configuration.ipv4_only)
        self._listening.listen()
        self._listening.socket.setblocking(False)
        self._listing = ReadyNameServers(config.address_server_keep_seconds)
        read_tls = _read_probe_tls(configuration.read_tls)
        client = RemotingClient(read_tls, answer_bytes_max=ANSWER_BYTES_MAX, failures=logging.DEBUG)
        self._probing = Probing(client, self._listing, SerializeType[configuration.serialize_type])
        self._client = client
        self._tls = TlsPort(contexts) if contexts is not None and config.address_server_tls else None
        self._loop = asyncio.new_event_loop()
        self._stop = asyncio.Event()
        self._rereading: asyncio.Task[None] | None = None
        self._thread = threading.Thread(target=self._run, name=THREAD, daemon=True)

    def start(self, port: int) -> None:
        """Serve. The name server listens already, at ``port``. Earlier connections have waited."""
        self._port = port
        where = with_port(bare(self._address[0]), self._listening.address[1])
        log.info("the address server listens at %s%s", where, " with TLS" if self._tls is not None else "")
        share_python()
        if self._tls is not None:
            self._tls.begin("the address server", self._loop)
        self._thread.start()

    def reread(self) -> None:
        """``peers`` may have changed."""
        self._call(self._reread)

    def stop(self) -> None:
        """End the thread. It is not waited for where it does not end in time."""
        self._call(self._begin_to_stop)
        self._thread.join(STOP_WITHIN_S)

    def _begin_to_stop(self) -> None:
        """Address server's thread only."""
        self._stop.set()
        if self._tls is not None:
            self._tls.give_up()

    def _call(self, function: Callable[[], object]) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(function)

    def _reread(self) -> None:
        """Address server's thread only."""
        self._rereading = self._loop.create_task(self._set_addresses())

    async def _set_addresses(self) -> None:
        """Address server's thread only."""
        addresses = await asked_addresses(self._config, self._bind_address, self._port)
        log.info("the address server asks %s whether they are ready", ";".join(sorted(addresses)))
        self._probing.set_addresses(addresses)
        await self._probing.ask_all()

    def _run(self) -> None:
        """Address server's thread only."""
        try:
            with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
                runner.run(self._serve())
        except Exception:
            log.exception("the address server ended")

    async def _serve(self) -> None:
        """Address server's thread only."""
        from rocketns.addressserver.http import Accepting, make_protocols

        loop = asyncio.get_running_loop()
        plain = make_protocols(lambda: self._listing.listed(loop.time()))
        if self._tls is not None:
            await self._tls.ready()
        accepting = Accepting(self._listening.socket, plain if self._tls is None else self._tls.under(plain))
        await self._set_addresses()
        running = [asyncio.ensure_future(work) for work in (accepting.run(), self._probing.run())]
        stopping = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait([*running, stopping], return_when=asyncio.FIRST_COMPLETED)
        for task in running:
            task.cancel()
        accepting.close()
        self._client.close()
        self._listening.socket.close()
        for task in running:
            if task.done() and not task.cancelled():
                task.result()


def _read_probe_tls(read: Callable[[], TlsConfig]) -> Callable[[], TlsConfig]:
    """A name server that takes TLS alone is asked over TLS, and so are the others of its cluster."""

    def read_probe_tls() -> TlsConfig:
        config = read()
        return replace(config, enable=True) if config.mode is TlsMode.ENFORCING else config

    return read_probe_tls
