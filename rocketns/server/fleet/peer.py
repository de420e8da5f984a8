"""Reads one other name server, Java's or rocketns, in rounds. Control only; what is long runs on another thread.

A round has its brokers (106). Then, of rocketns, the digests of its 256 buckets of topics, the topics of those that
differ, and the routes of some of these (`details`). Of any other server: every few seconds the names of its topics
(206), and in each round the routes of some of them in turn, and of all that are suspected.
"""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable

from rocketns.client.name_server import NameServer, UnusableError
from rocketns.config.limits import NAME_BYTES_MAX
from rocketns.errors import BodyDecodeError
from rocketns.fleet.answers import Differing, TopicsFound, differing_digests, differing_groups, topic_names
from rocketns.fleet.comparing import FactKind, Item
from rocketns.fleet.digests import DIGEST_BYTES
from rocketns.fleet.state import Member
from rocketns.fleet.suspects import SUSPECTS_MAX, Suspects
from rocketns.javatext import parse_int
from rocketns.protocol.codes import DIGEST_BUCKETS, RequestCode, ResponseCode
from rocketns.server.fleet.details import LOOKUPS_WITHIN_S, Details
from rocketns.server.fleet.own import OwnTables

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

    def _judge_topics(self, found: Differing[int]) -> None:
        """All topics were read; these differ."""
        self.suspects.keep(FactKind.TOPIC, (name for name, _, _ in found))
        for name, own, theirs in found:
            detail = self.details.known(own, theirs)
            self.suspects.judge(Item(FactKind.TOPIC, name), own, theirs, self._epoch_ms(), detail)

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
        self._judge_topics(differing + followers)
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
