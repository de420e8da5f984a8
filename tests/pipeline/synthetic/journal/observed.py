"""The journal that an observer would have written of one name server of the plan: it looks at the brokers every few
seconds, and at each topic in turn. Its own clock is the true one.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from pathlib import Path

from rocketns.journal.record import VERSION
from tests.pipeline.synthetic.journal.effects import Sight, member, record, topic_records
from tests.pipeline.synthetic.journal.write import ALIVE, ALIVE_AFTER_MS, Written
from tests.pipeline.synthetic.scenario.plan import HOUR_MS, Plan
from tests.pipeline.synthetic.scenario.world import QueueTable, World

NAMES_EVERY_MS = 10_000


class _Shown:
    """What the name server really shows: its members, and each broker's topics."""

    def __init__(self) -> None:
        self.members: set[int] = set()
        self.tables: dict[str, QueueTable] = {}

    def names(self) -> set[str]:
        return {topic for table in self.tables.values() for topic in table}


class ObservedWriter:
    """Writes the files of one name server below ``folder``, a file an hour, each with a snapshot.

    ``look_ms``: time between two looks at the brokers; ``round_ms``: between two at a topic, each at its own time. A
    broker that came back is asked for its topics at once. A name server that is down is not watched; the observer goes
    on with what it knew.
    """

    def __init__(self, world: World, plan: Plan, ns: int, sight: Sight, folder: Path) -> None:
        self._world, self._plan, self._ns, self._sight, self._folder = world, plan, ns, sight, folder
        self._name = world.name_servers[ns]
        self._look_ms, self._round_ms = world.spec.look_s * 1000, world.spec.round_s * 1000
        self._members: set[int] = set()
        self._tables: dict[str, QueueTable] = {}
        self._boot = self._seq = self._file = self._last_ms = 0
        self._lines: list[bytes] = []
        self._files = self._bytes = self._records = 0

    def write(self) -> Written:
        """All that was seen; what was written."""
        looked_ms: int | None = None
        for boot in self._plan.boots[self._ns]:
            looked_ms = self._watch(boot.start_ms, boot.end_ms, looked_ms)
        return Written(self._files, self._bytes, self._records, [])

    def _watch(self, start_ms: int, end_ms: int, looked_ms: int | None) -> int:
        """One boot of the name server, and of the journal; when the last look was. ``looked_ms``: that of the boot
        before."""
        shown, effects = _Shown(), iter([e for e in self._sight.effects if start_ms <= e.at_ms < end_ms])
        following = next(effects, None)
        phase = self._ns * 1_700 % self._look_ms
        first = -(-(start_ms - phase) // self._look_ms) * self._look_ms + phase
        before = first if looked_ms is None else looked_ms
        asked = dict.fromkeys({topic for table in self._tables.values() for topic in table}, before)
        names_ms = before
        for at in range(first, end_ms, self._look_ms):
            while following is not None and following.at_ms <= at:
                if following.joined:
                    shown.members.add(following.unit)
                elif following.joined is False:
                    shown.members.discard(following.unit)
                if following.table is not None:
                    shown.tables[following.broker] = following.table
                following = next(effects, None)
            if at == first:
                self._begin(at, shown, restored=looked_ms is not None)
            self._keep_alive(at)
            came = self._look_at_brokers(shown, at, before)
            if at - names_ms >= NAMES_EVERY_MS or at == first:
                self._look_at_names(shown, asked, at, names_ms)
                names_ms = at
            due = {topic for topic in asked if self._is_due(topic, at)}
            due |= {topic for broker in came for topic in shown.tables.get(broker, ())}
            for topic in sorted(due):
                self._look_at_topic(topic, shown, at, asked.get(topic, names_ms), came, before)
                asked[topic] = at
            before = at
        self._put([record("stop", since=before * 1000)], before + self._look_ms)
        self._save()
        return before

    def _is_due(self, topic: str, at: int) -> bool:
        """Whether the topic's turn of the round came since the look before."""
        turn = sum(topic.encode()) * 7_919 % self._round_ms
        return (at - turn) // self._round_ms != (at - self._look_ms - turn) // self._round_ms

    def _begin(self, at: int, shown: _Shown, *, restored: bool) -> None:
        self._boot, self._seq, self._file, self._last_ms = at, 0, 0, at
        if not restored:
            self._members, self._tables = set(shown.members), dict(shown.tables)
        self._open(at)
        self._put([record("start", ns=self._name, observed=True, restored=restored or None)], at)
        self._snapshot(at)

    def _open(self, at: int) -> None:
        self._save()
        self._file += 1
        self._opened_ms = at
        self._put([record("open", ns=self._name, file=self._file, rotate_s=HOUR_MS // 1000)], at)

    def _keep_alive(self, at: int) -> None:
        if at // HOUR_MS != self._opened_ms // HOUR_MS:
            self._open(at)
            self._snapshot(at)
        if at - self._last_ms >= ALIVE_AFTER_MS:
            self._put([ALIVE], at)

    def _look_at_brokers(self, shown: _Shown, at: int, before: int) -> set[str]:
        """The brokers that came."""
        since, world = before * 1000, self._world
        held = {world.units[unit].broker for unit in self._members}
        left, joined = sorted(self._members - shown.members), sorted(shown.members - self._members)
        self._members = set(shown.members)
        there = {world.units[unit].broker for unit in self._members}
        self._put([record("down", since=since, **member(world, unit), cause="observed") for unit in left], at)
        for broker in sorted(held - there):
            gone = self._tables.pop(broker, {})
            self._put(list(topic_records("tdel", broker, "observed", gone, since=since)) if gone else [], at)
        zones = [world.zones[world.units[unit].broker] for unit in joined]
        self._put(
            [record("reg", since=since, **member(world, unit), zone=zone, acting=False)
             for unit, zone in zip(joined, zones, strict=True)], at,
        )  # fmt: skip
        return there - held

    def _look_at_names(self, shown: _Shown, asked: dict[str, int], at: int, before: int) -> None:
        """All names of topics: others are gone, and new ones are asked for at once."""
        names = shown.names()
        for broker, table in self._tables.items():
            gone = {topic: queues for topic, queues in table.items() if topic not in names}
            if gone:
                self._tables[broker] = {topic: table[topic] for topic in table if topic in names}
                self._put(list(topic_records("tdel", broker, "observed", gone, since=before * 1000)), at)
        for topic in sorted(names - asked.keys()):
            self._look_at_topic(topic, shown, at, before, frozenset(), before)
            asked[topic] = at
        for topic in asked.keys() - names:
            del asked[topic]

    def _look_at_topic(
        self, topic: str, shown: _Shown, at: int, since: int, came: AbstractSet[str], before: int
    ) -> None:
        """A broker that has just come had no topic at the look before."""
        there = {self._world.units[unit].broker for unit in self._members}
        for broker in sorted(there):
            now, known = shown.tables.get(broker, {}).get(topic), self._tables.get(broker, {}).get(topic)
            if now == known:
                continue
            held = {name: queues for name, queues in self._tables.get(broker, {}).items() if name != topic}
            self._tables[broker] = held if now is None else held | {topic: now}
            event, queues = ("tdel", known) if now is None else ("tput", now)
            after = max(since, before) if broker in came else since
            if queues is not None:
                self._put(list(topic_records(event, broker, "observed", {topic: queues}, since=after * 1000)), at)

    def _snapshot(self, at: int) -> None:
        records = [record("snap", **member(self._world, unit), zone=self._world.zones[self._world.units[unit].broker],
                          acting=False) for unit in sorted(self._members)]  # fmt: skip
        for broker, table in self._tables.items():
            records += list(topic_records("snap", broker, None, table)) if table else []
        first = self._seq + 1
        parts = enumerate([*records, record("snap", end=True)])
        self._put([line.replace(b'"snap"', b'"snap","snap":%d,"part":%d' % (first, n), 1) for n, line in parts], at)

    def _put(self, records: list[bytes], at: int) -> None:
        for text in records:
            self._seq += 1
            self._records += 1
            self._lines.append(b'{"boot":%d,"seq":%d,"ts":%d000,' % (self._boot, self._seq, at) + text)
            self._last_ms = at

    def _save(self) -> None:
        if not self._lines:
            return
        day = datetime.fromtimestamp(self._opened_ms // 1000, UTC).date().isoformat()
        folder = self._folder / f"v={VERSION}" / f"dt={day}" / f"ns={self._name}"
        folder.mkdir(parents=True, exist_ok=True)
        self._bytes += (folder / f"{self._boot}-{self._file:06d}.jsonl").write_bytes(b"".join(self._lines))
        self._files += 1
        self._lines = []
