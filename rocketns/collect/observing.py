"""From the answers of a watched name server to route tables, and to events that say what changed.

Pure: no socket, no clock, no file. Answers are hostile: what is beyond a limit is left out and counted.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from rocketns.protocol.body.route import BrokerData, TopicRouteData
from rocketns.routeinfo.events import Event
from rocketns.routeinfo.tables import RouteTables


class Observed:
    """What one name server showed. Each method takes a whole answer and returns what it changed, in order.

    ``tables``: groups, their members, topics, static mappings and filter servers; nothing else is visible. ``kv``: items
    by namespace. ``properties``: the configuration. ``left_out`` counts what was beyond a limit.
    """

    def __init__(self) -> None:
        self.tables = RouteTables()
        self.kv: dict[str, dict[str, str]] = {}
        self.properties: dict[str, str] = {}
        self.left_out = 0

    def groups(self, found: Mapping[str, BrokerData]) -> list[Event]:
        """All broker groups (request 106). A group that is gone loses all its topics at once, as in RouteInfoManager."""
        raise NotImplementedError

    def route(self, topic: str, found: TopicRouteData | None) -> list[Event]:
        """The route of one topic (request 105); None: there is none."""
        raise NotImplementedError

    def topic_names(self, names: Collection[str]) -> list[Event]:
        """The names of all topics (request 206): others are gone."""
        raise NotImplementedError

    def kv_items(self, namespace: str, items: Mapping[str, str]) -> list[Event]:
        """All items of a namespace (request 219), none if there is no such namespace."""
        raise NotImplementedError

    def configuration(self, text: str) -> list[Event]:
        """All properties (request 319), as lines ``key=value``."""
        raise NotImplementedError
