"""Takeovers: a registration that would take an id of a broker group away from another live broker. Pure functions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from rocketns.access.principal import Principal
from rocketns.addresses import is_host_of
from rocketns.routeinfo.tables import RouteTables

# Why a takeover is allowed. was_member: a broker changes its role, or returns.
Excuse = Literal["was_member", "owns_group"]


def is_live(tables: RouteTables, broker_name: str, broker_id: int, addr: str, now_ms: int) -> bool:
    """Whether the member of the group with this id and address is live.

    With the cluster that it registered with itself: a registration with another cluster replaces it as well. One that
    is unconfirmed is in the routes, and counts as live.
    """
    entry = tables.live(tables.registrants[broker_name][broker_id], addr)
    return entry is not None and not entry.expires_before(now_ms)


def excuse_of(
    tables: RouteTables, broker_name: str, addr: str, announced_by: str | None, principals: Iterable[Principal]
) -> Excuse | None:
    """What allows a takeover by ``addr``. None if nothing does.

    ``announced_by``: the host that registers, None if that is not known. ``principals``: whom its request shows it to
    be; they are asked only if nothing else allows it.

    An address that is a member of the group with another id, or was one, may return. Its name shows nothing: any peer
    can send it. So the registration must come from the address's own host, or from the one that announced the member.
    """
    group, former = tables.broker_addr_table.get(broker_name), tables.former.of(broker_name)
    broker_id = None if group is None else tables.memberships.get((group.cluster, addr), {}).get(broker_name)
    if announced_by is not None and (addr in former or broker_id is not None):
        entry = None if broker_id is None else tables.live(tables.registrants[broker_name][broker_id], addr)
        announcer = former.get(addr) if entry is None else entry.announced_by
        if is_host_of(addr, announced_by) or announcer == announced_by:
            return "was_member"
    is_owner = any(one.owns is not None and one.owns.match(broker_name) for one in principals)
    return "owns_group" if is_owner else None
