"""Which name servers are listed: those that answered lately. No socket and no clock."""

from __future__ import annotations

import logging
from collections.abc import Iterable

log = logging.getLogger("rocketns.addressserver")

# Three probes, one every 3 s. Brokers ask every 10 s, clients every 2 min.
LISTED_S = 10.0


class Listing:
    """The name servers of the cluster by the addresses that brokers and clients use. Times are seconds of one clock."""

    def __init__(self) -> None:
        self._answered_at_s: dict[str, float | None] = {}
        self._told: tuple[str, ...] = ()

    def set_addresses(self, addresses: Iterable[str]) -> None:
        """The addresses that may be listed from now on. Known ones keep their last answer."""
        self._answered_at_s = {addr: self._answered_at_s.get(addr) for addr in addresses}

    def answered(self, addr: str, now_s: float) -> None:
        """It answered a lookup, so it is listed for a while."""
        if addr in self._answered_at_s:
            self._answered_at_s[addr] = now_s

    def refused(self, addr: str) -> None:
        """It says itself that it answers no lookups, so it is not listed."""
        if addr in self._answered_at_s:
            self._answered_at_s[addr] = None

    def listed(self, now_s: float) -> tuple[str, ...]:
        """Sorted, so that all address servers that know the same give the same bytes."""
        ready = (a for a, at_s in self._answered_at_s.items() if at_s is not None and now_s - at_s <= LISTED_S)
        return tuple(sorted(ready))

    def tell_changes(self, now_s: float) -> None:
        """Log whatever is listed since the last call, or is not any more."""
        listed = self.listed(now_s)
        for addr in sorted({*listed} - {*self._told}):
            log.info("the address server lists the name server %s", addr)
        for addr in sorted({*self._told} - {*listed}):
            reason = "it answered no lookup lately" if addr in self._answered_at_s else "it was removed from the peers"
            log.warning("the address server no longer lists the name server %s: %s", addr, reason)
        if not listed and self._told:
            log.error("the address server lists no name server: brokers and clients keep the list that they have")
        self._told = listed
