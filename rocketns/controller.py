"""NamesrvController: builds the server from a configuration, starts it, and stops it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import resource
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from rocketns import files
from rocketns.config import Configuration, Limits, properties
from rocketns.errors import StartupError
from rocketns.filewriter import FileWriter
from rocketns.kvconfig.manager import KVConfigManager
from rocketns.processor.context import NamesrvContext, UnregisterQueue
from rocketns.routeinfo.events import ConfigChanged
from rocketns.server.clock import Clock
from rocketns.server.connections.asyncio_transport import AsyncioTransport
from rocketns.server.control.control import Control
from rocketns.server.outgoing.remoting_client import RemotingClient
from rocketns.server.reactors.reactor_transport import LookupCount, ReactorTransport

if TYPE_CHECKING:
    from rocketns.journal.journal import Journal

log = logging.getLogger("rocketns.controller")

SPARE_DESCRIPTORS = 64
# At the end: how long answers wait for the disk while their connections are open, and what waits at all.
ANSWER_WITHIN_S = 0.6
WRITE_WITHIN_S = 2.4
CONNECTIONS_MIN = 16  # as many as a small cluster has; with fewer open files the server does not start


class NamesrvController:
    """One name server. `start`, then `stop`, both on a running event loop."""

    def __init__(self, configuration: Configuration, clock: Clock | None = None) -> None:
        self.configuration = configuration
        self.clock = clock or Clock()
        config, limits = configuration.namesrv, configuration.limits
        self.writer = FileWriter(bytes_max=limits.kv_bytes_max)
        self.context = NamesrvContext(
            configuration,
            KVConfigManager(Path(config.kv_config_path), limits),
            UnregisterQueue(config.un_register_broker_queue_capacity),
            started_ms=self.clock.now().ms,
            cluster_test=config.cluster_test,
            writer=self.writer,
        )
        self.client = RemotingClient(configuration.read_tls)
        self.control = Control(configuration, self.context, self.clock, self.client)
        self.lane = AsyncioTransport(configuration, self.control)
        self.journal: Journal | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Load the KV file and listen; ``listenPort`` then holds the real port. StartupError where it cannot."""
        self._log_configuration()
        for file in (self.context.kv_config.file, self.context.config_file):
            files.remove_leftovers(file.path)
        self.context.kv_config.load()
        self.writer.start(asyncio.get_running_loop().call_soon_threadsafe)
        _fit_connections(self.configuration.limits)
        self.configuration.netty.listen_port = await self.lane.listen()
        self._start_journal()
        self._wait_for_jobs()

    def boot_line(self) -> str:
        """What scripts wait for."""
        netty, serialize_type = self.configuration.netty, self.configuration.serialize_type
        address = f"{netty.bind_address}:{netty.listen_port}"
        return f"The Name Server boot success. serializeType={serialize_type}, address {address}"

    def run_due_jobs(self) -> None:
        """Run the periodic jobs whose time has come."""
        self.control.run_due_jobs()

    def _start_journal(self) -> None:
        """Where ``journalPath`` names a folder. Nothing was processed yet: control has not had its turn."""
        config, netty, control = self.configuration.journal, self.configuration.netty, self.control
        if not config.journal_path:
            return
        from rocketns.journal.journal import Journal  # a server without one starts 10 ms sooner

        loop, now = asyncio.get_running_loop(), self.clock.now()
        ns = config.ns(netty.bind_address, netty.listen_port)
        kv = self.context.kv_config.config_table
        journal = self.journal = Journal(config, ns, self.context.tables, kv, now.epoch_ms, loop.call_later)
        log.info("the journal is written to %s as ns=%s", config.journal_path, ns)
        control.journal = journal.record
        self.context.lookups = journal.lookups if journal.counts_lookups else None
        if self.lane.reactors is not None and journal.counts_lookups:
            journal.add_lookup_source(partial(_reactor_lookups, self.lane.reactors))
        every_ms = config.journal_fsync_ms
        control.jobs.add("journal", self._tick_journal, first_ms=now.ms + every_ms, every_ms=every_ms)
        journal.start()

    def _tick_journal(self) -> None:
        if self.journal is not None:
            self.journal.tick(self.clock.now().epoch_ms)

    async def _stop_journal(self) -> None:
        if self.journal is not None:
            self.journal.stop(self.clock.now().epoch_ms)
            await asyncio.to_thread(self.journal.join)

    def _wait_for_jobs(self) -> None:
        wait_ms = max(1, self.control.jobs.next_due_ms() - self.clock.now().ms)
        self._timer = asyncio.get_running_loop().call_later(wait_ms / 1000, self._run_jobs)

    def _run_jobs(self) -> None:
        self.run_due_jobs()
        self._wait_for_jobs()

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
        self.lane.tls.reread()
        for name, value in changed.items():
            log.info("Replace, key: %s, value: %s", name, value)
            self.context.note([ConfigChanged(name, value)])
        self.control.publish_noted()

    def counts(self) -> dict[str, int]:
        """What waits and what is open, for the thread dump; read from another thread, so a moment old."""
        reactors = self.lane.reactors
        journal = 0 if self.journal is None else self.journal.buffer.waiting_bytes
        return {
            "requests in the inbox": self.control.waiting_requests,
            "unregistrations": len(self.context.unregister_queue),
            "connections of the asyncio loop": len(self.lane.channels),
            "connections of the reactors, and those handed over": reactors.reactors.connections if reactors else 0,
            "unsent bytes of the reactors": reactors.reactors.outgoing_bytes if reactors else 0,
            "bytes of unfinished frames at the reactors": reactors.reactors.incoming_bytes if reactors else 0,
            "bytes in the journal's buffer": journal,
        }

    async def go_away(self, hurry: asyncio.Event) -> None:
        """With ``enableShutdownGracefully``, ask peers to leave for ``shutdownWaitTimeSeconds``, or until ``hurry``."""
        netty = self.configuration.netty
        if netty.enable_shutdown_gracefully:
            self.control.going_away = True
            self.control.update_fast_lane()
            log.info("answering GO_AWAY for %d s before stopping", netty.shutdown_wait_time_seconds)
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(hurry.wait(), netty.shutdown_wait_time_seconds)

    async def stop(self) -> None:
        """Write what was accepted, close everything. Waiting requests and unregistrations are dropped, as in Java."""
        if self._timer is not None:
            self._timer.cancel()
        self.client.close()
        self.control.stop()
        began = asyncio.get_running_loop().time()
        written = asyncio.Event()
        self.writer.close(lambda _: written.set())
        await _wait(written, ANSWER_WITHIN_S)
        await self.lane.stop()
        await self._stop_journal()
        await _wait(written, began + WRITE_WITHIN_S - asyncio.get_running_loop().time())
        if not written.is_set():
            log.error("%d changes are not on disk: it took too long, and they were not answered", self.writer.unwritten)


async def _wait(event: asyncio.Event, within_s: float) -> None:
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), max(0.0, within_s))


def _reactor_lookups(lane: ReactorTransport) -> list[LookupCount]:
    """See `LookupCounters.merge`."""
    from rocketns.journal.record import OVERFLOW  # there is a journal, so it is loaded

    rows, (*_, lookups, misses) = lane.drain_lookups()
    return [*rows, (OVERFLOW, OVERFLOW, None, None, lookups, misses)] if lookups else rows


def _fit_connections(limits: Limits) -> None:
    """Raise the soft limit on open files towards what ``connectionsMax`` needs; lower that to what is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections_max + SPARE_DESCRIPTORS
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if allowed < min(wanted, SPARE_DESCRIPTORS + CONNECTIONS_MIN):
        raise StartupError(
            f"`ulimit -n` allows {allowed} open files, but {SPARE_DESCRIPTORS} are needed for the server itself and "
            f"one for each connection: allow at least {SPARE_DESCRIPTORS + CONNECTIONS_MIN}, better {wanted}"
        )
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        limits.connections_max = allowed - SPARE_DESCRIPTORS
        log.warning("at most %d connections: `ulimit -n` allows %d open files", limits.connections_max, allowed)
