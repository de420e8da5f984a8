"""What an incident is: one thing that went wrong, whichever tables show it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import NamedTuple

from rocketns.pipeline.contract.frames import Row

DELETED = "deleted"


class Symptom(StrEnum):
    """What went wrong."""

    MISSING = "missing"  # some name servers lack a broker that others list
    STALE_ROUTES = "stale_routes"  # all list the broker, but not with the same topics or queues
    STALE_PERMISSIONS = "stale_permissions"  # the same, and only permissions differ
    CRASH = "crash"  # a broker's connections ended at every name server
    DEAD = "dead"  # a broker's heartbeats stopped at every name server
    LOST = "lost"  # a broker went everywhere, and name servers saw different endings
    GONE = "gone"  # a broker went everywhere, and nobody saw why: name servers were only watched from outside
    FLAP = "flap"  # a broker that went and came back again and again
    RESTARTED = "restarted"  # a name server stopped and started again
    EMPTIED = "emptied"  # a name server that is watched from outside lost all its brokers at once, and has them again
    UNWRITABLE = "unwritable"  # every name server says that nobody may write to topics of a broker
    KILLED = "killed"  # a name server ended without a stop record, and started again
    STOPPED = "stopped"  # a name server stopped and did not start again
    SILENT = "silent"  # a name server writes nothing any more
    MISSING_TOPIC = "missing_topic"  # clients ask for a topic that no broker has


class Level(IntEnum):
    """SEVERE: it hurts user topics and goes on. MAJOR: it hurt them for a minute or more, or goes on without hurting
    them. MINOR: the rest."""

    MINOR = 1
    MAJOR = 2
    SEVERE = 3


class Shown(StrEnum):
    """What a name server shows of the incident's subject for a while."""

    UP = "up"
    GONE = "gone"
    DIFFERS = "differs"
    SHUT = "shut"  # without write permission
    DOWN = "down"  # the name server itself is down, or its state is not known
    UNWATCHED = "unwatched"  # nobody watched the name server, which is watched from outside


Said = tuple[str, Mapping[str, object]]  # a message, and the values in it


@dataclass(frozen=True)
class Lane:
    """One name server during the incident: what it showed at the worst moment in words, and in time, (t1, t2, state) in
    epoch us."""

    ns: str
    says: Said = ("", {})
    spans: tuple[tuple[int, int, Shown], ...] = ()


class Record(NamedTuple):
    """A journal record that proves a step. ``ts``: epoch us by the name server's own clock, as in its journal.
    ``boot``: epoch ms, None if it is not known."""

    ns: str
    boot: int | None
    ts: int
    ev: str
    cause: str = ""
    broker: str = ""


class MadeFrom(NamedTuple):
    """A row of the table DIVERGENCES, or a part of it: a broker and a cause. Times are epoch us. ``topics``: the user
    topics of the part; None: all of the row."""

    broker: str
    cause: str | None
    t1: int
    t2: int
    topics: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Harm:
    """What user topics suffer. ``topics``: how many; ``sample``: some of them. ``queues``: read queues that are on no
    route of the name servers concerned. orphaned and twice: queues without a consumer and with several, in the worst
    group of consumers of each topic. ``known``: False if no table says which topics are concerned."""

    topics: int = 0
    sample: tuple[str, ...] = ()
    queues: int = 0
    orphaned: int = 0
    twice: int = 0
    misses: int = 0
    known: bool = True


@dataclass(frozen=True)
class Incident:
    """[t1, t2) in epoch us on corrected clocks; ``going_on``: not over at the end of the observation, which is ``t2``.
    ``before``: there at the beginning of the observation, which is ``t1``, and maybe earlier.

    ``brokers`` and ``bids``: who is concerned (``bids`` without 0: only slaves). ``ns``: the name servers at which it
    shows. ``cause``: of the journal. ``times``: how often; ``away_us``: how long in all. ``silent_ms``: since the last
    heartbeat when it began. ``clocks``: name servers at which it shows whose clock is not known for certain.
    ``t1_early`` and ``t2_early``: by how much earlier ``t1`` and ``t2`` may have been, us, where that was seen from
    outside; ``asked``: what the broker itself said then. ``stalled``: name servers that did not run themselves when it
    began. ``topic``: one to ask about. ``rows``: those of DIVERGENCES that it was put together from,
    and ``windows`` their key windows, as far as they are here.
    ``change``: DELETED, where topics went at one name server first."""

    kind: Symptom
    t1: int
    t2: int
    going_on: bool
    ns: tuple[str, ...] = ()
    brokers: tuple[str, ...] = ()
    bids: tuple[int, ...] = ()
    addrs: tuple[str, ...] = ()
    cause: str = ""
    times: int = 1
    away_us: int = 0
    silent_ms: int | None = None
    t1_early: int = 0
    t2_early: int = 0
    asked: tuple[str, ...] = ()
    stalled: tuple[str, ...] = ()
    clocks: tuple[str, ...] = ()
    topic: str = ""
    all_brokers: bool = False
    before: bool = False
    harm: Harm = field(default_factory=Harm)
    lanes: tuple[Lane, ...] = ()
    records: tuple[Record, ...] = ()
    rows: tuple[MadeFrom, ...] = ()
    windows: tuple[Row, ...] = field(default=(), repr=False, compare=False)
    change: str = ""
    level: Level = Level.MINOR
    score: float = 0.0

    @property
    def lasted_us(self) -> int:
        return self.t2 - self.t1
