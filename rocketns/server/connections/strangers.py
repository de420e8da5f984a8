"""Peers that could do nothing here: their connections are closed when they open."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rocketns._fast.access.networks import NetworkFlag, Networks
from rocketns.access.policy import Policy
from rocketns.config.address_texts import Network, packed
from rocketns.server.connections.trusted import is_in

Flagged = tuple[bytes, int, int]  # as of `Networks`


def flagged_networks(policy: Policy, proxies: Iterable[Network]) -> list[Flagged]:
    """The networks of a policy, and those of the trusted proxies, whose own address is nobody's."""
    looks_up = NetworkFlag.HAS_EVIDENCE | NetworkFlag.MAY_LOOK_UP
    flags = {True: looks_up, False: NetworkFlag.HAS_EVIDENCE}
    of_principals = [(*packed(network), flags[may_look_up]) for network, may_look_up in policy.networks()]
    return of_principals + [(*packed(network), NetworkFlag.HAS_EVIDENCE) for network in proxies]


class Strangers:
    """Control only. Without a policy that closes them there is none."""

    def __init__(self) -> None:
        self._networks: Networks | None = None

    def follow(self, policy: Policy, networks: Sequence[Flagged]) -> None:
        """From now on by this policy."""
        self._networks = Networks(list(networks)) if policy.closes_strangers else None

    def is_one(self, address: str) -> bool:
        """Whether the peer at ``host:port`` is in none of the networks."""
        if self._networks is None:
            return False
        return not is_in(self._networks, address)
