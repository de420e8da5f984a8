"""The size of a fleet, the time it is watched, and the number of faults. Times are ms unless named otherwise."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

TIMEOUT_MS = 120_000
SCAN_MS = 5_000
DAY_S = 86_400
# Monday 2026-01-05T00:00:00Z
START_MS = 1_767_571_200_000
# Clients of the topic that is looked up most; the n-th topic has the n-th part of them, and at least one.
BUSY_CLIENTS = 6
LARGE_EVENTS = 1_000_000
BURST_SECONDS_MIN = 36 * 3600
SECONDS_MIN = 6 * 3600
# The default of journalRotationSeconds.
ROTATE_S = 600


class Faults(NamedTuple):
    """How many faults of each kind are seeded."""

    partitions: int = 3  # one broker and one name server do not hear each other for longer than the timeout
    blips: int = 2  # the same for less than the timeout: nothing may be found
    flaps: int = 1  # one broker's connection to one name server closes again and again
    crashes: int = 1  # a broker's process dies: all its connections close
    silent_deaths: int = 1  # a broker's host fails silently
    farewells: int = 2  # a broker is stopped normally
    restarts: int = 1  # a name server is stopped and started
    kills: int = 1  # a name server is killed and started
    lost_changes: int = 1  # one name server does not get a topic's new number of queues
    lost_deletions: int = 1  # one name server does not get a topic's deletion
    changes: int = 3  # topic changes that reach all name servers: nothing may be found
    corrupt_lines: int = 2  # lines of a journal that do not parse
    holes: int = 1  # records that are missing from a journal
    drops: int = 1  # records that a name server drops because its buffer is full
    hidden_changes: int = 1  # a topic change that reaches all name servers, but is missing from one journal
    dead_topics: int = 2  # topics that nobody looks up
    bursts: int = 1  # sudden rises of misses of a topic
    typos: int = 1  # topics that do not exist, looked up from some hour on
    pollers: int = 1  # clients that ask for the busiest topic ten times as often as others
    lone_topics: int = 1  # topics on one broker only
    zone_topics: int = 1  # topics on brokers of one zone only
    grown: int = 2  # topics that one broker gets on each day but the first

    def times(self, factor: float) -> Faults:
        """Every count multiplied and rounded. A count above 0 stays above 0."""
        return Faults(*[max(min(count, 1), round(count * factor)) for count in self])

    def within(self, seconds: int) -> Faults:
        """Without the faults that cannot show in such a short time."""
        return self if seconds >= BURST_SECONDS_MIN else self._replace(bursts=0)


NO_FAULTS = Faults(*[0] * len(Faults._fields))


@dataclass(frozen=True)
class FleetSpec:
    """The default is the fleet of the demo.

    ``width``: brokers that have a topic. ``zones``: brokers are in them by turns. ``slaves``: so many of the brokers
    have one; faults befall the others.

    Lookups are counted in intervals of ``lookup_s``; those of ``groups`` consumer groups of ``members`` come with their
    clients' addresses. ``rotate_s``: a file of the journal. ``ahead_s``: by how much more the clocks of the first name
    servers are ahead. ``observed``: the numbers of name servers, from 0, that are watched from outside; an observer
    looks at their brokers every ``look_s``, and at each topic every ``round_s``."""

    name_servers: int = 3
    brokers: int = 8
    slaves: int = 1
    zones: int = 2
    topics: int = 40
    width: int = 4
    queues: int = 4
    seconds: int = 8 * DAY_S
    heartbeat_s: int = 60
    lookup_s: int = 3600
    groups: int = 3
    members: int = 3
    rotate_s: int = 6 * 3600
    start_ms: int = START_MS
    clock_spread_ms: int = 1500
    ahead_s: tuple[int, ...] = ()
    observed: tuple[int, ...] = ()
    look_s: int = 5
    round_s: int = 100
    seed: int = 1
    faults: Faults = field(default_factory=Faults)

    def __post_init__(self) -> None:
        if self.name_servers < 2 or self.brokers - self.slaves < 2 or not 1 <= self.width <= self.brokers:
            raise ValueError(
                "a fleet has at least 2 name servers, 2 brokers without a slave, and 1 <= width <= brokers"
            )
        if not 1 <= self.heartbeat_s <= 60:
            raise ValueError("RocketMQ's brokers send a heartbeat at least every 60 s")
        if self.lookup_s > 3600 and (self.faults.bursts or self.faults.typos):
            raise ValueError("misses are judged by the hour, so lookups are to be counted at least that often")
        if self.faults.bursts and self.seconds < BURST_SECONDS_MIN:
            raise ValueError(f"a burst is judged by the day before it: that takes {BURST_SECONDS_MIN} s")

    @classmethod
    def of_events(cls, events: int, seed: int = 1) -> FleetSpec:
        """A fleet that writes about ``events`` records: a small one, or from LARGE_EVENTS on 200 brokers with 5,000
        topics, over as many days as needed."""
        small, large = cls(seed=seed), cls.large(DAY_S, seed)
        like = large if events >= LARGE_EVENTS else small
        seconds = max(SECONDS_MIN, round(like.seconds * events / like.events()))
        return cls.large(seconds, seed) if like is large else cls.small(seconds, seed)

    @classmethod
    def small(cls, seconds: int, seed: int = 1) -> FleetSpec:
        """The fleet of the defaults, shorter or longer."""
        return cls(seconds=seconds, seed=seed, faults=Faults().within(seconds))

    @classmethod
    def large(cls, seconds: int = DAY_S, seed: int = 1) -> FleetSpec:
        """200 brokers with 5,000 topics: about 1.8 million records a day. Their lookups are counted in intervals that
        are too long for the hourly misses."""
        faults = Faults().times(2 * seconds / DAY_S)._replace(restarts=1, kills=1, bursts=0, typos=0)
        return cls(
            brokers=200, slaves=0, topics=5000, seconds=seconds, heartbeat_s=30, lookup_s=6 * 3600, groups=10,
            rotate_s=ROTATE_S, seed=seed, faults=faults,
        )  # fmt: skip

    def events(self) -> int:
        """About how many records are written: heartbeats, hourly snapshots and lookups."""
        units, hours = self.brokers + self.slaves, self.seconds / 3600
        snapshots = hours * (units + self.brokers * (1 + (self.topics * self.width // self.brokers) // 500) + 1)
        lookups = self.seconds / self.lookup_s * (self._clients() + 2 * self.groups * self.members / self.name_servers)
        return round(self.name_servers * (units * self.seconds / self.heartbeat_s + snapshots + lookups))

    def _clients(self) -> int:
        """A name server's clients that are in no group."""
        return sum(max(1, BUSY_CLIENTS // rank) for rank in range(1, self.topics + 1))

    @property
    def end_ms(self) -> int:
        """The observation ends here; every name server is still up."""
        return self.start_ms + self.seconds * 1000

    @property
    def heartbeat_ms(self) -> int:
        return self.heartbeat_s * 1000
