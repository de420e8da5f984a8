"""Which bytes of the journals are new, also in files that are still being written.

The files of a boot are read in the order of their numbers, so one place for each boot says what was read: nothing else
is remembered. An open file is read up to its last whole line, and again from there. Only the days from the oldest place
on are listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from heapq import merge
from operator import itemgetter
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

    @classmethod
    def at(cls, ns: str, boot: int, files: Mapping[int, FolderFile]) -> JournalOffset:
        """The beginning of a boot's first file."""
        number, file = min(files.items())
        return cls(ns, boot, number, 0, file.day, file.day)

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
    """Read what was written since the offsets, in the order of the journals' times, so that none is far ahead when the
    bytes are used up. ``folder`` holds v=1."""
    known = {(position.ns, position.boot): position for position in offsets}
    first = dict(sorted(known, reverse=True))
    readers = [
        _Reader(folder, files, known.get((ns, boot)) or JournalOffset.at(ns, boot, files))
        for (ns, boot), files in sorted(_files(folder, known.values()).items())
        if boot >= first.get(ns, boot)  # one before all that are known was read, and forgotten
    ]
    texts: list[Text] = []
    size = 0
    for _time, text in merge(*(reader.texts() for reader in readers), key=itemgetter(0)):
        if size >= bytes_max:
            break
        texts.append(text)
        size += len(text.data)
    after = known | {(reader.position.ns, reader.position.boot): reader.position for reader in readers}
    opened = frozenset(reader.position.ns for reader in readers if reader.is_done and reader.is_open)
    pending = frozenset(reader.position.ns for reader in readers if not reader.is_done)
    return JournalPoll(texts, _latest(after), opened, pending)


@dataclass
class _Reader:
    """The files of one boot. ``position``: before the first lines that were not passed on; ``is_done``: no lines are
    left; ``is_open``: the last file is not closed."""

    folder: Folder
    files: Mapping[int, FolderFile]
    position: JournalOffset
    is_done: bool = False
    is_open: bool = False

    def texts(self) -> Iterator[tuple[int, Text]]:
        """The time of the first record, and the lines, of each file."""
        time = 0
        while (file := self._file()) and (data := self.folder.part(file.name, self.position.offset)) is not None:
            following = self.position._replace(
                number=self.position.number + 1, offset=0, before=self.position.day, day=file.day, looks=0
            )
            if file.is_open:
                data = data[: data.rfind(b"\n") + 1]
                following = self.position._replace(offset=self.position.offset + len(data), looks=0)
            if data:
                time = int(first[1]) if (first := _TIME.search(data)) else time
                yield time, Text(self.position.ns, file.day, data)
            self.position, self.is_open = following, file.is_open
            if file.is_open:
                break
        self.is_done = True

    def _file(self) -> FolderFile | None:
        """The file of the position, or of the next number if it is missing for good."""
        later = min((number for number in self.files if number >= self.position.number), default=None)
        if later is not None and later != self.position.number:
            self.position = self.position._replace(looks=self.position.looks + 1)
            if self.position.looks < MISSING_LOOKS:
                return None
            self.position = self.position._replace(number=later, offset=0, looks=0)
        return None if later is None else self.files[later]


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
