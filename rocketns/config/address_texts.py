"""Texts with addresses of name servers, ``host:port;host:port``, or with networks, ``10.0.0.0/8;192.0.2.7``.

`rocketns.addresses.listed` separates them.
"""

from __future__ import annotations

import ipaddress

from rocketns.addresses import listed, read_server
from rocketns.errors import StartupError

SERVERS_MAX = 16
NETWORKS_MAX = 64
_IPV4_MAPPED = ipaddress.IPv6Network("::ffff:0:0/96")


def check_address(name: str, addr: str) -> None:
    """StartupError, which names the property, unless the text is ``host:port``."""
    if read_server(addr) is None:
        raise StartupError(f"{name} has {addr!r}, but each must be host:port")


def check_addresses(name: str, addresses: list[str]) -> None:
    """StartupError, which names the property, for an address that is none, and for too many."""
    for addr in addresses:
        check_address(name, addr)
    if len(addresses) > SERVERS_MAX:
        raise StartupError(f"{name} names {len(addresses)} name servers, but at most {SERVERS_MAX} are allowed")


Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def read_networks(name: str, text: str) -> list[Network]:
    """The networks one by one. StartupError, which names the property, if one is none, or for too many."""
    texts = listed(text)
    if len(texts) > NETWORKS_MAX:
        raise StartupError(f"{name} names {len(texts)} networks, but at most {NETWORKS_MAX} are allowed")
    try:
        return [ipaddress.ip_network(one) for one in texts]
    except ValueError as error:
        raise StartupError(f"{name}: {error}") from error


def packed(network: Network) -> tuple[bytes, int]:
    """Its address in 16 bytes and the bits of its prefix, as `rocketns._fast.access.networks` has them.

    An IPv4 network is a part of ::ffff:0:0/96 there.
    """
    if isinstance(network, ipaddress.IPv6Network):
        return network.network_address.packed, network.prefixlen
    return packed_address(network.network_address), _IPV4_MAPPED.prefixlen + network.prefixlen


def packed_address(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bytes:
    """In 16 bytes."""
    return address.packed if address.version == 6 else _IPV4_MAPPED.network_address.packed[:12] + address.packed
