"""Unregistrations: at the request of a broker, and after its connection ended; and brokers that are kept.

Many that fall silent together are kept: the cause is probably this name server or its network, not the brokers. The
model is Eureka's self-preservation, which cannot know which of them have stopped. Here each of them is asked for proof,
see server/confirming.py.
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
        now_ms, percent, was_on = self._clock.now().ms, self._config.mass_expiry_percent, self._is_on
        if not percent or (self._counted_ms is not None and now_ms - self._counted_ms < COUNT_EVERY_MS):
            return was_on
        self._counted_ms = now_ms
        silent, live = liveness.silent_together(self._tables, now_ms, self._netty.idle_ms_max)
        self._is_on = silent * 100 > live * percent
        if self._is_on and not was_on:
            log.error(
                "%d of %d brokers are silent, more than massExpiryPercent=%d: probably this name server or its network "
                "is the reason. They are kept until they are heard or known to be gone, for %d s at most. Check the "
                "network of this machine",
                silent, live, percent, self._config.mass_expiry_seconds,
            )  # fmt: skip
        return self._is_on

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


class BrokerHousekeeping:
    """BrokerHousekeepingService and BatchUnregistrationService."""

    def __init__(
        self, context: NamesrvContext, clock: Clock, delivery: EventDelivery, stalls: StallWatch, silence: MassSilence
    ) -> None:
        self._context = context
        self._clock = clock
        self._delivery = delivery
        self._stalls = stalls
        self._silence = silence
        self._closed: deque[Iterator[UnregisterRequest]] = deque()

    @property
    def has_waiting(self) -> bool:
        """Whether unregistrations wait for `apply`."""
        return bool(len(self._context.unregister_queue) or self._closed or self._context.tables.orphans)

    def is_known(self, connection: Connection) -> bool:
        """Whether a broker registered from the connection, and did not leave it since."""
        return connection in self._context.tables.owned

    def apply(self) -> None:
        """Apply the first waiting unregistrations as one batch, after the turn in which they were answered."""
        batch = self._context.unregister_queue.take(UNREGISTERED_AT_ONCE_MAX)
        batch += self._take_closed(UNREGISTERED_AT_ONCE_MAX - len(batch))
        batch += liveness.orphaned(self._context.tables, UNREGISTERED_AT_ONCE_MAX - len(batch))
        if batch:
            now = self._clock.now()
            self._delivery.deliver(unregister_brokers(self._context.tables, batch, now.ms), now)

    def _take_closed(self, most: int) -> list[UnregisterRequest]:
        """The next unregistrations for the other brokers of closed connections, at most ``most``."""
        if not self._closed or not most:
            return []
        taken = list(islice(self._closed[0], most))
        if len(taken) < most:
            self._closed.popleft()
        return taken

    def connection_closed(self, connection: Connection, cause: Cause) -> None:
        """Unregister the broker of a connection that ended, unless a stall of this server may be the reason.

        A broker closes the connection to a name server that does not answer, and opens another one.
        """
        self._stalls.check()
        if not self._stalls.is_settled:
            self._keep(connection)
        elif cause is not Cause.CHANNEL_IDLE or not self._silence.keep_idle(connection):
            self._lose(connection, cause)

    def _keep(self, connection: Connection) -> None:
        """Its brokers are unconfirmed. They have as much time as if they were silent."""
        tables, now = self._context.tables, self._clock.now()
        for key, entry in liveness.let_go(tables, connection):
            if entry.doubt is None:
                deadline_ms = entry.last_update_ms + entry.timeout_ms + entry.grace_ms
                doubt = liveness.doubt_of(entry, DoubtReason.STALLED, deadline_ms, now.ms, now.epoch_ms)
                self._delivery.deliver(liveness.doubt_broker(tables, key, doubt, now.ms), now)

    def _lose(self, connection: Connection, cause: Cause) -> None:
        """Its first broker is queued, as in Java. A connection may have many more: some go in each turn."""
        leaving = liveness.closed_connection(self._context.tables, connection, cause)
        for request in islice(leaving, 1):
            self.submit(request)
            self._closed.append(leaving)

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
