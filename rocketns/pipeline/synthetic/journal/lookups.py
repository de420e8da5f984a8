"""Route lookups, as rows of counters: the busiest topic first, consumer groups by client, topics that do not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from rocketns.pipeline.synthetic.journal.effects import record
from rocketns.pipeline.synthetic.scenario.plan import BURST_FACTOR, Boot, Misses, Plan
from rocketns.pipeline.synthetic.scenario.world import World

POLL_S = 30  # a client asks for each of its topics
BUSY_CLIENTS = 40


class Asking(NamedTuple):
    """One row of an interval: ``n`` of a whole one."""

    topic: str
    client: str
    n: int
    exists: bool = True


class Lookups:
    """What one name server is asked."""

    def __init__(self, world: World, plan: Plan, ns: int) -> None:
        self.world, self.plan, self.ns = world, plan, ns
        self.interval_ms = world.spec.lookup_s * 1000
        self.offset_ms = world.offsets_ms[ns]
        self.asking = list(_asking(world, plan, ns))

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
        rows = [*self.asking, *[asked for misses in self.plan.misses for asked in self._missed(misses, since, until)]]
        counted = [asked._replace(n=asked.n * (until - since) // self.interval_ms) for asked in rows]
        return [_row(asked, until - since) for asked in counted if asked.n]

    def _missed(self, misses: Misses, since: int, until: int) -> Iterator[Asking]:
        if since < misses.at_ms:
            return
        burst = since <= misses.burst_ms < until
        n = misses.each * (BURST_FACTOR if burst else 1)
        yield Asking(misses.topic, f"10.3.0.{self.ns + 1}:50000", n, exists=False)


def hottest(world: World, plan: Plan) -> list[str]:
    """The user topics that are looked up and belong to no group, the busiest first."""
    apart = {deletion.topic for deletion in plan.deletions} | {group.topic for group in world.groups} | set(plan.dead)
    return [topic for topic in world.topics() if topic not in apart]


def _asking(world: World, plan: Plan, ns: int) -> Iterator[Asking]:
    polls = max(1, world.spec.lookup_s // POLL_S)
    for rank, topic in enumerate(hottest(world, plan)):
        clients = max(1, BUSY_CLIENTS // (rank + 1))
        yield Asking(topic, f"10.3.{ns}.{rank % 250 + 1}:40000", clients * polls)
    for group in world.groups:
        for by, client in group.clients:
            if by == ns:
                yield Asking(group.topic, client, polls)
                yield Asking(f"%RETRY%{group.name}", client, polls)


def _row(asked: Asking, interval_ms: int) -> bytes:
    return record(
        "lookup", topic=asked.topic, client=asked.client, n=asked.n, miss=0 if asked.exists else asked.n,
        iv_ms=interval_ms, lang="JAVA", cv=495,
    )  # fmt: skip
