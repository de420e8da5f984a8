"""Reads all peers, each in its own task, and keeps what they disagree about as one value for other threads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Sequence

from rocketns.client.connection import OutgoingConnection
from rocketns.client.name_server import NameServer
from rocketns.client.remoting_client import MakeConnection, RemotingClient
from rocketns.client.resolving import others_and_own
from rocketns.config import Configuration
from rocketns.fleet.comparing import FactKind, Item
from rocketns.fleet.state import OWN, Disagreement, FleetState, Member
from rocketns.fleet.suspects import View
from rocketns.processor.context import Now
from rocketns.protocol.codes import SerializeType
from rocketns.routeinfo.events import Event, FleetDiffers
from rocketns.server.clock import Clock
from rocketns.server.fleet.own import OwnTables
from rocketns.server.fleet.peer import Peer
from rocketns.server.fleet.sides import disagreement, follows

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
        members = (self._own_member(), *(peer.member() for peer in self._peers.values()))
        self.state = FleetState(self._epoch_ms(), members, tuple(listed), len(found) - len(listed))
        if events := self._changes(listed):
            self._deliver(events, self._clock.now())

    def _own_member(self) -> Member:
        groups, topics = self._own.counts()
        return Member(OWN, "rocketns", "", self._since_ms, self._epoch_ms(), groups, topics)

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
