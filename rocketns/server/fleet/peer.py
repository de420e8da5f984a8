"""Reads one other name server, Java's or rocketns, in rounds. Control only; what is long runs on another thread.

A round has its brokers (106). Then, of rocketns, the digests of its 256 buckets of topics, the topics of those that
differ, and the routes of some of these. Of any other server: every few seconds the names of its topics (206), and in
each round the routes of some of them in turn, and of all that are suspected.

Of a topic that differs only a digest is known. Two topics whose digests changed alike differ in the same queues of the
same brokers, so one route explains thousands of topics: those of a broker that one of the two name servers lacks.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable, Mapping

from rocketns._fast.routes.routes import RouteSlots
from rocketns.client.name_server import NameServer, UnusableError
from rocketns.config.limits import NAME_BYTES_MAX
from rocketns.errors import BodyDecodeError
from rocketns.fleet.answers import (
    Differing,
    TopicsFound,
    differing_digests,
    differing_groups,
    route_queues,
    topic_names,
)
from rocketns.fleet.comparing import FactKind, Item
from rocketns.fleet.digests import DIGEST_BYTES
from rocketns.fleet.group_view import GroupView, group_view
from rocketns.fleet.queue_view import QueueDifference, delta, queue_difference
from rocketns.fleet.state import Member
from rocketns.fleet.suspects import SUSPECTS_MAX, Suspects
from rocketns.javatext import parse_int
from rocketns.protocol.body.route import QueueData
from rocketns.protocol.codes import DIGEST_BUCKETS, RequestCode, ResponseCode
from rocketns.routeinfo.tables import RouteTables
from rocketns.routeinfo.view import RouteDigests

# A view takes 2 µs. After so many, others have their turn.
GROUPS_AT_ONCE = 200


class OwnTables(RouteDigests):
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


TOPIC_NAMES_EVERY_MS = 10_000
SWITCHED_OFF = (ResponseCode.SYSTEM_ERROR,)
ROCKETNS, OTHER = "rocketns", "other"


class Peer:
    """``lookups_max`` is how many routes of topics one round may read. ``epoch_ms`` is the wall clock.

    ``name_bytes_max`` is the bound of names.
    """

    def __init__(
        self, server: NameServer, own: OwnTables, lookups_max: int, epoch_ms: Callable[[], int],
        name_bytes_max: int = NAME_BYTES_MAX,
    ) -> None:  # fmt: skip
        self.addr = server.addr
        self.suspects = Suspects()
        self.details = Details(server, own, name_bytes_max)
        self._server = server
        self._own = own
        self._lookups_max = lookups_max
        self._epoch_ms = epoch_ms
        self._name_bytes_max = name_bytes_max
        self._turn: deque[str] = deque()  # topics whose routes are read next
        self._names_due_ms = 0
        self._kind, self._error, self._since_ms = "", "not read yet", epoch_ms()
        self._read_ms: int | None = None
        self._groups: int | None = None
        self._topics: int | None = None
        self._differing = {FactKind.BROKER: 0, FactKind.TOPIC: 0}

    async def read(self) -> None:
        """One round. Never raises for what the peer does."""
        try:
            await self._read_groups()
            await self._read_topics()
        except (UnusableError, BodyDecodeError) as error:
            self._set_error(str(error))
            self.suspects.clear()
            self.details.set_alike(Counter())
            self._differing = dict.fromkeys(self._differing, 0)
            self._groups = self._topics = None
            self._kind = ""  # another program may come up at the address
            return
        self._set_error("")
        self._read_ms = self._epoch_ms()

    def _set_error(self, error: str) -> None:
        if bool(error) != bool(self._error):
            self._since_ms = self._epoch_ms()
        self._error = error

    def member(self) -> Member:
        """How it is."""
        return Member(
            self.addr, self._kind, self._error, self._since_ms, self._read_ms, self._groups, self._topics,
            self._differing[FactKind.BROKER], self._differing[FactKind.TOPIC], self.details.following,
        )  # fmt: skip

    async def _read_groups(self) -> None:
        answer = await self._server.ask(RequestCode.GET_BROKER_CLUSTER_INFO, {})
        own = await self._own.groups()
        found = await asyncio.to_thread(differing_groups, own, answer.body or b"", self._name_bytes_max)
        self._groups, self._differing[FactKind.BROKER] = found.groups, found.differ
        self.details.set_one_sided(found.one_sided, self.suspects)
        self.suspects.keep(FactKind.BROKER, (name for name, _, _ in found.differing))
        for name, own_group, theirs in found.differing:
            self.suspects.judge(Item(FactKind.BROKER, name), own_group, theirs, self._epoch_ms())

    async def _read_topics(self) -> None:
        if self._kind == OTHER:
            await self._read_other()
            return
        also = {ResponseCode.REQUEST_CODE_NOT_SUPPORTED}
        answer = await self._server.ask(RequestCode.GET_ROUTE_DIGESTS, {}, also)
        if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self._kind, self._names_due_ms = OTHER, 0
            await self._read_other()
            return
        self._kind, self._topics = ROCKETNS, parse_int(answer.ext("topics") or "")
        await self._read_buckets(answer.body or b"")

    async def _read_buckets(self, theirs: bytes) -> None:
        if len(theirs) != DIGEST_BYTES * DIGEST_BUCKETS:
            raise UnusableError("its digests have a wrong length")
        own, count, alike = self._own.buckets(), 0, Counter[int]()
        differing: Differing[int] = []
        followers: Differing[int] = []
        places = range(0, len(own), DIGEST_BYTES)
        for place in [one for one in places if own[one : one + DIGEST_BYTES] != theirs[one : one + DIGEST_BYTES]]:
            found = await self._read_bucket(place // DIGEST_BYTES)
            if found is None:
                self._forget_topics()
                return
            count += found.differ
            alike += found.alike
            differing += self.suspects.worth(FactKind.TOPIC, found.differing, SUSPECTS_MAX - len(differing))
            followers += found.followers[: SUSPECTS_MAX - len(followers)]
        self._differing[FactKind.TOPIC] = count
        self.details.set_alike(alike)
        found_topics = differing + followers
        self.suspects.keep(FactKind.TOPIC, (name for name, _, _ in found_topics))
        for name, ours, other in found_topics:
            detail = self.details.known(ours, other)
            self.suspects.judge(Item(FactKind.TOPIC, name), ours, other, self._epoch_ms(), detail)
        await self.details.read(self.suspects, self._lookups_max)

    async def _read_bucket(self, bucket: int) -> TopicsFound | None:
        """None if the peer gives no names of topics."""
        answer = await self._server.ask(RequestCode.GET_ROUTE_DIGESTS, {"bucket": str(bucket)}, SWITCHED_OFF)
        if answer.code in SWITCHED_OFF:
            return None
        own, body = self._own.topics(bucket), answer.body or b""
        return await asyncio.to_thread(differing_digests, own, body, self._name_bytes_max, self.details.explained)

    async def _read_other(self) -> None:
        """The names if they are due, suspected topics, and some more in turn."""
        if self._epoch_ms() >= self._names_due_ms:
            await self._read_names()
        loop = asyncio.get_running_loop()
        suspected, ends_s = deque(self.suspects.names(FactKind.TOPIC)), loop.time() + LOOKUPS_WITHIN_S
        for _ in range(self._lookups_max):
            waiting = suspected or self._turn
            if not waiting or loop.time() > ends_s:
                break
            await self._read_route(waiting.popleft())
        lasting = [one for item, one in self.suspects.lasting() if item.kind is FactKind.TOPIC]
        self._differing[FactKind.TOPIC] = len(lasting)
        self.details.set_alike(Counter(one.detail.delta for one in lasting if one.detail is not None))

    async def _read_names(self) -> None:
        self._names_due_ms = self._epoch_ms() + TOPIC_NAMES_EVERY_MS
        answer = await self._server.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {}, SWITCHED_OFF)
        if answer.code in SWITCHED_OFF:
            self._forget_topics()
            return
        own, most = self._own.topic_names(), self._name_bytes_max
        names, one_sided = await asyncio.to_thread(topic_names, own, answer.body or b"", most)
        self._topics = len(names)
        self._turn = self._turn or deque(names)
        for topic in one_sided[: self._lookups_max]:
            await self._read_route(topic)

    def _forget_topics(self) -> None:
        """The peer gives no names of topics (enableAllTopicList=false). Its brokers are compared all the same."""
        self._topics, self._differing[FactKind.TOPIC] = None, 0
        self.details.set_alike(Counter())
        self.suspects.keep(FactKind.TOPIC, ())
        self._turn.clear()

    async def _read_route(self, topic: str) -> None:
        detail = await self.details.of_topic(topic)
        self.suspects.judge(Item(FactKind.TOPIC, topic), *detail.digests, self._epoch_ms(), detail)
