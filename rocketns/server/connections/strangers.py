"""The networks of an access policy, by which reactors know strangers: peers that could do nothing here."""

from __future__ import annotations

from collections.abc import Iterable

from rocketns._fast.access.networks import NetworkFlag
from rocketns.access.policy import Policy
from rocketns.config.address_texts import Network, packed

Flagged = tuple[bytes, int, int]  # as of `Networks`


def flagged_networks(policy: Policy, proxies: Iterable[Network]) -> list[Flagged]:
    """The networks of a policy, and those of the trusted proxies, whose own address is nobody's."""
    looks_up = NetworkFlag.HAS_EVIDENCE | NetworkFlag.MAY_LOOK_UP
    flags = {True: looks_up, False: NetworkFlag.HAS_EVIDENCE}
    of_principals = [(*packed(network), flags[may_look_up]) for network, may_look_up in policy.networks()]
    return of_principals + [(*packed(network), NetworkFlag.HAS_EVIDENCE) for network in proxies]
