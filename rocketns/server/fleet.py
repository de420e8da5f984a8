"""The other name servers of the fleet, Java's or rocketns, read again and again, and compared with this one.

Control only, in a task for each of them; what is long runs on another thread. What they disagree about is kept as one
value for other threads.

A round has its brokers (106). Then, of rocketns, the digests of its 256 buckets of topics, the topics of those that
differ, and the routes of some of these. Of any other server: every few seconds the names of its topics (206), and in
each round the routes of some of them in turn, and of all that are suspected.

Of a topic that differs only a digest is known. Two topics whose digests changed alike differ in the same queues of the
same brokers, so one route explains thousands of topics: those of a broker that one of the two name servers lacks.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from rocketns.client.connection import OutgoingConnection
from rocketns.client.name_server import NameServer, UnusableError
from rocketns.client.remoting_client import MakeConnection, RemotingClient
from rocketns.client.resolving import others_and_own
from rocketns.config import Configuration
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
from rocketns.fleet.group_view import GroupView
from rocketns.fleet.own_tables import OwnTables
from rocketns.fleet.queue_view import QueueDifference, queue_difference
from rocketns.fleet.state import NOT_READ, OWN, Announced, FleetState, Member, disagreements
from rocketns.fleet.suspects import SUSPECTS_MAX, Compared
from rocketns.javatext import parse_int
from rocketns.processor.context import Now
from rocketns.protocol.body.route import QueueData
from rocketns.protocol.codes import DIGEST_BUCKETS, RequestCode, ResponseCode, SerializeType
from rocketns.routeinfo.events import Event
from rocketns.server.clock import Clock

# A slow peer must not delay the next look at its brokers.
LOOKUPS_WITHIN_S = 1.0
TOPIC_NAMES_EVERY_MS = 10_000
SWITCHED_OFF = (ResponseCode.SYSTEM_ERROR,)
ROCKETNS, OTHER = "rocketns", "other"


class Peer(Compared):
    """``lookups_max`` is how many routes of topics one round may read. ``epoch_ms`` is the wall clock.

    ``name_bytes_max`` is the bound of names. ``member``: how it is.
    """

    def __init__(
        self, server: NameServer, own: OwnTables, lookups_max: int, epoch_ms: Callable[[], int],
        name_bytes_max: int,
    ) -> None:  # fmt: skip
        super().__init__(server.addr)
        self._server = server
        self._own = own
        self._lookups_max = lookups_max
        self._epoch_ms = epoch_ms
        self._name_bytes_max = name_bytes_max
        self._turn: deque[str] = deque()  # topics whose routes are read next
        self._names_due_ms = 0
        self.member = Member(server.addr, "", NOT_READ, epoch_ms(), None, None, None)

    async def read(self) -> None:
        """One round. Never raises for what the peer does."""
        try:
            await self._read_groups()
            await self._read_topics()
        except (UnusableError, BodyDecodeError) as error:
            self.suspects.clear()
            self.alike = Counter()
            was = self.member
            since_ms = self._epoch_ms() if was.is_readable else was.since
            # Its kind is not known any more: another program may come up at the address.
            self.member = Member(self.addr, "", str(error), since_ms, was.read, None, None)
            return
        now_ms = self._epoch_ms()
        since_ms = self.member.since if self.member.is_readable else now_ms
        self._update(error="", since=since_ms, read=now_ms)

    def _update(self, **changes: Any) -> None:
        """What is known of the member from now on."""
        self.member = replace(self.member, **changes, following_topics=self.following)

    async def _read_groups(self) -> None:
        answer = await self._server.ask(RequestCode.GET_BROKER_CLUSTER_INFO, {})
        own: dict[str, GroupView] = {}
        for piece in self._own.groups():
            own |= piece
            await asyncio.sleep(0)
        found = await asyncio.to_thread(differing_groups, own, answer.body or b"", self._name_bytes_max)
        self._update(broker_groups=found.groups, differing_brokers=found.differ)
        self.set_one_sided(found.one_sided)
        self.judge_all(FactKind.BROKER, found.differing, self._epoch_ms())

    async def _read_topics(self) -> None:
        if self.member.kind != OTHER:
            also = {ResponseCode.REQUEST_CODE_NOT_SUPPORTED}
            answer = await self._server.ask(RequestCode.GET_ROUTE_DIGESTS, {}, also)
            if answer.code not in also:
                self._update(kind=ROCKETNS, topics=parse_int(answer.ext("topics") or ""))
                await self._read_buckets(answer.body or b"")
                return
            self._update(kind=OTHER)
            self._names_due_ms = 0
        await self._read_other()

    async def _read_buckets(self, theirs: bytes) -> None:
        if len(theirs) != DIGEST_BYTES * DIGEST_BUCKETS:
            raise UnusableError("its digests have a wrong length")
        own, count, alike = self._own.digests.buckets(), 0, Counter[int]()
        differing: Differing[int] = []
        followers: Differing[int] = []
        offsets = range(0, len(own), DIGEST_BYTES)
        for offset in [one for one in offsets if own[one : one + DIGEST_BYTES] != theirs[one : one + DIGEST_BYTES]]:
            found = await self._read_bucket(offset // DIGEST_BYTES)
            if found is None:
                self._forget_topics()
                return
            count += found.differ
            alike += found.alike
            differing += self.suspects.worth(FactKind.TOPIC, found.differing, SUSPECTS_MAX - len(differing))
            followers += found.followers[: SUSPECTS_MAX - len(followers)]
        self.alike = alike
        self._update(differing_topics=count)
        self.judge_all(FactKind.TOPIC, differing + followers, self._epoch_ms(), self.last_detail)
        await self._explain()

    async def _explain(self) -> None:
        """Read routes of suspected topics."""
        loop, lookups = asyncio.get_running_loop(), self._lookups_max
        ends_s = loop.time() + LOOKUPS_WITHIN_S
        for topic, theirs in self.suspects.unread():
            detail = self.last_detail(self._own.digests.topic(topic), theirs)  # type: ignore[arg-type]
            if detail is None:
                if lookups == 0 or loop.time() > ends_s:
                    return
                lookups -= 1
                detail = await self._difference(topic)
            self.suspects.explain(topic, detail)

    async def _read_bucket(self, bucket: int) -> TopicsFound | None:
        """None if the peer gives no names of topics."""
        answer = await self._server.ask(RequestCode.GET_ROUTE_DIGESTS, {"bucket": str(bucket)}, SWITCHED_OFF)
        if answer.code in SWITCHED_OFF:
            return None
        own, body = self._own.digests.topics(bucket), answer.body or b""
        return await asyncio.to_thread(differing_digests, own, body, self._name_bytes_max, self.explained)

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
        self.alike = Counter(one.detail.delta for one in lasting if one.detail is not None)
        self._update(differing_topics=len(lasting))

    async def _read_names(self) -> None:
        self._names_due_ms = self._epoch_ms() + TOPIC_NAMES_EVERY_MS
        answer = await self._server.ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {}, SWITCHED_OFF)
        if answer.code in SWITCHED_OFF:
            self._forget_topics()
            return
        own, most = self._own.topic_names(), self._name_bytes_max
        names, one_sided = await asyncio.to_thread(topic_names, own, answer.body or b"", most)
        self._update(topics=len(names))
        self._turn = self._turn or deque(names)
        for topic in one_sided[: self._lookups_max]:
            await self._read_route(topic)

    def _forget_topics(self) -> None:
        """The peer gives no names of topics (enableAllTopicList=false). Its brokers are compared all the same."""
        self.alike = Counter()
        self._update(topics=None, differing_topics=0)
        self.suspects.keep(FactKind.TOPIC, ())
        self._turn.clear()

    async def _read_route(self, topic: str) -> None:
        detail = await self._difference(topic)
        self.suspects.judge(Item(FactKind.TOPIC, topic), *detail.digests, self._epoch_ms(), detail)

    async def _difference(self, topic: str) -> QueueDifference:
        """Read the route of a topic. UnusableError or BodyDecodeError for a useless answer."""
        body, own = await self._server.route_body(topic), self._own.digests.topic(topic)
        theirs: tuple[int | None, Mapping[str, QueueData]] = (None, {})
        if body is not None:
            theirs = await asyncio.to_thread(route_queues, body, self._name_bytes_max, own)
        if theirs[0] == own:
            return QueueDifference((), 0, (), (own, own))
        digests = self._own.digests.topic(topic), theirs[0]
        detail = queue_difference(self._own.queues(topic), theirs[1], self.one_sided, digests)
        if digests[0] != digests[1]:
            self.note(detail)
        return detail


log = logging.getLogger("rocketns.fleet")

# From the start of one round to the next. A difference that a round finds for the first time is read again sooner.
ROUND_S = 2.0
AGAIN_S = 1.0
CONNECT_WITHIN_S = 1.5
ANSWER_WITHIN_S = 2.0
# A larger answer of a peer ends its connection.
ANSWER_BYTES_MAX = 4 * 1024 * 1024

Deliver = Callable[[list[Event], Now], object]


class FleetWatch:
    """`follow` the peers, again when the configuration may have changed; `stop` at the end.

    ``state`` is replaced as a whole: any thread may read it.
    """

    def __init__(
        self, configuration: Configuration, own: OwnTables, clock: Clock, deliver: Deliver,
        make_connection: MakeConnection = OutgoingConnection,
    ) -> None:  # fmt: skip
        self._configuration = configuration
        self._own = own
        self._clock = clock
        self._deliver = deliver
        # A client of its own: its answers have a smaller limit, and `_watch` logs its failures.
        self._client = RemotingClient(
            configuration.read_tls, CONNECT_WITHIN_S, failures=logging.DEBUG, answer_bytes_max=ANSWER_BYTES_MAX,
            make_connection=make_connection,
        )  # fmt: skip
        self._lookups_max = max(1, int(configuration.discovery.peer_lookups_per_second * ROUND_S))
        self._following: asyncio.Task[None] | None = None
        self._peers: dict[str, Peer] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._announced = Announced()
        self._since_ms = self._epoch_ms()
        self.state = FleetState(self._since_ms)

    def follow(self, own_port: int) -> None:
        """Watch those that `rocketns.peers` names now. This name server itself may be among them."""
        if self._following is not None:
            self._following.cancel()
        addrs = self._configuration.discovery.peer_addresses
        if addrs or self._peers:
            self._following = asyncio.get_running_loop().create_task(self._follow(addrs, own_port))

    async def _follow(self, addrs: Sequence[str], own_port: int) -> None:
        others, _ = await others_and_own(addrs, own_port)
        self.set_peers(others)

    def set_peers(self, addrs: Iterable[str]) -> None:
        """Watch these, and no others."""
        wanted, serialize_type = dict.fromkeys(addrs), SerializeType[self._configuration.serialize_type]
        for addr in [addr for addr in self._peers if addr not in wanted]:
            self._tasks.pop(addr).cancel()
            del self._peers[addr]
            self._client.disconnect(addr)
        for addr in wanted:
            if addr not in self._peers:
                server = NameServer(self._client, addr, serialize_type, ANSWER_WITHIN_S)
                most = self._configuration.limits.name_bytes_max
                self._peers[addr] = Peer(server, self._own, self._lookups_max, self._epoch_ms, most)
                self._tasks[addr] = asyncio.get_running_loop().create_task(self._watch(self._peers[addr]))
        self._peers = {addr: self._peers[addr] for addr in wanted}  # in the order of the list
        self.refresh()

    def stop(self) -> None:
        """Read nothing more."""
        for task in (self._following, *self._tasks.values()):
            if task is not None:
                task.cancel()
        self._client.close()

    async def _watch(self, peer: Peer) -> None:
        loop = asyncio.get_running_loop()
        while True:
            began_s, was = loop.time(), peer.member
            try:
                await peer.read()
            except Exception:
                log.exception("the name server %s cannot be compared", peer.addr)
            now = peer.member
            if now.is_readable and not was.is_readable:
                log.info("the name server %s is compared with this one (%s)", now.address, now.kind)
            elif now.error and now.error != was.error:
                log.warning("the name server %s cannot be compared with this one: %s", now.address, now.error)
            self.refresh()
            if not now.is_readable:
                self._client.disconnect(peer.addr)
            wait_s = AGAIN_S if peer.suspects.has_new else ROUND_S
            await asyncio.sleep(max(AGAIN_S / 2, wait_s - (loop.time() - began_s)))

    def refresh(self) -> None:
        """Replace ``state``, and deliver what changed as events."""
        peers = list(self._peers.values())
        readable = [peer for peer in peers if peer.member.is_readable]
        listed, omitted = disagreements(peers, readable, self._own.view, self._own.queues)
        groups, topics = self._own.counts()
        own = Member(OWN, "rocketns", "", self._since_ms, self._epoch_ms(), groups, topics)
        members = (own, *(peer.member for peer in peers))
        self.state = FleetState(self._epoch_ms(), members, tuple(listed), omitted)
        if events := self._announced.changes(listed):
            self._deliver(events, self._clock.now())

    def _epoch_ms(self) -> int:
        return self._clock.now().epoch_ms
