"""Which broker is asked next. Hosts take turns, and each has a bounded number of asks."""

from __future__ import annotations

from collections import Counter, deque

from rocketns.routeinfo.tables import BrokerAddrInfo

# To the addresses that one host announced: asks at the same time, and in a tick.
OF_HOST_AT_ONCE_MAX = 4
OF_HOST_IN_TICK_MAX = 32


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
