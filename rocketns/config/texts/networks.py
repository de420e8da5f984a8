"""Texts with networks: ``10.0.0.0/8;192.0.2.7``."""

from __future__ import annotations

import ipaddress

from rocketns.errors import StartupError

NETWORKS_MAX = 64

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def read_networks(name: str, text: str) -> list[Network]:
    """The networks one by one. StartupError, which names the property, if one is none, or for too many."""
    texts = [one.strip() for one in text.split(";") if one.strip()]
    if len(texts) > NETWORKS_MAX:
        raise StartupError(f"{name} names {len(texts)} networks, but at most {NETWORKS_MAX} are allowed")
    try:
        return [ipaddress.ip_network(one) for one in texts]
    except ValueError as error:
        raise StartupError(f"{name}: {error}") from error
