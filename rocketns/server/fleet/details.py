"""What a peer's topics differ in: read from one route for all topics that differ in the same way. Control only.

Of a topic that differs only a digest is known. Two topics whose digests changed alike differ in the same queues of the
same brokers, so one route explains thousands of topics: those of a broker that one of the two name servers lacks.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping

from rocketns.client.name_server import NameServer
from rocketns.fleet.answers import route_queues
from rocketns.fleet.queue_view import QueueDifference, delta, queue_difference
from rocketns.fleet.suspects import Suspects
from rocketns.protocol.body.route import QueueData
from rocketns.server.fleet.own import OwnTables

# Ways in which topics of one peer differ.
EXPLAINED_MAX = 256
# A slow peer must not delay the next look at its brokers.
LOOKUPS_WITHIN_S = 1.0


class Details:
    """Of one peer. ``alike``: how many topics differ in each way, by the change of their digests."""

    def __init__(self, server: NameServer, own: OwnTables, name_bytes_max: int) -> None:
        self._server = server
        self._own = own
        self._name_bytes_max = name_bytes_max
        self._one_sided: frozenset[str] = frozenset()
        self.explained: dict[int, QueueDifference] = {}
        self.alike: Counter[int] = Counter()

    def set_one_sided(self, groups: frozenset[str], suspects: Suspects) -> None:
        """The broker groups that only one of the two name servers knows."""
        if groups != self._one_sided:
            self._one_sided = groups
            self.explained.clear()
            suspects.forget_details()

    def set_alike(self, alike: Counter[int]) -> None:
        """How many topics differ in each way now."""
        self.alike = alike

    def known(self, own: int | None, theirs: int | None) -> QueueDifference | None:
        """What a topic with these digests differs in, if another one with the same change was read."""
        detail = self.explained.get(delta(own, theirs))
        return None if detail is None else detail._replace(digests=(own, theirs))

    async def read(self, suspects: Suspects, lookups_max: int) -> None:
        """Explain suspected topics, with so many lookups at most."""
        loop = asyncio.get_running_loop()
        ends_s = loop.time() + LOOKUPS_WITHIN_S
        for topic, theirs in suspects.unread():
            detail = self.known(self._own.topic(topic), theirs)  # type: ignore[arg-type]
            if detail is None:
                if lookups_max == 0 or loop.time() > ends_s:
                    return
                lookups_max -= 1
                detail = await self.of_topic(topic)
            suspects.explain(topic, detail)

    async def of_topic(self, topic: str) -> QueueDifference:
        """Read the route of a topic. UnusableError or BodyDecodeError for a useless answer."""
        body, own = await self._server.route_body(topic), self._own.topic(topic)
        theirs: tuple[int | None, Mapping[str, QueueData]] = (None, {})
        if body is not None:
            theirs = await asyncio.to_thread(route_queues, body, self._name_bytes_max, own)
        if theirs[0] == own:
            return QueueDifference((), 0, (), (own, own))
        digests = self._own.topic(topic), theirs[0]
        detail = queue_difference(self._own.queues(topic), theirs[1], self._one_sided, digests)
        if digests[0] != digests[1] and (len(self.explained) < EXPLAINED_MAX or detail.delta in self.explained):
            self.explained[detail.delta] = detail
        return detail

    @property
    def following(self) -> int:
        """Topics that differ only in brokers which one of the two lacks."""
        return sum(count for change, count in self.alike.items() if self._follows(change))

    def followers(self, group: str) -> int:
        """Of them, those that follow from this broker group."""
        return sum(count for change, count in self.alike.items() if group in self._follows(change))

    def _follows(self, change: int) -> tuple[str, ...]:
        detail = self.explained.get(change)
        return () if detail is None else detail.follows
