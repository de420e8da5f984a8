"""Which principals a peer can be, without looking at each of them: a policy has up to 1,000, with 4,096 networks."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import translate

from rocketns.access.principal import Network, Principal
from rocketns.addresses import Address

NOBODY: frozenset[str] = frozenset()


class Networks:
    """The names of the principals by the networks that they name.

    An address is looked up once for each length of prefix that there is: at most 33 for IPv4, and 129 for IPv6.
    """

    def __init__(self, principals: Iterable[Principal]) -> None:
        found: defaultdict[tuple[int, int], defaultdict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
        for principal in principals:
            for network in principal.networks:
                found[network.version, _shift(network)][int(network.network_address) >> _shift(network)].add(
                    principal.name
                )
        self._by_shift: dict[int, list[tuple[int, Mapping[int, set[str]]]]] = {4: [], 6: []}
        for (version, shift), names in found.items():
            self._by_shift[version].append((shift, dict(names)))

    def of(self, address: Address | None) -> frozenset[str]:
        """The principals of which a network contains the address."""
        if address is None:
            return NOBODY
        number = int(address)
        hits = [names.get(number >> shift, NOBODY) for shift, names in self._by_shift[address.version]]
        return NOBODY.union(*hits)


def _shift(network: Network) -> int:
    """The bits behind the prefix."""
    return network.max_prefixlen - network.prefixlen


class Certificates:
    """The names of the principals by the names of certificates: those without a wildcard by a table. The others are
    looked at one by one, for names that one pattern of all of them lets pass.
    """

    def __init__(self, principals: Iterable[Principal]) -> None:
        self._exact: defaultdict[str, set[str]] = defaultdict(set)
        self._globs: list[Principal] = []
        wildcards: list[str] = []
        for principal in principals:
            if principal.certificates is None:
                continue
            for name in principal.certificates.literals:
                self._exact[name].add(principal.name)
            if principal.certificates.wildcards:
                self._globs.append(principal)
                wildcards += principal.certificates.wildcards
        self._passes = re.compile("|".join(map(translate, wildcards))).match

    def of(self, names: Iterable[str]) -> frozenset[str]:
        """The principals of which a certificate has one of these names."""
        listed = tuple(names)
        if not listed:
            return NOBODY
        hits = [self._exact.get(name, NOBODY) for name in listed]
        return NOBODY.union(*hits, self._by_globs(listed))

    def _by_globs(self, names: Iterable[str]) -> Iterator[str]:
        passed = [name for name in names if self._globs and self._passes(name)]
        for principal in self._globs if passed else ():
            if principal.certificates is not None and any(map(principal.certificates.match, passed)):
                yield principal.name


class Index:
    """Of the principals of one policy, which never change. Their names differ."""

    def __init__(self, principals: Iterable[Principal]) -> None:
        listed = tuple(principals)
        self.networks = Networks(listed)
        self.certificates = Certificates(listed)
        self._places = {principal.name: (place, principal) for place, principal in enumerate(listed)}
        by_key: defaultdict[str, set[str]] = defaultdict(set)
        for principal in listed:
            for key in principal.keys:
                by_key[key].add(principal.name)
        self._by_key = dict(by_key)

    def candidates(self, key: str | None, *others: Iterable[str]) -> list[Principal]:
        """Those that name the key, and the others of which the names are given, as the policy orders them."""
        names = self._by_key.get(key, NOBODY) if key is not None else NOBODY
        places = sorted(self._places[name] for name in NOBODY.union(names, *others) if name in self._places)
        return [principal for _, principal in places]
