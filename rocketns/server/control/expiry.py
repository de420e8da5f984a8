"""scanNotActiveBroker: unregisters the brokers that were silent for longer than their heartbeat timeout.

Unconfirmed brokers go here as well: at their own deadline, or on proof. For proof their addresses are asked whether
they refuse connections. Addresses come from registrations, so a hostile peer can choose them. Only unconfirmed brokers
are asked, and only at the host that announced them, or in networks that the operator named (`ReachRules`). What an
address answers is shown to nobody. The asks are few, however many brokers there are, and the hosts that announced them
take turns.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict, deque
from collections.abc import Awaitable, Callable, Iterator
from itertools import islice

from rocketns.addresses import host_of
from rocketns.processor.context import NamesrvContext
from rocketns.routeinfo import liveness
from rocketns.routeinfo.doubt import DoubtReason
from rocketns.routeinfo.events import Cause
from rocketns.routeinfo.filling import replace_overdue
from rocketns.routeinfo.liveness import ExpiredBroker
from rocketns.routeinfo.tables import BrokerAddrInfo
from rocketns.routeinfo.unregistration import unregister_brokers
from rocketns.server.clock import Clock, Jobs
from rocketns.server.control.control import Control
from rocketns.server.control.housekeeping import UNREGISTERED_AT_ONCE_MAX, BrokerHousekeeping
from rocketns.server.publishing.delivery import EventDelivery
from rocketns.server.stall import SETTLE_MS, StallWatch
from rocketns.server.turns import by_turns

log = logging.getLogger("rocketns.control")

SCAN = "scanNotActiveBroker"
# Brokers that expire in one piece of work. The event loop runs between two pieces.
EXPIRED_AT_ONCE_MAX = 64
CONFIRM_EVERY_MS = 1_000
# How often one address is asked, how many at the same time, and how many begin or wait in a tick: of all, and to the
# addresses that one host announced.
ASK_INTERVAL_MS = 5_000
ASKS_AT_ONCE_MAX = 32
ASKS_IN_TICK_MAX = 500
OF_HOST_IN_TICK_MAX = 32


class Expiry:
    """`scan` and `confirm` are periodic jobs.

    ``refuses`` says of ``host:port``, and of the host that announced it, whether it refuses connections, and never
    raises.
    """

    def __init__(
        self, context: NamesrvContext, clock: Clock, jobs: Jobs, stalls: StallWatch, delivery: EventDelivery,
        control: Control, housekeeping: BrokerHousekeeping, refuses: Callable[[str, str | None], Awaitable[bool]],
    ) -> None:  # fmt: skip
        self._config, self._tables = context.configuration.restore, context.tables
        self._clock = clock
        self._jobs = jobs
        self._stalls = stalls
        self._delivery = delivery
        self._control = control
        self._housekeeping = housekeeping
        self._refuses = refuses
        self._overdue: deque[ExpiredBroker] = deque()
        self._due_ms: dict[BrokerAddrInfo, int] = {}
        self._asks: dict[BrokerAddrInfo, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(ASKS_AT_ONCE_MAX)

    def stop(self) -> None:
        """Expire nothing more, and ask nobody."""
        self._overdue.clear()
        for ask in self._asks.values():
            ask.cancel()

    def scan(self) -> None:
        """Find the overdue brokers, and expire the first of them. After a stall the scan is postponed."""
        now_ms = self._clock.now().ms
        if not self._stalls.may_expire():
            self._jobs.postpone(SCAN, now_ms + SETTLE_MS)
            return
        log.info("start scanNotActiveBroker")
        self._overdue = deque(liveness.expired_brokers(self._tables, now_ms))
        self._expire_some()

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
        if entry.doubt is not None or not self._housekeeping.are_many_silent():
            self._expire(expired)
        elif entry.channel is None or not entry.channel.in_flight:
            self._housekeeping.doubt(expired.key, entry, DoubtReason.SILENT_TOGETHER)

    def _expire(self, expired: ExpiredBroker) -> None:
        """Close the broker's connection and unregister it, unless a request of the connection waits."""
        connection = expired.entry.channel
        if connection is not None:
            if connection.in_flight:  # a waiting request may be the broker's heartbeat
                return
            connection.abort(expired.cause)
        _log(expired)
        self._control.unregister(expired.request)

    def confirm(self) -> None:
        """Give up the unconfirmed brokers past their deadline, and ask those whose turn it is.

        Nothing is given up while input still waits after a stall: it may be a sign of life.
        """
        now = self._clock.now()
        if self._tables.unheard:
            self._delivery.deliver([*replace_overdue(self._tables, now.ms)], now)
        if self._stalls.is_settled:
            leaving = liveness.overdue_unnamed(self._tables, now.ms, UNREGISTERED_AT_ONCE_MAX)
            for one in leaving:
                log.warning("%s of %s %s is given up: the address was heard, but not by this name",
                            one.broker_name, one.cluster, one.addr)  # fmt: skip
            self._delivery.deliver(unregister_brokers(self._tables, leaving, now.ms), now)
            for expired in liveness.overdue_unconfirmed(self._tables, now.ms):
                self._expire(expired)
        if self._config.ask_unconfirmed:
            for key in islice(self._due(), ASKS_IN_TICK_MAX - len(self._asks)):
                self._asks[key] = asyncio.get_running_loop().create_task(self._ask(key))

    def _due(self) -> Iterator[BrokerAddrInfo]:
        """The brokers that are to be asked, of each host one, then of each the next one."""
        now_ms, unconfirmed = self._clock.now().ms, self._tables.unconfirmed
        self._due_ms = {key: due_ms for key, due_ms in self._due_ms.items() if key in unconfirmed}
        of_host: defaultdict[str, list[BrokerAddrInfo]] = defaultdict(list)
        for key, entry in unconfirmed.items():
            # Whoever announced an address chose the host in it.
            host = host_of(key.addr if entry.announced_by is None else f"{entry.announced_by}:0")
            is_due = self._due_ms.get(key, now_ms) <= now_ms and key not in self._asks
            if is_due and len(of_host[host]) < OF_HOST_IN_TICK_MAX:
                of_host[host].append(key)
        return by_turns(of_host.values())

    async def _ask(self, key: BrokerAddrInfo) -> None:
        """A broker is given up unless it gave a sign of life meanwhile, or left."""
        unconfirmed = self._tables.unconfirmed
        try:
            async with self._room:
                entry = unconfirmed.get(key)
                if entry is None or not await self._refuses(key.addr, entry.announced_by):
                    return
                if unconfirmed.get(key) is entry:
                    self._expire(liveness.expired(self._tables, key, entry, Cause.REFUSED))
        except Exception:
            log.exception("an unconfirmed broker cannot be asked")
        finally:
            del self._asks[key]
            self._due_ms[key] = self._clock.now().ms + ASK_INTERVAL_MS


def _log(expired: ExpiredBroker) -> None:
    entry, doubt = expired.entry, expired.entry.doubt
    if doubt is None:
        log.warning("The broker channel expired, %s %dms", expired.key, entry.timeout_ms)
    elif expired.cause is Cause.REFUSED:
        log.warning("%s (%s) is gone: its address refuses connections", expired.key, doubt.reason)
    else:
        waited_ms = doubt.deadline_ms - doubt.since_ms
        log.warning("%s (%s) is given up: no sign of life for %d ms", expired.key, doubt.reason, waited_ms)
