"""How many connections there may be to one host, and when an address is tried again."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

# After a failure an address rests, twice as long each time. An address that the operator named rests as at first.
REST_S, REST_S_MAX = 1.0, 64.0
WINDOW_S = 1.0
# Of hosts and of addresses. Beyond it the oldest is forgotten.
REMEMBERED_MAX = 4_096

Value = TypeVar("Value")


class ConnectionQuota:
    """Times are seconds of the caller's clock."""

    def __init__(self, per_host_max: int) -> None:
        self._per_host_max = per_host_max
        self._used: Counter[str] = Counter()
        self._opened: dict[str, tuple[float, int]] = {}  # by host: the beginning of a second, connections since
        self._rests: dict[str, tuple[float, float, str]] = {}  # by address: until when, how long, and why

    def resting(self, addr: str, now_s: float) -> str:
        """Why the address failed, as long as it is not to be tried again; else empty."""
        until_s, _, why = self._rests.get(addr, (0.0, 0.0, ""))
        return why if now_s < until_s else ""

    def exceeded(self, host: str, now_s: float) -> str:
        """Which limit a further connection to the host would exceed; empty if none."""
        if self._used[host] >= self._per_host_max:
            return "too many connections to its host (outgoingConnectionsPerHostMax)"
        if self._window(host, now_s)[1] >= self._per_host_max:
            return "too many connections to its host in a second (outgoingConnectionsPerHostMax)"
        return ""

    def acquire(self, host: str, now_s: float) -> None:
        """A connection is being opened."""
        self._used[host] += 1
        began_s, count = self._window(host, now_s)
        _remember(self._opened, host, (began_s, count + 1))

    def release(self, host: str) -> None:
        """It ended, or was not opened."""
        self._used[host] -= 1
        if not self._used[host]:
            del self._used[host]

    def failed(self, addr: str, why: str, now_s: float, rest_s_max: float = REST_S_MAX) -> None:
        """The address does not accept connections, or its peer broke a limit."""
        _, before_s, _ = self._rests.get(addr, (0.0, 0.0, ""))
        rest_s = min(rest_s_max, 2 * before_s or REST_S)
        _remember(self._rests, addr, (now_s + rest_s, rest_s, why))

    def succeeded(self, addr: str) -> None:
        """A connection ended as it should."""
        self._rests.pop(addr, None)

    def _window(self, host: str, now_s: float) -> tuple[float, int]:
        began_s, count = self._opened.get(host, (now_s, 0))
        return (began_s, count) if now_s - began_s < WINDOW_S else (now_s, 0)


def _remember(table: dict[str, Value], key: str, value: Value) -> None:
    table.pop(key, None)
    table[key] = value
    if len(table) > REMEMBERED_MAX:
        del table[next(iter(table))]
