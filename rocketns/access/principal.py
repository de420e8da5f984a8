"""A principal: whom a policy names, how it is known, and what it may do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network

from rocketns.access.classes import Access
from rocketns.addresses import Address
from rocketns.routeinfo.admission import Bounds

Network = IPv4Network | IPv6Network
WILDCARDS = frozenset("*?[")
TEXT_CHARACTERS_MAX = 8_192
NOBODY: frozenset[str] = frozenset()  # no names of principals


class Globs:
    """Texts with ``*``, ``?`` and ``[…]``. A text matches if one of them does, in capitals and small letters.

    One with more than TEXT_CHARACTERS_MAX matches none: a peer's text has up to 16 MB, and a pattern takes a second.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        self.globs = tuple(globs)
        self._matches = [re.compile(translate(glob)).match for glob in self.globs]

    @property
    def literals(self) -> list[str]:
        """Those that only match themselves."""
        return [glob for glob in self.globs if WILDCARDS.isdisjoint(glob)]

    @property
    def wildcards(self) -> list[str]:
        """The others."""
        return [glob for glob in self.globs if not WILDCARDS.isdisjoint(glob)]

    def match(self, text: str) -> bool:
        return len(text) <= TEXT_CHARACTERS_MAX and any(matches(text) for matches in self._matches)


@dataclass(frozen=True)
class Principal:
    """Known by all the kinds of evidence that it names: an address in one of ``networks``, a signature of one of
    ``keys``, a certificate with one of the names ``certificates``. At least one kind is named.

    ``broker_names``, ``addresses``, ``address_is_peer``: what it may register; ``kv_namespaces``: of the KV table.
    None is no restriction. ``owns``: the broker groups whose addresses it may take over.
    """

    name: str
    may: frozenset[Access]
    networks: tuple[Network, ...] = ()
    keys: frozenset[str] = frozenset()
    certificates: Globs | None = None
    broker_names: Globs | None = None
    addresses: tuple[Network, ...] | None = None
    address_is_peer: bool = False
    kv_namespaces: Globs | None = None
    owns: Globs | None = None
    bounds: Bounds = field(default_factory=Bounds)
    requests_per_second: int | None = None

    @cached_property
    def is_known_by_network_alone(self) -> bool:
        return bool(self.networks) and not self.keys and self.certificates is None

    @cached_property
    def is_known_by_key_alone(self) -> bool:
        return bool(self.keys) and not self.networks and self.certificates is None

    def may_look_up(self) -> bool:
        """Whether a reactor may answer its lookups: brokers look routes up too. It does not count those of a rate."""
        is_allowed = Access.LOOKUP in self.may or Access.BROKER in self.may
        return is_allowed and self.requests_per_second is None


def contains(networks: Iterable[Network], address: Address | None) -> bool:
    """Whether the address is in one of them."""
    return address is not None and any(
        address.version == network.version and address in network for network in networks
    )
