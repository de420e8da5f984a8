"""The routes with which a start fills its tables: those of the journal, or of another name server."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rocketns.client.remoting_client import RemotingClient
from rocketns.client.seeding import seeded_routes, seeds_of
from rocketns.config import Configuration
from rocketns.protocol.codes import SerializeType
from rocketns.routeinfo.doubt import DoubtReason
from rocketns.routeinfo.filling import fill, topic_pieces
from rocketns.routeinfo.prior_routes import PriorRoutes, leave_out_long_names
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.clock import Clock
from rocketns.server.publishing.publisher import Publisher

if TYPE_CHECKING:
    from rocketns.journal.restore import Restored

log = logging.getLogger("rocketns.controller")

# How long connections wait for the routes without an answer.
UNHEARD_S = 1.0
# An older journal is behind: a name server that kept running has expired the brokers that left in this time.
JOURNAL_OLD_MS = 120_000
# Unconfirmed brokers that the log names.
UNCONFIRMED_LINES_MAX = 100

FoundRoutes = tuple[PriorRoutes, DoubtReason]


class FirstRoutes:
    """`fill` is called once, before the journal starts. It may be cancelled; then no thread goes on reading."""

    def __init__(
        self, configuration: Configuration, clock: Clock, tables: RouteTables, publisher: Publisher,
        client: RemotingClient,
    ) -> None:  # fmt: skip
        self._configuration = configuration
        self._clock = clock
        self._tables = tables
        self._publisher = publisher
        self._client = client

    async def fill(
        self, journal_ns: str | None, port: int, on_slow: Callable[[], Awaitable[None]]
    ) -> DoubtReason | None:
        """Fill the tables and the reactors' slots. Returns where the routes came from; None if there are none.

        ``journal_ns`` None: there is no journal. ``port`` is the server's own. ``on_slow`` is called after a second.
        """
        found = await self._find_in_time(journal_ns, port, on_slow)
        if found is None:
            return None
        routes, reason = found
        limits, tables = self._configuration.limits, self._tables
        confirm_s = self._configuration.restore.confirm_seconds
        if left_out := leave_out_long_names(routes, limits.name_bytes_max):
            log.warning("%d brokers, topics and other entries are not restored: their names have more than "
                        "rocketns.nameBytesMax=%d bytes", left_out, limits.name_bytes_max)  # fmt: skip
        fill(tables, routes, reason, self._clock.now().ms, confirm_s * 1000)
        log.info("%d brokers are not confirmed yet (%s): each must be heard within %d s", len(tables.unconfirmed),
                 reason, confirm_s)  # fmt: skip
        for key in list(tables.unconfirmed)[:UNCONFIRMED_LINES_MAX]:
            log.info("broker not confirmed yet (%s): %s", reason, key)
        for piece in topic_pieces(tables):
            self._publisher.publish(list(piece))
            await asyncio.sleep(0)
        if tables.routes > limits.routes_max:  # a lower limit must not take routes from clients
            log.warning("the tables have %d routes, more than rocketns.routesMax=%d. All are kept. Registrations that "
                        "add routes are refused", tables.routes, limits.routes_max)  # fmt: skip
        return reason

    async def _find_in_time(
        self, journal_ns: str | None, port: int, on_slow: Callable[[], Awaitable[None]]
    ) -> FoundRoutes | None:
        finding = asyncio.ensure_future(self._find(journal_ns, port))
        try:
            done, _ = await asyncio.wait({finding}, timeout=UNHEARD_S)
            if not done:
                log.warning("restoring the routes takes long: until it ends, lookups are answered SYSTEM_ERROR")
                await on_slow()
            return await finding
        finally:
            finding.cancel()

    async def _find(self, journal_ns: str | None, port: int) -> FoundRoutes | None:
        """From the journal, or if that has no broker, or is an old one, from another name server."""
        restored = None if journal_ns is None else await self._restored(journal_ns)
        age_ms = 0 if restored is None else self._clock.now().epoch_ms - restored.ended_epoch_ms
        if restored is None or not restored.brokers or age_ms > JOURNAL_OLD_MS:
            seeded = await self._seeded(port)
            if seeded is not None:
                return seeded, DoubtReason.SEEDED
        return None if restored is None else (restored.routes, DoubtReason.RESTORED)

    async def _seeded(self, port: int) -> PriorRoutes | None:
        config, serialize_type = self._configuration.restore, SerializeType[self._configuration.serialize_type]
        seeds = await seeds_of(config, self._client, serialize_type, port)
        return await seeded_routes(seeds, config.seed_seconds, self._clock.now().epoch_ms) if seeds else None

    async def _restored(self, ns: str) -> Restored | None:
        """The routes of the journal. None if there are none, or if reading them fails."""
        config, cancelled = self._configuration, threading.Event()
        if not config.restore.restore:
            return None
        from rocketns.journal.restore import restore  # a server without a journal starts 10 ms sooner

        folder, epoch_ms, seconds_max = (
            Path(config.journal.journal_path), self._clock.now().epoch_ms, config.restore.restore_max_seconds,
        )  # fmt: skip
        try:
            restored = await asyncio.to_thread(restore, folder, ns, epoch_ms, seconds_max, cancelled)
        except Exception:
            log.exception("no routes are restored, because reading the journal failed")
            return None
        finally:
            cancelled.set()
        if restored is None or restored.routes.is_empty:
            return None
        log.info("%s", restored)
        return restored
