"""What this name server knows of the fleet at one instant, and how a disagreement is put together for a reader.

The values never change: any thread may read them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated

from rocketns.fleet.comparing import FactKind, Item
from rocketns.fleet.group_view import GroupView
from rocketns.fleet.queue_view import BROKERS_KEPT_MAX, QueueDifference, Queues
from rocketns.fleet.suspects import Compared, View
from rocketns.protocol.body.route import QueueData
from rocketns.routeinfo.events import Event, FleetDiffers

OWN = "this name server"
MISSING = "missing"  # what a side says that lacks the thing
NOT_READ = "not read yet"  # the error of a member until its first reading ended


@dataclass(frozen=True, slots=True)
class Member:
    """One name server of the fleet: this one, or one of ``rocketns.peers``. Times are epoch milliseconds."""

    address: Annotated[str, "as in rocketns.peers; this name server is 'this name server'"]
    kind: Annotated[str, "rocketns; other, as Java's, which has no digests; empty while it is not known"]
    error: Annotated[str, "why it cannot be read; empty if it can"]
    since: Annotated[int, "since when it can be read, or cannot"]
    read: Annotated[int | None, "when it was read last"]
    broker_groups: Annotated[int | None, "null while it is not known"]
    topics: Annotated[int | None, "null while it is not known"]
    differing_brokers: Annotated[
        int, "broker groups about which it differs from this one, in two readings in a row"
    ] = 0
    differing_topics: Annotated[int, "topics about which it differs from this one, in two readings in a row"] = 0
    following_topics: Annotated[int, "of them, those that differ only in brokers which one of the two lacks"] = 0

    @property
    def is_readable(self) -> bool:
        return not self.error


class Part(StrEnum):
    """What may differ, in the order of harm."""

    MISSING = "missing"
    BROKERS = "brokers"
    CLUSTER = "cluster"
    ADDRESSES = "addresses"
    PERMISSION = "permission"
    QUEUES = "queues"
    FLAGS = "flags"
    UNREAD = "unread"


@dataclass(frozen=True, slots=True)
class SideQueues:
    """The queues of a topic on one broker group. The numbers are null where it has none."""

    broker: str
    read_queues: int | None = None
    write_queues: int | None = None
    permission: Annotated[int | None, "4 read, 2 write, 6 both"] = None
    sys_flag: Annotated[int | None, "1 unit, 2 subscribed by units"] = None

    def in_words(self) -> str:
        if self.permission is None:
            return f"{self.broker} has no queues"
        permission = PERMISSIONS.get(self.permission & 6, str(self.permission))
        return (f"{self.broker} has {self.read_queues} read and {self.write_queues} write queues, "
                f"permission {permission}")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Side:
    """What some name servers say of one thing."""

    says: Annotated[str, "in words; missing: they lack it"]
    members: Annotated[tuple[str, ...], "their addresses"]
    cluster: Annotated[str | None, "of a broker group"] = None
    addresses: Annotated[dict[str, str], "of a broker group, by broker id: 16 at most"] = field(default_factory=dict)
    queues: Annotated[tuple[SideQueues, ...], "of a topic: on the broker groups where it differs, 16 at most; empty "
                      "while they were not read"] = ()  # fmt: skip


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Something that the readable name servers disagree about. Its names come from peers: escape them."""

    kind: Annotated[FactKind, "what it is"]
    name: Annotated[str, "of the broker group, topic or item"]
    since: Annotated[int, "since when this name server knows of it"]
    sides: Annotated[tuple[Side, ...], "what is said, and by whom"]
    parts: Annotated[tuple[Part, ...], "what differs. missing: some lack it. brokers: some have no queues on a "
                     "broker. flags: zone and acting master; unit of a topic. unread: the routes were not compared "
                     "yet"] = ()  # fmt: skip
    follows: Annotated[tuple[str, ...], "the broker groups that some name servers lack, if a topic differs in nothing "
                       "else"] = ()  # fmt: skip
    topics: Annotated[int, "of a broker group, topics that follow from it; of a topic, how many differ alike"] = 0

    def __str__(self) -> str:
        return "; ".join(f"{', '.join(side.members)}: {side.says}" for side in self.sides)


@dataclass(frozen=True, slots=True)
class FleetState:
    """The first member is this name server. ``omitted`` disagreements are not listed, because there are too many."""

    at_epoch_ms: int
    members: tuple[Member, ...] = ()
    disagreements: tuple[Disagreement, ...] = ()
    omitted: int = 0


EVENTS_AT_ONCE_MAX = 20


class Announced:
    """The disagreements whose beginning is announced by an event, and their end not yet."""

    def __init__(self) -> None:
        self._announced: dict[Item, Disagreement] = {}

    def changes(self, listed: Iterable[Disagreement]) -> list[Event]:
        """The events of those that began or ended. Beyond EVENTS_AT_ONCE_MAX they wait for the next call."""
        now = {Item(one.kind, one.name): one for one in listed}
        new = [(item, one) for item, one in now.items() if item not in self._announced][:EVENTS_AT_ONCE_MAX]
        over = [(item, one) for item, one in self._announced.items() if item not in now][
            : EVENTS_AT_ONCE_MAX - len(new)
        ]
        for item, _ in over:
            del self._announced[item]
        self._announced.update(new)
        changed = [(one, False) for _, one in new] + [(one, True) for _, one in over]
        return [FleetDiffers(one.kind, one.name, str(one), one.since, ends) for one, ends in changed]


# How much of a group is kept: the state has 200 disagreements.
ADDRESSES_SHOWN_MAX = 16
SIDE_CHARACTERS_MAX = 2_000
PERMISSIONS = {0: "none", 2: "write only", 4: "read only", 6: "read and write"}

DISAGREEMENTS_MAX = 200

Said = dict[str, QueueData | None]


def disagreements(
    peers: Iterable[Compared], readable: Sequence[Compared], own: Callable[[Item], View],
    own_queues: Callable[[str], Queues],
) -> tuple[list[Disagreement], int]:  # fmt: skip
    """The first DISAGREEMENTS_MAX, causes before what follows from them, and how many more there are.

    ``own``: what this name server says of a thing; ``own_queues``: the queues of its topics.
    """
    found = [(item, since_ms, sides) for item, since_ms in _suspected(peers).items()
             if len(sides := _sides(item, own(item), readable)) > 1]  # fmt: skip
    listed = sorted(found, key=lambda one: bool(follows(one[0], readable)))[:DISAGREEMENTS_MAX]
    made = [_disagreement(item, since_ms, sides, readable, own_queues(item.name)) for item, since_ms, sides in listed]
    return made, len(found) - len(made)


def _suspected(peers: Iterable[Compared]) -> dict[Item, int]:
    """Since when each thing differs, in the order in which it is listed."""
    since: dict[Item, int] = {}
    for peer in peers:
        for item, suspicion in peer.suspects.lasting():
            since[item] = min(suspicion.since_epoch_ms, since.get(item, suspicion.since_epoch_ms))
    kinds = list(FactKind)
    return dict(sorted(since.items(), key=lambda one: (kinds.index(one[0].kind), one[0].name)))


def _sides(item: Item, own: View, readable: Iterable[Compared]) -> dict[View, list[str]]:
    """Who says what. A peer that is not suspected says what this name server says.

    There may be one side: this name server's value became like theirs since they were read.
    """
    sides: dict[View, list[str]] = {own: [OWN]}
    for peer in readable:
        suspicion = peer.suspects.of(item)
        sides.setdefault(own if suspicion is None else suspicion.theirs, []).append(peer.addr)
    return sides


def _disagreement(item: Item, since_ms: int, sides: Mapping[View, list[str]], peers: Sequence[Compared],
                 own: Queues) -> Disagreement:  # fmt: skip
    """``sides``: who says what. ``peers``: those that can be read. ``own``: of a topic, this name server's queues."""
    if item.kind is FactKind.TOPIC:
        return _of_topic(item, since_ms, sides, peers, own)
    shown = tuple(_group_side(view, members) for view, members in sides.items())
    topics = max((peer.followers(item.name) for peer in peers), default=0)
    return Disagreement(item.kind, item.name, since_ms, shown, tuple(_group_parts(list(sides))), (), topics)


def _group_side(view: View, members: Iterable[str]) -> Side:
    if not isinstance(view, GroupView):
        return Side(MISSING, tuple(members))
    cut = view._replace(addrs=view.addrs[:ADDRESSES_SHOWN_MAX])
    more = len(view.addrs) - ADDRESSES_SHOWN_MAX
    text = cut.text()
    whole = f"{text} and {more} more" if more > 0 else text
    if len(whole) <= SIDE_CHARACTERS_MAX:
        return Side(whole, tuple(members), cut.cluster, {str(broker_id): addr for broker_id, addr in cut.addrs})
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


def _of_topic(item: Item, since_ms: int, sides: Mapping[View, list[str]], peers: Sequence[Compared],
              own: Queues) -> Disagreement:  # fmt: skip
    details = _details(item, peers)
    read = {addr: dict(one.queues) for addr, one in details.items() if one is not None}
    brokers = sorted(set().union(*read.values()))[:BROKERS_KEPT_MAX]
    mine: Said = {name: own.get(name) for name in brokers}
    said = {peer.addr: mine | read.get(peer.addr, {}) for peer in peers if details.get(peer.addr, mine) is not None}
    shown = tuple(_topic_side(view, members, (said | {OWN: mine}).get(members[0]), brokers)
                  for view, members in sides.items())  # fmt: skip
    alike = max((peer.alike[one.delta] for peer in peers if (one := details.get(peer.addr))), default=0)
    return Disagreement(item.kind, item.name, since_ms, shown, tuple(_topic_parts(shown)), follows(item, peers), alike)


def _details(item: Item, peers: Iterable[Compared]) -> dict[str, QueueDifference | None]:
    """Of those who differ from this name server; None where the route was not read yet."""
    return {peer.addr: one.detail for peer in peers if (one := peer.suspects.of(item)) is not None}


def follows(item: Item, peers: Iterable[Compared]) -> tuple[str, ...]:
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
    queues = tuple(SideQueues(name, *(said[name] or ())) for name in brokers)
    words = ", ".join(one.in_words() for one in queues)
    text = words if len(words) <= SIDE_CHARACTERS_MAX else f"{words[:SIDE_CHARACTERS_MAX]}…"
    return Side(text, tuple(members), queues=queues)


def _topic_parts(sides: Sequence[Side]) -> Iterator[Part]:
    if any(side.says == MISSING for side in sides):
        yield Part.MISSING
    rows = list(zip(*(side.queues for side in sides if side.queues), strict=True))
    if not rows:
        yield Part.UNREAD
        return
    there = [[one for one in row if one.permission is not None] for row in rows]
    if any(0 < len(some) < len(row) for some, row in zip(there, rows, strict=True)):
        yield Part.BROKERS
    for part, values in (
        (Part.PERMISSION, [{one.permission for one in row} for row in there]),
        (Part.QUEUES, [{(one.read_queues, one.write_queues) for one in row} for row in there]),
        (Part.FLAGS, [{one.sys_flag for one in row} for row in there]),
    ):
        if any(len(one) > 1 for one in values):
            yield part
