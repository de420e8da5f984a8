"""This name server's own side of the comparison, from its tables. Control only."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from rocketns._fast.routes.routes import RouteSlots
from rocketns.fleet.group_view import GroupView, group_view
from rocketns.protocol.body.route import QueueData
from rocketns.routeinfo.tables import RouteTables
from rocketns.server.publishing.publisher import SlotDigests

# A view takes 2 µs. After so many, others have their turn.
GROUPS_AT_ONCE = 200


class OwnTables(SlotDigests):
    """What it gives are copies, so that they can be given to another thread."""

    def __init__(self, tables: RouteTables, slots: RouteSlots) -> None:
        super().__init__(slots)
        self._tables = tables

    async def groups(self) -> dict[str, GroupView]:
        """All groups with an address. A group that changes meanwhile is read as it is at its turn."""
        table = self._tables.broker_addr_table
        views: dict[str, GroupView] = {}
        for number, name in enumerate(list(table)):
            if number % GROUPS_AT_ONCE == GROUPS_AT_ONCE - 1:
                await asyncio.sleep(0)
            group = table.get(name)
            if group is not None and group.broker_addrs:
                views[name] = group_view(group)
        return views

    def group(self, name: str) -> GroupView | None:
        """One group; None if it is not there, or has no address."""
        group = self._tables.broker_addr_table.get(name)
        return group_view(group) if group is not None and group.broker_addrs else None

    def topic_names(self) -> list[str]:
        return list(self._tables.topic_queue_table)

    def queues(self, topic: str) -> Mapping[str, QueueData]:
        """The queues of a topic by broker, as the tables have them at this moment."""
        return self._tables.topic_queue_table.get(topic, {})

    def counts(self) -> tuple[int, int]:
        """Broker groups and topics."""
        return len(self._tables.broker_addr_table), len(self)
