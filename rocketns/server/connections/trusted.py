"""Whose PROXY headers count. Headers of others are refused: counted, and logged once a second at the most."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from rocketns._fast.access.networks import NetworkFlag, Networks
from rocketns.addresses import literal
from rocketns.config.address_texts import Network, packed, packed_address

log = logging.getLogger("rocketns.transport")

LOG_INTERVAL_MS = 1_000


def is_in(networks: Networks, address: str) -> bool:
    """Whether the peer at ``host:port``, of its socket, is in one of them. The host may have a scope."""
    host = literal(address.rpartition(":")[0].partition("%")[0])
    return host is not None and networks.flags_of(packed_address(host)) != 0


class TrustedProxies:
    """Without networks every peer is trusted. Control only. ``refused`` counts since the start."""

    def __init__(self, networks: Sequence[Network]) -> None:
        self._networks = Networks([(*packed(one), NetworkFlag.HAS_EVIDENCE) for one in networks]) if networks else None
        self.refused = 0
        self._logged = 0
        self._next_line_ms: int | None = None

    def trusts(self, address: str) -> bool:
        """Whether the peer at ``host:port``, of its socket, may announce another address."""
        return self._networks is None or is_in(self._networks, address)

    def note(self, address: str, now_ms: int) -> None:
        """A header of the peer at ``address`` was refused."""
        self.refused += 1
        if self._next_line_ms is not None and now_ms < self._next_line_ms:
            return
        log.warning("closed the connection of %s: it began with a PROXY header, and its address is not in "
                    "rocketns.trustedProxies. Closed for that since the last such line: %d. If it is a load balancer, "
                    "add its address", address, self.refused - self._logged)  # fmt: skip
        self._logged, self._next_line_ms = self.refused, now_ms + LOG_INTERVAL_MS
