"""A change as a row of the API, and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rocketns.admin.recent.ring import Recorded


@dataclass(frozen=True, slots=True)
class EventRow:
    """One change. Heartbeats that change nothing are left out."""

    seq: Annotated[int, "1, 2, 3 … since the start"]
    at: Annotated[int, "when it happened"]
    event: Annotated[str, "as in the journal: reg, down, doubt, tput, tdel, map, kv, config, stall; and beside them "
                     "back (it was unconfirmed), conflict, refused"]  # fmt: skip
    text: Annotated[str, "the same in words"]
    cluster: str | None
    broker: str | None
    id: int | None
    address: str | None
    cause: str | None
    count: Annotated[int | None, "of topics"]
    names: Annotated[tuple[str, ...], "the first 5 topics; of kv the namespace and the key; of config the property"]


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
}
DOUBTED = {
    "restored": "known from the journal only",
    "seeded": "known from another name server only",
    "silent_together": "many brokers are silent at once",
    "stalled": "its connection ended while this server did not run",
}


def event_row(one: Recorded) -> EventRow:
    """The row of a change."""
    return EventRow(
        seq=one.seq,
        at=one.at,
        event=one.event,
        text=in_words(one),
        cluster=one.cluster,
        broker=one.broker,
        id=one.id,
        address=one.address,
        cause=None if one.cause is None else str(one.cause),
        count=one.amount if one.event in ("tput", "tdel", "map") else None,
        names=one.names,
    )


def in_words(one: Recorded) -> str:
    """A sentence without its time."""
    who = f"{_name(one)} at {one.address}"
    match one.event:
        case "reg":
            return f"{who} registered"
        case "back":
            return f"{who} is back: it sent a sign of life"
        case "down":
            return f"{who} is gone: {GONE.get(str(one.cause), str(one.cause))}{_silent(one.amount)}"
        case "doubt":
            return f"{who} is unconfirmed: {DOUBTED.get(str(one.cause), str(one.cause))}{_silent(one.amount)}"
        case "conflict":
            return f"{who} was refused: {one.detail} has its id"
        case "refused":
            return f"{who} was refused: it is not registered"
        case "stall":
            return f"this name server did not run for {_seconds(one.amount or 0)}"
    return _of_items(one)


def _of_items(one: Recorded) -> str:
    match one.event:
        case "tput":
            return f"{one.broker} has topics {_topics(one)} ({one.cause})"
        case "tdel":
            return f"{one.broker} no longer has topics {_topics(one)} ({one.cause})"
        case "map":
            return f"{one.broker} has queue mappings of {_topics(one)}"
        case "kv":
            what = "was deleted" if one.detail is None else f"is {one.detail}"
            return f"KV item {' '.join(one.names)} {what}"
    return f"property {one.names[0]} is {'set' if one.detail is None else one.detail}"


def _name(one: Recorded) -> str:
    if one.broker is None:
        return f"a broker of {one.cluster}"
    return one.broker if one.id is None else f"{one.broker}:{one.id}"


def _silent(gap_ms: int | None) -> str:
    return "" if gap_ms is None else f" (last heard {_seconds(gap_ms)} before)"


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f} s"


def _topics(one: Recorded) -> str:
    more = (one.amount or 0) - len(one.names)
    return ", ".join(one.names) + (f" and {more} more" if more > 0 else "")
