"""From the answers of a watched name server to route tables, and to events that say what changed.

Pure: no socket, no clock, no file. Answers are hostile: what is beyond a limit is left out and counted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rocketns.collect.observed.bounds import Bounds
from rocketns.collect.observed.groups import Groups
from rocketns.collect.observed.routes import Routes
from rocketns.collect.observed.settings import Settings
from rocketns.config.limits import Limits
from rocketns.protocol.body.route import BrokerData, QueueData, TopicRouteData
from rocketns.routeinfo.events import Event
from rocketns.routeinfo.prior_routes import PriorRoutes
from rocketns.routeinfo.tables import BrokerAddrInfo, RouteTables


class Observed:
    """What one name server showed. Each method takes a whole answer and returns what it changed.

    ``tables``: groups, their members, topics, static mappings and filter servers; nothing else is visible, so there is
    no live entry. ``kv``: items by namespace. ``properties``: the configuration.
    """

    def __init__(self, limits: Limits | None = None) -> None:
        """``limits``: those of a name server of its own."""
        self.tables = RouteTables()
        self._bounds = Bounds(Limits() if limits is None else limits)
        self._groups = Groups(self.tables, self._bounds)
        self._routes = Routes(self.tables, self._bounds)
        self._settings = Settings(self._bounds)

    @property
    def kv(self) -> dict[str, dict[str, str]]:
        return self._settings.kv

    @property
    def properties(self) -> dict[str, str]:
        return self._settings.properties

    @property
    def left_out(self) -> int:
        """Entries of answers that were beyond a limit, since the start; again with each answer that has them."""
        return self._bounds.left_out

    def groups(self, found: Mapping[str, BrokerData]) -> list[Event]:
        """All broker groups (request 106). A group that is gone loses all its topics at once, as in RouteInfoManager.

        Topics that routes showed of a broker before this list had it come with it.
        """
        return self._groups.read(found) + self._routes.joined()

    def route(self, topic: str, found: TopicRouteData | None) -> list[Event]:
        """The route of one topic (request 105); None: there is none."""
        return self._routes.read(topic, found)

    def topic_names(self, names: Collection[str]) -> list[Event]:
        """The names of all topics (request 206): others are gone."""
        return self._routes.names(names)

    def kv_items(self, namespace: str, items: Mapping[str, str]) -> list[Event]:
        """All items of a namespace (request 219), none if there is no such namespace."""
        return self._settings.read_kv(namespace, items)

    def configuration(self, text: str) -> list[Event]:
        """All properties (request 319), as lines ``key=value``."""
        return self._settings.read_properties(text)

    def fill(self, known: PriorRoutes) -> bool:
        """Put what the journal knows into the empty tables. Whether all of it is within the limits."""
        before = self.left_out
        self.groups({name: BrokerData(group.cluster, name, {one: broker.addr for one, broker in group.brokers.items()},
                                      group.zone_name, group.enable_acting_master)
                     for name, group in known.groups.items()})  # fmt: skip
        by_broker: dict[str, dict[str, QueueData]] = {}
        for topic, brokers in known.topics.items():
            for name, queues in brokers.items():
                by_broker.setdefault(name, {})[topic] = queues
        for name in by_broker.keys() & self.tables.broker_addr_table.keys():
            self.tables.put_topics(self.tables.known_name(name), by_broker[name])
        for topic, infos in known.mappings.items():
            for info in infos.values():
                self.tables.put_mapping(topic, info)
        for (cluster, addr), live in known.lives.items():
            if (key := BrokerAddrInfo(cluster, addr)) in self.tables.members_of:
                self.tables.put_filter_servers(key, live.filter_servers)
        self.tables.take_changed_groups()
        return self.left_out == before
