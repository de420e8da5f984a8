"""Route lookups, as rows of counters: the busiest topic first, consumer groups by client, topics that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tests.pipeline.synthetic.journal.effects import record
from tests.pipeline.synthetic.scenario.plan import BURST_FACTOR, Boot, Misses, Plan
from tests.pipeline.synthetic.scenario.spec import BUSY_CLIENTS
from tests.pipeline.synthetic.scenario.world import World

POLL_S = 30  # a client asks for each of its topics
OFTEN = 10
# Languages and versions as clients send them. Clients outside of groups have them by turns, a topic all the same.
JAVA, GO = ("JAVA", 495), ("GO", 317)
LANGUAGES = (JAVA, ("JAVA", 399), GO, ("CPP", 335))


class Asking(NamedTuple):
    """One row of an interval: ``n`` of a whole one. ``by``: language and version."""

    topic: str
    client: str
    n: int
    exists: bool = True
    by: tuple[str, int] = JAVA


class Lookups:
    """What one name server is asked."""

    def __init__(self, world: World, plan: Plan, ns: int) -> None:
        self.world, self.plan, self.ns = world, plan, ns
        self.interval_ms = world.spec.lookup_s * 1000
        self.offset_ms = world.offsets_ms[ns]
        self.polls = polls(world)
        self.asking = list(asking(world, plan, ns))

    def rows(self, boot: Boot, begin_ms: int, end_ms: int) -> Iterator[tuple[int, list[bytes]]]:
        """(true ms, records) of each interval that ends in [begin_ms, end_ms): whole ones of the name server's clock,
        and what was begun when it is stopped."""
        at = -(-(begin_ms + self.offset_ms) // self.interval_ms) * self.interval_ms
        while at < end_ms + self.offset_ms:
            since = max(at - self.interval_ms, boot.start_ms + self.offset_ms)
            if at > since:
                yield at - self.offset_ms, self._records(since, at)
            at += self.interval_ms
        if boot.end == "stop" and boot.end_ms == end_ms:
            since = max(at - self.interval_ms, boot.start_ms + self.offset_ms)
            yield end_ms - 1, self._records(since, end_ms - 1 + self.offset_ms)

    def _records(self, since: int, until: int) -> list[bytes]:
        """A shorter interval has a proportional part of the lookups, rounded down."""
        new = [Asking(topic, newcomer(), self.polls) for at, topic in self.plan.grown if since >= at and not self.ns]
        vain = [asked for misses in self.plan.misses for asked in self._missed(misses, since, until)]
        rows = [*self.asking, *new, *vain]
        counted = [asked._replace(n=asked.n * (until - since) // self.interval_ms) for asked in rows]
        return [_row(asked, until - since) for asked in counted if asked.n]

    def _missed(self, misses: Misses, since: int, until: int) -> Iterator[Asking]:
        if since < misses.at_ms:
            return
        burst = since <= misses.burst_ms < until
        n = misses.each * (BURST_FACTOR if burst else 1)
        yield Asking(misses.topic, misser(self.ns), n, exists=False)


def hottest(world: World, plan: Plan) -> list[str]:
    """The user topics that are looked up and belong to no group, the busiest first."""
    apart = {deletion.topic for deletion in plan.deletions} | {group.topic for group in world.groups} | set(plan.dead)
    return [topic for topic in world.topics() if topic not in apart]


def asking(world: World, plan: Plan, ns: int) -> Iterator[Asking]:
    """The rows of an interval whose topics exist."""
    often = polls(world)
    topics = hottest(world, plan)
    for rank, topic in enumerate(topics):
        by = LANGUAGES[rank % 250 % len(LANGUAGES)]
        for number in range(max(1, BUSY_CLIENTS // (rank + 1))):
            yield Asking(topic, f"10.3.{ns}.{rank % 250 + 1}:{40_000 + number}", often, by=by)
    for at, client in pollers(world):
        if at == ns:
            yield Asking(topics[0], client, often * OFTEN, by=GO)
    for group in world.groups:
        for at, client in group.clients:
            if at == ns:
                yield Asking(group.topic, client, often)
                yield Asking(f"%RETRY%{group.name}", client, often)


def polls(world: World) -> int:
    """How often a client asks for a topic in an interval."""
    return max(1, world.spec.lookup_s // POLL_S)


def newcomer() -> str:
    """The client that asks the first name server for topics that are new."""
    return "10.5.0.1:40000"


def misser(ns: int) -> str:
    """The client that asks a name server for topics that do not exist."""
    return f"10.3.0.{ns + 1}:50000"


def pollers(world: World) -> list[tuple[int, str]]:
    """(name server, client) of those that ask too often."""
    return [(n % world.spec.name_servers, f"10.4.0.{n + 1}:40000") for n in range(world.spec.faults.pollers)]


def _row(asked: Asking, interval_ms: int) -> bytes:
    lang, cv = asked.by
    return record(
        "lookup", topic=asked.topic, client=asked.client, n=asked.n, miss=0 if asked.exists else asked.n,
        iv_ms=interval_ms, lang=lang, cv=cv,
    )  # fmt: skip
