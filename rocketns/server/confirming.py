"""Asks the addresses of unconfirmed brokers whether they refuse connections, and gives up those that do.

Addresses come from registrations, so a hostile peer can choose them. Only unconfirmed brokers are asked, and only at
the host that announced them, or in networks that the operator named (`ReachRules`). What an address answers is shown to
nobody. The asks are few, however many brokers there are, and the hosts that announced them take turns.
"""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterator
from itertools import chain, islice, zip_longest

from rocketns.addresses import host_of
from rocketns.config import RestoreConfig
from rocketns.processor.context import Now
from rocketns.routeinfo.events import Cause, Event
from rocketns.routeinfo.filling import replace_overdue
from rocketns.routeinfo.liveness import overdue_unnamed
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables
from rocketns.routeinfo.unregistration import unregister_brokers
from rocketns.server.clock import Clock
from rocketns.server.control.expiry import Expiry
from rocketns.server.control.housekeeping import UNREGISTERED_AT_ONCE_MAX

log = logging.getLogger("rocketns.control")

TICK_MS = 1_000
# How often one address is asked, how many at the same time, and how many begin or wait in a tick: of all, and to the
# addresses that one host announced.
ASK_INTERVAL_MS = 5_000
ASKS_AT_ONCE_MAX = 32
ASKS_IN_TICK_MAX = 500
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
        self._due_ms: dict[BrokerAddrInfo, int] = {}
        self._asks: dict[BrokerAddrInfo, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(ASKS_AT_ONCE_MAX)

    def tick(self) -> None:
        """Give up the brokers past their deadline, and ask those whose turn it is."""
        self._replace_topics()
        self._leave_unnamed()
        if not self._tables.unconfirmed:
            self._due_ms.clear()
            return
        self._expiry.scan_unconfirmed()
        if self._config.ask_unconfirmed:
            for key in islice(self._due(), ASKS_IN_TICK_MAX - len(self._asks)):
                self._asks[key] = asyncio.get_running_loop().create_task(self._ask(key))
                self._asks[key].add_done_callback(self._answered)

    def stop(self) -> None:
        """Ask nobody any more."""
        for ask in self._asks.values():
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
        rounds = zip_longest(*of_host.values())
        return (key for key in chain.from_iterable(rounds) if key is not None)

    async def _ask(self, key: BrokerAddrInfo) -> None:
        try:
            async with self._room:
                entry = self._tables.unconfirmed.get(key)
                if entry is not None and await self._refuses(key.addr, entry.announced_by):
                    self._expiry.give_up(key, entry, Cause.REFUSED)
        finally:
            del self._asks[key]
            self._due_ms[key] = self._clock.now().ms + ASK_INTERVAL_MS

    def _answered(self, ask: asyncio.Task[None]) -> None:
        if not ask.cancelled() and (error := ask.exception()) is not None:
            log.error("an unconfirmed broker cannot be asked", exc_info=error)
