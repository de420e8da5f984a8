"""Which bytes of the journals are new, also in files that are still being written.

The files of a boot are read in the order of their numbers, so one place for each boot says what was read: nothing else
is remembered. An open file is read up to its last whole line, and again from there. Only the days from the oldest place
on are listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple
from urllib.parse import unquote

from rocketns.journal.record import VERSION
from rocketns.pipeline.storage.folders import Folder

# What one look reads at most; the rest is read by the next ones.
BYTES_MAX = 32 * 1024 * 1024
# A file that is missing although a later one is there is waited for during so many looks: it may be on its way.
MISSING_LOOKS = 12
# Places of a name server that are kept, of its last boots.
BOOTS_MAX = 4

_NAME = re.compile(r"(\.open-)?(\d+)-(\d+)(\.jsonl)?")
_TIME = re.compile(rb'"ts":(\d+)')


class JournalOffset(NamedTuple):
    """Everything before byte ``offset`` of file ``number`` was read. ``day`` and ``before``: the days of the last two
    files that were read; ``looks``: how often the file was missing."""

    ns: str
    boot: int
    number: int
    offset: int
    day: str
    before: str
    looks: int = 0

    @property
    def since(self) -> str:
        """The first day that can hold the next file. For a moment a clock may show a day far ahead."""
        return min(self.day, self.before)


class FolderFile(NamedTuple):
    """A file in the folder; ``name`` is relative to it."""

    day: str
    name: str
    is_open: bool


class Text(NamedTuple):
    """Whole lines of a journal."""

    ns: str
    day: str
    data: bytes


class JournalPoll(NamedTuple):
    """The new bytes, and the places after them. ``opened``: name servers whose open file was read to its end;
    ``pending``: name servers with more to read."""

    texts: list[Text]
    offsets: list[JournalOffset]
    opened: frozenset[str]
    pending: frozenset[str]


def look(folder: Folder, offsets: Iterable[JournalOffset], bytes_max: int = BYTES_MAX) -> JournalPoll:
    """Read what was written since the places. ``folder`` holds v=1."""
    known = {(position.ns, position.boot): position for position in offsets}
    readers = [
        _Reader(folder, _start(known, ns, boot, files), files)
        for (ns, boot), files in sorted(_files(folder, known.values()).items())
        if not _is_past(known, ns, boot)
    ]
    texts = _read_in_order(readers, bytes_max)
    after = known | {(reader.position.ns, reader.position.boot): reader.position for reader in readers}
    opened = frozenset(reader.position.ns for reader in readers if reader.is_open and reader.waiting is None)
    pending = frozenset(reader.position.ns for reader in readers if reader.waiting is not None)
    return JournalPoll(texts, _latest(after), opened, pending)


def _read_in_order(readers: list[_Reader], bytes_max: int) -> list[Text]:
    """The journals in the order of their times, so that none is far ahead when the bytes are used up."""
    texts: list[Text] = []
    size = 0
    while size < bytes_max:
        ready = [reader for reader in readers if reader.waiting is not None]
        if not ready:
            break
        text = min(ready, key=lambda reader: reader.time).read_next()
        texts.append(text)
        size += len(text.data)
    return texts


class _Reader:
    """The files of one boot. ``waiting``: the next lines, None if there are none; ``time``: of their first record."""

    def __init__(self, folder: Folder, position: JournalOffset, files: Mapping[int, FolderFile]) -> None:
        self._folder, self._files = folder, files
        self.position = position
        self.is_open = False
        self.time = 0
        self.waiting: Text | None = None
        self._advance()

    def read_next(self) -> Text:
        """The next lines. Call it only if there are some."""
        text = self.waiting
        assert text is not None
        file = self._files[self.position.number]
        if file.is_open:
            self.position = self.position._replace(offset=self.position.offset + len(text.data), looks=0)
            self.waiting = None
        else:
            self._pass(file)
            self._advance()
        return text

    def _pass(self, file: FolderFile) -> None:
        number = self.position.number + 1
        self.position = self.position._replace(number=number, offset=0, before=self.position.day, day=file.day, looks=0)

    def _advance(self) -> None:
        """Find the next lines, over files that have no more."""
        self.waiting = None
        while (file := self._next()) is not None:
            data = self._folder.part(file.name, self.position.offset)
            self.is_open = file.is_open and data is not None
            if data is None:  # it is closed now, and has another name
                return
            if file.is_open:
                data = data[: data.rfind(b"\n") + 1]
            if data:
                first = _TIME.search(data)
                self.time = int(first[1]) if first else self.time
                self.waiting = Text(self.position.ns, file.day, data)
                return
            if file.is_open:
                return
            self._pass(file)

    def _next(self) -> FolderFile | None:
        """The file of the place, or of the next number if it is missing for good."""
        if self.position.number in self._files:
            return self._files[self.position.number]
        later = min((number for number in self._files if number > self.position.number), default=None)
        if later is None:
            return None
        self.position = self.position._replace(looks=self.position.looks + 1)
        if self.position.looks < MISSING_LOOKS:
            return None
        self.position = self.position._replace(number=later, offset=0, looks=0)
        return self._files[later]


def _start(
    known: Mapping[tuple[str, int], JournalOffset], ns: str, boot: int, files: Mapping[int, FolderFile]
) -> JournalOffset:
    first = min(files)
    return known.get((ns, boot)) or JournalOffset(ns, boot, first, 0, files[first].day, files[first].day)


def _is_past(known: Mapping[tuple[str, int], JournalOffset], ns: str, boot: int) -> bool:
    """Whether the boot is before all that are known of its name server: it was read, and forgotten."""
    boots = [number for name, number in known if name == ns]
    return bool(boots) and boot < min(boots)


def _latest(offsets: Mapping[tuple[str, int], JournalOffset]) -> list[JournalOffset]:
    """The places of the last boots of each name server."""
    latest: list[JournalOffset] = []
    for position in sorted(offsets.values(), reverse=True):
        if sum(other.ns == position.ns for other in latest) < BOOTS_MAX:
            latest.append(position)
    return sorted(latest)


def _files(folder: Folder, offsets: Iterable[JournalOffset]) -> dict[tuple[str, int], dict[int, FolderFile]]:
    """By name server and boot: the files by number. A closed file comes before an open one of the same number."""
    by_boot: dict[tuple[str, int], dict[int, FolderFile]] = {}
    since: dict[str, str] = {}
    for position in sorted(offsets):  # the last boot counts
        since[position.ns] = position.since
    for ns, day, name in _names(folder, since):
        match = _NAME.fullmatch(name.rpartition("/")[2])
        if match is None or bool(match[1]) == bool(match[4]):
            continue
        files = by_boot.setdefault((ns, int(match[2])), {})
        if int(match[3]) not in files or not match[1]:
            files[int(match[3])] = FolderFile(day, name, bool(match[1]))
    return by_boot


def _names(folder: Folder, since: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    """ns, day, name of each file of the days that can still change."""
    base = f"v={VERSION}"
    for day_name in folder.names(base):
        day = unquote(day_name.removeprefix("dt="))
        if not day_name.startswith("dt=") or (since and day < min(since.values())):
            continue
        for ns_name in folder.names(f"{base}/{day_name}"):
            ns = unquote(ns_name.removeprefix("ns="))
            if ns_name.startswith("ns=") and day >= since.get(ns, ""):
                for name in folder.names(f"{base}/{day_name}/{ns_name}"):
                    yield ns, day, f"{base}/{day_name}/{ns_name}/{name}"
