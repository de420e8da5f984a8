"""Between the server and the writer's thread: numbers the records, bounds the bytes that wait, ends files.

Only control's thread calls this. Records are appended to one bytearray, which is handed to the writer as a whole and
then not touched again. So a record needs no lock, and leaves no object.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass

from rocketns.journal import encoding
from rocketns.journal.chain import BLANK
from rocketns.journal.segments import Segment, day_of
from rocketns.journal.writer import Chunk, Writer
from rocketns.logs import LogLimiter

log = logging.getLogger("rocketns.journal")

DAY_MS = 86_400_000
LOSS_LOG_INTERVAL_MS = 60_000
# A burst is handed over when it fills this part of the buffer, and otherwise with the next flush.
EARLY_SHARE = 4
# Of one request so many bytes of topics are encoded at once, and a quarter of the buffer at most. 10,000 topics take
# 0.7 MiB, and a MiB of names that are all escapes takes some ms.
AT_ONCE_BYTES_MAX = 2 * 1024 * 1024
# Larger records take the first half of the buffer only, so that a peer with long names leaves room for all others.
LARGE_BYTES = 16 * 1024
# Between two flushes those that can wait take this many times the buffer at most: 300 brokers that start with 10,000
# topics each write 20 MB a second.
LARGE_SHARE = 2
# And those that cannot wait take so much more: topics of one peer leave room for a broker of another with long names.
LARGE_SHARE_AT_ONCE = 1
FULL = "the buffer is full. The disk is too slow, or journalBufferBytes too small"
LARGE_SHARE_USED = "those of more than 16 KiB have had their share of journalBufferBytes"
# Beyond the buffer, for the last record of all, with a ``drop`` and an ``open`` before it.
END_BYTES = 2_048
# What is handed over ends with a seal where the last one is so many bytes ago, or so old and at least some bytes ago:
# a server that hears nobody writes a sign of life a minute. So do the start, the end of each file, and what has a
# record of ``admin`` or ``refused``.
SEAL_EVERY_BYTES = 1024 * 1024
SEAL_EVERY_MS, SEALED_BYTES_MIN = 10_000, 1_024
SEAL_BYTES = 256
SEAL = b'"ev":"seal"' + BLANK


Line = bytes  # `Buffer.bytes` hides the name of the type


@dataclass(frozen=True, slots=True)
class BufferLimits:
    """``buffer_bytes`` bounds the bytes that wait, here and at the writer. A file ends when it exceeds bytes or age."""

    buffer_bytes: int
    file_bytes: int
    file_ms: int


class Buffer:
    """`at` sets the time of the records that follow, `put` adds one, `flush` hands them to the writer.

    ``lost`` counts records since the last ``drop``, ``lost_total`` all of them, ``losses`` the ``drop`` records,
    ``seals`` the ``seal`` records. With ``wants_seal`` the records so far are sealed when they are handed over.
    """

    def __init__(self, writer: Writer, limits: BufferLimits, ns: str, boot: int) -> None:
        self.seq = 0
        self.lost = 0
        self.lost_total = 0
        self.losses = 0
        self.seals = 0
        self.since_ms: int | None = None
        self._boot = boot
        self._ns = ns
        self._writer = writer
        self._limits = limits
        self._reserve_bytes = 0
        self._large_left = LARGE_SHARE * limits.buffer_bytes
        self._head = b'{"boot":%d,"seq":' % boot
        self._ts = self._times = b""
        self.epoch_ms = 0
        self._front = bytearray()
        self._room = 0
        self._segment: Segment | None = None
        self._number = 0
        self._handed_bytes = 0
        self._ended_bytes = 0
        self._began_ms = 0
        self._ends_ms = 0
        self._sealed_at = 0
        self._sealed_ms = 0
        self.wants_seal = False
        self._loss_lines = LogLimiter(LOSS_LOG_INTERVAL_MS)
        self._end_is_logged = False

    def at(self, epoch_ms: int, since_ms: int | None = None) -> None:
        """Set the wall clock of the records that follow. Ends a file whose time is over; `put` begins the next.

        ``since_ms``: what they say happened after that time. ``open``, ``drop`` and ``seal`` are not among them.
        """
        if not self._began_ms <= epoch_ms < self._ends_ms:
            self._end_file()  # its seal has the time of the record before
        self.epoch_ms, self.since_ms = epoch_ms, since_ms
        self._ts = self._times = b',"ts":%d000,' % epoch_ms
        if since_ms is not None:
            self._times = b'%b"since":%d000,' % (self._ts, min(since_ms, epoch_ms))

    def put(self, record: bytes) -> None:
        """Add a record, as `encoding.columns` makes it. Without room for it, it is lost and counted."""
        self.seq += 1
        line = b"%b%d%b%b\n" % (self._head, self.seq, self._times, record)
        if len(self._front) + len(line) > self._room:
            self._put_slowly(record)
        else:
            self._front += line

    def _put_slowly(self, record: bytes) -> None:
        """The rare cases: a file begins or ends, the writer gets the buffer, a loss begins or ends."""
        self.seq -= 1
        if self._segment is not None and self._handed_bytes + len(self._front) >= self._limits.file_bytes:
            self._end_file()
        if len(self._front) * EARLY_SHARE >= self._limits.buffer_bytes and not self._writer.is_behind:
            self._hand_over()
        begun = self._segment is not None or self._begin_file()
        takes_large = self._large_left > -LARGE_SHARE_AT_ONCE * self._limits.buffer_bytes and not self.is_half_full
        if not begun or (self.lost and not self._state_loss()):
            self.lose(FULL)
        elif len(record) > LARGE_BYTES and not takes_large:
            self.lose(LARGE_SHARE_USED)
        elif not self._append(record, self._times):
            self.lose(FULL)

    def _append(self, record: bytes, times: bytes) -> bool:
        line = b"%b%d%b%b\n" % (self._head, self.seq + 1, times, record)
        room = self._limits.buffer_bytes - SEAL_BYTES + self._reserve_bytes - self._writer.pending_bytes
        if len(self._front) + len(line) > room:
            return False
        self.seq += 1
        self._front += line
        self._measure_room()
        return True

    @property
    def has_room_for_large(self) -> bool:
        """Whether there is room for work that can wait, and for its records of more than `LARGE_BYTES`."""
        return self._large_left > 0 and not self.is_half_full

    @property
    def room_at_once(self) -> int:
        """Bytes of one request's topics that may be encoded at once. Then its other records find room as well."""
        at_most = min(AT_ONCE_BYTES_MAX, self._limits.buffer_bytes // 4)
        to_half = min(self._limits.buffer_bytes * 31 // 64 - self.waiting_bytes, self._large_left)
        return min(at_most, max(to_half, LARGE_BYTES))

    @property
    def waiting_bytes(self) -> int:
        """Bytes that are not on disk yet; may be read from another thread."""
        return len(self._front) + self._writer.pending_bytes

    @property
    def bytes(self) -> int:
        """Of all records since the start."""
        return self._ended_bytes + self._handed_bytes + len(self._front)

    def _measure_room(self) -> None:
        """Set the size of the buffer at which `put` calls `_put_slowly`."""
        if self._segment is None or self.lost:
            self._room = 0
            return
        # Beyond the half `_put_slowly` looks at each record.
        to_half = self._limits.buffer_bytes // 2 - self._writer.pending_bytes
        self._room = min(to_half, self._limits.file_bytes - self._handed_bytes)
        early = self._limits.buffer_bytes // EARLY_SHARE
        if len(self._front) < early:
            self._room = min(self._room, early)

    def lose(self, why: str) -> None:
        """Lose a record. It leaves a gap in the sequence numbers, and a later ``drop`` record counts it."""
        self.seq += 1
        self.lost += 1
        self.lost_total += 1
        self._room = 0
        if self._loss_lines.due(self.epoch_ms):
            self._end_is_logged = True
            log.error("the journal's records are lost, from seq %d on: %s", self.seq, why)

    def _state_loss(self) -> bool:
        lost, self.lost = self.lost, 0
        if self._append(encoding.columns("drop", {"lost": lost}), self._ts):
            self.losses += 1
            if self._end_is_logged:
                self._end_is_logged = False
                log.warning("%d records of the journal were lost, up to seq %d", lost, self.seq - 1)
            return True
        self.lost = lost
        return False

    def _begin_file(self) -> bool:
        """Write the file's first record. False without room for it."""
        epoch_ms = self.epoch_ms
        self._began_ms = epoch_ms
        self._ends_ms = min(epoch_ms + self._limits.file_ms, (epoch_ms // DAY_MS + 1) * DAY_MS)
        self._ended_bytes += self._handed_bytes
        self._handed_bytes = 0
        columns = {"ns": self._ns, "file": self._number + 1, "rotate_s": self._limits.file_ms // 1000}
        if not self._append(encoding.columns("open", columns), self._ts):
            return False
        self._number += 1
        self.wants_seal |= self._number == 1
        self._segment = Segment(day_of(epoch_ms), self._boot, self._number)
        return True

    def _end_file(self) -> None:
        if self._segment is not None:
            self._hand_over(ends=True)
            self._segment = None
        self._room = 0

    def _hand_over(self, *, ends: bool = False, sync: bool = True) -> None:
        if self._segment is not None and (self._front or ends):
            unsealed = self.bytes - self._sealed_at
            is_old = unsealed >= SEALED_BYTES_MIN and not 0 <= self.epoch_ms - self._sealed_ms < SEAL_EVERY_MS
            is_due = self.wants_seal or is_old or unsealed >= SEAL_EVERY_BYTES
            # After a loss the next record is the ``drop`` that counts it.
            if not self.lost and unsealed > 0 and (ends or is_due):
                self.seq += 1
                self.seals += 1
                self._front += b"%b%d%b%b" % (self._head, self.seq, self._ts, SEAL)  # `_append` leaves room for it
                self._note_sealed()
            self._handed_bytes += len(self._front)
            self._writer.push(Chunk(self._segment, self._front, ends), sync=sync)
            self._front = bytearray()

    def _note_sealed(self) -> None:
        self._sealed_at, self._sealed_ms, self.wants_seal = self.bytes, self.epoch_ms, False

    def hand_over_soon(self) -> bool:
        """Let the writer write what there is; the next `flush` syncs it. False if the writer is too far behind."""
        if not self._writer.has_room:
            return False
        self._large_left -= len(self._front) if len(self._front) > LARGE_BYTES else 0
        self._hand_over(sync=self.waiting_bytes * EARLY_SHARE > self._limits.buffer_bytes)
        self._measure_room()
        return True

    def flush(self, epoch_ms: int) -> None:
        """Hand the buffer to the writer unless it is behind, record a loss, and end a file that is due."""
        self.at(epoch_ms)
        self._large_left = LARGE_SHARE * self._limits.buffer_bytes
        if self.lost and (self._segment is not None or self._begin_file()):
            self._state_loss()
        if not self._writer.is_behind:
            self._hand_over()
        if self._writer.has_pending:
            self._writer.wake()
        self._measure_room()

    def close(self, epoch_ms: int, last: Line | None = None, since_ms: int | None = None) -> None:
        """End the file and hand over everything. For ``last``, the last record, there is room in any case."""
        if last is not None:
            self._reserve_bytes = END_BYTES
            self.at(epoch_ms, since_ms)
            self._room = 0
            self.put(last[:-1] + BLANK[:-1])  # it is its own seal: nothing follows it
            if self._front.endswith(BLANK):
                self._note_sealed()
        self.flush(epoch_ms)
        self._end_file()

    @property
    def is_half_full(self) -> bool:
        """Whether work that can wait should wait."""
        return self.waiting_bytes * 2 > self._limits.buffer_bytes
