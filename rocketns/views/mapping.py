"""From the address that a broker announced to the one that a view's clients reach.

The most exact rule counts: the broker's name and id, then the announced address, then the smallest network.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import NamedTuple

from rocketns.addresses import Address, literal, split, with_port
from rocketns.config.address_texts import Network
from rocketns.protocol.body.route import BrokerData, TopicRouteData

PORT_MAX = 65_535
# Addresses whose networks are remembered: brokers are mapped again and again by control's way.
REMEMBERED_MAX = 4096
_BROKER_ID = re.compile(r"(0|[1-9][0-9]{0,18})")
_TARGET = re.compile(r"(?P<network>[^+]+?/[0-9]{1,3})(:(?P<offset>[+-][0-9]{1,5}))?")


class NetworkRule(NamedTuple):
    """Addresses of one network keep their host part in the other, and their port moves by ``offset``."""

    network: Network
    target: Network
    offset: int

    def mapped(self, address: Address, port: int) -> str | None:
        """None where there is no such port."""
        port += self.offset
        if not 0 < port <= PORT_MAX:
            return None
        host = int(self.target.network_address) | (int(address) & int(self.network.hostmask))
        return with_port(str(type(self.target.network_address)(host)), port)

    @property
    def text(self) -> str:
        """As in the file."""
        moved = f":{self.offset:+d}" if self.offset else ""
        return f"{self.network} = {self.target}{moved}"


class Mapped(NamedTuple):
    """An address as clients get it, and the rule that says so, as in the file."""

    address: str
    rule: str


@dataclass(frozen=True)
class AddressMapping:
    """The rules of a view: by broker name and id, by announced address, by network."""

    brokers: Mapping[tuple[str, int], str] = field(default_factory=dict)
    addresses: Mapping[str, str] = field(default_factory=dict)
    networks: tuple[NetworkRule, ...] = ()

    def __post_init__(self) -> None:
        """The longest prefix comes first."""
        ordered = tuple(sorted(self.networks, key=lambda rule: -rule.network.prefixlen))
        object.__setattr__(self, "networks", ordered)
        remember = lru_cache(maxsize=REMEMBERED_MAX)
        object.__setattr__(self, "_by_network", remember(partial(_by_network, ordered)))

    _by_network: Callable[[str], Mapped | None] = field(init=False, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.brokers) + len(self.addresses) + len(self.networks)

    def rules(self) -> Iterator[str]:
        """All rules, as `find` names them."""
        for (name, broker_id), target in self.brokers.items():
            yield f"{name}/{broker_id} = {target}"
        for addr, target in self.addresses.items():
            yield f"{addr} = {target}"
        for rule in self.networks:
            yield rule.text

    def find(self, broker_name: str, broker_id: int, addr: str) -> Mapped | None:
        """What clients get in place of a broker's announced address; None where no rule has it."""
        target = self.brokers.get((broker_name, broker_id))
        if target is not None:
            return Mapped(target, f"{broker_name}/{broker_id} = {target}")
        target = self.addresses.get(addr)
        if target is not None:
            return Mapped(target, f"{addr} = {target}")
        return self._by_network(addr) if self.networks else None

    def map_group(self, group: BrokerData) -> BrokerData:
        """A copy of a broker group with the addresses that clients get."""
        shown = group.copy()
        for broker_id, addr in group.broker_addrs.items():
            found = self.find(group.broker_name, broker_id, addr)
            if found is not None:
                shown.broker_addrs[broker_id] = found.address
        return shown

    def map_route(self, route: TopicRouteData) -> None:
        """Change the addresses of a route in place: of its brokers, and those that its filter servers are listed by."""
        shown: dict[str, str] = {}
        groups = [self.map_group(group) for group in route.broker_datas]
        for announced, group in zip(route.broker_datas, groups, strict=True):
            shown |= {addr: group.broker_addrs[broker_id] for broker_id, addr in announced.broker_addrs.items()}
        route.broker_datas = groups
        route.filter_server_table = {
            shown.get(addr, addr): servers for addr, servers in route.filter_server_table.items()
        }


def _by_network(rules: tuple[NetworkRule, ...], addr: str) -> Mapped | None:
    """By the first rule whose network has the address. A host name is in no network."""
    host, port = split(addr)
    address = literal(host)
    if address is None or port is None:
        return None
    for rule in rules:
        if address in rule.network:
            found = rule.mapped(address, port)
            return None if found is None else Mapped(found, rule.text)
    return None


def read_broker(key: str) -> tuple[str, int] | None:
    """Name and id of ``broker-a/0``. None for other texts, also for networks: what is before the / is an address."""
    name, slash, number = key.rpartition("/")
    if not slash or not name or literal(name) is not None or not _BROKER_ID.fullmatch(number):
        return None
    return name, int(number)


def read_rule(key: str, target: str) -> NetworkRule:
    """The rule of a network onto a network, such as ``10.2.0.0/16`` and ``198.51.0.0/16:+20000``. ValueError."""
    found = _TARGET.fullmatch(target)
    if found is None:
        raise ValueError(f"{target!r} must be a network of the same size, such as 198.51.0.0/16, and behind it the "
                         "offset of the port if it moves: 198.51.0.0/16:+20000")  # fmt: skip
    network, onto = ipaddress.ip_network(key), ipaddress.ip_network(found["network"])
    offset = int(found["offset"] or 0)
    if network.max_prefixlen != onto.max_prefixlen or network.prefixlen != onto.prefixlen:
        raise ValueError(f"{network} and {onto} differ in size: a host keeps its part of the address, so both must "
                         "have as many hosts")  # fmt: skip
    if abs(offset) >= PORT_MAX:
        raise ValueError(f"no port moves by {offset}")
    return NetworkRule(network, onto, offset)
