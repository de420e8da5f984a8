"""Networks of a policy, joined and as people write them."""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv4Network, IPv6Network, collapse_addresses

from rocketns.access.principal import Network


def joined(networks: Iterable[Network]) -> list[Network]:
    """The same addresses in as few networks as possible, in order: all 256 of a /24 are that network."""
    listed = list(networks)
    fours = collapse_addresses(one for one in listed if isinstance(one, IPv4Network))
    sixes = collapse_addresses(one for one in listed if isinstance(one, IPv6Network))
    return [*fours, *sixes]


def plain(network: Network) -> str:
    """A network of one address as that address."""
    return str(network.network_address if network.prefixlen == network.max_prefixlen else network)
