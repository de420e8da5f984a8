"""Many brokers that fall silent together: the cause is probably this name server or its network, not the brokers.

The model is Eureka's self-preservation, which cannot know which of them have stopped. Here each of them is asked for
proof, see server/confirming.
"""

from __future__ import annotations

import logging

from rocketns.processor.context import NamesrvContext
from rocketns.routeinfo import liveness
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.doubt import DoubtReason
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo
from rocketns.server.clock import Clock
from rocketns.server.publishing.delivery import EventDelivery

log = logging.getLogger("rocketns.control")

# All brokers are counted, so not for each of them again.
COUNT_EVERY_MS = 1_000


class MassSilence:
    """Control only. With ``massExpiryPercent=0`` it keeps nobody."""

    def __init__(self, context: NamesrvContext, clock: Clock, delivery: EventDelivery) -> None:
        self._config = context.configuration.restore
        self._netty = context.configuration.netty
        self._tables = context.tables
        self._clock = clock
        self._delivery = delivery
        self._counted_ms: int | None = None
        self._is_on = False

    def is_on(self) -> bool:
        """Whether more than ``massExpiryPercent`` of the live brokers are silent at this time."""
        now_ms = self._clock.now().ms
        if self._config.mass_expiry_percent and (
            self._counted_ms is None or now_ms - self._counted_ms >= COUNT_EVERY_MS
        ):
            self._counted_ms = now_ms
            self._count(now_ms)
        return self._is_on

    def _count(self, now_ms: int) -> None:
        percent, was_on = self._config.mass_expiry_percent, self._is_on
        silent, live = liveness.silent_together(self._tables, now_ms, self._netty.idle_ms_max)
        self._is_on = silent * 100 > live * percent
        if self._is_on and not was_on:
            log.error(
                "%d of %d brokers are silent, more than massExpiryPercent=%d: probably this name server or its network "
                "is the reason. They are kept until they are heard or known to be gone, for %d s at most. Check the "
                "network of this machine",
                silent, live, percent, self._config.mass_expiry_seconds,
            )  # fmt: skip

    def keep(self, key: BrokerAddrInfo, entry: BrokerLiveInfo) -> None:
        """The broker is unconfirmed from now on, unless it was already."""
        if entry.doubt is None:
            now = self._clock.now()
            deadline_ms = now.ms + self._config.mass_expiry_seconds * 1000
            doubt = liveness.doubt_of(entry, DoubtReason.SILENT_TOGETHER, deadline_ms, now.ms, now.epoch_ms)
            self._delivery.deliver(liveness.doubt_broker(self._tables, key, doubt, now.ms), now)

    def keep_idle(self, connection: Connection) -> bool:
        """A connection was closed because it was idle. Whether its brokers are kept, as they are silent with many."""
        owned = self._tables.owned.get(connection, {})
        if not owned or not (self.is_on() or any(key in self._tables.unconfirmed for key in owned)):
            return False
        for key, entry in liveness.let_go(self._tables, connection):
            self.keep(key, entry)
        return True
