"""Keeps the route slots, which reactors read, equal to the tables; and says whether reactors answer by themselves."""

from __future__ import annotations

from typing import NamedTuple

from rocketns._fast.reactor.reactors import Reactors
from rocketns._fast.routes.routes import RouteSlots
from rocketns.processor import client
from rocketns.processor.context import NamesrvContext, Now
from rocketns.protocol.body import bodies
from rocketns.protocol.body.route import BrokerData
from rocketns.protocol.codes import MASTER_ID
from rocketns.routeinfo import events as e
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables
from rocketns.routeinfo.view import RouteDigests
from rocketns.views.views import Element, Views


class _Shown(NamedTuple):
    """The published state of a broker group."""

    cluster: str | None
    zone_name: str | None
    enable_acting_master: bool
    addrs: tuple[tuple[int, str], ...]
    handed_over: bool


# By name, a group's published state and its elements.
Prepared = dict[str, tuple[_Shown, tuple[Element, ...]]]


def _elements(views: Views, name: str, shown: _Shown) -> tuple[Element, ...]:
    if shown.handed_over:
        return ()
    return views.elements(
        BrokerData(shown.cluster, name, dict(shown.addrs), shown.zone_name, shown.enable_acting_master)
    )


class Publisher:
    """Topics are published from events, broker groups by comparing the changed ones with their published state.

    So a broker's new address touches none of its topics.
    """

    def __init__(self, tables: RouteTables) -> None:
        self.slots = RouteSlots(bodies.queue_data)
        self.digests = RouteDigests(self.slots)
        self._tables = tables
        self._views = Views()
        self._shown: dict[str, _Shown] = {}

    def prepare_views(self, views: Views) -> Prepared:
        """What `use_views` needs, of the groups that are published now. Any thread: for many brokers it takes long."""
        return {name: (shown, _elements(views, name, shown)) for name, shown in list(self._shown.items())}

    def use_views(self, views: Views, prepared: Prepared) -> None:
        """Show each client the addresses of its view, from the next lookup on."""
        self.slots.use_views(views.table, views.of_listeners, len(views))
        self._views = views
        for name, shown in self._shown.items():
            then, elements = prepared.get(name, (None, ()))
            self.slots.put_broker(name, elements if then is shown else _elements(views, name, shown))

    def publish(self, events: list[e.Event]) -> None:
        """New groups are published before their topics, and removed groups after them. So no published route names a
        broker without an address, unless the tables do.

        While topics change, control answers for those of a group that changes, too. So no client sees half of the
        change.
        """
        tables = self._tables
        changed, tables.changed_groups = tables.changed_groups, set()
        groups = {name: tables.broker_addr_table.get(name) for name in changed}
        for broker_name, group in groups.items():
            if group is not None and broker_name not in self._shown:
                self._publish_group(broker_name, group)
            elif group is not None and self._shown[broker_name] != self._state_of(group):
                self.slots.put_broker(broker_name, ())
        static_topics, tables.static_topics = tables.static_topics, set()
        for topic in static_topics:
            self.slots.hand_over(topic)
        for event in events:
            if isinstance(event, e.TopicsPut):
                self.slots.put_topics(event.broker_name, event.changes)
            elif isinstance(event, e.TopicsDeleted):
                self.slots.delete_topics(event.broker_name, event.topics)
        for broker_name, group in groups.items():
            if group is not None:
                self._publish_group(broker_name, group)
            else:
                self.slots.remove_broker(broker_name)
                self._shown.pop(broker_name, None)

    def _state_of(self, group: BrokerData) -> _Shown:
        """Control answers for a group whose routes may show an acting master, or list filter servers."""
        addrs, cluster, filters = group.broker_addrs, group.cluster, self._tables.filter_server_table
        acts = group.enable_acting_master and bool(addrs) and MASTER_ID not in addrs
        keys = (BrokerAddrInfo(cluster, addr) for addr in addrs.values()) if cluster is not None and filters else ()
        handed_over = acts or any(key in filters for key in keys)
        return _Shown(cluster, group.zone_name, group.enable_acting_master, tuple(addrs.items()), handed_over)

    def _publish_group(self, broker_name: str, group: BrokerData) -> None:
        shown = self._state_of(group)
        if self._shown.get(broker_name) == shown:
            return
        self.slots.put_broker(broker_name, _elements(self._views, broker_name, shown))
        self._shown[broker_name] = shown


class LookupSwitch:
    """The reactors read nothing but the route slots. While anything else affects the answers, control gives them.

    Without ``may_be_on`` it does from the next `update` on.
    """

    def __init__(self, context: NamesrvContext, reactors: Reactors) -> None:
        self._context = context
        self._reactors = reactors
        self._is_on = False
        self.may_be_on = True

    def update(self, now: Now) -> None:
        """Call this after each change of a property, and periodically: ``needWaitForService`` has an end."""
        self._reactors.limit_idle(self._context.configuration.netty.idle_ms_max)
        context = self._context
        others = context.going_away or context.cluster_test or context.configuration.namesrv.order_message_enable
        on = self.may_be_on and not others and client.is_ready(context, now)
        if on is not self._is_on:
            self._is_on = on
            self._reactors.enable(on)
