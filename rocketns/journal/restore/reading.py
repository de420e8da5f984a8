"""One pass over the journal's files: the records in their order, the lost ones noticed, the routes at the end."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rocketns.journal.reading.lines import Record
from rocketns.journal.reading.replay import Replay
from rocketns.journal.record import KINDS
from rocketns.journal.restore.finding import JournalFile
from rocketns.journal.restore.lines import File, is_snapshot_end
from rocketns.routeinfo.unconfirmed.known import KnownRoutes

_KNOWN = frozenset((*KINDS, None))


@dataclass(slots=True)
class Restored:
    """What the journal gave. ``whole``: no record is missing, so data versions are restored as well.

    ``stopped``: the last record is that of a clean stop. ``ended_epoch_ms``: until when the journal knows all routes;
    ``last_epoch_ms``: the latest time in it.
    ``watched_epoch_ms``: where an observer wrote the journal, when it last read the name server. ``begins_known``: the
    state at the beginning of the last boot is known, or that boot has a whole snapshot. ``looked_epoch_ms``: since when
    at least an observer looked at each topic; None: it does not say so, or topics are not known.
    ``unfinished``: the broker name of the last request before a kill, which has no data versions either.
    ``skipped``: lines that are no records, the first of them at ``first_skipped`` (file and number).
    """

    routes: KnownRoutes
    whole: bool
    stopped: bool
    ended_epoch_ms: int
    last_epoch_ms: int
    watched_epoch_ms: int
    begins_known: bool
    files: int
    bytes: int
    unfinished: str | None
    skipped: int
    first_skipped: tuple[Path, int] | None
    looked_epoch_ms: int | None = None

    @property
    def brokers(self) -> int:
        return sum(len(group.brokers) for group in self.routes.groups.values())

    def forget_before(self, epoch_ms: int) -> None:
        """Leave out brokers that were silent since then; if the whole journal is older, everything else too."""
        self.routes.forget_brokers(epoch_ms)
        if self.last_epoch_ms < epoch_ms:
            self.routes = KnownRoutes()

    def __str__(self) -> str:
        """A sentence for the log."""
        lost = "" if self.whole else ". Records are missing or unknown, so no data version is restored"
        return (
            f"restored {self.brokers} brokers and {len(self.routes.topics)} topics from the journal "
            f"({self.files} files, {self.bytes} bytes{lost})"
        )


class GivenUpError(Exception):
    """The start no longer waits for the routes."""


class Reading:
    """`read`, then `end`. ``begin`` is the first record of the first file's boot that counts; 0 is its start.

    ``began_whole``: nothing is missing of the snapshot that begins there.
    """

    def __init__(self, ns: str, begin: int, given_up: threading.Event) -> None:
        self.began_whole = True
        self._ns = ns
        self._given_up = given_up
        self._begin = begin
        self._replay = Replay()
        self._in_snapshot = begin > 0
        self._boot: int | None = None
        self._seq = 0
        self._opened_seq = 0  # of the last file of this boot
        self._whole = True
        self._stopped = False
        self._files = 0
        self._bytes = 0
        self._last_epoch_ms = 0
        self._skipped = 0
        self._first_skipped: tuple[Path, int] | None = None
        # While a boot that took its routes from another name server has no whole snapshot: when the one before ended.
        self._before_seeds_ms: int | None = None
        self._snapshot_is_whole = False
        self._begins_known = True

    def read(self, files: Sequence[JournalFile]) -> None:
        """OSError if a file cannot be read, GivenUpError."""
        for found in files:
            if found.segment.boot != self._boot:
                self._begin_boot(found.segment.boot)
            self._read_file(File(found.path, found.segment.boot), found.segment.number)
        if self._in_snapshot:
            self._lose()

    def end(self) -> Restored:
        """The routes. Where records are missing, the brokers concerned have no data version."""
        self._end_boot()
        routes = self._replay.routes
        if not self._whole or self._replay.refused:
            routes.forget_versions()
        ended_ms = self._replay.ended_epoch_ms if self._before_seeds_ms is None else self._before_seeds_ms
        unfinished = None if self._stopped else self._replay.last_broker
        watched_ms = self._replay.watched_epoch_ms
        watched_ms = self._replay.ended_epoch_ms if watched_ms is None else watched_ms
        return Restored(routes, self._whole, self._stopped, ended_ms, self._last_epoch_ms, watched_ms,
                        self._begins_known, self._files, self._bytes, unfinished, self._skipped,
                        self._first_skipped, self._replay.looked_epoch_ms)  # fmt: skip

    def _begin_boot(self, boot: int) -> None:
        if self._boot is not None:
            self._end_boot()
            self._begin = 0
        self._boot = boot
        self._seq = max(0, self._begin - 1)
        self._opened_seq = 0

    def _end_boot(self) -> None:
        """A killed server may have written its last request in part. That broker then has no data version."""
        if not self._stopped and self._replay.last_broker is not None:
            self._replay.routes.forget_versions(self._replay.last_broker)
        if self._in_snapshot:
            self._lose()

    def _read_file(self, file: File, number: int) -> None:
        """The order of the lines is the order of events, also where a number is damaged."""
        for record in file.records():
            if self._given_up.is_set():
                raise GivenUpError
            if record["ev"] == "open":
                if not self._is_own(record, file, number):
                    self._lose()
                    break
                self._opened_seq = record["seq"]
            if record["seq"] >= self._begin:
                self._take(record, file)
        if file.skipped:
            self._note_skipped(file)
        self._files += 1
        self._bytes += file.bytes

    def _is_own(self, opened: Record, file: File, number: int) -> bool:
        """Whether this name server wrote the file, and it is no copy of another file of the same boot.

        A damaged ``ns`` does not matter if the file continues the one before, or if its ``start`` record is right.
        """
        said = opened.get("file")
        if file.lines == 1 and opened["seq"] <= self._opened_seq and type(said) is int and 0 < said < number:
            return False
        if opened.get("ns") == self._ns or type(opened.get("ns")) is not str or opened["seq"] == self._seq + 1 > 1:
            return True
        return any(one["ev"] == "start" and one.get("ns") == self._ns for one in file.first_records())

    def _take(self, record: Record, file: File) -> None:
        event = record["ev"]
        if record["seq"] != self._seq + 1 or event == "drop":
            self._lose()
        if event not in _KNOWN:
            self._whole = False  # of a later version, or damaged
        self._seq = record["seq"]
        self._note_ends(event, record)
        refused = self._replay.refused
        self._replay.apply(record)
        self._last_epoch_ms = max(self._last_epoch_ms, self._replay.ended_epoch_ms)
        if self._replay.refused != refused:
            file.skip()
        if event == "snap":
            self._note_snapshot(record)

    def _note_ends(self, event: str | None, record: Record) -> None:
        """An observer's boot may begin with routes that only its first snapshot names."""
        self._stopped = event == "stop"
        if event == "start":
            self._before_seeds_ms = self._replay.ended_epoch_ms if record.get("seeded") else None
            self._begins_known = not record.get("observed") or bool(record.get("restored"))

    def _note_skipped(self, file: File) -> None:
        self._lose()
        self._skipped += file.skipped
        self._first_skipped = self._first_skipped or (file.path, file.first_skipped)

    def _note_snapshot(self, record: Record) -> None:
        if record.get("part") == 0:
            self._snapshot_is_whole = True
        if is_snapshot_end(record):
            if record.get("snap") == self._begin:
                self._in_snapshot = False
            if self._snapshot_is_whole:
                self._before_seeds_ms = None
                self._begins_known = True

    def _lose(self) -> None:
        self._whole = self._snapshot_is_whole = False
        if self._in_snapshot:
            self.began_whole = self._in_snapshot = False
