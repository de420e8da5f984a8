"""Sentences about each name server: what a round costs, and how it is."""

from __future__ import annotations

from rocketns.collect.durations import shown
from rocketns.collect.polling.upstream import Phase, Upstream

# A cost is said again when it changed by so much.
CHANGED_SHARE, CHANGED_S_MIN = 0.25, 5.0


def round_s(upstream: Upstream) -> float:
    """How long a round of all topics takes, if the name server answers as fast as it may be asked."""
    lookups_per_second = upstream.budget.per_second - upstream.schedule.per_second
    return max(upstream.interval_s, len(upstream.rounds.seen) / lookups_per_second)


def cost(upstream: Upstream) -> str:
    """What a round costs, and how exact times are therefore."""
    takes_s, tables = round_s(upstream), upstream.observed.tables
    if not upstream.lists_topics:
        return (
            f"{upstream.ns} ({upstream.addr}) has {len(tables.broker_addr_table)} brokers, and does not list its "
            f"topics. Times of brokers are known to {shown(upstream.interval_s)}"
        )
    return (
        f"{upstream.ns} ({upstream.addr}) has {len(tables.broker_addr_table)} brokers and {len(upstream.rounds.seen)} "
        f"topics. A round has {len(upstream.rounds.seen)} lookups and takes about {shown(takes_s)} at "
        f"{upstream.budget.per_second:g} requests a second. So times of topics are known to {shown(takes_s)}, those of "
        f"brokers to {shown(upstream.interval_s)}"
    )


def is_other(before_s: float, now_s: float) -> bool:
    """Whether a round's time changed so much that it is said again."""
    return abs(now_s - before_s) > max(CHANGED_S_MIN, CHANGED_SHARE * before_s)


def standing(upstream: Upstream, now_ms: int, requests_per_second: float) -> str:
    """How a name server is, in one line."""
    tables, rounds = upstream.observed.tables, upstream.rounds
    last = f", the last took {shown(rounds.last_s)}" if rounds.last_s is not None else ""
    known = f"{len(rounds.seen)} topics; round {rounds.count}{last}"
    topics = known if upstream.lists_topics else "its topics are not known (enableAllTopicList=false)"
    parts = [
        f"{_phase(upstream)} for {shown((now_ms - upstream.since_ms) / 1000)}",
        f"{len(tables.broker_addr_table)} brokers, {topics}",
        f"{requests_per_second:.1f} requests/s of {upstream.budget.per_second:g}",
        f"{upstream.changes} changes",
    ]
    if upstream.phase is Phase.READING:
        parts.append(f"{rounds.unanswered} topics are still to be read")
    if upstream.unreadable:
        parts.append(f"{upstream.unreadable} topics with routes that cannot be read")
    if upstream.observed.left_out:
        parts.append(f"{upstream.observed.left_out} things beyond a limit left out")
    if upstream.error:
        parts.append(upstream.error)
    return f"{upstream.ns} ({upstream.addr}): {'; '.join(parts)}"


def _phase(upstream: Upstream) -> str:
    return "being read" if upstream.phase in (Phase.READING, Phase.RETURNING) else str(upstream.phase)
