"""What happened lately: a ring of the last changes, and heartbeats for those who look at the moment.

Control calls `Recent.watch` after every mutation: 0.2 µs for a heartbeat, a few for a change. A deque is changed and
copied in one step under the GIL, so control and the management port need no lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import NamedTuple, assert_never

from rocketns.config.properties import is_secret
from rocketns.processor.context import Now
from rocketns.protocol.codes import ResponseCode, request_name
from rocketns.routeinfo import events as e
from rocketns.routeinfo.tables import BrokerAddrInfo

# An event has nine names at most: with four bytes a character the ring takes 12 MB, and the beats take 11 MB.
EVENTS_MAX = 1000
BEATS_MAX = 4096
NAMES_MAX = 5
# Names come from the network: a ring of whole ones would have no bound.
NAME_CHARACTERS_MAX = 300


class Recorded(NamedTuple):
    """One change. ``detail``: the holder of the id in a conflict, the new value, or what became of a request.
    ``amount``: topics, ms, or requests.

    ``names``: topics, or namespace and key, or the property, or the name of a request and who sent it.
    """

    seq: int
    at: int
    event: str
    cluster: str | None = None
    broker: str | None = None
    id: int | None = None
    address: str | None = None
    cause: str | None = None
    detail: str | None = None
    amount: int | None = None
    names: tuple[str, ...] = ()


class Recent:
    """`watch` is for control, everything else for the management port."""

    def __init__(self, live: Collection[BrokerAddrInfo]) -> None:
        """``live``: the brokers of the routes; any thread may ask for its length, control for more."""
        self._live = live
        self.events: deque[Recorded] = deque(maxlen=EVENTS_MAX)
        self.beats: deque[tuple[str, str, int]] = deque(maxlen=BEATS_MAX)
        self.wants_beats = False
        self.since: dict[tuple[str, str], int] = {}
        self.heartbeats = 0
        self.last = 0  # the number of the last change

    def watch(self, events: list[e.Event], now: Now) -> None:
        """A consumer of events: see `EventDelivery.watch`."""
        for event in events:
            self._note(event, now.epoch_ms)

    def _beat(self, event: e.BrokerRegistered | e.BrokerHeartbeat, at: int) -> None:
        self.heartbeats += 1
        if self.wants_beats:
            self.beats.append((_cut(event.cluster), _cut(event.addr), at))
        if event.gap_ms is None:
            self._began(event, at)
        if event.gap_ms is None or event.doubt is not None:
            is_new = isinstance(event, e.BrokerRegistered) and event.doubt is None
            name, number = (
                (event.broker_name, event.broker_id) if isinstance(event, e.BrokerRegistered) else (None, None)
            )
            self._add(at, "reg" if is_new else "back", event.cluster, name, number, event.addr)

    def _began(self, event: e.BrokerRegistered | e.BrokerHeartbeat, at: int) -> None:
        if len(self.since) > 2 * len(self._live) + 64:
            self.since = {key: since for key, since in self.since.items() if key in self._live}
        self.since[event.cluster, event.addr] = at

    def _note(self, event: e.Event, at: int) -> None:
        match event:
            case e.BrokerRegistered() | e.BrokerHeartbeat():
                self._beat(event, at)
            case e.BrokerDown(cluster, name, addr, number, live, gap_ms, cause):
                if live:
                    self.since.pop((cluster, addr), None)
                self._add(at, "down", cluster, name, number, addr, cause, amount=gap_ms)
            case e.BrokerDoubted(cluster, name, addr, number, doubt, gap_ms):
                self._add(at, "doubt", cluster, name, number, addr, doubt.reason, amount=gap_ms)
            case e.BrokerConflict(cluster, name, number, holder, addr):
                self._add(at, "conflict", cluster, name, number, addr, detail=holder)
            case e.BrokerRefused(name, number, addr):
                self._add(at, "unregistered", None, name, number, addr)
            case e.TopicsPut() | e.TopicsDeleted() | e.MappingsPut():
                self._note_topics(event, at)
            case e.KvChanged() | e.ConfigChanged() | e.Stalled() | e.AdminRequested() | e.RequestRefused():
                self._note_beside_tables(event, at)
            case e.BrokerIdsLeft() | e.GroupChanged() | e.MinBrokerIdChanged() | e.FleetDiffers():
                pass  # events about brokers say the first three; the API has a list of what differs in the fleet
            case _:
                assert_never(event)

    def _note_topics(self, event: e.TopicsPut | e.TopicsDeleted | e.MappingsPut, at: int) -> None:
        match event:
            case e.TopicsPut(name, changes, cause):
                self._add_topics(
                    at, "tput", name, [change.topic for change in changes[:NAMES_MAX]], len(changes), cause
                )
            case e.TopicsDeleted(name, topics, cause):
                self._add_topics(at, "tdel", name, topics[:NAMES_MAX], len(topics), cause)
            case e.MappingsPut(name, mappings):
                self._add_topics(at, "map", name, [topic for topic, _ in mappings[:NAMES_MAX]], len(mappings))

    def _add_topics(
        self, at: int, event: str, broker: str, topics: list[str], amount: int, cause: str | None = None
    ) -> None:
        names = tuple(map(_cut, topics))
        self._add(at, event, None, broker, cause=cause, amount=amount, names=names)

    def _note_beside_tables(
        self, event: e.KvChanged | e.ConfigChanged | e.Stalled | e.AdminRequested | e.RequestRefused, at: int
    ) -> None:
        """Changes outside of the route tables."""
        match event:
            case e.KvChanged(namespace, key, value):
                self._add(at, "kv", detail=value, names=(_cut(namespace), _cut(key)))
            case e.ConfigChanged(key, value):
                shown = None if is_secret(key) else value
                self._add(at, "config", detail=shown, names=(_cut(key),))
            case e.AdminRequested() | e.RequestRefused():
                self._note_request(event, at)
            case e.Stalled(ms):
                self._add(at, "stall", amount=ms)

    def _note_request(self, event: e.AdminRequested | e.RequestRefused, at: int) -> None:
        """Requests of administrators, and refused ones."""
        by = event.principal or event.access_key
        names = (request_name(event.code), *([] if by is None else [_cut(by)]))
        match event:
            case e.AdminRequested():
                detail = "done" if event.result == ResponseCode.SUCCESS else f"failed with code {event.result}"
                self._add(at, "admin", None, None, None, event.address, detail=detail, amount=event.count, names=names)
            case e.RequestRefused():
                detail = "was refused" if event.is_enforced else "would be refused"
                self._add(at, "refused", None, None, None, event.host, _cut(event.reason), detail=detail,
                          amount=event.count, names=names)  # fmt: skip

    def _add(self, at: int, event: str, cluster: str | None = None, broker: str | None = None,
             number: int | None = None, addr: str | None = None, cause: str | None = None, *,
             detail: str | None = None, amount: int | None = None, names: tuple[str, ...] = ()) -> None:  # fmt: skip
        place = (event, cluster and _cut(cluster), broker and _cut(broker), number, addr and _cut(addr))
        self.events.append(Recorded(self.last + 1, at, *place, cause, detail and _cut(detail), amount, names))
        self.last += 1

    def take_beats(self) -> list[tuple[str, str, int]]:
        """The heartbeats since the last call, if they are wanted."""
        return [self.beats.popleft() for _ in range(len(self.beats))]


def _cut(text: str) -> str:
    return text[:NAME_CHARACTERS_MAX]
