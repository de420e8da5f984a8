"""From the broker groups that a name server showed to members of the tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rocketns.collect.observed.bounds import INT_MAX, INT_MIN, Bounds
from rocketns.protocol.body.route import BrokerData
from rocketns.protocol.bounds import BROKER_IDS_MAX
from rocketns.routeinfo.events import BrokerDown, BrokerRegistered, Cause, Event, GroupChanged, TopicsDeleted
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables

Member = tuple[int, str]  # id and address


class Groups:
    """Each member has the cluster of its group: another one is not visible."""

    def __init__(self, tables: RouteTables, bounds: Bounds) -> None:
        self._tables = tables
        self._bounds = bounds

    def read(self, found: Mapping[str, BrokerData]) -> list[Event]:
        """All groups by name. Known brokers are kept where there are too many."""
        gone = [name for name in self._tables.broker_addr_table if name not in found]
        events = [event for name in gone for event in self._remove(name)]
        known_first = sorted(found, key=lambda name: name not in self._tables.broker_addr_table)
        return events + [event for name in known_first for event in self._group(name, found[name])]

    def _group(self, name: str, data: BrokerData) -> list[Event]:
        group, addrs = self._tables.broker_addr_table.get(name), self._addrs(name, data)
        if data.cluster is None or not addrs:
            return [] if group is None else self._remove(name)
        if group is None:
            return self._add(data.cluster, name, data, addrs)
        if group.cluster != data.cluster:
            return self._move(group, data.cluster, data, addrs)
        return self._change(group, data, addrs)

    def _addrs(self, name: str, data: BrokerData) -> dict[int, str]:
        """The addresses by id that are kept; none of a group that is not."""
        if not self._bounds.takes(
            fits=data.cluster is not None and self._bounds.fits(name, data.cluster, data.zone_name)
        ):
            return {}
        group = self._tables.broker_addr_table.get(name)
        held = {} if group is None else group.broker_addrs
        addrs: dict[int, str] = {}
        seen = set()
        for broker_id, addr in sorted(data.broker_addrs.items(), key=lambda one: held.get(one[0]) != one[1]):
            fits = bool(addr) and INT_MIN <= broker_id <= INT_MAX and self._bounds.fits(addr)
            if self._bounds.takes(fits=fits and addr not in seen and len(addrs) < BROKER_IDS_MAX):
                addrs[broker_id] = addr
                seen.add(addr)
        return addrs

    def _add(self, cluster: str, name: str, data: BrokerData, addrs: dict[int, str]) -> list[Event]:
        """A new group, as far as there is room."""
        most = self._bounds.limits.brokers_max
        joined = list(addrs.items())[: max(0, most - self._tables.members)]
        if len(self._tables.broker_addr_table) >= most:
            joined = []
        self._bounds.leave_out(len(addrs) - len(joined))
        if not joined:
            return []
        group = self._tables.add_group(cluster, name)
        group.zone_name, group.enable_acting_master = data.zone_name, data.enable_acting_master
        return self._join(group, joined)

    def _join(self, group: BrokerData, joined: Iterable[Member]) -> list[Event]:
        cluster = group.cluster
        assert cluster is not None
        for broker_id, addr in joined:
            self._tables.put_member(group, broker_id, addr, cluster)
        return [BrokerRegistered(cluster, group.broker_name, addr, broker_id, None, None, None, None)
                for broker_id, addr in joined]  # fmt: skip

    def _leave(self, group: BrokerData, left: Iterable[Member], addrs: dict[int, str]) -> list[Event]:
        """An address that has another id now registered again; of the others nobody sees why they are gone."""
        cluster, here = group.cluster, set(addrs.values())
        assert cluster is not None
        for broker_id, _ in left:
            self._tables.remove_member(group, broker_id)
        return [BrokerDown(cluster, group.broker_name, addr, broker_id, live=False, gap_ms=None,
                           cause=Cause.REGISTER if addr in here else Cause.OBSERVED)
                for broker_id, addr in left]  # fmt: skip

    def _change(self, group: BrokerData, data: BrokerData, addrs: dict[int, str]) -> list[Event]:
        """Other members or switches of a known group."""
        left = [(one, addr) for one, addr in group.broker_addrs.items() if addrs.get(one) != addr]
        joined = [(one, addr) for one, addr in addrs.items() if group.broker_addrs.get(one) != addr]
        switches = data.zone_name, data.enable_acting_master
        events: list[Event] = []
        if (group.zone_name, group.enable_acting_master) != switches:
            group.zone_name, group.enable_acting_master = switches
            events.append(GroupChanged(group.broker_name))
        if left or joined:
            downs = self._leave(group, left, addrs)
            room = max(0, self._bounds.limits.brokers_max - self._tables.members)
            self._bounds.leave_out(len(joined[room:]))
            events = [*downs, *self._join(group, joined[:room]), *events]
            self._forget_filters(group, left)
        return events

    def _move(self, group: BrokerData, cluster: str, data: BrokerData, addrs: dict[int, str]) -> list[Event]:
        """The group is of another cluster: it was made anew. Its topics may be the same; their routes will show it."""
        left = list(group.broker_addrs.items())
        downs = self._leave(group, left, addrs)
        self._tables.remove_group(group)
        self._forget_filters(group, left)
        return [*downs, *self._add(cluster, group.broker_name, data, addrs)]

    def _remove(self, name: str) -> list[Event]:
        """All members are gone, and with them all topics, as in RouteInfoManager.unRegisterBroker."""
        group = self._tables.broker_addr_table[name]
        left = list(group.broker_addrs.items())
        events = self._leave(group, left, {})
        self._tables.remove_group(group)
        self._forget_filters(group, left)
        topics = self._tables.remove_topics(name)
        return [*events, TopicsDeleted(name, topics, Cause.OBSERVED)] if topics else events

    def _forget_filters(self, group: BrokerData, left: Iterable[Member]) -> None:
        """Of addresses that are in no group any more."""
        assert group.cluster is not None
        for _, addr in left:
            key = BrokerAddrInfo(group.cluster, addr)
            if key not in self._tables.members_of:
                self._tables.put_filter_servers(key, [])
