"""Shows the reactors what control changed, before whoever changed it is answered."""

from __future__ import annotations

from typing import NamedTuple

from rocketns._fast.routes.routes import RouteSlots
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import BrokerData
from rocketns.protocol.codes import MASTER_ID
from rocketns.routeinfo.events import Event, TopicsDeleted, TopicsPut
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables


class _Shown(NamedTuple):
    """What was published of a broker group."""

    cluster: str | None
    zone_name: str | None
    enable_acting_master: bool
    addrs: tuple[tuple[int, str], ...]
    handed_over: bool


class Publisher:
    """Keeps `RouteSlots` equal to the tables. A broker's new address touches nothing of its topics."""

    def __init__(self, tables: RouteTables) -> None:
        self.slots = RouteSlots(bodies.queue_data)
        self._tables = tables
        self._shown: dict[str, _Shown] = {}

    def publish(self, events: list[Event]) -> None:
        """Brokers that come are shown before their topics, those that go after them: no route names a broker
        that it has no address of, unless the tables have none either.

        While a broker's queues change, routes with it wait for control if its group changes too: nobody is shown the
        one without the other.
        """
        with_queues = {event.broker_name for event in events if isinstance(event, TopicsPut | TopicsDeleted)}
        gone, held = self._publish_groups(with_queues)
        self._publish_static_topics()
        for event in events:
            if isinstance(event, TopicsPut):
                self.slots.put_topics(event.broker_name, event.changes)
            elif isinstance(event, TopicsDeleted):
                self.slots.delete_topics(event.broker_name, event.topics)
        for broker_name in held:
            self._publish_group(broker_name, self._tables.broker_addr_table[broker_name])
        for broker_name in gone:
            self.slots.remove_broker(broker_name)
            self._shown.pop(broker_name, None)

    def _publish_groups(self, with_queues: set[str]) -> tuple[list[str], list[str]]:
        """Those that are there are shown; those that are not are returned, and those that are handed over until the
        queues are shown."""
        changed = self._tables.changed_groups
        gone, held = [], []
        for broker_name in changed:
            group = self._tables.broker_addr_table.get(broker_name)
            if group is None:
                gone.append(broker_name)
            elif broker_name in with_queues and self._hand_over_if_changed(broker_name, group):
                held.append(broker_name)
            else:
                self._publish_group(broker_name, group)
        changed.clear()
        return gone, held

    def _hand_over_if_changed(self, broker_name: str, group: BrokerData) -> bool:
        """Whether routes with the broker are control's until it is shown again; a new one is in no route."""
        shown = self._shown.get(broker_name)
        if shown is None or shown == self._state_of(group):
            return False
        self.slots.put_broker(broker_name, b"", b"", True)
        return True

    def _state_of(self, group: BrokerData) -> _Shown:
        addrs = tuple(group.broker_addrs.items())
        return _Shown(group.cluster, group.zone_name, group.enable_acting_master, addrs, self._is_handed_over(group))

    def _publish_group(self, broker_name: str, group: BrokerData) -> None:
        shown = self._state_of(group)
        if self._shown.get(broker_name) == shown:
            return
        default, standard = (bodies.broker_data(group, standard=mode) for mode in (False, True))
        self.slots.put_broker(broker_name, default, standard, shown.handed_over)
        self._shown[broker_name] = shown

    def _is_handed_over(self, group: BrokerData) -> bool:
        """Whether routes with the group may need what fragments cannot say: an acting master, filter servers."""
        addrs = group.broker_addrs
        if addrs and group.enable_acting_master and MASTER_ID not in addrs:
            return True
        filters, cluster = self._tables.filter_server_table, group.cluster
        return (
            bool(filters)
            and cluster is not None
            and any(BrokerAddrInfo(cluster, addr) in filters for addr in addrs.values())
        )

    def _publish_static_topics(self) -> None:
        for topic in self._tables.static_topics:
            self.slots.hand_over(topic)
        self._tables.static_topics.clear()
