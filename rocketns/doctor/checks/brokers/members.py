"""The brokers that name servers show, each with how its address behaves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocketns.addresses import literal
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.reach import AddressFacts
from rocketns.protocol.codes import MASTER_ID


class Announced(NamedTuple):
    """A member of a broker group, at an address that was tried; or one that only the user named, by its address."""

    name: str
    broker_id: int
    address: AddressFacts
    is_only_given: bool = False

    @property
    def addr(self) -> str:
        return self.address.addr


def announced(facts: Facts) -> Iterator[Announced]:
    """Each member at each address once, in the order of names and ids."""
    seen: set[tuple[str, int, str]] = set()
    for name_server in facts.readable:
        for name, group in (name_server.groups or {}).items():
            seen.update((name, broker_id, addr) for broker_id, addr in group.addrs)
    for name, broker_id, addr in sorted(seen):
        if addr in facts.addresses:
            yield Announced(name, broker_id, facts.addresses[addr])
    shown = {addr for _name, _id, addr in seen}
    for addr in facts.options.brokers:
        if addr not in shown and addr in facts.addresses:
            yield Announced(addr, MASTER_ID, facts.addresses[addr], is_only_given=True)


def is_one_machine(facts: Facts) -> bool:
    """Whether all name servers and all brokers are on this machine: then its clients are, too."""
    addrs = {addr for group in facts.groups.values() for _, addr in group.addrs}
    return all(one.is_here for one in facts.name_servers) and all(_is_here(facts, addr) for addr in addrs)


def _is_here(facts: Facts, addr: str) -> bool:
    tried = facts.addresses.get(addr)
    if tried is not None:
        return tried.is_here
    found = literal(addr.rpartition(":")[0])
    return found is not None and found.is_loopback
