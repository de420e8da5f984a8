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
    "unregistered": "{who} was refused: it is not registered",
}
COUNTED = ("tput", "tdel", "map", "admin", "refused")
TIMED = ("down", "doubt", "stall")
WITHOUT_VALUE = {"kv": "was deleted", "config": "is set"}


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
    count: Annotated[int | None, "of topics; of requests"]
    names: Annotated[tuple[str, ...], "the first 5 topics; of kv the namespace and the key; of config the property; "
                     "of admin and refused the request, and its principal or access key"]  # fmt: skip
    ms: Annotated[int | None, "of down and doubt the time since the last heartbeat; of stall its length"]
    detail: Annotated[str | None, "of kv and config the value; of conflict the holder of the id; of admin and refused "
                      "what became of the request"]  # fmt: skip


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


def event_row(change: Recorded) -> EventRow:
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
        count=change.amount if change.event in COUNTED else None,
        names=change.names,
        ms=change.amount if change.event in TIMED else None,
        detail=change.detail,
    )


def in_words(change: Recorded) -> str:
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
    )


def _name(change: Recorded) -> str:
    if change.broker is None:
        return f"a broker of {change.cluster}"
    return change.broker if change.id is None else f"{change.broker}:{change.id}"


def _seconds(ms: int) -> str:
    return f"{ms / 1000:.1f} s"


def _topics(change: Recorded) -> str:
    more = (change.amount or 0) - len(change.names)
    return ", ".join(change.names) + (f" and {more} more" if more > 0 else "")
