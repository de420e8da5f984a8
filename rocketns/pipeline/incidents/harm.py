"""What an incident does to user topics, and how bad that is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from rocketns.pipeline.contract.frames import Row
from rocketns.pipeline.contract.terms import SECOND_US
from rocketns.pipeline.incidents.facts import History
from rocketns.pipeline.incidents.model import Harm, Incident, Level, Symptom

SAMPLE_MAX = 12
# As RocketMQ's brokers create topics. Others are only registered by hand.
USUAL_TOPIC = re.compile(r"[%|a-zA-Z0-9_-]{1,255}")
ASKED_MAX = 1_000  # characters of a topic in a command line
# Clients ask for routes every 30 s, and keep going on an old route for a while.
BARELY_FELT_US = 60 * SECOND_US
NAME_SERVER = (Symptom.RESTARTED, Symptom.KILLED, Symptom.STOPPED, Symptom.SILENT)


def harm_of_rows(rows: Sequence[Row], facts: History) -> Harm:
    """Harm of rows of DIVERGENCES. Several brokers may have a topic in common, so their topics are counted from the key
    windows where all of these are here; else the largest number of one row is taken, which is too low."""
    named = _user_topics(rows, facts)
    counts = [int(row.get("user_topics", row.get("topics")) or 0) for row in rows]
    topics = len(named) if len(rows) > 1 and facts.whole("key_windows") else max(counts, default=0)
    said = [name for row in rows for name in row.get("topic_sample") or () if facts.is_user(name)]
    sample = tuple(dict.fromkeys([*said, *sorted(named)]))[:SAMPLE_MAX]
    orphaned, twice = _consumers(named or set(said), min(r["t1"] for r in rows), max(r["t2"] for r in rows), facts)
    return Harm(topics, sample, sum(int(row.get("queues") or 0) for row in rows), orphaned, twice)


def harm_of_loss(departure: Row) -> Harm:
    """Harm of a broker that is nowhere, by its row of DEPARTURES. Without its master (id 0) nobody can send; without a
    slave nothing is lost."""
    ids = set(departure.get("bids") or ())
    if ids and 0 not in ids:
        return Harm()
    if departure.get("topics") is None:
        return Harm(known=False)
    sample = tuple(str(name) for name in departure.get("topic_sample") or ())
    return Harm(int(departure["topics"]), sample, int(departure.get("queues") or 0))


def joined(harms: Sequence[Harm]) -> Harm:
    """Of incidents that are parts of one: the largest of each figure."""
    return Harm(
        max(harm.topics for harm in harms),
        tuple(dict.fromkeys(name for harm in harms for name in harm.sample))[:SAMPLE_MAX],
        max(harm.queues for harm in harms),
        max(harm.orphaned for harm in harms),
        max(harm.twice for harm in harms),
        sum(harm.misses for harm in harms),
        all(harm.known for harm in harms),
    )


def to_ask_about(topics: Sequence[str]) -> str:
    """The first topic that a shell can be given as a word, usual names before others; '' if there is none."""
    possible = [name for name in topics if name and "\0" not in name and len(name) <= ASKED_MAX]
    usual = (name for name in possible if USUAL_TOPIC.fullmatch(name))
    return next(usual, next(iter(possible), ""))


def judged(incident: Incident) -> Incident:
    """The incident with its level and its score. Score: queues off the routes times seconds; a name server or a broker
    with unknown topics counts as one queue; of a topic that does not exist its misses."""
    away, felt = incident.away_us / SECOND_US, _felt_us(incident) / SECOND_US
    unknown = incident.kind in NAME_SERVER or not incident.harm.known
    score = felt * incident.harm.queues + (away if unknown else 0) + incident.harm.misses
    return replace(incident, score=round(score, 3), level=_level(incident))


def order(incident: Incident) -> tuple[object, ...]:
    """Worst and latest first: what goes on, then by level, then by the power of ten of the score, then by time."""
    magnitude = len(str(int(incident.score)))
    return (
        not incident.going_on, -incident.level, -magnitude, -incident.t1, incident.kind, incident.brokers, incident.ns,
    )  # fmt: skip


def _level(incident: Incident) -> Level:
    hurts = incident.harm.queues > 0 or not incident.harm.known
    if incident.going_on:
        return Level.SEVERE if hurts else Level.MAJOR
    if incident.kind is Symptom.KILLED and incident.away_us >= BARELY_FELT_US:
        return Level.MAJOR
    return Level.MAJOR if hurts and _felt_us(incident) >= BARELY_FELT_US else Level.MINOR


def _felt_us(incident: Incident) -> int:
    """How long routes were wrong. While a name server is away, clients ask another; what it shows after its start is
    felt."""
    if incident.kind in (Symptom.RESTARTED, Symptom.KILLED):
        return incident.lasted_us - incident.away_us
    return incident.away_us


def _user_topics(rows: Iterable[Row], facts: History) -> set[str]:
    return {
        str(window["topic"])
        for row in rows
        for window in row.get("parts") or facts.windows.get(str(row["broker"]), ())
        if window.get("cause") == row.get("cause")
        and row["t1"] <= window["t1"] < row["t2"]
        and facts.is_user(str(window["topic"]))
    }


def _consumers(topics: Iterable[str], t1: int, t2: int, facts: History) -> tuple[int, int]:
    """Queues without a consumer and with several: of each topic the worst result that lies in this time."""
    rows = [[row for row in facts.impact.get(topic, ()) if row["t1"] < t2 and row["t2"] > t1] for topic in topics]
    orphaned, twice = (
        sum(max((row.get(name) or 0 for row in some), default=0) for some in rows)
        for name in ("orphaned_max", "dup_max")
    )
    return round(orphaned), round(twice)
