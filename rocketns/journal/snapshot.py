"""A snapshot of the state, written in small pieces so that control goes on in between.

Each piece reads the current tables and writes at once. So every record is true at its own ``seq``, and changes between
two pieces have records of their own. Topics are collected in blocks: first the names of a block's topics for each
broker, and their values only when they are written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rocketns.journal import encoding
from rocketns.journal.buffer import Buffer
from rocketns.journal.members import RecordedTables, live_columns, member_columns
from rocketns.routeinfo.tables import RouteTables

# Queue data of one block: a small part of 3 million, but enough for full records.
BLOCK_ENTRIES = 16_384
# Topics looked through in one piece of work.
PIECE_ENTRIES = 500

KvTables = Mapping[str, Mapping[str, str | None]]


def kv_items(kv: KvTables) -> Iterator[dict[str, str | None]]:
    """The columns of each item, with the value that it has when it is its turn."""
    for name, key in [(name, key) for name, table in kv.items() for key in table]:
        text = kv.get(name, {}).get(key)
        if text is not None:
            yield encoding.item_columns(name, key, text)


class SnapshotWriter:
    """One snapshot. Iterating does the work, and yields the number of entries in each piece.

    ``bytes`` is what it has written so far, about. ``ends`` gives the columns that its last record has beside ``end``.
    """

    def __init__(
        self, tables: RouteTables, members: RecordedTables, kv: KvTables, buffer: Buffer,
        ends: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:  # fmt: skip
        self._tables = tables
        self._members = members
        self._kv = kv
        self._buffer = buffer
        self._ends = ends
        self._name = 0
        self._part = 0
        self.bytes = 0

    def __iter__(self) -> Iterator[int]:
        yield from self._write_members()
        yield from self._write_beside_members()
        yield from self._write_topics()
        yield from self._write_mappings()
        yield from self._write_kv()
        self._put({"end": True, **self._ends()})

    def _put(self, columns: dict[str, Any]) -> None:
        if self._part == 0:
            self._name = self._buffer.seq + 1
        record = encoding.columns("snap", {"snap": self._name, "part": self._part} | columns)
        self._buffer.put(record)
        self.bytes += len(record)
        self._part += 1

    def _write_members(self) -> Iterator[int]:
        members = [member for group in self._members.groups.values() for member in group.members.values()]
        for member in members:
            group = self._members.groups.get(member.broker)
            if group is not None and group.members.get(member.bid) is member:
                entry = self._tables.broker_live_table.get(member.key)
                doubt = encoding.doubt_columns(None if entry is None else entry.doubt)
                self._put(member_columns(member, group) | doubt)
            yield 1

    def _write_beside_members(self) -> Iterator[int]:
        """What the records of members do not give. After them: until then a reader does not know all members."""
        for key in list(self._members.lives):
            live = self._members.lives.get(key)
            if live is not None and not live.members:
                entry = self._tables.broker_live_table.get(key)
                seen = None if entry is None or entry.doubt is None else entry.doubt.seen_epoch_ms
                self._put(live_columns(key, live) | {"seen": seen})
            yield 1

    def _write_topics(self) -> Iterator[int]:
        block: dict[str, list[str]] = {}
        entries = yielded = 0
        for topic in list(self._tables.topic_queue_table):
            for broker in self._tables.topic_queue_table.get(topic, ()):
                block.setdefault(broker, []).append(topic)
                entries += 1
            if entries - yielded >= PIECE_ENTRIES:
                yield entries - yielded
                yielded = entries
            if entries >= BLOCK_ENTRIES:
                yield from self._write_block(block)
                block, entries, yielded = {}, 0, 0
        yield from self._write_block(block)

    def _write_block(self, block: dict[str, list[str]]) -> Iterator[int]:
        table = self._tables.topic_queue_table
        for broker, topics in block.items():
            for start, end in encoding.bounds([*map(len, topics)]):
                names = [topic for topic in topics[start:end] if broker in table.get(topic, ())]
                if names:
                    listed, _ = encoding.topic_list(names, [table[topic][broker] for topic in names])
                    self._put({"broker": broker, "topics": listed})
                yield end - start

    def _write_mappings(self) -> Iterator[int]:
        table = self._tables.topic_queue_mapping_info_table
        for topic in list(table):
            for some in encoding.mapping_lists([(topic, info) for info in table.get(topic, {}).values()]):
                self._put({"maps": some})
                yield len(some)

    def _write_kv(self) -> Iterator[int]:
        for item in kv_items(self._kv):
            self._put(item)
            yield 1
