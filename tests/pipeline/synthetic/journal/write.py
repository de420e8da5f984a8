"""One name server's journal, a file at a time, so that memory does not grow with the journal."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from rocketns.journal.record import VERSION
from tests.pipeline.synthetic.journal.damage import Damager, Lost
from tests.pipeline.synthetic.journal.effects import (
    Effect,
    Sight,
    attributes,
    member,
    record,
    topic_records,
    version,
)
from tests.pipeline.synthetic.journal.heartbeats import GAP_BITS, GAP_MASK, TEMPLATE_MASK, TIME_SHIFT, Beats
from tests.pipeline.synthetic.journal.lookups import Lookups
from tests.pipeline.synthetic.scenario.plan import HOUR_MS, Boot, Plan
from tests.pipeline.synthetic.scenario.world import QueueTable, World

# This template number marks other records: the integer is then a place in the chunk's list of them. They come after the
# heartbeats of the same ms.
OTHER = TEMPLATE_MASK
# The place of a sign of life in that list: it is none of them.
NOTHING = GAP_MASK
ALIVE = record("alive")
ALIVE_AFTER_MS = 60_000


class Written(NamedTuple):
    """One name server's written journal. ``records`` counts all sequence numbers, also of lost records."""

    files: int
    bytes: int
    records: int
    lost: list[Lost]


class _State:
    """The name server's tables, as far as a snapshot needs them."""

    def __init__(self) -> None:
        self.members: set[int] = set()
        self.topics: dict[str, tuple[QueueTable, list[bytes]]] = {}

    def apply(self, effect: Effect) -> None:
        if effect.joined:
            self.members.add(effect.unit)
        elif effect.joined is False:
            self.members.discard(effect.unit)
        if effect.table is not None:
            self.topics[effect.broker] = (effect.table, [])


class JournalWriter:
    """Writes the files of one name server below ``folder``."""

    def __init__(self, world: World, plan: Plan, ns: int, sight: Sight, folder: Path) -> None:
        self.world, self.plan, self.ns, self.sight, self.folder = world, plan, ns, sight, folder
        self.state, self.seq, self.boot_id = _State(), 0, 0
        self.name, self.offset_ms = world.name_servers[ns], world.offsets_ms[ns]
        self.damager = Damager(plan.damage.get(ns, ()), plan.hidden.get(ns, ()))
        self.files = self.bytes = self.records = 0

    def write(self) -> Written:
        """All boots; what was written."""
        for boot in self.plan.boots[self.ns]:
            self._write_boot(boot)
        return Written(self.files, self.bytes, self.records, self.damager.lost)

    def _write_boot(self, boot: Boot) -> None:
        self.state, self.seq, self.boot_id = _State(), 0, boot.start_ms + self.offset_ms
        beats = Beats(self.world, self.plan, self.ns, boot, self.sight.sessions)
        lookups = Lookups(self.world, self.plan, self.ns)
        inside = [effect for effect in self.sight.effects if boot.start_ms <= effect.at_ms < boot.end_ms]
        place, rotate = 0, self.world.spec.rotate_s * 1000
        for number, begin in enumerate(range(boot.start_ms, boot.end_ms, rotate), 1):
            end = min(begin + rotate, boot.end_ms)
            upto = place
            while upto < len(inside) and inside[upto].at_ms < end:
                upto += 1
            others = sorted(self._others(boot, begin, end, lookups, inside[place:upto]), key=lambda other: other[0])
            place = upto
            lines = self._opening(boot, number, begin)
            lines += self._lines(begin, end, beats, others)
            if end == boot.end_ms and boot.end == "stop":
                lines += self._records([record("stop")], end)
            self._save(lines, begin, number)
        self.records += self.seq

    def _opening(self, boot: Boot, number: int, begin: int) -> list[bytes]:
        lines = self._records([record("open", ns=self.name, file=number, rotate_s=self.world.spec.rotate_s)], begin)
        if begin == boot.start_ms:
            lines += self._records([record("start", ns=self.name)], begin)
            lines += self._snapshot(begin)
        return lines

    def _others(
        self, boot: Boot, begin: int, end: int, lookups: Lookups, effects: list[Effect]
    ) -> Iterator[tuple[int, Effect | list[bytes] | None]]:
        """(true ms, what): an effect, records of lookups, or None for a snapshot."""
        yield from ((effect.at_ms, effect) for effect in effects)
        yield from lookups.rows(boot, begin, end)
        hour = -(-(begin + self.offset_ms) // HOUR_MS) * HOUR_MS
        yield from ((at - self.offset_ms, None) for at in range(hour, end + self.offset_ms, HOUR_MS))

    def _lines(
        self, begin: int, end: int, beats: Beats, others: list[tuple[int, Effect | list[bytes] | None]]
    ) -> list[bytes]:
        """Heartbeats and other records in the order of time."""
        packed = beats.packed(begin, end)
        packed += [((at - begin) << TIME_SHIFT) | (OTHER << GAP_BITS) | place for place, (at, _) in enumerate(others)]
        packed.sort()
        packed = with_signs_of_life(packed, end - begin)
        lines: list[bytes] = []
        templates, since, seq = beats.templates, begin + self.offset_ms, self.seq
        damager, damage_ms = self.damager, self.damager.next_ms
        for item in packed:
            template = (item >> GAP_BITS) & TEMPLATE_MASK
            at = item >> TIME_SHIFT
            if template == OTHER:
                self.seq = seq
                place = item & GAP_MASK
                what = [ALIVE] if place == NOTHING else others[place][1]
                lines += self._other(what, begin + at)
                seq = self.seq
                continue
            seq += 1
            line = templates[template] % (seq, since + at, item & GAP_MASK)
            if begin + at < damage_ms:
                lines.append(line)
                continue
            left, announced = damager.take(line, self.boot_id, seq)
            lines += left
            self.seq = seq
            lines += self._records(announced, begin + at)
            seq, damage_ms = self.seq, damager.next_ms
        self.seq = seq
        return lines

    def _other(self, what: Effect | list[bytes] | None, at: int) -> list[bytes]:
        if what is None:
            return self._snapshot(at)
        if isinstance(what, Effect):
            self.state.apply(what)
            hidden = self.damager.hides(what, self.boot_id, self.seq + 1)
            lines = self._records(list(what.records), at)
            return [] if hidden else lines
        return self._records(what, at)

    def _records(self, records: list[bytes], at: int) -> list[bytes]:
        """Whole lines of records, which take the next sequence numbers."""
        first = self.seq + 1
        self.seq += len(records)
        head = b'{"boot":%d,"seq":%%d,"ts":%d000,' % (self.boot_id, at + self.offset_ms)
        return [head % seq + text for seq, text in enumerate(records, first)]

    def _snapshot(self, at: int) -> list[bytes]:
        """All members, the topics of each broker, and the end."""
        records = []
        for unit in sorted(self.state.members):
            named = member(self.world, unit)
            dv = version(self.plan, self.world, named["broker"], at)
            records.append(record("snap", **named, **dv, **attributes(self.world, named)))
        for broker in self.state.topics:
            records += self._snapshot_topics(broker)
        records.append(record("snap", end=True))
        lines = self._records(records, at)
        first = self.seq - len(records) + 1
        return [
            line.replace(b'"ev":"snap"', b'"ev":"snap","snap":%d,"part":%d' % (first, part), 1)
            for part, line in enumerate(lines)
        ]

    def _snapshot_topics(self, broker: str) -> list[bytes]:
        table, made = self.state.topics[broker]
        if table and not made:
            made += topic_records("snap", broker, None, table)
        return made

    def _save(self, lines: list[bytes], begin: int, number: int) -> None:
        day = datetime.fromtimestamp((begin + self.offset_ms) // 1000, UTC).date().isoformat()
        folder = self.folder / f"v={VERSION}" / f"dt={day}" / f"ns={self.name}"
        folder.mkdir(parents=True, exist_ok=True)
        size = 0
        with (folder / f"{self.boot_id}-{number:06d}.jsonl").open("wb") as file:
            for start in range(0, len(lines), 4096):
                size += file.write(b"".join(lines[start : start + 4096]))
        self.files += 1
        self.bytes += size


def with_signs_of_life(packed: list[int], length_ms: int) -> list[int]:
    """The sorted records of a file, and one more after each minute without a record."""
    quiet = [
        (at << TIME_SHIFT) | (OTHER << GAP_BITS) | NOTHING
        for one, other in pairwise([0, *packed, length_ms << TIME_SHIFT])
        if (other - one) >> TIME_SHIFT > ALIVE_AFTER_MS
        for at in range((one >> TIME_SHIFT) + ALIVE_AFTER_MS, other >> TIME_SHIFT, ALIVE_AFTER_MS)
    ]
    return sorted(packed + quiet) if quiet else packed
