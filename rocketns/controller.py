"""NamesrvController: builds the server from a configuration, starts it, and stops it."""

from __future__ import annotations

import asyncio
import logging
import resource
from pathlib import Path

from rocketns.config import Configuration, Limits, properties
from rocketns.kvconfig import KVConfigManager
from rocketns.processor.context import NamesrvContext, UnregisterQueue
from rocketns.server.clock import Clock
from rocketns.server.control import Control
from rocketns.server.lane import Lane

log = logging.getLogger("rocketns.controller")

SPARE_DESCRIPTORS = 64


class NamesrvController:
    """One name server. `start`, then `stop`, both on a running event loop."""

    def __init__(self, configuration: Configuration, clock: Clock | None = None) -> None:
        self.configuration = configuration
        self.clock = clock or Clock()
        config = configuration.namesrv
        self.context = NamesrvContext(
            configuration,
            KVConfigManager(Path(config.kv_config_path)),
            UnregisterQueue(config.un_register_broker_queue_capacity),
            started_ms=self.clock.now().ms,
        )
        self.control = Control(configuration, self.context, self.clock)
        self.lane = Lane(configuration, self.control)
        self._timer: asyncio.TimerHandle | None = None

    async def start(self) -> None:
        """Load the KV file and listen; ``listenPort`` then holds the real port. StartupError where it cannot."""
        self._log_configuration()
        self.context.kv_config.load()
        _fit_connections(self.configuration.limits)
        self.configuration.netty.listen_port = await self.lane.listen()
        self._wait_for_jobs()

    def boot_line(self) -> str:
        """What scripts wait for."""
        netty = self.configuration.netty
        return f"The Name Server boot success. serializeType=JSON, address {netty.bind_address}:{netty.listen_port}"

    def run_due_jobs(self) -> None:
        """Run the periodic jobs whose time has come."""
        self.control.jobs.run_due(self.clock.now().ms)

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

    async def stop(self) -> None:
        """Close everything. Waiting requests and unregistrations are dropped, as in Java."""
        if self._timer is not None:
            self._timer.cancel()
        await self.lane.stop()


def _fit_connections(limits: Limits) -> None:
    """Raise the soft limit on open files towards what ``connectionsMax`` needs; lower that to what is allowed."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = limits.connections_max + SPARE_DESCRIPTORS
    allowed = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    if soft < allowed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, hard))
    if allowed < wanted:
        limits.connections_max = allowed - SPARE_DESCRIPTORS
        log.info("at most %d connections: `ulimit -n` allows %d open files", limits.connections_max, allowed)
