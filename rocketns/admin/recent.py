"""What happened lately: a ring of the last changes, as rows of the API and in words.

Control calls `Recent.watch` after every mutation: 0.2 µs for a heartbeat, a few for a change. A deque is changed and
copied in one step under the GIL, so control and the management port need no lock.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Annotated, Any

from rocketns.config.properties import is_secret
from rocketns.languages import N_
from rocketns.processor.context import Now
from rocketns.protocol.codes import MASTER_ID, ResponseCode, request_name
from rocketns.routeinfo import events as e

# An event has nine names at most: with four bytes a character the ring takes 12 MB.
EVENTS_MAX = 1000
NAMES_MAX = 5
# Names come from the network: a ring of whole ones would have no bound.
NAME_CHARACTERS_MAX = 300
WORDS = {
    "reg": N_("%(who)s registered"),
    "back": N_("%(who)s is back: it sent a sign of life"),
    "down": N_("%(who)s is gone: %(why)s (last heard %(age)s before)"),
    "doubt": N_("%(who)s is not confirmed: %(why)s"),
    "conflict": N_("%(who)s was refused: %(detail)s has its id"),
    "unregistered": N_("%(who)s was refused: it is not registered"),
    "tput": N_("%(broker)s has topics %(topics)s"),
    "tdel": N_("%(broker)s no longer has topics %(topics)s"),
    "map": N_("%(broker)s has queue mappings of %(topics)s"),
    "kv": N_("KV item %(names)s is %(detail)s"),
    "config": N_("property %(names)s is %(detail)s"),
    "stall": N_("this name server did not run for %(age)s"),
    "admin": N_("%(sender)s sent %(request)s: it failed with code %(detail)s"),
    "refused": N_("%(sender)s was refused %(request)s: %(cause)s (requests: %(n)s)"),
}
# Of which changes other words are true, and which.
OTHER_WORDS: dict[str, tuple[Callable[[EventRow], bool], str]] = {
    "down": (lambda one: one.amount is None, N_("%(who)s is gone: %(why)s")),
    "kv": (lambda one: one.detail is None, N_("KV item %(names)s was deleted")),
    "config": (lambda one: one.detail is None, N_("property %(names)s is set")),
    "stall": (lambda one: one.times > 1, N_("this name server did not run for %(age)s, the longest of %(n)s pauses")),
    "admin": (lambda one: one.detail is None, N_("%(sender)s sent %(request)s: done")),
    "refused": (lambda one: one.detail is not None,
                N_("%(sender)s would be refused %(request)s: %(cause)s (requests: %(n)s)")),
}  # fmt: skip
GONE = {
    "unregister": N_("it said that it stops"),
    "expired": N_("no heartbeat within its time-out"),
    "unconfirmed": N_("nobody heard it again"),
    "refused": N_("its address refuses connections"),
    "channel_close": N_("its connection was closed"),
    "channel_exception": N_("its connection failed"),
    "channel_idle": N_("its connection was idle"),
    "conflict": N_("another address has its id now"),
    "register": N_("the address registered under another id"),
    "observed": N_("it was not there when somebody looked"),
}
DOUBTED = {
    "restored": N_("known from the journal only"),
    "seeded": N_("known from another name server only"),
    "silent_together": N_("many brokers are silent at once"),
    "stalled": N_("its connection ended while this server did not run"),
}
# Pauses within this time of the first one are one change: a busy machine must not push all others out of the ring.
PAUSES_TOGETHER_MS = 10 * 60_000


@dataclass(frozen=True, slots=True)
class Phrase:
    """A message in English, by which other languages find theirs, with %(name)s for each value. A list of values has a
    comma between two.
    """

    message: str
    values: dict[str, Said] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.message % {name: _text(value) for name, value in self.values.items()}


Said = str | Phrase | tuple[str | Phrase, ...]


def _text(value: Said) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def phrase(message: str, values: Mapping[str, Said]) -> Phrase:
    """The message, with those of the values that it has."""
    return Phrase(message, {name: value for name, value in values.items() if f"%({name})s" in message})


def listed(names: Sequence[str | Phrase], more: int) -> Said:
    """The names, and how many others there are."""
    return Phrase(N_("%(names)s and %(n)s more"), {"names": (*names,), "n": f"{more:,}"}) if more > 0 else (*names,)


@dataclass(frozen=True, slots=True)
class EventRow:
    """One change, and its words once they are asked for. Heartbeats that change nothing are left out."""

    seq: Annotated[int, "1, 2, 3 … since the start"]
    at: Annotated[int, "when it happened"]
    event: Annotated[str, f"as in the journal, but for back (it was unconfirmed), conflict and unregistered: "
                     f"{', '.join(WORDS)}"]  # fmt: skip
    cluster: str | None = None
    broker: str | None = None
    id: int | None = None
    address: str | None = None
    cause: str | None = None
    detail: Annotated[str | None, "of kv and config the value; of conflict the holder of the id; of admin the code "
                      "of a failure; of refused observed, where the request was answered"] = None  # fmt: skip
    amount: Annotated[int | None, "of topics, or of requests; of down and doubt the milliseconds since the last "
                      "heartbeat; of stall those of the longest one"] = None  # fmt: skip
    names: Annotated[tuple[str, ...], "the first 5 topics; of kv the namespace and the key; of config the property; "
                     "of admin and refused the request, and its principal or access key"] = ()  # fmt: skip
    times: Annotated[int, "of stall the pauses within 10 minutes of the first one"] = 1
    text: Annotated[str, "the same in words"] = ""
    said: Annotated[Phrase, "the words in parts; other languages are found by its messages"] = Phrase("")


class Recent:
    """`watch` is for control, everything else for the management port."""

    def __init__(self) -> None:
        self.events: deque[EventRow] = deque(maxlen=EVENTS_MAX)
        self.last = 0  # the number of the last change
        self._paused: EventRow | None = None  # the last stall in the ring
        self._pauses_began_ms = 0

    def watch(self, events: list[e.Event], now: Now) -> None:
        """A consumer of events: see `EventDelivery.watch`."""
        for event in events:
            self._note(event, now.epoch_ms)

    def _note(self, event: e.Event, at: int) -> None:
        if isinstance(event, e.BrokerRegistered | e.BrokerHeartbeat):
            if event.gap_ms is None or event.doubt is not None:
                is_new = isinstance(event, e.BrokerRegistered) and event.doubt is None
                self._add(at, "reg" if is_new else "back", **_shared(event))
        elif isinstance(event, e.Stalled):
            self._note_pause(event.ms, at)
        elif type(event) in NOTED:
            name, columns = NOTED[type(event)]
            self._add(at, name, **_shared(event) | columns(event))

    def _note_pause(self, ms: int, at: int) -> None:
        before = self._paused
        if before is None or not 0 <= at - self._pauses_began_ms < PAUSES_TOGETHER_MS:
            before, self._pauses_began_ms = None, at
        elif before in self.events:
            self.events.remove(before)
        longest_ms, times = (ms, 1) if before is None else (max(ms, before.amount or 0), before.times + 1)
        self._add(at, "stall", amount=longest_ms, times=times)
        self._paused = self.events[-1]

    def _add(self, at: int, event: str, **columns: Any) -> None:
        """Texts are cut. See `EventRow`."""
        cut: dict[str, Any] = {
            name: _cut(value) if isinstance(value, str) else value for name, value in columns.items()
        }
        cut["names"] = tuple(_cut(one) for one in islice(columns.get("names", ()), NAMES_MAX))
        self.last += 1
        self.events.append(EventRow(self.last, at, event, **cut))


def _cut(text: str) -> str:
    return text[:NAME_CHARACTERS_MAX]


# What several kinds of events have, and its column.
SHARED = {"cluster": "cluster", "broker_name": "broker", "broker_id": "id", "addr": "address", "cause": "cause"}


def _shared(event: e.Event) -> dict[str, Any]:
    return {column: getattr(event, name) for name, column in SHARED.items() if hasattr(event, name)}


def _of_request(event: e.AdminRequested | e.RequestRefused) -> dict[str, Any]:
    by = event.principal or event.access_key
    return {"amount": event.count, "names": (request_name(event.code), *([] if by is None else [by]))}


# What is noted of an event: its name, and more columns. Events that are not here are said by others, or by lists of
# the API.
NOTED: dict[type, tuple[str, Callable[[Any], dict[str, Any]]]] = {
    e.BrokerDown: ("down", lambda v: {"amount": v.gap_ms}),
    e.BrokerDoubted: ("doubt", lambda v: {"cause": v.doubt.reason, "amount": v.gap_ms}),
    e.BrokerConflict: ("conflict", lambda v: {"detail": v.incumbent_addr}),
    e.BrokerRefused: ("unregistered", lambda _: {}),
    e.TopicsPut: ("tput", lambda v: {"amount": len(v.changes), "names": (one.topic for one in v.changes)}),
    e.TopicsDeleted: ("tdel", lambda v: {"amount": len(v.topics), "names": v.topics}),
    e.MappingsPut: ("map", lambda v: {"amount": len(v.mappings), "names": (topic for topic, _ in v.mappings)}),
    e.KvChanged: ("kv", lambda v: {"detail": v.value, "names": (v.namespace, v.key)}),
    e.ConfigChanged: ("config", lambda v: {"detail": None if is_secret(v.key) else v.value, "names": (v.key,)}),
    e.AdminRequested: ("admin", lambda v: _of_request(v) | {
        "address": v.address, "detail": None if v.result == ResponseCode.SUCCESS else str(v.result)}),
    e.RequestRefused: ("refused", lambda v: _of_request(v) | {
        "address": v.host, "cause": v.reason, "detail": None if v.is_enforced else "observed"}),
}  # fmt: skip


def worded(change: EventRow) -> EventRow:
    """The change with its words, a sentence without its time."""
    cause, reasons = str(change.cause), {"down": GONE, "doubt": DOUBTED}.get(change.event, {})
    request, *by = (*change.names, "")[:3]
    sender: dict[str, Said] = {"address": change.address or "", "principal": "".join(by)}
    values: dict[str, Said] = {
        "who": _who(change),
        "broker": change.broker or "",
        "why": Phrase(reasons[cause]) if cause in reasons else cause,
        "cause": cause,
        "age": Phrase(N_("%(n)s s"), {"n": f"{(change.amount or 0) / 1000:,.1f}".removesuffix(".0")}),
        "topics": listed(change.names, (change.amount or 0) - len(change.names)),
        "names": " ".join(change.names),
        "detail": change.detail or "",
        "sender": Phrase(N_("%(address)s as %(principal)s"), sender) if "".join(by) else change.address or "",
        "request": request,
        "n": f"{change.times if change.event == 'stall' else change.amount or 0:,}",
    }
    is_other, other = OTHER_WORDS.get(change.event, (lambda _: False, ""))
    said = phrase(other if is_other(change) else WORDS[change.event], values)
    return replace(change, text=str(said), said=said)


def _who(change: EventRow) -> Phrase:
    address = change.address or ""
    if change.broker is None:
        return Phrase(
            N_("a broker of %(cluster)s at %(address)s"), {"cluster": str(change.cluster), "address": address}
        )
    return at_address(change.broker if change.id is None else member(change.broker, change.id), address)


def at_address(broker: str | Phrase, address: str) -> Phrase:
    """``broker-a at 10.0.0.1:10911``."""
    return Phrase(N_("%(broker)s at %(address)s"), {"broker": broker, "address": address})


def member(broker: str, broker_id: int) -> Phrase:
    """A member of a broker group: ``broker-a (master)``."""
    role = Phrase(N_("master")) if broker_id == MASTER_ID else Phrase(N_("slave %(id)s"), {"id": str(broker_id)})
    return Phrase(N_("%(broker)s (%(role)s)"), {"broker": broker, "role": role})
