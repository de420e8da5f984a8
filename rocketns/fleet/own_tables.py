"""What this name server says of the things that it compares with others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rocketns.fleet.comparing import FactKind, Item
from rocketns.fleet.group_view import GroupView, group_view
from rocketns.fleet.suspects import View
from rocketns.protocol.body.route import QueueData
from rocketns.routeinfo.tables import RouteTables
from rocketns.routeinfo.view import RouteDigests

# A view takes 2 µs. After so many, others have their turn.
GROUPS_AT_ONCE = 200


class OwnTables:
    """Control only. What it gives are copies, so that they can be given to another thread."""

    def __init__(self, tables: RouteTables, digests: RouteDigests) -> None:
        self._tables = tables
        self.digests = digests

    def groups(self) -> Iterator[dict[str, GroupView]]:
        """All groups with an address, in pieces. A group that changes meanwhile is read as it is in its piece."""
        names = list(self._tables.broker_addr_table)
        for first in range(0, len(names), GROUPS_AT_ONCE):
            piece = names[first : first + GROUPS_AT_ONCE]
            yield {name: view for name in piece if (view := self._group(name)) is not None}

    def view(self, item: Item) -> View:
        """What this name server says of a thing; None if it is not there, or is a group without an address."""
        return self.digests.topic(item.name) if item.kind is FactKind.TOPIC else self._group(item.name)

    def _group(self, name: str) -> GroupView | None:
        group = self._tables.broker_addr_table.get(name)
        return group_view(group) if group is not None and group.broker_addrs else None

    def topic_names(self) -> list[str]:
        return list(self._tables.topic_queue_table)

    def queues(self, topic: str) -> Mapping[str, QueueData]:
        """The queues of a topic by broker, as the tables have them at this moment."""
        return self._tables.topic_queue_table.get(topic, {})

    def counts(self) -> tuple[int, int]:
        """Broker groups and topics."""
        return len(self._tables.broker_addr_table), len(self.digests)
