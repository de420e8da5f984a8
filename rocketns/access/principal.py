"""A principal: whom a policy names, how it is known, and what it may do; and all of a policy's by what shows them.

A policy has up to 1,000 principals with 4,096 networks and 10,000 keys, and each request asks who its sender is. So an
index finds them by an address, by the names of a certificate, and by a key.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import translate
from functools import cached_property
from ipaddress import IPv4Network, IPv6Network

from rocketns.access.classes import Access
from rocketns.addresses import Address
from rocketns.routeinfo.admission import PrincipalBounds

Network = IPv4Network | IPv6Network
WILDCARDS = frozenset("*?[")
TEXT_CHARACTERS_MAX = 8_192
NOBODY: frozenset[str] = frozenset()  # no names of principals
# The first of them tells what kind of name a text is: CN=ops, ops@acme.com, spiffe://acme/ops or 2001:db8::1, and
# without any a host, an IPv4 address, or a part of them.
_MARK = re.compile("[=@:]")
ANY = "*"  # of any kind


class Globs:
    """Texts with ``*``, ``?`` and ``[…]``. A text matches if one of them does, in capitals and small letters.

    One with more than TEXT_CHARACTERS_MAX matches none: a peer's text has up to 16 MB, and a pattern takes a second.
    """

    def __init__(self, globs: Iterable[str]) -> None:
        self.globs = tuple(globs)
        self._matches = [re.compile(translate(glob)).match for glob in self.globs]

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
    bounds: PrincipalBounds = field(default_factory=PrincipalBounds)
    requests_per_second: int | None = None

    @cached_property
    def is_identified_by_network_alone(self) -> bool:
        return bool(self.networks) and not self.keys and self.certificates is None

    @cached_property
    def is_identified_by_key_alone(self) -> bool:
        return bool(self.keys) and not self.networks and self.certificates is None

    def may_look_up(self) -> bool:
        """Whether a reactor may answer its lookups: brokers look routes up too. It does not count those of a rate."""
        return not self.may.isdisjoint((Access.LOOKUP, Access.BROKER)) and self.requests_per_second is None


def contains(networks: Iterable[Network], address: Address | None) -> bool:
    """Whether the address is in one of them."""
    return address is not None and any(address in network for network in networks)


class NetworkIndex:
    """The names of the principals by the networks that they name.

    An address is looked up once for each length of prefix that there is: at most 33 for IPv4, and 129 for IPv6.
    """

    def __init__(self, principals: Iterable[Principal]) -> None:
        self._names: defaultdict[tuple[int, int], defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for principal in principals:
            for network in principal.networks:
                shift = network.max_prefixlen - network.prefixlen
                self._names[network.version, shift][int(network.network_address) >> shift].add(principal.name)

    def of(self, address: Address | None) -> frozenset[str]:
        """The principals of which a network contains the address."""
        if address is None:
            return NOBODY
        number = int(address)
        return NOBODY.union(*(
            names.get(number >> shift, NOBODY)
            for (version, shift), names in self._names.items() if version == address.version
        ))  # fmt: skip


def kind_of_name(text: str) -> str:
    """The mark of a name, or of a pattern. A pattern matches only names of its kind: whoever may have a certificate for
    a mail address or a URI may choose most of it.
    """
    mark = _MARK.search(text)
    return "" if mark is None else mark[0]


class CertificateIndex:
    """The names of the principals by the names of certificates: those without a wildcard by a table. The others are
    looked at one by one.
    """

    def __init__(self, principals: Iterable[Principal]) -> None:
        self._exact: defaultdict[str, set[str]] = defaultdict(set)
        globs: defaultdict[str, list[tuple[str, str]]] = defaultdict(list)
        for principal in principals:
            for glob in () if principal.certificates is None else principal.certificates.globs:
                if WILDCARDS.isdisjoint(glob):
                    self._exact[glob].add(principal.name)
                    continue
                for kind in ("", "=", "@", ":") if glob == ANY else (kind_of_name(glob),):
                    globs[kind].append((translate(glob), principal.name))
        # One look through all patterns is quicker than one through each, and most names match none.
        self._globs = {
            kind: (re.compile("|".join(pattern for pattern, _ in some)).match,
                   [(re.compile(pattern).match, name) for pattern, name in some])
            for kind, some in globs.items()
        }  # fmt: skip

    def of(self, names: Iterable[str]) -> frozenset[str]:
        """The principals of which a certificate has one of these names."""
        found: set[str] = set()
        for name in names:
            found |= self._exact.get(name, NOBODY)
            any_of, globs = self._globs.get(kind_of_name(name), (None, []))
            if any_of is not None and len(name) <= TEXT_CHARACTERS_MAX and any_of(name):
                found |= {principal for matches, principal in globs if matches(name)}
        return frozenset(found)


class PrincipalIndex:
    """Of the principals of one policy, which never change. Their names differ."""

    def __init__(self, principals: Iterable[Principal]) -> None:
        listed = tuple(principals)
        self.networks = NetworkIndex(listed)
        self.certificates = CertificateIndex(listed)
        self._positions = {principal.name: (position, principal) for position, principal in enumerate(listed)}
        self._by_key: defaultdict[str, set[str]] = defaultdict(set)
        for principal in listed:
            for key in principal.keys:
                self._by_key[key].add(principal.name)

    def candidates(self, key: str | None, *others: Iterable[str]) -> list[Principal]:
        """Those that name the key, and the others of which the names are given, as the policy orders them."""
        names = self._by_key.get(key, NOBODY) if key is not None else NOBODY
        positions = sorted(self._positions[name] for name in NOBODY.union(names, *others) if name in self._positions)
        return [principal for _, principal in positions]
