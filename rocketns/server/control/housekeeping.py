"""Unregistrations: at the request of a broker, and after its connection ended; and brokers that are kept.

Many that fall silent together are kept: the cause is probably this name server or its network, not the brokers. The
model is Eureka's self-preservation, which cannot know which of them have stopped. Here each of them is asked for proof,
see `expiry`.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Iterator
from itertools import islice

from rocketns.processor.context import NamesrvContext
from rocketns.routeinfo import liveness
from rocketns.routeinfo.connection import Connection
from rocketns.routeinfo.doubt import DoubtReason
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo
from rocketns.routeinfo.unregistration import UnregisterRequest, unregister_brokers
from rocketns.server.clock import Clock
from rocketns.server.publishing.delivery import EventDelivery
from rocketns.server.stall import StallWatch

log = logging.getLogger("rocketns.control")

# Unregistrations applied as one batch. The others wait for the next turn.
UNREGISTERED_AT_ONCE_MAX = 32
# All brokers are counted, so not for each of them again.
COUNT_EVERY_MS = 1_000


class BrokerHousekeeping:
    """BrokerHousekeepingService and BatchUnregistrationService. With ``massExpiryPercent=0`` silence keeps nobody."""

    def __init__(self, context: NamesrvContext, clock: Clock, delivery: EventDelivery, stalls: StallWatch) -> None:
        self._context = context
        self._clock = clock
        self._delivery = delivery
        self._stalls = stalls
        self._closed: deque[Iterator[UnregisterRequest]] = deque()  # of closed connections: their other brokers
        self._counted_ms: int | None = None
        self._are_many_silent = False

    @property
    def has_waiting(self) -> bool:
        """Whether unregistrations wait for `apply`."""
        return bool(self._context.unregister_queue or self._closed or self._context.tables.orphans)

    def apply(self) -> None:
        """Apply the first waiting unregistrations as one batch, after the turn in which they were answered."""
        batch = self._context.unregister_queue.remove_first(UNREGISTERED_AT_ONCE_MAX)
        while self._closed and len(batch) < UNREGISTERED_AT_ONCE_MAX:
            batch += islice(self._closed[0], UNREGISTERED_AT_ONCE_MAX - len(batch))
            if len(batch) < UNREGISTERED_AT_ONCE_MAX:
                self._closed.popleft()
        batch += liveness.orphaned(self._context.tables, UNREGISTERED_AT_ONCE_MAX - len(batch))
        if batch:
            now = self._clock.now()
            self._delivery.deliver(unregister_brokers(self._context.tables, batch, now.ms), now)

    def connection_closed(self, connection: Connection, cause: Cause) -> None:
        """Unregister the broker of a connection that ended, unless a stall of this server may be the reason.

        A broker closes the connection to a name server that does not answer, and opens another one.
        """
        self._stalls.check()
        if not self._stalls.is_settled:
            self._keep(connection, DoubtReason.STALLED)
        elif cause is Cause.CHANNEL_IDLE and self._is_silent_with_others(connection):
            self._keep(connection, DoubtReason.SILENT_TOGETHER)
        else:  # its first broker is queued, as in Java. A connection may have many more: some go in each turn
            leaving = liveness.closed_connection(self._context.tables, connection, cause)
            for request in islice(leaving, 1):
                self.submit(request)
                self._closed.append(leaving)

    def _is_silent_with_others(self, connection: Connection) -> bool:
        tables = self._context.tables
        owned = tables.owned.get(connection, {})
        return bool(owned) and (self.are_many_silent() or any(key in tables.unconfirmed for key in owned))

    def are_many_silent(self) -> bool:
        """Whether more than ``massExpiryPercent`` of the live brokers are silent at this time."""
        config, now_ms, were = self._context.configuration.restore, self._clock.now().ms, self._are_many_silent
        percent = config.mass_expiry_percent
        if not percent or (self._counted_ms is not None and now_ms - self._counted_ms < COUNT_EVERY_MS):
            return were
        self._counted_ms = now_ms
        idle_ms_max = self._context.configuration.netty.idle_ms_max
        silent, live = liveness.silent_together(self._context.tables, now_ms, idle_ms_max)
        self._are_many_silent = silent * 100 > live * percent
        if self._are_many_silent and not were:
            log.error(
                "%d of %d brokers are silent, more than massExpiryPercent=%d: probably this name server or its network "
                "is the reason. They are kept until they are heard or known to be gone, for %d s at most. Check the "
                "network of this machine",
                silent, live, percent, config.mass_expiry_seconds,
            )  # fmt: skip
        return self._are_many_silent

    def _keep(self, connection: Connection, reason: DoubtReason) -> None:
        for key, entry in liveness.let_go(self._context.tables, connection):
            self.doubt(key, entry, reason)

    def doubt(self, key: BrokerAddrInfo, entry: BrokerLiveInfo, reason: DoubtReason) -> None:
        """The broker is unconfirmed from now on, unless it was already.

        After a stall it has as much time as if it were silent.
        """
        if entry.doubt is not None:
            return
        tables, now = self._context.tables, self._clock.now()
        deadline_ms = now.ms + self._context.configuration.restore.mass_expiry_seconds * 1000
        if reason is DoubtReason.STALLED:
            deadline_ms = entry.last_update_ms + entry.timeout_ms + entry.grace_ms
        doubt = liveness.doubt_of(entry, reason, deadline_ms, now.ms, now.epoch_ms)
        self._delivery.deliver(liveness.doubt_broker(tables, key, doubt, now.ms), now)

    def submit(self, request: UnregisterRequest) -> None:
        """Queue an unregistration that the name server itself wants. Java drops it when the queue is full."""
        queue = self._context.unregister_queue
        accepted = queue.submit(request)
        if not accepted:
            self.apply()
            accepted = queue.submit(request)
        log.info(
            "the broker's channel destroyed, submit the unregister request at once, "
            "broker info: %s %s %s[%s], submit result: %s",
            request.cluster, request.addr, request.broker_name, request.broker_id, str(accepted).lower(),
        )  # fmt: skip
