"""The principals of an address: one look for each length of prefix, however many networks there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from rocketns.access.principal import NOBODY, Network, Principal
from rocketns.addresses import Address


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
