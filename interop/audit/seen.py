"""Reads the clients' output: which queues each consumer had when, and which message each got from where.

Times are epoch ms; a queue is broker:number.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from interop.harness.sending.clients import JavaClient

Queues = frozenset[str]


class Message(NamedTuple):
    """A message that was sent to a queue, or that a consumer got from it."""

    ms: int
    queue: str
    text: str


class Holding(NamedTuple):
    """A consumer had these queues from ``ms`` on."""

    ms: int
    queues: Queues


class Stretch(NamedTuple):
    """[t1, t2), in which each consumer had the same queues all the time."""

    t1: int
    t2: int
    has: Mapping[str, Queues]

    def orphaned(self, queues: Queues) -> Queues:
        """The queues that no consumer had."""
        return queues.difference(*self.has.values())

    def dup(self, queues: Queues) -> Queues:
        """The queues that two or more consumers had."""
        return frozenset(q for q in queues if sum(q in has for has in self.has.values()) > 1)


def messages(client: JavaClient, word: str) -> list[Message]:
    """Of lines: GOT or SENT, time, queue, text."""
    parts = (line.split(" ") for line in client.values(word))
    return [Message(int(ms), queue, text) for ms, queue, text in parts]


def holdings(client: JavaClient) -> list[Holding]:
    """Of lines: HAS, time, queues."""
    parts = (line.split() for line in client.values("HAS"))
    return [Holding(int(ms), frozenset(queues)) for ms, *queues in parts]


def has(client: JavaClient) -> Queues:
    """The queues of a consumer by its last line."""
    found = holdings(client)
    return found[-1].queues if found else frozenset()


def stretches(of: Mapping[str, Sequence[Holding]], t1: int, t2: int) -> Iterator[Stretch]:
    """[t1, t2) cut wherever a consumer's queues change."""
    cuts = sorted({t1, t2, *(held.ms for history in of.values() for held in history if t1 < held.ms < t2)})
    for start, end in pairwise(cuts):
        yield Stretch(start, end, {name: _at(history, start) for name, history in of.items()})


def orphaned_seconds(parts: Sequence[Stretch], queues: Queues) -> float:
    """Queue-seconds without a consumer."""
    return sum(len(part.orphaned(queues)) * (part.t2 - part.t1) for part in parts) / 1000


def dup_seconds(parts: Sequence[Stretch], queues: Queues) -> float:
    """Queue-seconds with two consumers or more."""
    return sum(len(part.dup(queues)) * (part.t2 - part.t1) for part in parts) / 1000


def _at(history: Sequence[Holding], ms: int) -> Queues:
    return next((held.queues for held in reversed(history) if held.ms <= ms), frozenset())
