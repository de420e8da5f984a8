"""NamesrvController: binds the core to sockets and files, starts the server, and stops it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from rocketns.access.policy import Policy
from rocketns.access.refusals import INTERVAL_MS
from rocketns.client.connection import ChargedConnection, Forget, OutgoingConnection
from rocketns.client.reach import ReachRules, refuses
from rocketns.client.remoting_client import RemotingClient
from rocketns.config import Configuration, properties
from rocketns.files import FileWriter
from rocketns.first_routes import FirstRoutes
from rocketns.fleet.own_tables import OwnTables
from rocketns.processor.trail import COUNTED_EVERY_MS
from rocketns.routeinfo.events import ConfigChanged
from rocketns.server import following
from rocketns.server.clock import Clock
from rocketns.server.control.expiry import CONFIRM_EVERY_MS, SCAN
from rocketns.server.core import Core, CoreState
from rocketns.server.facts import Facts, JournalFacts
from rocketns.server.fleet import FleetWatch
from rocketns.server.listening import Listening, bind, fit_connections
from rocketns.server.missing import TICK_MS as MISSING_INTERVAL_MS
from rocketns.server.process import RELEASE_MEMORY_INTERVAL_MS, release_free_memory
from rocketns.server.publishing.publisher import Prepared
from rocketns.server.reactors.handle import REPORT_INTERVAL_S, RateWatch, drain_counts, flagged_networks, make_reactors
from rocketns.server.reactors.transport import ReactorTransport
from rocketns.server.tls.contexts import WATCH_INTERVAL_MS, TlsContexts
from rocketns.views.views import Views

if TYPE_CHECKING:
    from rocketns.journal.journal import Journal

log = logging.getLogger("rocketns.controller")

FIRST_SCAN_MS = 5_000
FIRST_KV_PRINT_MS = 60_000
KV_PRINT_INTERVAL_MS = 10 * 60_000
# The shortest interval.
IDLE_CHECK_INTERVAL_MS = 1_000
# At the end: how long answers wait for the disk while their connections are open, and how long the writes may take.
ANSWER_WITHIN_S = 0.6
WRITE_WITHIN_S = 2.4
# The journal's last snapshot, and how long it waits for the writer where that is behind.
LAST_SNAPSHOT_WITHIN_S = 1.0
WRITER_PAUSE_S = 0.005


class NamesrvController:
    """One name server, bound to its address. `start`, then `stop`, both on a running event loop.

    It binds the core to the world: sockets, files, the journal, other name servers, TLS and timers.
    """

    def __init__(
        self, configuration: Configuration, clock: Clock | None = None, passed: Listening | None = None
    ) -> None:
        """``passed`` is the supervisor's listening socket, which is used instead of one at ``listenPort``.
        StartupError if the address, the limits or the TLS properties are not usable.
        """
        fit_connections(configuration.limits)
        netty, limits = configuration.netty, configuration.limits
        self.configuration = configuration
        self.clock = clock or Clock()
        self._listening = passed or bind(netty.bind_address, netty.listen_port, ipv4_only=configuration.ipv4_only)
        if passed is not None:
            configuration.listen_at(*passed.address)
        self.port = self._listening.address[1]  # request 318 may let listenPort show another one
        self.name = f"{netty.bind_address}:{self.port}"
        self._timer: asyncio.TimerHandle | None = None

        for_ports = configuration.admin.admin_tls or configuration.discovery.address_server_tls
        state = CoreState(configuration)
        self.reactors = make_reactors(configuration, state.publisher.slots, configuration.read_tls().mode)
        self.tls = TlsContexts(configuration.read_tls, for_ports=for_ports, use=self.reactors.use_context)
        self.journal = self._make_journal(state)
        is_mute = configuration.discovery.mute
        self.writer = FileWriter(bytes_max=limits.kv_bytes_max, is_mute=is_mute)
        self.reach = ReachRules(configuration.restore.networks)
        self.client = RemotingClient(
            configuration.read_tls, limits=limits, reach=self.reach, make_connection=self._charged, is_mute=is_mute
        )
        self.core = core = Core(
            configuration, self.clock, state, self.client, self.writer, self.reactors, partial(refuses, self.reach)
        )
        if (journal := self.journal) is not None:
            count_lookup = journal.lookups.count if journal.counts_lookups else None
            core.keep_journal(journal.record, journal.written.when_written, count_lookup)
        self.access_file = following.AccessFile(configuration.access.access_file, self._follow_policy)
        self.views_file = following.ViewsFile(
            configuration.access.views_file, state.publisher.prepare_views, self._use_views, state.tables,
            trusts_announced=bool(configuration.access.proxies),
        )  # fmt: skip
        self.first_routes = FirstRoutes(configuration, self.clock, state.tables, state.publisher, self.client)

        self.rates = RateWatch(limits, self.reactors.hosts)
        self.reactor_transport = ReactorTransport(configuration, self.reactors, core.control, self.clock, self.tls)
        core.missing.drain = self.reactor_transport.drain_missing

        own = OwnTables(state.tables, state.publisher.digests)
        self.fleet = FleetWatch(configuration, own, self.clock, core.delivery.deliver, self._charged)
        self._add_jobs()
        self.facts = Facts(
            core, self.name, self.reactor_transport, self.tls, self.fleet, self.writer, self._read_journal
        )

    def _read_journal(self) -> JournalFacts | None:
        if self.journal is None:
            return None
        buffer, writer = self.journal.buffer, self.journal.writer
        return JournalFacts(buffer.seq, writer.written_bytes, buffer.waiting_bytes, buffer.lost, buffer.lost_total,
                            writer.failures, writer.failure)  # fmt: skip

    def _charged(self, forget: Forget, addr: str, account: str, rest_s_max: float) -> OutgoingConnection:
        return ChargedConnection(self.reactors.count_here, self.core.control.submit, forget, addr, account, rest_s_max)

    def _make_journal(self, state: CoreState) -> Journal | None:
        """None unless ``journalPath`` names a folder."""
        config, reactors = self.configuration.journal, self.reactors
        if not config.journal_path:
            return None
        # A server without a journal starts 10 ms sooner.
        from rocketns.journal.journal import Journal
        from rocketns.journal.record import OVERFLOW

        ns = config.ns(self.configuration.netty.bind_address, self.port)
        sources = [partial(drain_counts, reactors, OVERFLOW)]
        log.info("the journal is written to %s as ns=%s", config.journal_path, ns)
        kv = state.kv_config.config_table
        return Journal(config, ns, state.tables, kv, self.clock.now().epoch_ms, sources)

    def _add_jobs(self) -> None:
        """All periodic jobs of the server. Jobs that are due at the same time run in this order."""
        config, now_ms, add, every = self.configuration, self.clock.now().ms, self.core.jobs.add, self.every
        scan_ms = config.namesrv.scan_not_active_broker_interval
        add(SCAN, self.core.expiry.scan, first_ms=now_ms + FIRST_SCAN_MS, every_ms=scan_ms)
        add("printAllPeriodically", self.core.context.kv_config.print_all,
            first_ms=now_ms + FIRST_KV_PRINT_MS, every_ms=KV_PRINT_INTERVAL_MS)  # fmt: skip
        every(COUNTED_EVERY_MS, "countedRequests", self._deliver_counted)
        every(CONFIRM_EVERY_MS, "confirmBrokers", self.core.expiry.confirm)
        every(IDLE_CHECK_INTERVAL_MS, "closeIdle", self._close_idle)
        every(WATCH_INTERVAL_MS, "FileWatchService", self.tls.check_files)
        every(REPORT_INTERVAL_S * 1000, "reportRates", self.rates.report)
        every(RELEASE_MEMORY_INTERVAL_MS, "releaseMemory", release_free_memory)
        every(MISSING_INTERVAL_MS, "missingTopics", self.core.missing.tick)
        if config.access.access_file:
            every(following.WATCH_INTERVAL_MS, "accessFile", self.access_file.check)
        if config.access.views_file:
            every(following.WATCH_INTERVAL_MS, "viewsFile", self.views_file.check)
            self.core.delivery.watch(self.views_file.watch)

    def _deliver_counted(self, after_ms: int = INTERVAL_MS) -> None:
        """Requests that were only counted since their last event: of admins, those that repeat one without effect;
        refused ones, also takeovers without a policy, whose last event is ``after_ms`` old.
        """
        now, context = self.clock.now(), self.core.context
        context.events += context.trail.drain_counted()
        context.events += context.guard.refusals.due(now.ms, after_ms)
        self.core.delivery.deliver(context.drain_events(), now)

    def every(self, ms: int, name: str, run: Callable[[], None]) -> None:
        """Add a periodic job, first run after its interval."""
        self.core.jobs.add(name, run, first_ms=self.clock.now().ms + ms, every_ms=ms)

    async def start(self) -> None:
        """Load the KV file and serve; ``listenPort`` then shows the real port. StartupError if that is not possible.

        It may be cancelled while it looks for routes; `stop` follows in any case.
        """
        for config in (self.configuration.namesrv, self.configuration.netty):
            for name, value in properties.items(config).items():
                log.info("%s=%s", name, value)
        self.access_file.start(self.port)
        self.views_file.start(ipv4_only=self.configuration.ipv4_only)
        self.core.context.kv_config.load()
        self.writer.start()
        await self.tls.start()
        for listening in self._all_listening():
            listening.listen()
        self.configuration.netty.show_port(self.port)
        self.core.context.restoring = True  # a job may look whether the reactors may answer
        self._run_jobs()
        journal_ns = None if self.journal is None else self.journal.ns
        filled = await self.first_routes.fill(journal_ns, self.port, self._let_peers_wait)
        if self.journal is not None:
            loop = asyncio.get_running_loop()
            self.journal.start(loop.call_later, loop.call_soon_threadsafe, self.clock.now().epoch_ms, filled)
            self.every(self.configuration.journal.journal_fsync_ms, "journal", partial(self._tick, self.journal))
        self.core.context.restoring = False
        if self.core.control.is_paused:
            self.core.control.unpause()
        else:
            self._accept()
        self.core.lookup_switch.update(self.clock.now())
        self.core.stalls.begin(self.reactor_transport)
        self.core.expiry.confirm()
        self.fleet.follow(self.port)

    async def _let_peers_wait(self) -> None:
        """Lookups are answered SYSTEM_ERROR, and everything else waits."""
        self.core.control.pause()
        self._accept()

    def _all_listening(self) -> list[Listening]:
        """The socket of listenPort, then those of views."""
        return [self._listening, *self.views_file.listening]

    def _accept(self) -> None:
        self.reactor_transport.accept(*(listening.socket for listening in self._all_listening()))

    def boot_line(self) -> str:
        """The line that scripts wait for."""
        return f"The Name Server boot success. serializeType={self.configuration.serialize_type}, address {self.name}"

    def run_due_jobs(self) -> None:
        """Run the periodic jobs that are due. If they are late, the server stalled: deadlines are moved first."""
        self.core.stalls.check()
        self.core.jobs.run_due(self.clock.now().ms)

    def _run_jobs(self) -> None:
        self.run_due_jobs()
        wait_ms = max(1, self.core.jobs.next_due_ms() - self.clock.now().ms)
        self._timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self._run_jobs)

    def _close_idle(self) -> None:
        self.reactor_transport.close_idle()
        self.core.lookup_switch.update(self.clock.now())  # waitSecondsForService may be over

    def _follow_policy(self, policy: Policy) -> None:
        networks = flagged_networks(policy, self.configuration.access.proxies)
        # First, because it may lack memory: then nobody follows.
        self.reactors.set_access(policy.guards_lookups, policy.closes_strangers, networks)
        self.core.context.guard.policy = policy
        self.core.context.principals, self.core.context.access_key = (), None  # of the last request, should it end

    def _use_views(self, views: Views, prepared: Prepared) -> None:
        """For reactors first, because they may lack memory: then nobody follows. No request is answered meanwhile."""
        self.core.publisher.use_views(views, prepared)
        self.core.view_counts.renumber(self.core.context.views)
        self.core.context.views = views

    def _tick(self, journal: Journal) -> None:
        journal.tick(self.clock.now().epoch_ms)

    async def _stop_journal(self) -> None:
        if self.journal is not None and self.journal.is_started:
            loop = asyncio.get_running_loop()
            ends = loop.time() + LAST_SNAPSHOT_WITHIN_S
            for is_behind in self.journal.last_snapshot() if self.configuration.restore.restore else ():
                if loop.time() > ends:
                    break
                await asyncio.sleep(WRITER_PAUSE_S if is_behind else 0)
            self.journal.stop(self.clock.now().epoch_ms)
            await asyncio.to_thread(self.journal.join)

    def log_warnings(self) -> None:
        """Of the settings. After the boot line: it is there that people look."""
        for sentence in self.configuration.warnings():
            log.warning("%s", sentence)

    def reread(self) -> None:
        """Re-read the TLS files, and those properties of the configuration file that take effect without a restart."""
        log.info("SIGHUP: re-reading the TLS files and the configuration file")
        changed = self.configuration.reread()
        self.log_warnings()
        self.tls.reread()
        self.access_file.reread()
        self.views_file.reread()
        self.rates.apply()
        self.fleet.follow(self.port)
        for name, value in changed.items():
            log.info("Replace, key: %s, value: %s", name, properties.shown(name, value))
            self.core.context.events += [ConfigChanged(name, value)]
        self.core.delivery.deliver(self.core.context.drain_events(), self.clock.now())

    async def go_away(self, hurry: asyncio.Event) -> None:
        """With ``enableShutdownGracefully``, ask peers to leave for ``shutdownWaitTimeSeconds``, or until ``hurry``."""
        netty = self.configuration.netty
        if netty.enable_shutdown_gracefully:
            self.core.context.going_away = True
            self.core.lookup_switch.update(self.clock.now())
            log.info("answering GO_AWAY for %d s before stopping", netty.shutdown_wait_time_seconds)
            await _wait(hurry, netty.shutdown_wait_time_seconds)

    async def stop(self) -> None:
        """Write the accepted changes and close everything. Waiting requests are dropped, as in Java."""
        if self._timer is not None:
            self._timer.cancel()
        self.client.close()
        self.fleet.stop()
        self.core.control.stop()
        self.core.expiry.stop()
        self.reach.close()
        counts = self.core.context.registrations
        log.info("registrations: %d, %d of them repeated the broker's last body", counts.total, counts.repeated)
        began = asyncio.get_running_loop().time()
        await _wait(self.writer.settled, ANSWER_WITHIN_S)
        self.reactor_transport.stop()
        for listening in self._all_listening():
            listening.socket.close()
        self._deliver_counted(after_ms=0)
        await self._stop_journal()
        await _wait(self.writer.settled, began + WRITE_WITHIN_S - asyncio.get_running_loop().time())
        self.writer.stop()
        if self.writer.unwritten:
            log.error("%d changes were not on disk in time, and were not answered", self.writer.unwritten)


async def _wait(event: asyncio.Event, within_s: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), max(0.0, within_s))
