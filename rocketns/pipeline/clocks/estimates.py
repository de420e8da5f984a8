"""How far the clocks of name servers differ on a day, in plain Python, for the records of some hours.

The audit has the same rule in Spark for whole journals (``pipeline.jobs.clocks``, which explains it). A test
holds the two to each other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from math import copysign, floor
from operator import itemgetter
from statistics import median
from typing import Any, NamedTuple

from rocketns.journal.lines import Record
from rocketns.journal.record import DATA_VERSION, MEMBER
from rocketns.pipeline.clocks.looks import AGREE_US, FAR_US, looks, met

# How the offset of a clock was found.
REFERENCE, VERSIONS, HEARTBEATS, NONE = "reference", "versions", "heartbeats", "none"
# The observer's clock, which gave the times of all name servers that it watched.
OBSERVED = "observed"
# Not measured well enough: the operator said how far clocks differ at most.
GIVEN = "given"
# Records that show whether a name server was observed.
SHOWS_OBSERVED = ("start", "reg", "down", "tput", "tdel")

SAMPLES_MIN = 3  # of versions, and of what was observed
FRESH_MS = 60_000  # after a longer silence the version may be older than the heartbeat
HALF_BEAT_US = 15_000_000
MEMBERS_MAX = 30  # used as samples

Member = tuple[Any, ...]


class Difference(NamedTuple):
    """A sample: the clock's time minus the reference's, us. ``gap``: ms since the heartbeat before."""

    at: int
    difference: int
    gap: int | None


def estimates(
    days: Iterable[tuple[str, str]], records: Sequence[Record], heard: Sequence[Record]
) -> list[dict[str, Any]]:
    """A row for each day, name server and method, with the columns of ``pipeline.jobs.clocks.ESTIMATES``. All
    observed name servers have the same.

    ``days``: (dt, ns) of each day with a record. ``records``: ``snap`` and SHOWS_OBSERVED among others. ``heard``:
    ``reg``, ``hb``, ``down`` and short ``tput``.
    """
    rows = []
    for dt, servers in groupby(sorted(days), itemgetter(0)):
        members = _members(dt, records)
        sampled = [record for record in heard if record["dt"] == dt
                   and (record["ev"] == "tput" or _member(record) in members)]  # fmt: skip
        rows += _of_day(dt, [ns for _, ns in servers], sampled, _observed(dt, records))
    return rows


def _observed(dt: str, records: Iterable[Record]) -> set[str]:
    """The name servers whose records of a day say that they were observed."""
    return {
        record["ns"]
        for record in records
        if record["dt"] == dt and record["ev"] in SHOWS_OBSERVED
        and (record.get("observed") or record.get("since") is not None)
    }  # fmt: skip


def _of_day(dt: str, servers: Sequence[str], sampled: Sequence[Record], observed: set[str]) -> list[dict[str, Any]]:
    told = [record for record in sampled if record.get("since") is None]
    heard = [record for record in told if record["ev"] in ("reg", "hb")]
    counts = Counter(record["ns"] for record in heard)
    reference = min(counts, key=lambda ns: (-counts[ns], ns), default=None)
    versions, beats = _version_differences(heard, reference), _beat_differences(heard, reference)
    seen = [record for record in sampled if record.get("since") is not None]
    found = met(looks(seen, [record for record in told if record["ns"] == reference]))
    of_observer = {"method": OBSERVED, **(found._asdict() if found else {})}
    rows = []
    for ns in servers:
        if ns in observed:
            rows.append({"dt": dt, "ns": ns, "reference": reference, **of_observer})
            continue
        judged = [_judged(method, by[ns]) for method, by in ((VERSIONS, versions), (HEARTBEATS, beats)) if by.get(ns)]
        rows += [{"dt": dt, "ns": ns, "reference": reference, **row} for row in judged or [{"method": None}]]
    return rows


def _member(record: Record) -> Member:
    return tuple(record.get(name) for name in MEMBER)


def _members(dt: str, records: Iterable[Record]) -> set[Member]:
    """The members that most name servers mention in registrations, downs and snapshots."""
    servers: dict[Member, set[str]] = defaultdict(set)
    for record in records:
        if record["dt"] == dt and record["ev"] in ("reg", "down", "snap") and record.get("addr") is not None:
            servers[_member(record)].add(record["ns"])
    in_order = sorted(servers, key=lambda member: (-len(servers[member]), [(v is not None, v) for v in member]))
    return set(in_order[:MEMBERS_MAX])


def _version_differences(heard: Iterable[Record], reference: str | None) -> dict[str, list[Difference]]:
    """By name server: the first heartbeats of data versions, beside those of the reference."""
    firsts: dict[tuple[str, Member], dict[Member, Record]] = defaultdict(dict)
    for record in sorted(heard, key=itemgetter("ts")):
        if record.get("dvc") is not None:
            version = tuple(record.get(name) for name in DATA_VERSION)
            firsts[record["ns"], _member(record)].setdefault(version, record)
    fresh = {key: dict(_fresh(list(versions.items()))) for key, versions in firsts.items()}
    found: dict[str, list[Difference]] = defaultdict(list)
    for (ns, member), versions in fresh.items():
        known = fresh.get((str(reference), member), {})
        for version, ts in versions.items():
            if ns != reference and version in known and abs(ts - known[version]) <= FAR_US:
                found[ns].append(Difference(ts, ts - known[version], None))
    return found


def _fresh(in_order: Sequence[tuple[Member, Record]]) -> Iterator[tuple[Member, int]]:
    """After a longer silence a version may be older than its heartbeat, and the first one may be of any age."""
    earliest = in_order[0][1]["ts"]
    for version, record in in_order:
        if record["ts"] > earliest and record.get("gap") is not None and record["gap"] <= FRESH_MS:
            yield version, record["ts"]


def _beat_differences(heard: Iterable[Record], reference: str | None) -> dict[str, list[Difference]]:
    """By name server: each heartbeat beside the nearest one of the same member at the reference."""
    beats = [
        (_member(record), record["ns"], record["ts"], record.get("gap")) for record in heard if record["ev"] == "hb"
    ]
    of_reference: dict[Member, list[int]] = defaultdict(list)
    for member, ns, ts, _ in beats:
        if ns == reference:
            of_reference[member].append(ts)
    for times in of_reference.values():
        times.sort()
    found: dict[str, list[Difference]] = defaultdict(list)
    for member, ns, ts, gap in beats:
        near = _nearest(of_reference.get(member, []), ts)
        if ns != reference and near is not None and abs(ts - near) <= HALF_BEAT_US:
            found[ns].append(Difference(ts, ts - near, gap))
    return found


def _nearest(times: Sequence[int], ts: int) -> int | None:
    """The earlier one of two that are equally near."""
    place = bisect_left(times, ts)
    around = times[max(place - 1, 0) : place + 1]
    return min(around, key=lambda time: abs(ts - time), default=None)


def _judged(method: str, samples: Sequence[Difference]) -> dict[str, Any]:
    offset = _rounded(median(sample.difference for sample in samples))
    away = [abs(sample.difference - offset) for sample in samples]
    near = [distance for distance in away if distance <= AGREE_US]
    gaps = [sample.gap for sample in samples if sample.gap is not None]
    period = _rounded(median(gaps) * 1000) if gaps else None
    agreed = max(near, default=None) if method == VERSIONS else None
    last = sorted(((s.at, s.difference) for s in samples), reverse=True)[:SAMPLES_MIN] if method == VERSIONS else []
    return {
        "method": method, "offset": offset, "samples": len(samples), "spread": _rounded(median(away)),
        "agreeing": len(near), "uncertainty": agreed if period is None else period,
        "latest": [difference for _, difference in last],
    }  # fmt: skip


def _rounded(value: float) -> int:
    """Halves away from zero, as Spark rounds."""
    return int(copysign(floor(abs(value) + 0.5), value))
