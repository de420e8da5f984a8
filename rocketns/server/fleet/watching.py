"""Reads all peers, each in its own task, and keeps what they disagree about as one value for other threads.

A disagreement has who says what, and what differs, of which a bounded part is kept.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from rocketns.client.connection import OutgoingConnection
from rocketns.client.name_server import NameServer
from rocketns.client.remoting_client import MakeConnection, RemotingClient
from rocketns.client.resolving import others_and_own
from rocketns.config import Configuration
from rocketns.fleet.comparing import FactKind, Item
from rocketns.fleet.group_view import GroupView
from rocketns.fleet.queue_view import BROKERS_KEPT_MAX, QueueDifference, Queues
from rocketns.fleet.state import MISSING, OWN, Disagreement, FleetState, Member, Part, Side
from rocketns.fleet.suspects import View
from rocketns.processor.context import Now
from rocketns.protocol.body.route import QueueData
from rocketns.protocol.codes import SerializeType
from rocketns.routeinfo.events import Event, FleetDiffers
from rocketns.server.clock import Clock
from rocketns.server.fleet.peer import OwnTables, Peer

# How much of a group is kept: the state has 200 disagreements.
ADDRESSES_SHOWN_MAX = 16
SIDE_CHARACTERS_MAX = 2_000
PERMISSIONS = {0: "none", 2: "write only", 4: "read only", 6: "read and write"}

Said = dict[str, QueueData | None]


def disagreement(item: Item, since_ms: int, sides: Mapping[View, list[str]], peers: Sequence[Peer],
                 own: OwnTables) -> Disagreement:  # fmt: skip
    """``peers``: those that can be read."""
    if item.kind is FactKind.TOPIC:
        return _of_topic(item, since_ms, sides, peers, own.queues(item.name))
    shown = tuple(_group_side(view, members) for view, members in sides.items())
    topics = max((peer.details.followers(item.name) for peer in peers), default=0)
    return Disagreement(item.kind, item.name, since_ms, shown, tuple(_group_parts(list(sides))), (), topics)


def _group_side(view: View, members: Iterable[str]) -> Side:
    if not isinstance(view, GroupView):
        return Side(MISSING, tuple(members))
    cut = view._replace(addrs=view.addrs[:ADDRESSES_SHOWN_MAX])
    more = len(view.addrs) - ADDRESSES_SHOWN_MAX
    text = cut.text()
    whole = f"{text} and {more} more" if more > 0 else text
    if len(whole) <= SIDE_CHARACTERS_MAX:
        return Side(whole, tuple(members), cut)
    return Side(f"{whole[:SIDE_CHARACTERS_MAX]}…", tuple(members))


def _group_parts(views: Sequence[View]) -> Iterator[Part]:
    groups = [view for view in views if isinstance(view, GroupView)]
    if len(groups) < len(views):
        yield Part.MISSING
    if len({group.cluster for group in groups}) > 1:
        yield Part.CLUSTER
    if len({group.addrs for group in groups}) > 1:
        yield Part.ADDRESSES
    if len({(group.zone_name, group.enable_acting_master) for group in groups}) > 1:
        yield Part.FLAGS


def _of_topic(item: Item, since_ms: int, sides: Mapping[View, list[str]], peers: Sequence[Peer],
              own: Queues) -> Disagreement:  # fmt: skip
    details = _details(item, peers)
    read = {addr: dict(one.queues) for addr, one in details.items() if one is not None}
    brokers = sorted(set().union(*read.values()))[:BROKERS_KEPT_MAX]
    mine: Said = {name: own.get(name) for name in brokers}
    said = {peer.addr: mine | read.get(peer.addr, {}) for peer in peers if details.get(peer.addr, mine) is not None}
    shown = tuple(_topic_side(view, members, (said | {OWN: mine}).get(members[0]), brokers)
                  for view, members in sides.items())  # fmt: skip
    alike = max((peer.details.alike[one.delta] for peer in peers if (one := details.get(peer.addr))), default=0)
    return Disagreement(item.kind, item.name, since_ms, shown, tuple(_topic_parts(shown)), follows(item, peers), alike)


def _details(item: Item, peers: Iterable[Peer]) -> dict[str, QueueDifference | None]:
    """Of those who differ from this name server; None where the route was not read yet."""
    return {peer.addr: one.detail for peer in peers if (one := peer.suspects.of(item)) is not None}


def follows(item: Item, peers: Iterable[Peer]) -> tuple[str, ...]:
    """The broker groups from whose absence a topic's disagreement follows; none if it has another cause."""
    details = list(_details(item, peers).values())
    if not all(one is not None and one.follows for one in details):
        return ()
    return tuple(dict.fromkeys(name for one in details if one is not None for name in one.follows))[:BROKERS_KEPT_MAX]


def _topic_side(view: View, members: list[str], said: Said | None, brokers: Sequence[str]) -> Side:
    if view is None:
        return Side(MISSING, tuple(members))
    if not said:
        return Side("its queues are not read yet", tuple(members))
    queues = tuple((name, said[name]) for name in brokers)
    words = ", ".join(f"{name} {_in_words(one)}" for name, one in queues)
    text = words if len(words) <= SIDE_CHARACTERS_MAX else f"{words[:SIDE_CHARACTERS_MAX]}…"
    return Side(text, tuple(members), None, queues)


def _in_words(queues: QueueData | None) -> str:
    if queues is None:
        return "has no queues"
    permission = PERMISSIONS.get(queues.perm & 6, str(queues.perm))
    return f"has {queues.read_queue_nums} read and {queues.write_queue_nums} write queues, permission {permission}"


def _topic_parts(sides: Sequence[Side]) -> Iterator[Part]:
    if any(side.value == MISSING for side in sides):
        yield Part.MISSING
    tables = [dict(side.queues) for side in sides if side.queues is not None]
    if not tables:
        yield Part.UNREAD
        return
    rows = [[table.get(name) for table in tables] for name in tables[0]]
    if any(None in row and any(row) for row in rows):
        yield Part.BROKERS
    there = [[one for one in row if one is not None] for row in rows]
    for part, values in (
        (Part.PERMISSION, [{one.perm for one in row} for row in there]),
        (Part.QUEUES, [{one[:2] for one in row} for row in there]),
        (Part.FLAGS, [{one.topic_sys_flag for one in row} for row in there]),
    ):
        if any(len(one) > 1 for one in values):
            yield part


log = logging.getLogger("rocketns.fleet")

# From the start of one round to the next. A difference that a round finds for the first time is read again sooner.
ROUND_S = 2.0
AGAIN_S = 1.0
CONNECT_WITHIN_S = 1.5
ANSWER_WITHIN_S = 2.0
# A larger answer of a peer ends its connection.
ANSWER_BYTES_MAX = 4 * 1024 * 1024
DISAGREEMENTS_MAX = 200
EVENTS_AT_ONCE_MAX = 20

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
        # A client of its own: its answers have a smaller limit, and `_tell` logs its failures.
        self._client = RemotingClient(
            configuration.read_tls, CONNECT_WITHIN_S, failures=logging.DEBUG, answer_bytes_max=ANSWER_BYTES_MAX,
            make_connection=make_connection,
        )  # fmt: skip
        self._lookups_max = max(1, int(configuration.discovery.peer_lookups_per_second * ROUND_S))
        self._following: asyncio.Task[None] | None = None
        self._peers: dict[str, Peer] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._logged: dict[Item, Disagreement] = {}
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
            began_s, was = loop.time(), peer.member()
            try:
                await peer.read()
            except Exception:
                log.exception("the name server %s cannot be compared", peer.addr)
            self._tell(was, peer.member())
            self.refresh()
            if not peer.member().is_readable:
                self._client.disconnect(peer.addr)
            wait_s = AGAIN_S if peer.suspects.has_new else ROUND_S
            await asyncio.sleep(max(AGAIN_S / 2, wait_s - (loop.time() - began_s)))

    def _tell(self, was: Member, now: Member) -> None:
        if now.is_readable and not was.is_readable:
            log.info("the name server %s is compared with this one (%s)", now.addr, now.kind)
        elif now.error and now.error != was.error:
            log.warning("the name server %s cannot be compared with this one: %s", now.addr, now.error)

    def refresh(self) -> None:
        """Replace ``state``, and deliver what changed as events."""
        since = self._suspected()
        readable = [peer for peer in self._peers.values() if peer.member().is_readable]
        found = [(item, sides) for item in since if len(sides := self._sides(item, readable)) > 1]
        chosen = sorted(found, key=lambda one: bool(follows(one[0], readable)))[:DISAGREEMENTS_MAX]  # causes first
        listed = [disagreement(item, since[item], sides, readable, self._own) for item, sides in chosen]
        groups, topics = self._own.counts()
        own = Member(OWN, "rocketns", "", self._since_ms, self._epoch_ms(), groups, topics)
        members = (own, *(peer.member() for peer in self._peers.values()))
        self.state = FleetState(self._epoch_ms(), members, tuple(listed), len(found) - len(listed))
        if events := self._changes(listed):
            self._deliver(events, self._clock.now())

    def _suspected(self) -> dict[Item, int]:
        """Since when each thing differs, in the order in which it is listed."""
        since: dict[Item, int] = {}
        for peer in self._peers.values():
            for item, suspicion in peer.suspects.lasting():
                since[item] = min(suspicion.since_epoch_ms, since.get(item, suspicion.since_epoch_ms))
        kinds = list(FactKind)
        return dict(sorted(since.items(), key=lambda one: (kinds.index(one[0].kind), one[0].name)))

    def _sides(self, item: Item, readable: Iterable[Peer]) -> dict[View, list[str]]:
        """Who says what. A peer that is not suspected says what this name server says.

        There may be one side: this name server's value became like theirs since they were read.
        """
        own: View = self._own.group(item.name) if item.kind is FactKind.BROKER else self._own.topic(item.name)
        sides: dict[View, list[str]] = {own: [OWN]}
        for peer in readable:
            suspicion = peer.suspects.of(item)
            sides.setdefault(own if suspicion is None else suspicion.theirs, []).append(peer.addr)
        return sides

    def _changes(self, listed: Sequence[Disagreement]) -> list[Event]:
        """The changes that were not delivered yet. Those beyond the limit for one call wait for the next."""
        now = {Item(one.kind, one.name): one for one in listed}
        new = [(item, one, False) for item, one in now.items() if item not in self._logged]
        over = [(item, one, True) for item, one in self._logged.items() if item not in now]
        events: list[Event] = []
        for item, one, is_over in (new + over)[:EVENTS_AT_ONCE_MAX]:
            events.append(FleetDiffers(one.kind, one.name, str(one), one.since_epoch_ms, is_over))
            if is_over:
                del self._logged[item]
            else:
                self._logged[item] = one
        return events

    def _epoch_ms(self) -> int:
        return self._clock.now().epoch_ms
