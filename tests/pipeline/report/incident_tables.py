"""Small result tables written by hand, for the one list of incidents. Times are seconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from rocketns.pipeline.contract.frames import Table
from rocketns.pipeline.incidents.listing import incidents_of
from rocketns.pipeline.incidents.model import Incident

S = 1_000_000
END = 10_000
SERVERS = ("n1", "n2", "n3")
Rows = list[dict[str, Any]]


def listed(t1: int = END, **tables: Iterable[dict[str, Any]]) -> list[Incident]:
    """The list of an observation from 0 to ``t1``; name servers are up all the time unless ``ns_uptime`` is given."""
    given: dict[str, Rows] = {name: list(rows) for name, rows in tables.items()}
    given.setdefault("ns_uptime", [boot(ns, 0, t1) for ns in SERVERS])
    given.setdefault("broker_intervals", [up(ns, "b", 0, t1) for ns in SERVERS])
    return incidents_of({name: Table.of(rows) for name, rows in given.items()}, 0, t1 * S)


def boot(ns: str, t1: int, t2: int, end_cause: str = "open", number: int = 1) -> dict[str, Any]:
    return {"ns": ns, "boot": number, "t1": t1 * S, "t2": t2 * S, "end_cause": end_cause}


def up(ns: str, broker: str, t1: int, t2: int, end_cause: str = "open", bid: int = 0, **more: Any) -> dict[str, Any]:
    """A row of BROKER_INTERVALS."""
    return {
        "ns": ns, "cluster": "c", "broker": broker, "bid": bid, "addr": f"{broker}:{10911 + bid}", "t1": t1 * S,
        "t2": t2 * S, "end_cause": end_cause, "gap": None, **more,
    }  # fmt: skip


def broken(ns: str, broker: str, *cuts: tuple[int, int], cause: str = "expired", end: int = END, bid: int = 0) -> Rows:
    """BROKER_INTERVALS of a broker that is gone in each of ``cuts``."""
    starts = [0, *(until for _, until in cuts)]
    ends = [*((at, cause) for at, _ in cuts), (end, "open")]
    return [up(ns, broker, start, at, why, bid) for start, (at, why) in zip(starts, ends, strict=True) if start < at]


def differ(
    broker: str, t1: int, t2: int, cause: str = "expired", without: Sequence[str] = ("n2",), **more: Any
) -> dict[str, Any]:
    """A row of DIVERGENCES."""
    return {
        "cause": cause, "broker": broker, "t1": t1 * S, "t2": t2 * S, "windows": 3, "topics": 3, "user_topics": 2,
        "topic_sample": ["orders", "stock"], "queues": 8, "ns_without": list(without), "opened_by": list(without),
        "longest": (t2 - t1) * S, "gap_max": 123_000, **more,
    }  # fmt: skip


def window(
    topic: str, broker: str, t1: int, t2: int, cause: str, values: dict[str, tuple[int, int, int] | None]
) -> dict[str, Any]:
    """A row of KEY_WINDOWS; ``values``: read queues, write queues and permission by name server, None if absent."""
    absent = (None, None, None)
    told = [
        {"ns": ns, "present": value is not None, **dict(zip("rwp", value or absent, strict=True))}
        for ns, value in values.items()
    ]
    return {"topic": topic, "broker": broker, "t1": t1 * S, "t2": t2 * S, "cause": cause, "opened_by": "n1",
            "gap": None, "values": told}  # fmt: skip


def departure(
    broker: str, kind: str, t1: int, t2: int, ns: Sequence[str] = SERVERS, bids: Sequence[int] = (0,)
) -> dict[str, Any]:
    """A row of DEPARTURES. The broker had two user topics with eight queues."""
    return {"broker": broker, "cluster": "c", "t1": t1 * S, "t2": t2 * S, "kind": kind, "ns": list(ns),
            "bids": list(bids), "topics": 2, "queues": 8, "topic_sample": ["orders"]}  # fmt: skip


def misses(topic: str, hour: int, miss: int = 40) -> dict[str, Any]:
    """A row of MISSING_TOPICS; ``hour``: its number."""
    return {"topic": topic, "hour": hour * 3600 * S, "kind": "new", "miss": miss, "n": miss, "ns": ["n1"]}
