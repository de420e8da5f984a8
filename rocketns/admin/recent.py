"""What happened lately: a ring of the last changes, as rows of the API and in words; heartbeats for those who look at
the moment; and which broker groups take no messages.

Control calls `Recent.watch` after every mutation: 0.2 µs for a heartbeat, a few for a change. A deque is changed and
copied in one step under the GIL, so control and the management port need no lock.

Counting the groups that take no messages goes over all queues of all topics, so it is done only while somebody reads,
only after a change, and at most one part in fifty of the time.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Generator
from dataclasses import dataclass
from itertools import accumulate, islice
from typing import Annotated, NamedTuple, assert_never

from rocketns.admin.view import View
from rocketns.config.properties import is_secret
from rocketns.journal.record import KINDS
from rocketns.processor.context import Now
from rocketns.protocol.codes import MASTER_ID, PERM_WRITE, ResponseCode, request_name
from rocketns.routeinfo import events as e
from rocketns.routeinfo.tables import BrokerAddrInfo
from rocketns.server.facts.facts import Facts

# An event has nine names at most: with four bytes a character the ring takes 12 MB, and the beats take 11 MB.
EVENTS_MAX = 1000
BEATS_MAX = 4096
NAMES_MAX = 5
# Names come from the network: a ring of whole ones would have no bound.
NAME_CHARACTERS_MAX = 300
RECORDED = {name: kind.words for name, kind in KINDS.items() if kind.words is not None}
WORDS = RECORDED | {
    "back": "{who} is back: it sent a sign of life",
    "conflict": "{who} was refused: {holder} has its id",
    "unregistered": "{who} was refused: it is not registered",
}
COUNTED = ("tput", "tdel", "map", "admin", "refused")
TIMED = ("down", "doubt", "stall")
WITHOUT_VALUE = {"kv": "was deleted", "config": "is set"}
GONE = {
    "unregister": "it said that it stops",
    "expired": "no heartbeat within its time-out",
    "unconfirmed": "nobody heard it again",
    "refused": "its address refuses connections",
    "channel_close": "its connection was closed",
    "channel_exception": "its connection failed",
    "channel_idle": "its connection was idle",
    "conflict": "another address has its id now",
    "register": "the address registered under another id",
    "observed": "it was not there when somebody looked",
}
DOUBTED = {
    "restored": "known from the journal only",
    "seeded": "known from another name server only",
    "silent_together": "many brokers are silent at once",
    "stalled": "its connection ended while this server did not run",
}
ROWS_AT_ONCE = 16
GROUPS_MAX = 100  # that are named
WIPED_CHARACTERS_MAX = 4_000  # of the names before the last one
# Pauses within this time of the first one are one change: a busy machine must not push all others out of the ring.
PAUSES_TOGETHER_MS = 10 * 60_000
REST_S = 1.0
# Of counting: an entry takes 0.1 µs.
REST_S_OF_ENTRY = 5e-6
GROWN_WITHIN_MS = 10 * 60_000  # of a counter


class RecentChange(NamedTuple):
    """One change. ``detail``: the holder of the id in a conflict, the new value, or what became of a request.
    ``amount``: topics, ms, or requests. ``times``: pauses that are one change; ``amount`` is of the longest.

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
    times: int = 1


class Recent:
    """`watch` is for control, everything else for the management port."""

    def __init__(self, live: Collection[BrokerAddrInfo]) -> None:
        """``live``: the brokers of the routes; any thread may ask for its length, control for more."""
        self._live = live
        self.events: deque[RecentChange] = deque(maxlen=EVENTS_MAX)
        self.beats: deque[tuple[str, str, int]] = deque(maxlen=BEATS_MAX)
        self.wants_beats = False
        self.since: dict[tuple[str, str], int] = {}
        self.heartbeats = 0
        self.last = 0  # the number of the last change
        self._paused: RecentChange | None = None  # the last stall in the ring
        self._pauses_began_ms = 0

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
                self._note_pause(ms, at)

    def _note_pause(self, ms: int, at: int) -> None:
        before = self._paused
        if before is None or not 0 <= at - self._pauses_began_ms < PAUSES_TOGETHER_MS:
            before, self._pauses_began_ms = None, at
        elif before in self.events:
            self.events.remove(before)
        longest_ms, times = (ms, 1) if before is None else (max(ms, before.amount or 0), before.times + 1)
        self._add(at, "stall", amount=longest_ms, times=times)
        self._paused = self.events[-1]

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
             detail: str | None = None, amount: int | None = None, names: tuple[str, ...] = (),
             times: int = 1) -> None:  # fmt: skip
        place = (event, cluster and _cut(cluster), broker and _cut(broker), number, addr and _cut(addr))
        change = RecentChange(self.last + 1, at, *place, cause, detail and _cut(detail), amount, names, times)
        self.events.append(change)
        self.last += 1

    def take_beats(self) -> list[tuple[str, str, int]]:
        """The heartbeats since the last call, if they are wanted."""
        return [self.beats.popleft() for _ in range(len(self.beats))]


def _cut(text: str) -> str:
    return text[:NAME_CHARACTERS_MAX]


@dataclass(frozen=True, slots=True)
class EventRow:
    """One change. Heartbeats that change nothing are left out."""

    seq: Annotated[int, "1, 2, 3 … since the start"]
    at: Annotated[int, "when it happened"]
    event: Annotated[str, f"as in the journal: {', '.join(RECORDED)}; and beside them "
                     "back (it was unconfirmed), conflict, unregistered"]  # fmt: skip
    text: Annotated[str, "the same in words"]
    cluster: str | None
    broker: str | None
    id: int | None
    address: str | None
    cause: str | None
    count: Annotated[int | None, "of topics; of requests; of stall the pauses within 10 minutes of the first one"]
    names: Annotated[tuple[str, ...], "the first 5 topics; of kv the namespace and the key; of config the property; "
                     "of admin and refused the request, and its principal or access key"]  # fmt: skip
    ms: Annotated[int | None, "of down and doubt the time since the last heartbeat; of stall its length, or that of "
                  "the longest of several"]  # fmt: skip
    detail: Annotated[str | None, "of kv and config the value; of conflict the holder of the id; of admin and refused "
                      "what became of the request"]  # fmt: skip


def event_row(change: RecentChange) -> EventRow:
    """The row of a change."""
    return EventRow(
        seq=change.seq,
        at=change.at,
        event=change.event,
        text=in_words(change),
        cluster=change.cluster,
        broker=change.broker,
        id=change.id,
        address=change.address,
        cause=None if change.cause is None else str(change.cause),
        count=change.times if change.event == "stall" else change.amount if change.event in COUNTED else None,
        names=change.names,
        ms=change.amount if change.event in TIMED else None,
        detail=change.detail,
    )


def in_words(change: RecentChange) -> str:
    """A sentence without its time."""
    cause = str(change.cause)
    return WORDS[change.event].format(
        who=f"{_name(change)} at {change.address}",
        broker=change.broker,
        reason={"down": GONE, "doubt": DOUBTED}.get(change.event, {}).get(cause, cause),
        silent="" if change.amount is None else f" (last heard {_seconds(change.amount)} before)",
        topics=_topics(change),
        names=" ".join(change.names),
        state=WITHOUT_VALUE.get(change.event) if change.detail is None else f"is {change.detail}",
        holder=change.detail,
        detail=change.detail,
        address=change.address,
        request=" as ".join(change.names),
        count=change.amount,
        time=_seconds(change.amount or 0),
    ) + (f", the longest of {change.times} pauses" if change.times > 1 else "")


def _name(change: RecentChange) -> str:
    if change.broker is None:
        return f"a broker of {change.cluster}"
    return change.broker if change.id is None else f"{change.broker} ({role_of(change.id)})"


def role_of(broker_id: int) -> str:
    """Of a member of a broker group, in English."""
    return "master" if broker_id == MASTER_ID else f"slave {broker_id}"


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f} s"


def _topics(change: RecentChange) -> str:
    more = (change.amount or 0) - len(change.names)
    return ", ".join(change.names) + (f" and {more} more" if more > 0 else "")


class Wiped:
    """What was counted last. For the loop of the management port."""

    def __init__(self, view: View, recent: Recent) -> None:
        self._view = view
        self._recent = recent
        self._names: tuple[str, ...] = ()
        self._seen = -1
        self._next_s = float("-inf")

    async def names(self, now_s: float) -> tuple[str, ...]:
        """The groups, at most GROUPS_MAX, fewer where their names are long. Busy if control does not answer."""
        if self._recent.last != self._seen and now_s >= self._next_s:
            self._seen = self._recent.last
            self._names, entries = await self._view.copy(count_closed)
            self._next_s = now_s + REST_S + entries * REST_S_OF_ENTRY
        return self._names


def count_closed(facts: Facts) -> Generator[None, None, tuple[tuple[str, ...], int]]:
    """The groups without a topic that may be written, and how many entries were looked at."""
    table, groups = facts.tables.topic_queue_table, facts.tables.broker_addr_table
    closed: set[str] = set()
    open_: set[str] = set()
    entries, topics = 0, iter(list(table))
    while some := list(islice(topics, ROWS_AT_ONCE)):
        for topic in some:
            queues = table.get(topic, {})
            entries += len(queues)
            for name, one in queues.items():
                (open_ if one.perm & PERM_WRITE else closed).add(name)
        yield
    names = sorted(name for name in closed - open_ if name in groups)[:GROUPS_MAX]
    before = accumulate(map(len, names), initial=0)
    return tuple(
        name for name, characters in zip(names, before, strict=False) if characters < WIPED_CHARACTERS_MAX
    ), entries


class Growing:
    """For one thread. What a counter had before the first look counts as new."""

    def __init__(self) -> None:
        self._count = 0
        self._grew_ms: int | None = None

    def is_recent(self, count: int, now_ms: int) -> bool:
        """Whether it grew within GROWN_WITHIN_MS."""
        if count > self._count:
            self._count, self._grew_ms = count, now_ms
        return self._grew_ms is not None and now_ms - self._grew_ms < GROWN_WITHIN_MS
