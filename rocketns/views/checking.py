"""What is to be noticed in a list of views, and beside the brokers that are registered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

from rocketns.addresses import literal
from rocketns.protocol.body.route import BrokerData
from rocketns.views.views import View, Views

NAMED_MAX = 10  # in a sentence


class ShownAddress(NamedTuple):
    """A broker's address as clients of a view get it; ``rule`` is None where it is the announced one."""

    broker: str
    broker_id: int
    announced: str
    shown: str
    rule: str | None


def addresses(view: View | None, groups: Mapping[str, BrokerData]) -> list[ShownAddress]:
    """All brokers by name and id; None: for clients in no view."""
    found = []
    for name in sorted(groups):
        for broker_id, addr in sorted(groups[name].broker_addrs.items()):
            mapped = None if view is None else view.mapping.find(name, broker_id, addr)
            shown, rule = (addr, None) if mapped is None else mapped
            found.append(ShownAddress(name, broker_id, addr, shown, rule))
    return found


def view_named(views: Views, who: str) -> View | None:
    """The view that a client with this IP address is in, or that listens at this address, or has this name.

    LookupError for a text that is none of these; None: the client is in no view.
    """
    for view in views:
        if who in (view.name, view.listen):
            return view
    if literal(who) is None:
        raise LookupError(f"{who}: an IP address, or the name of a view ({', '.join(v.name for v in views)}) expected")
    return views.of_host(who)


def overlaps(views: Sequence[View]) -> Iterator[str]:
    """Networks of a view that are within those of another: the smaller one counts."""
    for one, other in combinations(views, 2):
        for network in one.networks:
            for theirs in other.networks:
                if network.version == theirs.version and network.overlaps(theirs):
                    small, large = (one, other) if network.prefixlen > theirs.prefixlen else (other, one)
                    inner, outer = sorted((network, theirs), key=lambda net: -net.prefixlen)
                    yield f"{inner} of the view {small.name} is in {outer} of {large.name}: the smaller one counts"


def problems(views: Views, groups: Mapping[str, BrokerData], through: Mapping[str, str]) -> Iterator[str]:
    """What is wrong: clients would reach the wrong broker, or brokers are taken for clients.

    ``through``: the view by which a broker registered, by its address, as far as that is known.
    """
    for view in views:
        owners: dict[str, list[str]] = {}
        for one in addresses(view, groups):
            owners.setdefault(one.shown, []).append(f"{one.broker}/{one.broker_id} {one.announced}")
        for shown, several in owners.items():
            if len({text.rpartition(" ")[2] for text in several}) > 1:
                yield f"view {view.name}: {shown} is the address of several brokers: {_named(several)}"
    for one in addresses(None, groups):
        found = through.get(one.announced) or _name(views.of_host(one.announced.rpartition(":")[0].strip("[]")))
        if found:
            yield (f"the broker {one.broker}/{one.broker_id} {one.announced} is in the view {found}: "
                   "take its host out of the networks, or let it register at listenPort")  # fmt: skip


def notices(views: Views, groups: Mapping[str, BrokerData]) -> Iterator[str]:
    """What may be meant so: addresses without a rule, and rules that nothing uses."""
    for view in views:
        found = addresses(view, groups)
        unmapped = [f"{one.broker}/{one.broker_id} {one.announced}" for one in found if one.rule is None]
        if unmapped:
            yield (f"view {view.name}: {len(unmapped)} of {len(found)} addresses have no rule, and are shown as "
                   f"announced: {_named(unmapped)}")  # fmt: skip
        used = {one.rule for one in found}
        unused = [rule for rule in view.mapping.rules() if rule not in used]
        if unused and groups:
            yield f"view {view.name}: no registered broker uses {_named(unused)}"


def _name(view: View | None) -> str | None:
    return None if view is None else view.name


def _named(texts: Iterable[str]) -> str:
    every = list(texts)
    more = f" and {len(every) - NAMED_MAX} more" if len(every) > NAMED_MAX else ""
    return ", ".join(every[:NAMED_MAX]) + more
