"""How far an observer's clock is off, from changes that it saw between two looks and another name server took itself.

A broker sends each registration to all its name servers at once: those that make it a member (``reg``), that add or
change topics (``tput`` of causes heartbeat and topic), and its leave (``down`` of cause unregister). What came between
two looks, and at the reference at one moment, bounds the offset from both sides. Each such interval is wider by
AGREE_US on both sides, since a registration does not reach all name servers at the same moment. The offset is in the
middle of where most intervals meet (Marzullo's algorithm, as in NTP), and may be wrong by half of what they leave.
Intervals elsewhere are of other changes: they count as samples that do not agree.

Two records belong together if they are of one member, or of one topic on one broker, and each is the nearest to the
other, within FAR_US. Of many samples the LOOKS_MAX with the shortest time between looks count. Permissions and
properties are changed at one name server, and topics that come with a member are told of later than it: they tell
nothing. So does a record of more than TOPICS_MAX topics.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from statistics import median
from typing import Any, NamedTuple

from rocketns.journal.lines import Record
from rocketns.journal.record import MEMBER

AGREE_US = 1_000_000
FAR_US = 3_600_000_000
LOOKS_MAX = 200
TOPICS_MAX = 8  # of a record that is a sample
SENT_TO_ALL = ("heartbeat", "topic")  # causes of tput
LEFT = "unregister"  # cause of down

Key = tuple[Any, ...]
Id = tuple[int, int]  # boot, seq
Change = tuple[int, Id, int]  # the middle between the looks, the record, the time between the looks


class Look(NamedTuple):
    """An observed change. ``early``: us between the looks; ``at``: the middle between them, by the observer's clock;
    ``moment``: when it came by the reference's."""

    early: int
    at: int
    moment: int

    @property
    def bounds(self) -> tuple[int, int]:
        """Of the observer's time minus the reference's, us."""
        late = self.at + self.early // 2
        return late - self.early - self.moment - AGREE_US, late - self.moment + AGREE_US


class Found(NamedTuple):
    """``offset``, ``uncertainty`` and ``spread`` in us; ``agreeing``: intervals that hold the offset."""

    offset: int
    uncertainty: int
    samples: int
    agreeing: int
    spread: int


def is_told(record: Record) -> bool:
    """Whether a name server's own record is of what a broker sends to all at once."""
    ev, cause = record["ev"], record.get("cause")
    if ev == "tput":
        return cause in SENT_TO_ALL and is_short(record)
    return ev == "reg" or (ev == "down" and cause == LEFT)


def is_seen(record: Record) -> bool:
    """Whether an observed record may be of such a change."""
    return record["ev"] in ("reg", "down") or (record["ev"] == "tput" and is_short(record))


def is_short(record: Record) -> bool:
    """Whether it has some topics, and few."""
    return 1 <= len(record.get("topics") or ()) <= TOPICS_MAX


def looks(seen: Iterable[Record], told: Iterable[Record]) -> list[Look]:
    """The samples of observed records and of the reference's own."""
    moments: dict[Key, set[int]] = defaultdict(set)
    for record in filter(is_told, told):
        for key in _keys(record):
            moments[key].add(record["ts"])
    found: dict[tuple[str, Id], list[tuple[int, int, int, int]]] = defaultdict(list)
    for (ns, key), changes in _changes(filter(is_seen, seen), moments).items():
        for seen_at, far, look in _mutual(changes, sorted(moments[key])):
            found[ns, seen_at].append((far, look.moment, look.at, look.early))
    return [Look(early, at, moment) for _, moment, at, early in map(min, found.values())]


def _changes(seen: Iterable[Record], moments: Collection[Key]) -> dict[tuple[str, Key], list[Change]]:
    """By name server and key, in order: those that the reference has records of, too."""
    changes: dict[tuple[str, Key], list[Change]] = defaultdict(list)
    for record in seen:
        early = max(record["ts"] - record["since"], 0)
        change = record["ts"] - early // 2, (record["boot"], record["seq"]), early
        for key in _keys(record):
            if key in moments:
                changes[record["ns"], key].append(change)
    return {key: sorted(found) for key, found in changes.items()}


def _mutual(changes: Sequence[Change], moments: Sequence[int]) -> Iterator[tuple[Id, int, Look]]:
    """Record, distance and look of those of which each is the nearest to the other; the earlier one of two that are
    equally near."""
    times = [at for at, _, _ in changes]
    for at, record, early in changes:
        moment = _nearest(moments, at)
        first = bisect_left(times, _nearest(times, moment))
        if changes[first][1] == record and abs(at - moment) <= FAR_US:
            yield record, abs(at - moment), Look(early, at, moment)


def _nearest(times: Sequence[int], time: int) -> int:
    place = bisect_left(times, time)
    return min(times[max(place - 1, 0) : place + 1], key=lambda one: abs(one - time))


def _keys(record: Record) -> list[Key]:
    """The member, or each topic on the broker."""
    if record["ev"] == "tput":
        names = {topic.get("t") for topic in record.get("topics") or () if topic}
        return [("tput", str(record.get("broker") or ""), str(name or "")) for name in sorted(names, key=str)]
    return [(record["ev"], *(str("" if record.get(name) is None else record.get(name)) for name in MEMBER))]


def met(samples: Iterable[Look]) -> Found | None:
    """Where most of them meet; None of none."""
    chosen = sorted(samples)[:LOOKS_MAX]
    if not chosen:
        return None
    bounds = [look.bounds for look in chosen]
    counts = {low: sum(lower <= low <= upper for lower, upper in bounds) for low, _ in bounds}
    agreeing = max(counts.values())
    lows = [low for low, count in counts.items() if count == agreeing]
    low, high = min(lows), max(_end(low, bounds) for low in lows)
    offset = (low + high) // 2
    spread = _rounded(median(abs(look.at - look.moment - offset) for look in chosen))
    return Found(offset, (high - low + 1) // 2, len(chosen), agreeing, spread)


def _end(low: int, bounds: Sequence[tuple[int, int]]) -> int:
    """Until where those meet that hold ``low``."""
    return min(upper for lower, upper in bounds if lower <= low <= upper)


def _rounded(value: float) -> int:
    """Halves up: it is never negative."""
    return int(value + 0.5)
