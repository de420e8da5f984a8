"""The result tables of a run, indexed for questions about one broker, name server or topic.

What each name server said of a key (topic, broker) for most of a window.

A window itself has the values at its beginning. Suppose that a change reaches the first name server, a millisecond
later the second one, and half an hour later the third one. The window begins with the first one against the other two.
For most of it the third one is wrong.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from rocketns.pipeline.contract.frames import Row, Table
from rocketns.pipeline.contract.terms import DAY_US, NAME_SERVER_ENDED, STILL_OPEN, day

NO_ROWS = Table()


class History:
    """``tables`` by the names of the catalogue; a missing one counts as empty. [t0, t1) is the observation."""

    def __init__(self, tables: Mapping[str, Table], t0: int, t1: int) -> None:
        self._tables, self.t0, self.t1 = tables, t0, t1

    def rows(self, name: str) -> Sequence[Row]:
        return self._tables.get(name, NO_ROWS).rows

    def whole(self, name: str) -> bool:
        """Whether the table is here with all its rows."""
        return name in self._tables and self._tables[name].is_whole

    @cached_property
    def intervals(self) -> Mapping[str, Sequence[Row]]:
        """BROKER_INTERVALS by broker, in the order of t1."""
        return _grouped(self.rows("broker_intervals"), "broker")

    @cached_property
    def boots(self) -> Mapping[str, Sequence[Row]]:
        """NS_UPTIME by name server, in the order of t1."""
        return _grouped(self.rows("ns_uptime"), "ns")

    @cached_property
    def windows(self) -> Mapping[str, Sequence[Row]]:
        """KEY_WINDOWS by broker, in the order of t1, without doubtful ones. ``first``: the values at the beginning.
        ``values``: those of most of the window if it is ``followed``, else the same as ``first``."""
        certain = (row for row in self.rows("key_windows") if row.get("doubt") is None)
        return _grouped(map(self._with_values, certain), "broker")

    def _with_values(self, window: Row) -> Row:
        intervals = self._topics.get((str(window["topic"]), str(window["broker"])))
        values = prevailing(window, intervals, self.boots) if intervals else window.get("values")
        return {**window, "values": values, "first": window.get("values"), "followed": bool(intervals)}

    @cached_property
    def _topics(self) -> Mapping[tuple[str, str], Sequence[Row]]:
        """TOPIC_INTERVALS by topic and broker; of some topics, or of none."""
        groups: defaultdict[tuple[str, str], list[Row]] = defaultdict(list)
        for row in self.rows("topic_intervals") if self.whole("topic_intervals") else ():
            groups[str(row["topic"]), str(row["broker"])].append(row)
        return groups

    @cached_property
    def impact(self) -> Mapping[str, Sequence[Row]]:
        """IMPACT by topic, in the order of t1."""
        return _grouped(self.rows("impact"), "topic")

    @cached_property
    def kinds(self) -> Mapping[str, str]:
        """user, system, retry or dlq, by topic."""
        rows = (*self.rows("topics"), *self.rows("key_windows"))
        return {str(row["topic"]): str(row["kind"]) for row in rows if row.get("kind")}

    @cached_property
    def offsets(self) -> Mapping[str, int]:
        """How far each name server's clock is ahead on its last day, us."""
        return {str(row["ns"]): int(row.get("offset_us") or 0) for row in self.rows("sources")}

    @cached_property
    def unsure(self) -> frozenset[str]:
        """Name servers with an unknown clock offset."""
        known = ((str(row["ns"]), row.get("clock"), row.get("uncertainty_us")) for row in self.rows("sources"))
        return frozenset(ns for ns, clock, uncertainty in known if clock and uncertainty is None)

    @cached_property
    def observed(self) -> frozenset[str]:
        """Name servers that were watched from outside."""
        tables = ("ns_uptime", "sources")
        return frozenset(str(row["ns"]) for name in tables for row in self.rows(name) if row.get("observed"))

    def asked(self, brokers: Iterable[str], servers: Iterable[str], t1: int, t2: int) -> tuple[str, ...]:
        """What these brokers said when they were asked as they went from these name servers."""
        at, rows = set(servers), (row for broker in brokers for row in self.intervals.get(broker, ()))
        return tuple(sorted({str(row["asked"]) for row in rows
                             if row.get("asked") and row["ns"] in at and t1 <= row["t2"] <= t2}))  # fmt: skip

    @cached_property
    def _offsets_of_days(self) -> Mapping[tuple[str, str], int]:
        """The same by name server and day, from CLOCK_DAYS."""
        return {(str(row["ns"]), str(row["day"])): int(row["offset"] or 0) for row in self.rows("clock_days")}

    @cached_property
    def _missing(self) -> Mapping[tuple[str, int], Sequence[Row]]:
        """QUALITY by name server and boot."""
        groups: defaultdict[tuple[str, int], list[Row]] = defaultdict(list)
        for row in self.rows("quality"):
            groups[str(row["ns"]), int(row.get("boot") or 0)].append(row)
        return groups

    @cached_property
    def name_servers(self) -> Sequence[str]:
        tables = ("ns_uptime", "sources", "broker_intervals")
        return sorted({str(row["ns"]) for name in tables for row in self.rows(name) if row.get("ns") is not None})

    def is_user(self, topic: str) -> bool:
        """Whether a topic belongs to users; one that no table knows counts as such unless its name says otherwise."""
        return self.kinds.get(topic, "retry" if topic.startswith(("%RETRY%", "%DLQ%")) else "user") == "user"

    def boot_at(self, ns: str, at: int) -> Row | None:
        """The boot of the name server whose state is known at that moment."""
        return next((row for row in self.boots.get(ns, ()) if row["t1"] <= at <= row["t2"]), None)

    def boot_from(self, ns: str, at: int) -> Row | None:
        """The boot at that time. If two boots meet there, the later one."""
        return next((row for row in reversed(self.boots.get(ns, ())) if row["t1"] <= at <= row["t2"]), None)

    def missing_of(self, boot: Row) -> Sequence[Row]:
        """The missing records of a boot, as rows of QUALITY."""
        return self._missing.get((str(boot["ns"]), int(boot.get("boot") or 0)), ())

    def by_own_clock(self, ns: str, at: int) -> int:
        """A moment as the name server's journal has it. Each day was corrected by an offset of its own."""
        last = at + self.offsets.get(ns, 0)
        for near in (last, last - DAY_US, last + DAY_US):
            own = at + self._offsets_of_days.get((ns, day(near)), 0)
            if (ns, day(own)) in self._offsets_of_days and day(own) == day(near):
                return own
        return last

    def lists(self, ns: str, broker: str, at: int) -> bool:
        """Whether a name server lists any member of the broker at a moment."""
        return any(row["ns"] == ns and row["t1"] <= at < row["t2"] for row in self.intervals.get(broker, ()))


def still_listed(end_cause: str | None) -> bool:
    """Whether an interval ended with its name server or with the observation, so that the broker may be well."""
    return end_cause == STILL_OPEN or end_cause in NAME_SERVER_ENDED


def _grouped(rows: Iterable[Row], by: str) -> dict[str, list[Row]]:
    groups: defaultdict[str, list[Any]] = defaultdict(list)
    for row in sorted(rows, key=lambda row: int(row["t1"])):
        groups[str(row[by])].append(row)
    return groups


INTERVALS_MAX = 500  # of a key; with more of them the first stretch stands for the window

Value = tuple[Any, ...]  # name server, present, read queues, write queues, permission


def prevailing(window: Row, intervals: Sequence[Row], boots: Mapping[str, Sequence[Row]]) -> list[Row]:
    """As ``values`` of KEY_WINDOWS, of those values that differed for the longest time in all. ``intervals``:
    TOPIC_INTERVALS of the key; ``boots``: NS_UPTIME by name server."""
    lasted: defaultdict[tuple[Value, ...], int] = defaultdict(int)
    if len(intervals) <= INTERVALS_MAX:
        for start, end, values in _stretches(window, intervals, boots):
            if len({value[1:] for value in values}) > 1:
                lasted[values] += end - start
    if not lasted:
        return list(window.get("values") or ())
    longest = max(lasted, key=lambda values: lasted[values])
    return [dict(zip(("ns", "present", "r", "w", "p"), value, strict=True)) for value in longest]


def _stretches(
    window: Row, intervals: Sequence[Row], boots: Mapping[str, Sequence[Row]]
) -> Iterator[tuple[int, int, tuple[Value, ...]]]:
    t1, t2 = int(window["t1"]), int(window["t2"])
    spans = [*intervals, *(row for rows in boots.values() for row in rows)]
    edges = sorted({t1, t2, *(edge for row in spans for edge in (row["t1"], row["t2"]) if t1 < edge < t2)})
    for start, end in pairwise(edges):
        up = sorted(ns for ns, rows in boots.items() if (boot := _holds(rows, start)) and not boot.get("no_topics"))
        yield start, end, tuple(_value(ns, _holds([row for row in intervals if row["ns"] == ns], start)) for ns in up)


def _holds(rows: Sequence[Row], at: int) -> Row | None:
    return next((row for row in rows if row["t1"] <= at < row["t2"]), None)


def _value(ns: str, row: Row | None) -> Value:
    return (ns, False, None, None, None) if row is None else (ns, True, row.get("r"), row.get("w"), row.get("p"))
