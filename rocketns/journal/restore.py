"""A name server's journal read back: the routes that it had when the journal ended.

It begins at the last whole snapshot, or at a start with empty tables, and is one pass from there: the records in
their order, the lost ones noticed. Whatever is in a file, it is read within bounds and without an error.
"""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import orjson

from rocketns._fast.routes.queue_table import read_queues
from rocketns.journal import encoding
from rocketns.journal.chain import mapped
from rocketns.journal.lines import INT_MAX, Record, record_of
from rocketns.journal.record import KINDS
from rocketns.journal.replay import QUEUE_KINDS_MAX, ReadQueues, Replay
from rocketns.journal.segments import Store, StoredFile
from rocketns.protocol.body.route import QueueData, queue_data
from rocketns.routeinfo.prior_routes import PriorRoutes

# Longer records are skipped. Only topics of 16 MiB whose characters all need an escape have such records.
LINE_BYTES_MAX = 32 * 1024 * 1024
# ``open`` and ``start``, behind a damaged line or two.
FIRST_RECORDS = 3
# What restoring does not need is not decoded.
_NOT_NEEDED = "|".join(name for name, kind in KINDS.items() if kind.restoring is None).encode()
_PASSED_OVER = re.compile(
    rb'\{"boot":(\d{1,18}),"seq":(\d{1,18}),"ts":-?\d{1,18},(?:"since":-?\d{1,18},)?"ev":"(?:%b)"' % _NOT_NEEDED
)

# Where the queues of topics begin. Within a text the quotes would be escaped.
_TOPICS = b',"topics":['
_NUMBERS = re.compile(rb'","r":(0|-?[1-9]\d{0,9}),"w":(0|-?[1-9]\d{0,9}),"p":(0|-?[1-9]\d{0,9}),"s":(0|-?[1-9]\d{0,9})')


_END = {"boot", "seq", "ts", "ev", "snap", "part", "end"}
_OF_OBSERVERS = {"looked", "no_topics"}
END = b'"end":true'
# If the last snapshots turn out to be incomplete, reading starts again at an earlier one.
ATTEMPTS_MAX = 4


def is_snapshot_end(record: Record) -> bool:
    """Whether it is the last record of a snapshot, which has nothing else of the state."""
    return record.get("end") is True and record.keys() - _OF_OBSERVERS == _END


class FileReader:
    """`records` reads a file of one boot, but for a last line without an end.

    ``bytes`` and ``lines`` count what was read, ``skipped`` the lines that are no record of that boot, or too long;
    ``first_skipped`` is the number of the first of them.
    """

    def __init__(self, path: Path, boot: int) -> None:
        self.path = path
        self.bytes = 0
        self.lines = 0
        self.skipped = 0
        self.first_skipped = 0
        self._boot = boot

    def records(self) -> Iterator[Record]:
        """Of records that restoring does not need, only boot and seq. OSError if the file cannot be read."""
        with self.path.open("rb", buffering=1 << 20) as file:
            for line in self._whole_lines(file):
                record = self._record(line)
                if record is None:
                    self.skip()
                else:
                    yield record

    def first_records(self) -> Iterator[Record]:
        """The records that say how a boot begins, read for themselves."""
        return islice(FileReader(self.path, self._boot).records(), FIRST_RECORDS)

    def skip(self) -> None:
        """The line that was read last is no record."""
        self.skipped += 1
        self.first_skipped = self.first_skipped or self.lines

    def _whole_lines(self, file: BinaryIO) -> Iterator[bytes]:
        while line := file.readline(LINE_BYTES_MAX):
            self.bytes += len(line)
            self.lines += 1
            if line.endswith(b"\n"):
                yield line
            elif len(line) == LINE_BYTES_MAX:
                self.skip()
                self._pass_rest(file)

    def _pass_rest(self, file: BinaryIO) -> None:
        """Skip the rest of a line that is too long."""
        while (rest := file.readline(LINE_BYTES_MAX)) and not rest.endswith(b"\n"):
            self.bytes += len(rest)
        self.bytes += len(rest)

    def _record(self, line: bytes) -> Record | None:
        passed_over = _PASSED_OVER.match(line)
        if passed_over is not None:
            boot, seq = int(passed_over[1]), int(passed_over[2])
            return {"boot": boot, "seq": seq, "ev": None} if boot == self._boot else None
        record = record_of(line, _loaded)
        if record is None or type(record["ev"]) is not str or record["boot"] != self._boot:
            return None
        return record


def _loaded(line: bytes) -> Any:
    """The value of a line of JSON, all of its texts as they were. ValueError, RecursionError."""
    value = _record_with_queues(line) or orjson.loads(line)
    return encoding.unescaped(value) if isinstance(value, dict) and value.get("escaped") else value


def _record_with_queues(line: bytes) -> Record | None:
    """A record whose topics are all written as the journal writes them; they take a quarter of orjson's time so."""
    at = line.find(_TOPICS)
    queues = None if at < 0 else read_queues(line, at + len(_TOPICS), _queue_data)
    if queues is None:
        return None
    record: Record = orjson.loads(line[:at] + b"}")
    return record | {"topics": ReadQueues(queues)}


@lru_cache(maxsize=QUEUE_KINDS_MAX)
def _queue_data(text: bytes) -> QueueData | None:
    """The queues in the text after a topic's name: from its closing quote up to the brace."""
    numbers = _NUMBERS.fullmatch(text)
    if numbers is None:
        return None
    values = [int(one) for one in numbers.groups()]
    return queue_data(*values) if all(-INT_MAX - 1 <= one <= INT_MAX for one in values) else None


class Begin(NamedTuple):
    """Read the files from number ``file`` on, and of its boot the records from ``seq`` on."""

    file: int
    seq: int


def begins(files: Sequence[StoredFile]) -> Iterator[Begin]:
    """Where reading may begin, the best first. ``files`` are in the order in which they were written.

    A snapshot's end is found; whether all of the snapshot is there, only reading it shows. Then comes the next best.
    """
    for number in range(len(files) - 1, -1, -1):
        for seq in _snapshots_that_end_in(files[number]):
            yield _begin_of(files, number, seq)
        if files[number].segment.number == 1 and _began_empty(files[number]):
            yield Begin(number, 0)
            return
    if files:
        yield Begin(0, 0)


def _snapshots_that_end_in(journal_file: StoredFile) -> Iterator[int]:
    """Names (the column ``snap``) of the snapshots that end in this file, the last one first."""
    with mapped(journal_file.path) as content:
        at = content.rfind(END)
        while at >= 0:
            start = content.rfind(b"\n", 0, at) + 1
            name = _snapshot_name(content[start : at + len(END) + 1], journal_file.segment.boot)
            if name is not None:
                yield name
            at = content.rfind(END, 0, start)


def _snapshot_name(line: bytes, boot: int) -> int | None:
    record = record_of(line)
    if record is None or not is_snapshot_end(record) or (record["ev"], record["boot"]) != ("snap", boot):
        return None
    return record["snap"] if type(record["snap"]) is int and record["snap"] > 0 else None


def _begin_of(files: Sequence[StoredFile], number: int, seq: int) -> Begin:
    """The file of the same boot that has the record ``seq``, looking back from the file ``number``."""
    boot = files[number].segment.boot
    while number > 0 and files[number - 1].segment.boot == boot and _first_seq(files[number]) > seq:
        number -= 1
    return Begin(number, seq)


def _first_seq(journal_file: StoredFile) -> int:
    first = next(FileReader(journal_file.path, journal_file.segment.boot).records(), None)
    return 0 if first is None else int(first["seq"])


def _began_empty(journal_file: StoredFile) -> bool:
    """Whether the boot that begins with this file began without routes. If its start is damaged, nobody knows."""
    first = FileReader(journal_file.path, journal_file.segment.boot).first_records()
    return any(one["ev"] == "start" and one.get("restored") is not True for one in first)


@dataclass(slots=True)
class Restored:
    """What the journal gave. ``whole``: no record is missing, so data versions are restored as well.

    ``stopped``: the last record is that of a clean stop. ``ended_epoch_ms``: until when the journal knows all routes;
    ``last_epoch_ms``: the latest time in it.
    ``watched_epoch_ms``: where an observer wrote the journal, when it last read the name server. ``begins_complete``:
    the state at the beginning of the last boot is known, or that boot has a whole snapshot. ``looked_epoch_ms``: since
    when at least an observer looked at each topic; None: it does not say so, or topics are not known.
    ``unfinished``: the broker name of the last request before a kill, which has no data versions either.
    ``skipped``: lines that are no records, the first of them at ``first_skipped`` (file and number).
    """

    routes: PriorRoutes = field(default_factory=PriorRoutes)
    whole: bool = True
    stopped: bool = False
    ended_epoch_ms: int = 0
    last_epoch_ms: int = 0
    watched_epoch_ms: int = 0
    begins_complete: bool = True
    files: int = 0
    bytes: int = 0
    unfinished: str | None = None
    skipped: int = 0
    first_skipped: tuple[Path, int] | None = None
    looked_epoch_ms: int | None = None

    @property
    def brokers(self) -> int:
        return sum(len(group.brokers) for group in self.routes.groups.values())

    def forget_before(self, epoch_ms: int) -> None:
        """Leave out brokers that were silent since then; if the whole journal is older, everything else too."""
        self.routes.forget_brokers(epoch_ms)
        if self.last_epoch_ms < epoch_ms:
            self.routes = PriorRoutes()

    def __str__(self) -> str:
        """A sentence for the log."""
        lost = "" if self.whole else ". Records are missing or unknown, so no data version is restored"
        return (
            f"restored {self.brokers} brokers and {len(self.routes.topics)} topics from the journal "
            f"({self.files} files, {self.bytes} bytes{lost})"
        )


class RestoreCancelled(Exception):
    """The start no longer waits for the routes."""


class JournalPass:
    """`read`, then `end`. ``begin`` is the first record of the first file's boot that counts; 0 is its start.

    ``began_whole``: nothing is missing of the snapshot that begins there.
    """

    def __init__(self, ns: str, begin: int, cancelled: threading.Event) -> None:
        self.began_whole = True
        self._ns = ns
        self._cancelled = cancelled
        self._begin = begin
        self._replay = Replay()
        self._in_snapshot = begin > 0
        self._boot: int | None = None
        self._seq = 0
        self._opened_seq = 0  # of the last file of this boot
        self._restored = Restored()
        # While a boot that took its routes from another name server has no whole snapshot: when the one before ended.
        self._before_seeds_ms: int | None = None
        self._snapshot_is_whole = False

    def read(self, files: Sequence[StoredFile]) -> None:
        """OSError if a file cannot be read, RestoreCancelled."""
        for found in files:
            if found.segment.boot != self._boot:
                self._begin_boot(found.segment.boot)
            self._read_file(FileReader(found.path, found.segment.boot), found.segment.number)
        if self._in_snapshot:
            self._lose()

    def end(self) -> Restored:
        """The routes. Where records are missing, the brokers concerned have no data version."""
        self._end_boot()
        replay, restored = self._replay, self._restored
        if not restored.whole or replay.refused:
            replay.routes.forget_versions()
        ended_ms, watched_ms = replay.ended_epoch_ms, replay.watched_epoch_ms
        restored.routes, restored.looked_epoch_ms = replay.routes, replay.looked_epoch_ms
        restored.ended_epoch_ms = ended_ms if self._before_seeds_ms is None else self._before_seeds_ms
        restored.watched_epoch_ms = ended_ms if watched_ms is None else watched_ms
        restored.unfinished = None if restored.stopped else replay.last_broker
        return restored

    def _begin_boot(self, boot: int) -> None:
        if self._boot is not None:
            self._end_boot()
            self._begin = 0
        self._boot = boot
        self._seq = max(0, self._begin - 1)
        self._opened_seq = 0

    def _end_boot(self) -> None:
        """A killed server may have written its last request in part. That broker then has no data version."""
        if not self._restored.stopped and self._replay.last_broker is not None:
            self._replay.routes.forget_versions(self._replay.last_broker)
        if self._in_snapshot:
            self._lose()

    def _read_file(self, file: FileReader, number: int) -> None:
        """The order of the lines is the order of events, also where a number is damaged."""
        for record in file.records():
            if self._cancelled.is_set():
                raise RestoreCancelled
            if record["ev"] == "open":
                if not self._is_own(record, file, number):
                    self._lose()
                    break
                self._opened_seq = record["seq"]
            if record["seq"] >= self._begin:
                self._apply(record, file)
        restored = self._restored
        if file.skipped:
            self._lose()
            restored.skipped += file.skipped
            restored.first_skipped = restored.first_skipped or (file.path, file.first_skipped)
        restored.files += 1
        restored.bytes += file.bytes

    def _is_own(self, opened: Record, file: FileReader, number: int) -> bool:
        """Whether this name server wrote the file, and it is no copy of another file of the same boot.

        A damaged ``ns`` does not matter if the file continues the one before, or if its ``start`` record is right.
        """
        said = opened.get("file")
        if file.lines == 1 and opened["seq"] <= self._opened_seq and type(said) is int and 0 < said < number:
            return False
        if opened.get("ns") == self._ns or type(opened.get("ns")) is not str or opened["seq"] == self._seq + 1 > 1:
            return True
        return any(one["ev"] == "start" and one.get("ns") == self._ns for one in file.first_records())

    def _apply(self, record: Record, file: FileReader) -> None:
        event = record["ev"]
        if record["seq"] != self._seq + 1 or event == "drop":
            self._lose()
        if event is not None and event not in KINDS:
            self._restored.whole = False  # of a later version, or damaged
        self._seq = record["seq"]
        self._note_ends(event, record)
        refused = self._replay.refused
        self._replay.apply(record)
        self._restored.last_epoch_ms = max(self._restored.last_epoch_ms, self._replay.ended_epoch_ms)
        if self._replay.refused != refused:
            file.skip()
        if event == "snap":
            self._note_snapshot(record)

    def _note_ends(self, event: str | None, record: Record) -> None:
        """An observer's boot may begin with routes that only its first snapshot names."""
        self._restored.stopped = event == "stop"
        if event == "start":
            self._before_seeds_ms = self._replay.ended_epoch_ms if record.get("seeded") else None
            self._restored.begins_complete = not record.get("observed") or bool(record.get("restored"))

    def _note_snapshot(self, record: Record) -> None:
        if record.get("part") == 0:
            self._snapshot_is_whole = True
        if is_snapshot_end(record):
            if record.get("snap") == self._begin:
                self._in_snapshot = False
            if self._snapshot_is_whole:
                self._before_seeds_ms = None
                self._restored.begins_complete = True

    def _lose(self) -> None:
        self._restored.whole = self._snapshot_is_whole = False
        if self._in_snapshot:
            self.began_whole = self._in_snapshot = False


log = logging.getLogger("rocketns.journal")


def restore(
    root: Path, ns: str, epoch_ms: int, seconds_max: int, cancelled: threading.Event | None = None
) -> Restored | None:
    """The routes of a name server's journal, without brokers whose last sign of life is older than ``seconds_max``.

    None if there is no journal, or if it cannot be read. Waits for the disk, and may run on any thread. Another thread
    may set ``cancelled``; then RestoreCancelled is raised soon.
    """
    try:
        restored = _read_best(Store(root, ns).everything(), ns, cancelled or threading.Event())
    except OSError as error:
        log.error("no routes are restored, because the journal cannot be read: %s", error)
        return None
    if restored is not None:
        restored.forget_before(epoch_ms - seconds_max * 1000)
        _log_skipped(restored)
    return restored


def _log_skipped(restored: Restored) -> None:
    if restored.first_skipped is not None:
        path, line = restored.first_skipped
        log.warning(
            "%d lines of the journal are damaged and were left out, the first is line %d of %s: what they said of "
            "brokers is missing until those register. Check the disk of journalPath, and who writes there",
            restored.skipped, line, path,
        )  # fmt: skip


def _read_best(files: Sequence[StoredFile], ns: str, cancelled: threading.Event) -> Restored | None:
    """The first beginning from which the state is whole. Without one, what the last attempt gave."""
    reading = None
    for _, begin in zip(range(ATTEMPTS_MAX), begins(files), strict=False):
        reading = JournalPass(ns, begin.seq, cancelled)
        reading.read(files[begin.file :])
        if reading.began_whole:
            break
    return None if reading is None else reading.end()
