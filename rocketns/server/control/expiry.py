"""scanNotActiveBroker: unregisters the brokers that were silent for longer than their heartbeat timeout.

Unconfirmed brokers go here as well: at their own deadline, or on proof.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque

from rocketns.processor.context import NamesrvContext
from rocketns.routeinfo import liveness
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.liveness import ExpiredBroker
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo
from rocketns.server.clock import Clock, Jobs
from rocketns.server.control.control import Control
from rocketns.server.control.housekeeping import MassSilence
from rocketns.server.stall import SETTLE_MS, StallWatch

log = logging.getLogger("rocketns.control")

SCAN = "scanNotActiveBroker"
# Brokers that expire in one piece of work. The event loop runs between two pieces.
EXPIRED_AT_ONCE_MAX = 64


class Expiry:
    """`scan` is a periodic job."""

    def __init__(
        self, context: NamesrvContext, clock: Clock, jobs: Jobs, stalls: StallWatch, control: Control,
        silence: MassSilence,
    ) -> None:  # fmt: skip
        self._tables = context.tables
        self._clock = clock
        self._jobs = jobs
        self._stalls = stalls
        self._control = control
        self._silence = silence
        self._overdue: deque[ExpiredBroker] = deque()

    def scan(self) -> None:
        """Find the overdue brokers, and expire the first of them. After a stall the scan is postponed."""
        now_ms = self._clock.now().ms
        if not self._stalls.may_expire():
            self._jobs.postpone(SCAN, now_ms + SETTLE_MS)
            return
        log.info("start scanNotActiveBroker")
        self._overdue = deque(liveness.expired_brokers(self._tables, now_ms))
        self._expire_some()

    def scan_unconfirmed(self) -> None:
        """Give up the unconfirmed brokers past their deadline, unless input still waits after a stall."""
        if self.may_give_up:
            for expired in liveness.overdue_unconfirmed(self._tables, self._clock.now().ms):
                self._expire(expired)

    @property
    def may_give_up(self) -> bool:
        """Whether no input waits after a stall: it may be a sign of life."""
        return self._stalls.is_settled

    def give_up(self, key: BrokerAddrInfo, entry: BrokerLiveInfo, cause: Cause) -> None:
        """There is proof that a broker is gone. Ignored if it gave a sign of life since, or left."""
        if self._tables.unconfirmed.get(key) is entry:
            self._expire(liveness.given_up(self._tables, key, entry, cause))

    def stop(self) -> None:
        """Expire nothing more."""
        self._overdue.clear()

    def _expire_some(self) -> None:
        now_ms = self._clock.now().ms
        for _ in range(min(EXPIRED_AT_ONCE_MAX, len(self._overdue))):
            expired = self._overdue.popleft()
            entry = expired.entry
            if self._tables.broker_live_table.get(expired.key) is entry and entry.expires_before(now_ms):
                self._expire_or_keep(expired)
        if self._overdue:
            asyncio.get_running_loop().call_soon(self._expire_some)

    def _expire_or_keep(self, expired: ExpiredBroker) -> None:
        """Brokers that are silent together with many others are kept, unless a request of the connection waits."""
        entry = expired.entry
        if entry.doubt is not None or not self._silence.is_on():
            self._expire(expired)
        elif entry.channel is None or not entry.channel.in_flight:
            self._silence.keep(expired.key, entry)

    def _expire(self, expired: ExpiredBroker) -> None:
        """Close the broker's connection and unregister it, unless a request of the connection waits."""
        connection = expired.entry.channel
        if connection is not None:
            if connection.in_flight:  # a waiting request may be the broker's heartbeat
                return
            connection.abort(expired.cause)
        _log(expired)
        self._control.unregister(expired.request)


def _log(expired: ExpiredBroker) -> None:
    entry, doubt = expired.entry, expired.entry.doubt
    if doubt is None:
        log.warning("The broker channel expired, %s %dms", expired.key, entry.timeout_ms)
    elif expired.cause is Cause.REFUSED:
        log.warning("%s (%s) is gone: its address refuses connections", expired.key, doubt.reason)
    else:
        waited_ms = doubt.deadline_ms - doubt.since_ms
        log.warning("%s (%s) is given up: no sign of life for %d ms", expired.key, doubt.reason, waited_ms)
