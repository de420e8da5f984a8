"""Asks the addresses of unconfirmed brokers whether they refuse connections, and gives up those that do.

Addresses come from registrations, so a hostile peer can choose them. Only unconfirmed brokers are asked, and only at
the host that announced them, or in networks that the operator named (`Reach`). What an address answers is shown to
nobody. The asks are few, however many brokers there are, and hosts take turns.
"""

from __future__ import annotations

import asyncio
import logging
import math
from collections import Counter, deque
from collections.abc import Awaitable, Callable
from functools import partial

from rocketns.addresses import host_of
from rocketns.config import RestoreConfig
from rocketns.processor.context import Now
from rocketns.routeinfo.events import Cause, Event
from rocketns.routeinfo.filling import replace_overdue
from rocketns.routeinfo.liveness import overdue_unnamed
from rocketns.routeinfo.tables import BrokerAddrInfo, BrokerLiveInfo, RouteTables
from rocketns.routeinfo.unregistration import unregister_brokers
from rocketns.server.clock import Clock
from rocketns.server.control.expiry import Expiry
from rocketns.server.control.housekeeping import UNREGISTERED_AT_ONCE_MAX

log = logging.getLogger("rocketns.control")

TICK_MS = 1_000
# How often one address is asked, how many at the same time, and how many in a tick.
ASK_INTERVAL_MS = 5_000
ASKS_AT_ONCE_MAX = 32
ASKS_IN_TICK_MAX = 500

# To the addresses that one host announced: asks at the same time, and in a tick.
OF_HOST_AT_ONCE_MAX = 4
OF_HOST_IN_TICK_MAX = 32


class Confirming:
    """`tick` is a periodic job, every `TICK_MS`; the first comes with the first connection.

    ``refuses`` says of ``host:port``, and of the host that announced it, whether it refuses connections, and never
    raises. ``deliver`` takes the events.
    """

    def __init__(
        self, config: RestoreConfig, tables: RouteTables, clock: Clock, expiry: Expiry,
        refuses: Callable[[str, str | None], Awaitable[bool]], deliver: Callable[[list[Event], Now], object],
    ) -> None:  # fmt: skip
        self._config = config
        self._tables = tables
        self._clock = clock
        self._expiry = expiry
        self._refuses = refuses
        self._deliver = deliver
        self._due_ms: dict[BrokerAddrInfo, float] = {}  # endless while it waits for its ask or the answer
        self._turns = AskTurns()
        self._asks: set[asyncio.Task[None]] = set()
        self._left = 0

    def tick(self) -> None:
        """Give up the brokers past their deadline, and ask those whose turn it is."""
        self._replace_topics()
        self._leave_unnamed()
        if not self._tables.unconfirmed:
            self._due_ms.clear()
            return
        self._expiry.scan_unconfirmed()
        if self._config.ask_unconfirmed:
            self._want_asks()
            self._turns.begin_tick()
            self._left = ASKS_IN_TICK_MAX
            self._ask_some()

    def stop(self) -> None:
        """Ask nobody any more."""
        self._turns.clear()
        for ask in list(self._asks):
            ask.cancel()

    def _replace_topics(self) -> None:
        if self._tables.unheard:
            now = self._clock.now()
            events: list[Event] = list(replace_overdue(self._tables, now.ms))
            if events:
                self._deliver(events, now)

    def _leave_unnamed(self) -> None:
        now = self._clock.now()
        if not self._tables.unnamed or not self._expiry.may_give_up:
            return
        leaving = overdue_unnamed(self._tables, now.ms, UNREGISTERED_AT_ONCE_MAX)
        for one in leaving:
            log.warning("%s of %s %s is given up: the address was heard, but not by this name",
                        one.broker_name, one.cluster, one.addr)  # fmt: skip
        if leaving:
            self._deliver(unregister_brokers(self._tables, leaving, now.ms), now)

    def _want_asks(self) -> None:
        now_ms, unconfirmed = self._clock.now().ms, self._tables.unconfirmed
        for key in [key for key in self._due_ms if key not in unconfirmed]:
            del self._due_ms[key]
        for key, entry in unconfirmed.items():
            if self._due_ms.get(key, now_ms) <= now_ms:
                self._due_ms[key] = math.inf
                self._turns.put(_host(key, entry), key)

    def _ask_some(self) -> None:
        while self._left and len(self._asks) < ASKS_AT_ONCE_MAX and (turn := self._turns.next()) is not None:
            host, key = turn
            entry = self._tables.unconfirmed.get(key)
            if entry is None:
                self._turns.done(host)
                continue
            self._left -= 1
            ask = asyncio.get_running_loop().create_task(self._ask(key, entry))
            self._asks.add(ask)
            ask.add_done_callback(partial(self._answered, host))

    async def _ask(self, key: BrokerAddrInfo, entry: BrokerLiveInfo) -> None:
        if await self._refuses(key.addr, entry.announced_by):
            self._expiry.give_up(key, entry, Cause.REFUSED)
        self._due_ms[key] = self._clock.now().ms + ASK_INTERVAL_MS

    def _answered(self, host: str, ask: asyncio.Task[None]) -> None:
        self._asks.discard(ask)
        self._turns.done(host)
        if not ask.cancelled():
            error = ask.exception()
            if error is not None:
                log.error("an unconfirmed broker cannot be asked", exc_info=error)
            self._ask_some()


def _host(key: BrokerAddrInfo, entry: BrokerLiveInfo) -> str:
    """The host that the ask is charged to. Whoever announced an address chose the host in it."""
    return host_of(key.addr if entry.announced_by is None else f"{entry.announced_by}:0")


class AskTurns:
    """The brokers that wait for their ask, by the host that announced them."""

    def __init__(self) -> None:
        self._waiting: dict[str, deque[BrokerAddrInfo]] = {}
        self._ready: deque[str] = deque()  # hosts that may ask
        self._listed: set[str] = set()  # the same, so that each is there once
        self._at_once: Counter[str] = Counter()
        self._in_tick: Counter[str] = Counter()

    def begin_tick(self) -> None:
        """Each host has all its asks again."""
        self._in_tick.clear()
        for host in self._waiting:
            self._list(host)

    def put(self, host: str, key: BrokerAddrInfo) -> None:
        """A broker waits for its ask, until `begin_tick` at least."""
        self._waiting.setdefault(host, deque()).append(key)

    def next(self) -> tuple[str, BrokerAddrInfo] | None:
        """The next host and broker, None if nobody waits. Call `done` with the host when the ask is over."""
        if not self._ready:
            return None
        host = self._ready.popleft()
        self._listed.discard(host)
        key = self._waiting[host].popleft()
        if not self._waiting[host]:
            del self._waiting[host]
        self._at_once[host] += 1
        self._in_tick[host] += 1
        self._list(host)
        return host, key

    def done(self, host: str) -> None:
        """An ask is over."""
        self._at_once[host] -= 1
        if not self._at_once[host]:
            del self._at_once[host]
        self._list(host)

    def clear(self) -> None:
        """Nobody waits any more."""
        self._waiting.clear()
        self._ready.clear()
        self._listed.clear()

    def _list(self, host: str) -> None:
        has_asks = self._at_once[host] < OF_HOST_AT_ONCE_MAX and self._in_tick[host] < OF_HOST_IN_TICK_MAX
        if has_asks and host in self._waiting and host not in self._listed:
            self._listed.add(host)
            self._ready.append(host)
