"""Keeps the rates of hosts at what the properties say, and tells the operator who was refused."""

from __future__ import annotations

import logging

from rocketns._fast.connections.hosts import HostTable
from rocketns.addresses import shown_account
from rocketns.config import Limits

log = logging.getLogger("rocketns.rates")

REPORT_INTERVAL_MS = 10_000
# Lines of one report for each property. One more counts the other hosts.
HOSTS_NAMED_MAX = 5


class RateWatch:
    """Control only."""

    def __init__(self, limits: Limits, hosts: HostTable) -> None:
        self._limits = limits
        self._hosts = hosts
        self._requests = 0  # refused up to the last report
        self._connections = 0
        self.apply()

    def apply(self) -> None:
        """The properties may have changed."""
        self._hosts.limit(self._limits.host_requests_per_second, self._limits.host_connections_per_second)

    def report(self) -> None:
        """Log the hosts that were refused most since the last call. Call it every `REPORT_INTERVAL_MS`."""
        requests = self._hosts.refused_requests - self._requests
        connections = self._hosts.refused_connections - self._connections
        if not requests and not connections:
            return
        self._requests += requests
        self._connections += connections
        rows = self._hosts.take_refused()
        _log("request", "answered SYSTEM_BUSY", "hostRequestsPerSecond", self._limits.host_requests_per_second,
             requests, {host: number for host, number, _ in rows if number})  # fmt: skip
        _log("connection", "closed at once", "hostConnectionsPerSecond", self._limits.host_connections_per_second,
             connections, {host: number for host, _, number in rows if number})  # fmt: skip


def _log(what: str, done: str, name: str, most: int, total: int, by_host: dict[str, int]) -> None:
    if not total:
        return
    first = sorted(by_host, key=lambda host: (-by_host[host], host))[:HOSTS_NAMED_MAX]
    for host in first:
        log.warning("%ss of %s beyond rocketns.%s=%d: %d were %s in the last %d s. If they are wanted, raise the "
                    "property in the configuration file and send SIGHUP",
                    what, shown_account(host), name, most, by_host[host], done, REPORT_INTERVAL_MS // 1000,
                    extra={"host": shown_account(host), "refused": by_host[host]})  # fmt: skip
    others = total - sum(by_host[host] for host in first)
    if others > 0:
        log.warning("%ss of other hosts beyond rocketns.%s=%d: %d were %s in the last %d s",
                    what, name, most, others, done, REPORT_INTERVAL_MS // 1000)  # fmt: skip
