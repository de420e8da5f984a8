"""The members of broker groups as each look at each name server showed them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.words import _
from rocketns.fleet.group_view import GroupView


class Sighting(NamedTuple):
    """Where and when a member was seen; seconds since the first look."""

    at: str
    after_s: float

    def text(self) -> str:
        """For evidence."""
        if not self.after_s:
            return self.at
        return _("%(addr)s after %(s)g s") % {"addr": self.at, "s": self.after_s}


class Member(NamedTuple):
    """A place in a group."""

    broker: str
    broker_id: int


Seen = Mapping[Member, Mapping[str, Sighting]]


def seen(facts: Facts) -> Seen:
    """By place, the addresses that were seen there, each with its first sighting."""
    found: defaultdict[Member, dict[str, Sighting]] = defaultdict(dict)
    for sighting, groups in _all_looks(facts):
        for name, group in groups.items():
            for broker_id, addr in group.addrs:
                found[Member(name, broker_id)].setdefault(addr, sighting)
    return found


def places(facts: Facts) -> Mapping[str, Mapping[Member, Sighting]]:
    """By address, the places that it was seen in."""
    found: defaultdict[str, dict[Member, Sighting]] = defaultdict(dict)
    for member, addrs in seen(facts).items():
        for addr, sighting in addrs.items():
            found[addr][member] = sighting
    return found


def _all_looks(facts: Facts) -> Iterator[tuple[Sighting, Mapping[str, GroupView]]]:
    for one in facts.readable:
        yield Sighting(one.addr, 0), one.groups or {}
        yield from ((Sighting(one.addr, look.at_s), look.groups) for look in one.looks)
