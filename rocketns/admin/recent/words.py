"""A change as a row of the API, and in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

from rocketns.admin.recent.ring import Recorded
from rocketns.journal.record import KINDS

RECORDED = {name: kind.words for name, kind in KINDS.items() if kind.words is not None}
WORDS = RECORDED | {
    "back": "{who} is back: it sent a sign of life",
    "conflict": "{who} was refused: {holder} has its id",
    "refused": "{who} was refused: it is not registered",
}
WITHOUT_VALUE = {"kv": "was deleted", "config": "is set"}


@dataclass(frozen=True, slots=True)
class EventRow:
    """One change. Heartbeats that change nothing are left out."""

    seq: Annotated[int, "1, 2, 3 … since the start"]
    at: Annotated[int, "when it happened"]
    event: Annotated[str, f"as in the journal: {', '.join(RECORDED)}; and beside them "
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
    cause = str(one.cause)
    return WORDS[one.event].format(
        who=f"{_name(one)} at {one.address}",
        broker=one.broker,
        reason={"down": GONE, "doubt": DOUBTED}.get(one.event, {}).get(cause, cause),
        silent="" if one.amount is None else f" (last heard {_seconds(one.amount)} before)",
        topics=_topics(one),
        names=" ".join(one.names),
        state=WITHOUT_VALUE.get(one.event) if one.detail is None else f"is {one.detail}",
        holder=one.detail,
        time=_seconds(one.amount or 0),
    )


def _name(one: Recorded) -> str:
    if one.broker is None:
        return f"a broker of {one.cluster}"
    return one.broker if one.id is None else f"{one.broker}:{one.id}"


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f} s"


def _topics(one: Recorded) -> str:
    more = (one.amount or 0) - len(one.names)
    return ", ".join(one.names) + (f" and {more} more" if more > 0 else "")
