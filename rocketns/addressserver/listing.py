"""Which name servers are listed: those that answered lately, or the last of them. No socket and no clock."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from math import inf
from typing import NamedTuple

log = logging.getLogger("rocketns.addressserver")

# Three probes, one every 3 s. Brokers ask every 10 s, clients every 2 min.
LISTED_S = 10.0


class Listed(NamedTuple):
    """What brokers and clients are told. ``kept_s``: seconds since one of them was ready; None if some are ready."""

    addresses: tuple[str, ...]
    kept_s: float | None = None


class Listing:
    """The name servers of the cluster by the addresses that brokers and clients use. Times are seconds of one clock.

    If all fail at once, the last list is kept for ``keep_s``: more likely this server cannot reach them than that all
    are gone, and an empty list would help nobody. One that said that it is not ready is not kept.
    """

    def __init__(self, keep_s: float) -> None:
        self._keep_s = keep_s
        self._answered_at_s: dict[str, float | None] = {}
        self._logged = Listed(())

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

    def listed(self, now_s: float) -> Listed:
        """Sorted, so that all address servers that know the same give the same bytes."""
        answered = {addr: at_s for addr, at_s in self._answered_at_s.items() if at_s is not None}
        last_s = max(answered.values(), default=-inf)
        failed_s = now_s - last_s - LISTED_S
        if failed_s > self._keep_s:
            return Listed(())
        since_s = min(now_s, last_s) if failed_s > 0 else now_s
        addresses = tuple(sorted(addr for addr, at_s in answered.items() if since_s - at_s <= LISTED_S))
        return Listed(addresses, failed_s if failed_s > 0 else None)

    def tell_changes(self, now_s: float) -> None:
        """Log whatever is listed since the last call, or is not any more."""
        listed, logged = self.listed(now_s), self._logged
        for addr in sorted({*listed.addresses} - {*logged.addresses}):
            log.info("the address server lists the name server %s", addr)
        for addr in sorted({*logged.addresses} - {*listed.addresses}):
            reason = "it answered no lookup lately" if addr in self._answered_at_s else "it was removed from the peers"
            log.warning("the address server no longer lists the name server %s: %s", addr, reason)
        if not listed.addresses and logged.addresses:
            log.error("the address server lists no name server: brokers and clients keep the list that they have")
        if listed.kept_s is not None and logged.kept_s is None:
            log.error("no name server answered the address server for %g s: it goes on listing %s for %g s. Check "
                      "whether they run, and whether this machine reaches them", LISTED_S,
                      ";".join(listed.addresses), self._keep_s)  # fmt: skip
        if listed.kept_s is None and logged.kept_s is not None and listed.addresses:
            log.info("name servers answer the address server again")
        self._logged = listed
