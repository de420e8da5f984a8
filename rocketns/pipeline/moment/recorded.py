"""What the records around a moment tell: of each boot its numbers and times, and the records that show one topic.

Most records are heartbeats and lookups, of which only number and time are kept, so a day of a large fleet has room in
memory. Heartbeats of the last hours are kept whole, as samples of the clocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from rocketns.journal.reading.boots import Known, Mark, known
from rocketns.journal.reading.lines import Record
from rocketns.journal.reading.looks import is_short
from rocketns.journal.record import KINDS, MEMBER

# Of these kinds and of heartbeats that state attributes, the whole record.
_SHOWING = frozenset(name for name, kind in KINDS.items() if kind.restoring is not None) - {"hb"}
_HEARD = frozenset(("reg", "hb", "down"))

Boot = tuple[str, int]  # name server, boot
Day = tuple[str, str]  # dt, name server


@dataclass
class Recorded:
    """``marks``: of every record, and ``records``: those that show state, by boot; both in any order until ``sorted``.
    ``heard``: for the clocks. ``days``: those that have a record of a name server. ``last``: the
    latest time."""

    marks: dict[Boot, dict[int, Mark]] = field(default_factory=dict)
    records: dict[Boot, list[Record]] = field(default_factory=dict)
    heard: list[Record] = field(default_factory=list)
    days: set[Day] = field(default_factory=set)
    last: int = 0

    def add(self, records: Iterable[Record], topic: str, heard_from: int) -> None:
        """Of topics only this one is kept, and of heartbeats those from this time (us) on. A record that came already
        is passed over."""
        for record in records:
            boot = record["ns"], record["boot"]
            marks = self.marks.setdefault(boot, {})
            if record["seq"] in marks:
                continue
            marks[record["seq"]] = Mark(record["seq"], record["ts"], record["dt"])
            self.days.add((record["dt"], record["ns"]))
            self.last = max(self.last, record["ts"])
            self._keep(boot, record, topic, heard_from)

    def _keep(self, boot: Boot, record: Record, topic: str, heard_from: int) -> None:
        ev = record["ev"]
        if not _names_its_broker(record):
            return
        if ev in _HEARD and record["ts"] >= heard_from:
            self.heard.append(record)
        if ev == "tput" and record["ts"] >= heard_from and is_short(record):
            self.heard.append({**record})  # with all its topics
        if ev in _SHOWING or (ev == "hb" and states_attributes(record)):
            if record.get("topics"):
                record["topics"] = [one for one in record["topics"] if one and one.get("t") == topic]
            given = {name: value for name, value in record.items() if value is not None}
            self.records.setdefault(boot, []).append(given)

    def sorted(self) -> Recorded:
        """These records in the order of ``seq``."""
        marks = {boot: dict(sorted(found.items())) for boot, found in self.marks.items()}
        records = {boot: sorted(found, key=itemgetter("seq")) for boot, found in self.records.items()}
        return Recorded(marks, records, self.heard, self.days, self.last)

    def boots(self) -> list[Known]:
        """Each boot, in the order of name server and boot. It must be sorted."""
        return [known(*boot, [*self.marks[boot].values()], self.records.get(boot, [])) for boot in sorted(self.marks)]

    def shown(self) -> list[Record]:
        """The records that show state, of all boots."""
        return [record for records in self.records.values() for record in records]

    def corrected(self, offsets: Mapping[Day, int]) -> Recorded:
        """These records by the reference's clock. ``offsets``: us that a clock is ahead on a day."""

        def shifted(record: Record) -> Record:
            offset = offsets.get((record["dt"], record["ns"]), 0)
            return {
                **record,
                **{name: record[name] - offset for name in ("ts", "since") if record.get(name) is not None},
            }

        marks = {
            (ns, boot): {seq: m._replace(ts=m.ts - offsets.get((m.dt, ns), 0)) for seq, m in found.items()}
            for (ns, boot), found in self.marks.items()
        }
        records = {boot: [shifted(record) for record in found] for boot, found in self.records.items()}
        return Recorded(marks, records, [], self.days, self.last)

    def until(self, at: int) -> Recorded:
        """Without what comes after this time."""
        marks = {boot: {seq: m for seq, m in found.items() if m.ts <= at} for boot, found in self.marks.items()}
        records = {boot: [r for r in found if r["ts"] <= at] for boot, found in self.records.items()}
        return Recorded(
            {boot: found for boot, found in marks.items() if found}, records, [], self.days, min(self.last, at)
        )


def _names_its_broker(record: Mapping[str, Any]) -> bool:
    """Whether a record of a member has its whole key, and one of topics or of a group a broker: it may be damaged."""
    is_member = record.get("addr") is not None or record["ev"] in ("reg", "hb", "down")
    tells = bool(record.get("topics")) or record.get("acting") is not None
    needed = MEMBER if is_member else ("broker",) if tells else ()
    return all(record.get(name) is not None for name in needed)


def states_attributes(record: Mapping[str, Any]) -> bool:
    """Whether a heartbeat tells more than that the broker lives."""
    return record.get("timeout_ms") is not None or record.get("acting") is not None
