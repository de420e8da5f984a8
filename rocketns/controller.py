"""NamesrvController: builds the server from a configuration, connects its parts, starts it, and stops it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rocketns import files
from rocketns.config import Configuration, properties
from rocketns.filewriter import FileWriter
from rocketns.first_routes import FirstRoutes
from rocketns.kvconfig.manager import KVConfigManager
from rocketns.processor.context import NamesrvContext, UnregisterQueue
from rocketns.protocol.codes import SerializeType
from rocketns.routeinfo.events import ConfigChanged
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.clock import Clock
from rocketns.server.confirming.confirming import TICK_MS, Confirming
from rocketns.server.confirming.refusing import Refusals
from rocketns.server.connections.asyncio_transport import AsyncioTransport
from rocketns.server.control.answering import Answering
from rocketns.server.control.control import Control
from rocketns.server.control.expiry import SCAN, Expiry
from rocketns.server.control.housekeeping import BrokerHousekeeping
from rocketns.server.control.silence import MassSilence
from rocketns.server.fleet.own import OwnTables
from rocketns.server.fleet.watching import FleetWatch
from rocketns.server.jobs import Jobs
from rocketns.server.listening import Listening, bind, fit_connections
from rocketns.server.memory import GIVE_BACK_INTERVAL_MS, give_back_free_memory
from rocketns.server.outgoing.connection import Accounts
from rocketns.server.outgoing.product_environment import ProductEnvironment
from rocketns.server.outgoing.reaching import Reach
from rocketns.server.outgoing.remoting_client import RemotingClient
from rocketns.server.publishing.delivery import EventDelivery
from rocketns.server.publishing.known_topics import KnownTopicsReader
from rocketns.server.publishing.lookup_switch import LookupSwitch
from rocketns.server.publishing.min_broker_notifier import MinBrokerNotifier
from rocketns.server.publishing.publisher import Publisher
from rocketns.server.reactors.balancer import Balancer
from rocketns.server.reactors.handle import make_reactors
from rocketns.server.reactors.lookup_counts import drain_counts
from rocketns.server.reactors.reactor_transport import ReactorTransport
from rocketns.server.reactors.usage import Meter
from rocketns.server.stall import StallWatch, Transport
from rocketns.server.tls.contexts import WATCH_INTERVAL_MS, TlsContexts

if TYPE_CHECKING:
    from rocketns.journal.journal import Journal

log = logging.getLogger("rocketns.controller")

FIRST_SCAN_MS = 5_000
FIRST_KV_PRINT_MS = 60_000
KV_PRINT_INTERVAL_MS = 10 * 60_000
# The shortest interval. The balance of the reactors has the same, so that both jobs cost one wake-up.
IDLE_CHECK_INTERVAL_MS = 1_000
# At the end: how long answers wait for the disk while their connections are open, and how long the writes may take.
ANSWER_WITHIN_S = 0.6
WRITE_WITHIN_S = 2.4
# The journal's last snapshot, and how long it waits for the writer where that is behind.
LAST_SNAPSHOT_WITHIN_S = 1.0
WRITER_PAUSE_S = 0.005


class NamesrvController:
    """One name server, bound to its address. `start`, then `stop`, both on a running event loop.

    Each part is given the parts that it calls, so they are made in the order of the layers:
    tables → what publishes events → control → transports → what watches time.
    """

    def __init__(
        self, configuration: Configuration, clock: Clock | None = None, passed: Listening | None = None
    ) -> None:
        """``passed`` is the supervisor's listening socket, which is used instead of one at ``listenPort``.
        StartupError if the address, the limits or the TLS properties are not usable.
        """
        fit_connections(configuration.limits)
        config, netty, limits = configuration.namesrv, configuration.netty, configuration.limits
        self.configuration = configuration
        self.clock = clock or Clock()
        self._listening = passed or bind(netty.bind_address, netty.listen_port, ipv4_only=configuration.ipv4_only)
        if passed is not None:
            configuration.listen_at(*passed.address)
        self._timer: asyncio.TimerHandle | None = None
        tables = RouteTables()
        kv_config = KVConfigManager(Path(config.kv_config_path), limits)
        serialize_type = SerializeType[configuration.serialize_type]

        self.tls = TlsContexts(configuration.read_tls)
        self.publisher = Publisher(tables)
        self.reactors = make_reactors(configuration, self.publisher.slots, self.tls.mode)
        self.journal = self._make_journal(tables, kv_config)
        self.writer = FileWriter(bytes_max=limits.kv_bytes_max)
        self.context = NamesrvContext(
            configuration,
            kv_config,
            UnregisterQueue(config.un_register_broker_queue_capacity),
            started_ms=self.clock.now().ms,
            cluster_test=config.cluster_test,
            lookups=self.journal.lookups if self.journal and self.journal.counts_lookups else None,
            registration_reader=KnownTopicsReader(self.publisher.slots),
            route_digests=self.publisher.digests,
            writer=self.writer,
            tables=tables,
        )

        self.reach = Reach(configuration.restore.networks)
        self.client = RemotingClient(configuration.read_tls, limits=limits, reach=self.reach)
        self.first_routes = FirstRoutes(configuration, self.clock, tables, self.publisher, self.client)
        self.lookup_switch = LookupSwitch(self.context, self.reactors)
        version = self.context.release.version
        notifier = MinBrokerNotifier(config, tables, self.client, serialize_type, version)
        record = None if self.journal is None else self.journal.record
        self.delivery = EventDelivery(self.context, self.publisher, self.lookup_switch, notifier, record)

        product = ProductEnvironment(self.client, configuration.product_name_servers, serialize_type, version)
        when_written = None if self.journal is None else self.journal.written.when_written
        answering = Answering(self.context, self.clock, self.delivery, product, serialize_type, when_written)
        self.jobs = Jobs()
        self.stalls = StallWatch(self.clock, self.jobs, tables, self.delivery)
        silence = MassSilence(self.context, self.clock, self.delivery)
        housekeeping = BrokerHousekeeping(self.context, self.clock, self.delivery, self.stalls, silence)
        self.control = Control(configuration, self.clock, answering, housekeeping, self.reactors)

        self.asyncio_transport = AsyncioTransport(configuration, self.control, self.clock, self.tls, self.reactors)
        self.reactor_transport: ReactorTransport | None = None
        self.balancer: Balancer | None = None
        self._transports: list[Transport] = [self.asyncio_transport]
        self._give_reactors_connections()

        self.expiry = Expiry(self.context, self.clock, self.jobs, self.stalls, self.control, silence)
        self.confirming = Confirming(
            configuration.restore, tables, self.clock, self.expiry, Refusals(self.reach).refuses, self.delivery.deliver
        )
        self.fleet = FleetWatch(
            configuration, OwnTables(tables, self.publisher.digests), self.clock, self.delivery.deliver
        )
        self._charge_for_outgoing_connections()
        self._add_jobs()

    def _give_reactors_connections(self) -> None:
        reactors = self.reactors
        if reactors is None:
            return
        transport = ReactorTransport(self.configuration, reactors, self.control, self.clock, self.asyncio_transport)
        self.reactor_transport, self.balancer = transport, Balancer(reactors, Meter(transport.threads).read)
        self._transports.append(transport)

    def _charge_for_outgoing_connections(self) -> None:
        totals = self.asyncio_transport.totals
        accounts = Accounts(totals.hold, totals.hold_to, self.control.submit_answer)
        for client in (self.client, self.fleet.client):
            client.charge_to(accounts)

    def _make_journal(self, tables: RouteTables, kv_config: KVConfigManager) -> Journal | None:
        """None unless ``journalPath`` names a folder."""
        config, reactors = self.configuration.journal, self.reactors
        if not config.journal_path:
            return None
        # A server without a journal starts 10 ms sooner.
        from rocketns.journal.journal import Journal
        from rocketns.journal.record import OVERFLOW

        ns = self._journal_ns()
        sources = [] if reactors is None else [partial(drain_counts, reactors, OVERFLOW)]
        kv = kv_config.config_table
        log.info("the journal is written to %s as ns=%s", config.journal_path, ns)
        return Journal(config, ns, tables, kv, self.clock.now().epoch_ms, _call_later, sources)

    def _journal_ns(self) -> str:
        return self.configuration.journal.ns(self.configuration.netty.bind_address, self._listening.address[1])

    def _add_jobs(self) -> None:
        """All periodic jobs of the server. Jobs that are due at the same time run in this order."""
        config, kv_config = self.configuration, self.context.kv_config
        scan_ms, journal_ms = config.namesrv.scan_not_active_broker_interval, config.journal.journal_fsync_ms
        now_ms, add = self.clock.now().ms, self.jobs.add

        add(SCAN, self.expiry.scan, first_ms=now_ms + FIRST_SCAN_MS, every_ms=scan_ms)
        add("printAllPeriodically", kv_config.print_all,
            first_ms=now_ms + FIRST_KV_PRINT_MS, every_ms=KV_PRINT_INTERVAL_MS)  # fmt: skip
        add("confirmBrokers", self.confirming.tick, first_ms=now_ms + TICK_MS, every_ms=TICK_MS)
        add("closeIdle", self._close_idle, first_ms=now_ms + IDLE_CHECK_INTERVAL_MS, every_ms=IDLE_CHECK_INTERVAL_MS)
        add("FileWatchService", self.tls.check_files, first_ms=now_ms + WATCH_INTERVAL_MS, every_ms=WATCH_INTERVAL_MS)
        add("giveBackMemory", give_back_free_memory,
            first_ms=now_ms + GIVE_BACK_INTERVAL_MS, every_ms=GIVE_BACK_INTERVAL_MS)  # fmt: skip
        if self.balancer is not None and self.balancer.balance.count > 1:
            add("balanceReactors", self.balancer.run,
                first_ms=now_ms + IDLE_CHECK_INTERVAL_MS, every_ms=IDLE_CHECK_INTERVAL_MS)  # fmt: skip
        if self.journal is not None:
            add("journal", self._tick_journal, first_ms=now_ms + journal_ms, every_ms=journal_ms)

    def every(self, ms: int, name: str, run: Callable[[], None]) -> None:
        """Add a periodic job of the process itself. Call it before `start`."""
        self.jobs.add(name, run, first_ms=self.clock.now().ms + ms, every_ms=ms)

    async def start(self) -> None:
        """Load the KV file and serve; ``listenPort`` then shows the real port. StartupError if that is not possible.

        It may be cancelled while it looks for routes; `stop` follows in any case.
        """
        self._log_configuration()
        for file in (self.context.kv_config.file, self.context.config_file):
            files.remove_leftovers(file.path)
        self.context.kv_config.load()
        self.writer.start(asyncio.get_running_loop().call_soon_threadsafe)
        await self.tls.start()
        self._listening.listen()
        self.configuration.netty.show_port(self._listening.address[1])
        self.context.note_restoring(restoring=True)  # a job may look whether the reactors may answer
        self._wait_for_jobs()
        journal_ns = None if self.journal is None else self._journal_ns()
        filled = await self.first_routes.fill(journal_ns, self._listening.address[1], self._let_peers_wait)
        if self.journal is not None:
            self.journal.start(asyncio.get_running_loop().call_soon_threadsafe, self.clock.now().epoch_ms, filled)
        self.context.note_restoring(restoring=False)
        if self.control.is_holding:
            self.control.release()
        else:
            await self._accept()
        self.lookup_switch.update(self.clock.now())
        self.stalls.begin(self._transports)
        self.confirming.tick()
        self.fleet.follow(self._listening.address[1])

    async def _let_peers_wait(self) -> None:
        """Lookups are answered SYSTEM_ERROR, and everything else waits."""
        self.control.hold()
        await self._accept()

    async def _accept(self) -> None:
        if self.reactor_transport is None:
            await self.asyncio_transport.accept(self._listening)
        else:
            self.reactor_transport.accept(self._listening.socket)

    def boot_line(self) -> str:
        """The line that scripts wait for."""
        netty, serialize_type = self.configuration.netty, self.configuration.serialize_type
        address = f"{netty.bind_address}:{netty.listen_port}"
        return f"The Name Server boot success. serializeType={serialize_type}, address {address}"

    def run_due_jobs(self) -> None:
        """Run the periodic jobs that are due. If they are late, the server stalled: deadlines are moved first."""
        self.stalls.check()
        self.jobs.run_due(self.clock.now().ms)

    def _wait_for_jobs(self) -> None:
        wait_ms = max(1, self.jobs.next_due_ms() - self.clock.now().ms)
        self._timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self._run_jobs)

    def _run_jobs(self) -> None:
        self.run_due_jobs()
        self._wait_for_jobs()

    def _close_idle(self) -> None:
        if self.reactor_transport is not None:
            self.reactor_transport.close_idle()
            self.lookup_switch.update(self.clock.now())  # waitSecondsForService may be over
        self.asyncio_transport.close_idle()
        self.asyncio_transport.totals.close_late()

    def _tick_journal(self) -> None:
        if self.journal is not None and self.journal.is_started:
            self.journal.tick(self.clock.now().epoch_ms)

    async def _stop_journal(self) -> None:
        if self.journal is not None and self.journal.is_started:
            if self.configuration.restore.restore:
                await self._write_last_snapshot(self.journal)
            self.journal.stop(self.clock.now().epoch_ms)
            await asyncio.to_thread(self.journal.join)

    async def _write_last_snapshot(self, journal: Journal) -> None:
        loop = asyncio.get_running_loop()
        ends = loop.time() + LAST_SNAPSHOT_WITHIN_S
        for is_behind in journal.last_snapshot():
            if loop.time() > ends:
                break
            await asyncio.sleep(WRITER_PAUSE_S if is_behind else 0)

    def _log_configuration(self) -> None:
        for config in (self.configuration.namesrv, self.configuration.netty):
            for name, value in properties.items(config).items():
                log.info("%s=%s", name, value)
        for name, doc in self.configuration.unused().items():
            log.warning("%s is accepted but not used by rocketns (%s)", name, doc)
        self._log_passed_over()

    def _log_passed_over(self) -> None:
        for sentence in self.configuration.passed_over():
            log.warning("configuration file: %s", sentence)

    def reread(self) -> None:
        """Re-read the TLS files, and those properties of the configuration file that take effect without a restart."""
        log.info("SIGHUP: re-reading the TLS files and the configuration file")
        changed = self.configuration.reread()
        self._log_passed_over()
        self.tls.reread()
        self.fleet.follow(self._listening.address[1])
        for name, value in changed.items():
            log.info("Replace, key: %s, value: %s", name, value)
            self.context.note([ConfigChanged(name, value)])
        self.delivery.deliver(self.context.take_events(), self.clock.now())

    def counts(self) -> dict[str, int]:
        """The lengths of queues and the numbers of connections, for the thread dump. Read from another thread."""
        reactors = self.reactors
        journal = 0 if self.journal is None else self.journal.buffer.waiting_bytes
        return {
            "requests in the inbox": self.control.waiting_requests,
            "unregistrations": len(self.context.unregister_queue),
            "unconfirmed brokers": len(self.context.tables.unconfirmed),
            "connections of the asyncio loop": len(self.asyncio_transport.connections),
            "connections of the reactors, and those handed over": reactors.connections if reactors else 0,
            "unsent bytes of the reactors": reactors.outgoing_bytes if reactors else 0,
            "bytes of unfinished frames at the reactors": reactors.incoming_bytes if reactors else 0,
            "bytes in the journal's buffer": journal,
        }

    async def go_away(self, hurry: asyncio.Event) -> None:
        """With ``enableShutdownGracefully``, ask peers to leave for ``shutdownWaitTimeSeconds``, or until ``hurry``."""
        netty = self.configuration.netty
        if netty.enable_shutdown_gracefully:
            self.context.go_away()
            self.lookup_switch.update(self.clock.now())
            log.info("answering GO_AWAY for %d s before stopping", netty.shutdown_wait_time_seconds)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(hurry.wait(), netty.shutdown_wait_time_seconds)

    async def stop(self) -> None:
        """Write the accepted changes and close everything. Waiting requests are dropped, as in Java."""
        if self._timer is not None:
            self._timer.cancel()
        self.client.close()
        self.fleet.stop()
        self.control.stop()
        self.expiry.stop()
        self.confirming.stop()
        self.reach.close()
        counts = self.context.registrations
        log.info("registrations: %d, %d of them repeated the broker's last body", counts.total, counts.repeated)
        began = asyncio.get_running_loop().time()
        written = asyncio.Event()
        self.writer.close(lambda _: written.set())
        await _wait(written, ANSWER_WITHIN_S)
        if self.reactor_transport is not None:
            self.reactor_transport.stop()
        await self.asyncio_transport.stop()
        self._listening.socket.close()
        await self._stop_journal()
        await _wait(written, began + WRITE_WITHIN_S - asyncio.get_running_loop().time())
        if not written.is_set():
            log.error("%d changes were not on disk in time, and were not answered", self.writer.unwritten)


async def _wait(event: asyncio.Event, within_s: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), max(0.0, within_s))


def _call_later(delay_s: float, step: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_later(delay_s, step)
