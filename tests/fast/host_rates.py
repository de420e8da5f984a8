"""How many connections and requests a second each host may make: token buckets in a bounded table.

A bucket is one number: the time until which its tokens are spent, as that of `access.guard.PrincipalRates`. It is full
when that time is over, so a host that asked for nothing in the last second needs no bucket at all.

It is the definition that rocketns/_fast/connections/hosts.pyx is compared with.
"""

from __future__ import annotations

from typing import Protocol

NS_PER_MS = 1_000_000
SECOND_NS = 1_000_000_000

# Hosts that are told apart: so many sets with so many places. A host is in one set, by a keyed hash.
SETS = 1024
PLACES = 8

OF_STRANGERS, OF_BROKERS, OF_CONNECTIONS = range(3)


def cost_ns(per_second: int) -> int:
    """The time of one token, rounded down so that a full bucket has all its tokens; 0 without a limit."""
    return SECOND_NS // per_second if per_second else 0


def spend(spent_until_ns: int, cost: int, now_ns: int) -> int | None:
    """Take a token of this cost: the time until which the bucket's tokens are spent then. None if it is empty."""
    spent_ns = min(max(spent_until_ns, now_ns), now_ns + SECOND_NS) + cost
    return None if spent_ns > now_ns + SECOND_NS else spent_ns


class Rates(Protocol):
    """Any thread may read the counts."""

    def limit(self, requests: int, connections: int) -> None:
        """From now on each host may make so many of them a second; 0 is no limit."""

    def may_ask(self, host: str, is_broker: bool, now_ms: int) -> bool:
        """Take the token of a request. ``is_broker``: a broker registered from the connection.

        Such connections have a bucket of their own. So a broker's requests are not refused because of a flood of others
        at its address.
        """

    def may_connect(self, host: str, now_ms: int) -> bool:
        """Take the token of a new connection."""

    def drain_refused(self) -> list[tuple[str, int, int]]:
        """Hosts of which requests or connections were refused since the last call, and how many; not forgotten ones."""

    @property
    def refused(self) -> tuple[int, int]:
        """Requests and connections since the start."""


class _Host:
    """The buckets of a host, and what was refused since the last look."""

    __slots__ = ("connections", "requests", "spent_until_ns")

    def __init__(self) -> None:
        self.spent_until_ns = [0, 0, 0]
        self.requests = 0
        self.connections = 0

    def take(self, bucket: int, cost: int, now_ns: int) -> bool:
        """Whether the bucket had a token."""
        spent_ns = spend(self.spent_until_ns[bucket], cost, now_ns)
        if spent_ns is None:
            return False
        self.spent_until_ns[bucket] = spent_ns
        return True


class HostRates:
    """The buckets in Python.

    A set without a free place forgets the host whose tokens are back first. That costs nothing where all of them are
    back. Else the host begins again with a full bucket. A host that floods is not the one: its tokens are back last.
    """

    def __init__(self, sets: int = SETS) -> None:
        self._sets: list[dict[str, _Host]] = [{} for _ in range(sets)]
        self._requests_ns = 0
        self._connections_ns = 0
        self.refused = 0, 0

    def limit(self, requests: int, connections: int) -> None:
        self._requests_ns, self._connections_ns = cost_ns(requests), cost_ns(connections)

    def may_ask(self, host: str, is_broker: bool, now_ms: int) -> bool:
        if not self._requests_ns:
            return True
        at = self._host(host)
        if at.take(OF_BROKERS if is_broker else OF_STRANGERS, self._requests_ns, now_ms * NS_PER_MS):
            return True
        at.requests += 1
        self.refused = self.refused[0] + 1, self.refused[1]
        return False

    def may_connect(self, host: str, now_ms: int) -> bool:
        if not self._connections_ns:
            return True
        at = self._host(host)
        if at.take(OF_CONNECTIONS, self._connections_ns, now_ms * NS_PER_MS):
            return True
        at.connections += 1
        self.refused = self.refused[0], self.refused[1] + 1
        return False

    def drain_refused(self) -> list[tuple[str, int, int]]:
        rows = []
        for hosts in self._sets:
            for name, host in hosts.items():
                if host.requests or host.connections:
                    rows.append((name, host.requests, host.connections))
                    host.requests = host.connections = 0
        return rows

    def _host(self, name: str) -> _Host:
        hosts = self._sets[hash(name) % len(self._sets)]
        host = hosts.get(name)
        if host is None:
            if len(hosts) == PLACES:
                del hosts[min(hosts, key=lambda one: max(hosts[one].spent_until_ns))]
            host = hosts[name] = _Host()
        return host
