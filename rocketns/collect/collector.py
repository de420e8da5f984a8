"""Watches several name servers at a time: one event loop, and for each its tables, its budget and its journal."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from rocketns.client.name_server import NameServer
from rocketns.client.remoting_client import RemotingClient
from rocketns.collect.asking import NAMES
from rocketns.collect.observed_journal import ObservedJournal, SteadyClock
from rocketns.collect.observing import Observed
from rocketns.collect.settings import Settings
from rocketns.collect.upstream import CollectedServer, Pace, Phase
from rocketns.config import Limits
from rocketns.config.tls import TlsConfig
from rocketns.protocol.codes import SerializeType
from rocketns.tools.arguments import shown

log = logging.getLogger("rocketns.collect")

TICK_S = 1.0
PROGRESS_EVERY_S = 60.0


class Collector:
    """`run` until it is cancelled. ``upstreams`` is what is known of each name server."""

    def __init__(self, settings: Settings, epoch_ms: Callable[[], int] | None = None) -> None:
        """Called on the event loop's thread. ``epoch_ms``: by default a `SteadyClock`."""
        self._epoch_ms = epoch_ms or SteadyClock()
        tls = TlsConfig.read({}, {}) if settings.tls is None else settings.tls
        limits = Limits(outgoing_connections_per_host_max=256)
        self._client = RemotingClient(lambda: tls, settings.timeout_s, failures=logging.DEBUG, limits=limits)
        self._asking = RemotingClient(lambda: tls, settings.timeout_s, failures=logging.DEBUG)
        pace = Pace(settings.interval_s, settings.per_second)
        later = asyncio.get_running_loop().call_later
        self.upstreams: list[CollectedServer] = []
        for ns, addr in settings.name_servers:
            journal = ObservedJournal(settings.journal_config, ns, Observed(), later)
            server = NameServer(self._client, addr, SerializeType.JSON, settings.timeout_s, settings.signer)
            self.upstreams.append(CollectedServer(ns, server, journal, pace, self.upstreams, self._epoch_ms,
                                                  self._asking if settings.ask_brokers else None))  # fmt: skip

    async def run(self) -> None:
        """Watch all, until this is cancelled. Nothing that a name server does ends it."""
        try:
            for upstream in self.upstreams:
                upstream.restore()
            async with asyncio.TaskGroup() as watching:
                for upstream in self.upstreams:
                    watching.create_task(upstream.run())
                await self._tick()
        finally:
            for upstream in self.upstreams:
                upstream.close()
            self._client.close()
            self._asking.close()

    async def _tick(self) -> None:
        loop = asyncio.get_running_loop()
        progress_s = loop.time() + PROGRESS_EVERY_S
        while True:
            await asyncio.sleep(TICK_S)
            for upstream in self.upstreams:
                upstream.journal.tick(self._epoch_ms())
            if loop.time() >= progress_s:
                progress_s += PROGRESS_EVERY_S
                for upstream in self.upstreams:
                    level = logging.WARNING if upstream.phase is Phase.LOST else logging.INFO
                    log.log(level, "%s", standing(upstream, self._epoch_ms()))


def standing(upstream: CollectedServer, now_ms: int) -> str:
    """How a name server is, in one line. A round of lookups says how exact times of topics are."""
    tables, rounds = upstream.observed.tables, upstream.rounds
    round_of = f" in {shown(rounds.last_s)}" if rounds.last_s is not None else ""
    topics = "unknown" if NAMES in upstream.refused else f"{len(rounds.seen)}, each looked up{round_of}"
    parts = [
        f"{upstream.name}: {upstream.phase} for {shown((now_ms - upstream.since_ms) / 1000)}",
        f"{len(tables.broker_addr_table)} brokers; topics: {topics}",
        f"{upstream.budget.spent} requests, {upstream.changes} changes",
    ]
    for number, what in (
        (len(rounds.unanswered), "topics are still to be read"),
        (len(upstream.watch.unreadable), "topics with routes that cannot be read"),
        (upstream.observed.left_out, "things beyond a limit left out"),
    ):
        parts += [f"{number} {what}"] if number else []
    return "; ".join([*parts, *upstream.errors.values()])
