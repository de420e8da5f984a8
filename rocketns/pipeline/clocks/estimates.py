"""How far the clocks of the name servers differ on a day, from events that all of them saw at the same time.

A broker sends each registration to all its name servers at once. Two kinds of samples are compared:

- versions: the first heartbeat in which a name server took a data version, if it had heard of the broker within the
  last minute and had taken another version before. No other heartbeat matches it, so any offset can be measured.
- heartbeats, where the versions of a name server on a day are too few or do not agree: each is compared with the
  nearest heartbeat of the same member at the reference. That measures offsets of up to half a heartbeat period (15 s
  with RocketMQ's 30 s).

The offset is the median. It is accepted if at least half of the samples lie within AGREE_US of it. Without an accepted
offset the times of a name server stay as they are (method none).

Name servers that were observed from outside have no heartbeats and no versions, and all of them the observer's clock. A
third kind of samples, of all of them together, is for that clock: changes that the observer saw, and that brokers sent
to the reference too (``looks``). The reference is never an observed one.

``uncertainty`` is by how much the offset may be wrong. Samples of versions that agree bound it by how far apart they
are. Heartbeats repeat: an offset of any number of periods more fits them as well, so it is the period. Looks bound it
by the time between two of them. Nothing bounds an offset without samples, but a word of the operator (method given,
``bounds``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


class Heard(NamedTuple):
    """Records of a day. ``counts``: how many registrations and heartbeats of the sampled members each name server
    wrote; ``firsts``: at least the first of them in each data version; ``beats``: heartbeats, where they are needed;
    ``changes``: of members and of few topics, by observers and by the reference."""

    counts: Mapping[str, int]
    firsts: Sequence[Record]
    beats: Sequence[Record] = ()
    changes: Sequence[Record] = ()

    @property
    def reference(self) -> str | None:
        """The name server that heard the most; the clocks of the others are compared with it."""
        return min(self.counts, key=lambda ns: (-self.counts[ns], ns), default=None)


def estimates(
    days: Iterable[tuple[str, str]], records: Sequence[Record], heard: Sequence[Record]
) -> list[dict[str, Any]]:
    """The rows of ``of_day`` for each day.

    ``days``: (dt, ns) of each day with a record. ``records``: ``snap`` and SHOWS_OBSERVED among others. ``heard``:
    ``reg``, ``hb``, ``down`` and short ``tput``.
    """
    rows = []
    for dt, servers in groupby(sorted(days), itemgetter(0)):
        members, observed = _members(dt, records), _observed(dt, records)
        sampled = [record for record in heard if record["dt"] == dt
                   and (record["ev"] == "tput" or _member(record) in members)]  # fmt: skip
        told = [record for record in sampled if record["ev"] in ("reg", "hb") and record.get("since") is None]
        beats = [record for record in told if record["ev"] == "hb"]
        of_records = Heard(Counter(record["ns"] for record in told), told, beats, sampled)
        rows += of_day(dt, {ns: ns in observed for _, ns in servers}, of_records)
    return rows


def _observed(dt: str, records: Iterable[Record]) -> set[str]:
    """The name servers whose records of a day say that they were observed."""
    return {
        record["ns"]
        for record in records
        if record["dt"] == dt and record["ev"] in SHOWS_OBSERVED
        and (record.get("observed") or record.get("since") is not None)
    }  # fmt: skip


def of_day(dt: str, servers: Mapping[str, bool], heard: Heard) -> list[dict[str, Any]]:
    """A row for each name server and method of a day: dt, ns, observed, reference, method (null without samples),
    offset, samples, spread, agreeing (samples near the offset), uncertainty, latest (the last SAMPLES_MIN differences
    of versions, the last one first); times in us. All observed name servers have the same. ``servers``: by name,
    whether it was observed."""
    reference = heard.reference
    versions = _version_differences(heard.firsts, reference)
    beats = _beat_differences(heard.beats, reference)
    seen = [record for record in heard.changes if record.get("since") is not None]
    own = [record for record in heard.changes if record.get("since") is None and record["ns"] == reference]
    found = met(looks(seen, own))
    of_observer = {"method": OBSERVED, **(found._asdict() if found else {})}
    rows = []
    for ns, observed in sorted(servers.items()):
        both = ((VERSIONS, versions), (HEARTBEATS, beats))
        judged = [of_observer] if observed else [_judged(method, by[ns]) for method, by in both if by.get(ns)]
        about = {"dt": dt, "ns": ns, "observed": observed, "reference": reference}
        rows += [{**about, **row} for row in judged or [{"method": None}]]
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
