"""One run of the shadow: its listening socket, its relay, its children, its signals, and its end."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import resource
import signal
import socket
import ssl
import time
from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from rocketns.addresses import ANY_ADDRESS, with_port
from rocketns.client.name_server import NameServer
from rocketns.client.remoting_client import RemotingClient
from rocketns.client.tls import client_context
from rocketns.config import Limits, properties
from rocketns.config.tls import TlsConfig
from rocketns.errors import RocketnsError, StartupError
from rocketns.protocol.codes import SerializeType
from rocketns.server.listening import bind
from rocketns.server.tls.contexts import TlsContexts
from rocketns.shadow.half import OwnHalf
from rocketns.shadow.judge import Judging, Repeater
from rocketns.shadow.judging import Judge
from rocketns.shadow.pairs import Outcome
from rocketns.shadow.relay.ends import EitherClient, PlainClient
from rocketns.shadow.relay.relay import Relay, Upstream
from rocketns.shadow.status import StatusPort
from rocketns.shadow.summary import Comparison

log = logging.getLogger("rocketns.shadow")

DESCRIPTORS_OF_CONNECTION = 3  # the client's, the upstream's, the own half's
SPARE_DESCRIPTORS = 128
CONNECTIONS_MAX = 100_000
GC_YOUNG_OBJECTS = 20_000  # as the name server: requests and answers are freed without the collector
FLUSH_EVERY_S = 1.0
JUDGED_WITHIN_S = 10.0


def reached_at(host: str, port: int) -> str:
    """Where clients find what listens there. 0.0.0.0 says nothing: then it is the name of the machine."""
    return with_port(socket.gethostname() if host in ANY_ADDRESS else host, port)


class Shadow:
    """`run` once."""

    def __init__(self, options: Namespace, folder: Path) -> None:
        """StartupError if the address or a file is not usable. ``folder`` is the own half's, and empty."""
        self.options = options
        self.upstream = Upstream(*options.upstream)
        self._properties = _read(options.config_file)
        self._tls = TlsConfig.read(options.system, {})
        self._ends_tls = not self._tls.test_mode
        self._contexts = (
            TlsContexts(lambda: TlsConfig.read(options.system, {}), for_ports=True) if self._ends_tls else None
        )
        self._listening = bind(options.bind, options.port, chosen_by="--port")
        self._address = reached_at(*self._listening.address)
        self._folder = folder
        self._began_ms = _epoch_ms()
        self._status = None if options.status is None else StatusPort(options.status, self.comparison)

    async def run(self, stop: asyncio.Event) -> Comparison:
        """Until ``stop``, or the time is over. How it stood at the end."""
        self._build()
        if self._contexts is not None:
            await self._contexts.start()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
            signal.signal(number, signal.SIG_IGN)
        gc.freeze()
        gc.set_threshold(GC_YOUNG_OBJECTS)
        if self._status is not None:  # before there are processes to be ended if its port is in use
            await self._status.start()
        self.half.start()
        self.judging.start()
        self.relay.start()
        contexts = self._contexts
        server = await self._listening.serve(
            lambda: PlainClient(self.relay) if contexts is None else EitherClient(self.relay, contexts)
        )
        log.info("the shadow of %s listens at %s", self.upstream, self._address)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._until(stop), self.options.for_s)
        server.close()
        if self._status is not None:
            self._status.stop()
        self.relay.stop()
        self._client_of_servers.close()
        await self.judging.finish(JUDGED_WITHIN_S)  # it may still ask the half
        comparison = self.comparison()
        await self.half.stop()
        return comparison

    def _build(self) -> None:
        options = self.options
        self._client_of_servers = RemotingClient(lambda: TlsConfig.read(options.system, {}), failures=logging.DEBUG)
        server = NameServer(self._client_of_servers, str(self.upstream), SerializeType.JSON)
        plain = RemotingClient(lambda: TlsConfig.read({}, {"tls.enable": "false"}), failures=logging.DEBUG)
        self.half = OwnHalf(self._folder, server, plain, self._properties, self._half_changed,
                            settle_s=options.settle_s)  # fmt: skip
        self.judge = Judge(options.settle_s)
        self.judging = Judging(self.judge, Repeater(str(self.upstream), options.system), self._half_addr)
        limits = Limits()
        limits.read_frame_max(options.system)
        self.relay = Relay(
            self.upstream, self.half, self.judging.send, frame_bytes_max=limits.frame_bytes_max,
            connections_max=connections_max(), proxy_protocol=options.proxy_protocol, ends_tls=self._ends_tls,
            upstream_tls=self._upstream_tls(),
        )  # fmt: skip

    def comparison(self) -> Comparison:
        """How it stands now."""
        self.flush()
        half = self.half
        return Comparison(
            self.judge.counts, str(self.upstream), self._address, self._began_ms, _epoch_ms(),
            None if half.port is None else round(half.settles_in_s, 1),
            self.judge.counts.skipped + self.relay.counts.skipped, self.upstream.trouble, self.relay.counts.items(),
        )  # fmt: skip

    def _upstream_tls(self) -> ssl.SSLContext | None:
        """For clients that speak TLS; None: plain. StartupError if its files are not usable."""
        try:
            return client_context(self._tls) if self._ends_tls and self._tls.enable else None
        except (OSError, ValueError, RocketnsError) as error:
            raise StartupError(f"TLS to the upstream cannot be set up: {error}") from error

    async def _until(self, stop: asyncio.Event) -> None:
        while not stop.is_set():
            self.flush()
            if self._contexts is not None:
                self._contexts.check_files()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stop.wait(), FLUSH_EVERY_S)

    def flush(self) -> None:
        """Add what the relay counted by itself."""
        for code, number in self.relay.pairing.drain_equal().items():
            self.judge.counts.add(code, Outcome.EQUAL, number)

    def _half_changed(self) -> None:
        if self.half.port is not None:
            self.judge.begin(self.half.began_ms)

    def _half_addr(self) -> str | None:
        return None if self.half.port is None else f"127.0.0.1:{self.half.port}"


def _epoch_ms() -> int:
    return time.time_ns() // 1_000_000


def connections_max() -> int:
    """Clients at a time: raises the soft limit on open files for them. StartupError if there is room for none."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = CONNECTIONS_MAX * DESCRIPTORS_OF_CONNECTION + SPARE_DESCRIPTORS
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    most = (max(soft, allowed) - SPARE_DESCRIPTORS) // DESCRIPTORS_OF_CONNECTION
    if most < 1:
        raise StartupError(f"`ulimit -n` allows {allowed} open files, too few for one connection")
    return min(most, CONNECTIONS_MAX)


def _read(config_file: str | None) -> Mapping[str, str]:
    if config_file is None:
        return {}
    try:
        return properties.load(Path(config_file).read_bytes())
    except (OSError, ValueError) as error:
        raise StartupError(f"the properties of the own half cannot be read from {config_file}: {error}") from error
