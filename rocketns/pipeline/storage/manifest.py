"""Which files of a journal there are, which of them have been read, and which Parquet folders hold their records.

``manifest/<number>.json`` is the whole state; the highest number counts. A number is written once, in one step, so a
crash or a second process at the same time leaves the state before or the state after. It names the Parquet folders of
each day, and one file below ``manifest/days/`` with the journal files of that day. To know what is new, only the days
that the journal still has are read, and no Parquet.
"""

from __future__ import annotations

import json
import re
import secrets
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import unquote

from pyspark.sql import SparkSession

from rocketns.journal.record import VERSION
from rocketns.pipeline.contract.terms import BadInput
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.folders import folder_at

_LAYOUT = re.compile(r"(?P<base>.*?/v=(?P<v>[^/]+))/dt=(?P<dt>[^/]+)/ns=(?P<ns>[^/]+)/(?P<name>[^/]+)")
_CLOSED = re.compile(r"(?![._])(.+)\.jsonl")
_OPEN = re.compile(r"\.open-(\d+-\d+)")


class JournalFile(NamedTuple):
    """A file. ``base`` is its folder up to and with ``v=…``, ``segment`` its name without ending and prefix, ``size``
    in bytes, ``changed`` when it was changed last, epoch ms."""

    path: str
    size: int
    changed: int
    base: str
    dt: str
    ns: str
    segment: str


class Listing(NamedTuple):
    """``closed`` and ``open``: in the order of day, name server, segment and path. ``foreign``: how many files there
    are of each other version of the journal."""

    closed: Sequence[JournalFile]
    open: Sequence[JournalFile]
    foreign: Mapping[str, int]


def journal_files(spark: SparkSession | None, root: str) -> Listing:
    """The journal's files below the folder. BadInput if there is none that this version can read."""
    closed: list[JournalFile] = []
    being_written: list[JournalFile] = []
    foreign = Counter[str]()
    for path, size, changed in folder_at(spark, root).files():
        match = _LAYOUT.fullmatch(path)
        if match is None:
            continue
        for pattern, files in ((_CLOSED, closed), (_OPEN, being_written)):
            named = pattern.fullmatch(match["name"])
            if named and match["v"] == str(VERSION):
                folders = (match["base"], unquote(match["dt"]), unquote(match["ns"]))
                files.append(JournalFile(path, size, changed, *folders, unquote(named[1])))
            elif named:
                foreign[match["v"]] += 1
    if not closed and not being_written:
        raise BadInput(_none(root, foreign))
    return Listing(sorted(closed, key=_place), sorted(being_written, key=_place), dict(sorted(foreign.items())))


def _place(file: JournalFile) -> tuple[str, ...]:
    return file.dt, file.ns, file.segment, file.path


def _none(root: str, foreign: Mapping[str, int]) -> str:
    if foreign:
        said = _("%(roots)s: a journal of version %(other)s, and this audit reads version %(version)s")
        return said % {"roots": root, "other": ", ".join(foreign), "version": VERSION}
    said = _("no file of a journal (v=%(version)s/dt=…/ns=…/*.jsonl) in %(roots)s")
    return said % {"roots": root, "version": VERSION}


MANIFEST_VERSION = 3
MANIFEST, DAYS, DATA = "manifest", "manifest/days", "data"
MANIFESTS_MAX = 5
# What no manifest names may be about to be published.
UNUSED_AGE = timedelta(days=1)

_NUMBER = re.compile(r"(\d{8})\.json")


class Range(NamedTuple):
    """Sequence numbers of one boot, both ends included."""

    boot: int
    low: int
    high: int


class IngestedFile(NamedTuple):
    """A journal file that was read. ``records``: those that parse; ``added``: those that no other file had before;
    ``first``, ``last``: times of its records, epoch us."""

    path: str
    size: int
    changed: int
    dt: str
    ns: str
    segment: str
    lines: int
    corrupt: int
    records: int
    added: int
    first: int | None
    last: int | None
    ranges: Sequence[Range]


class ParquetPart(NamedTuple):
    """A folder of Parquet files of one day and name server, with the times of its records, epoch us."""

    path: str
    dt: str
    ns: str
    first: int | None
    last: int | None


@dataclass(frozen=True)
class StoredDay:
    """``reads``: the file with the day's journal files; ``ranges``: by name server, all that they hold of each boot."""

    reads: str
    ranges: Mapping[str, Sequence[Range]]


@dataclass(frozen=True)
class ManifestState:
    """One manifest. ``journal``: the folder that it belongs to; ``foreign``: files of other versions of the
    journal, which are not read."""

    number: int = 0
    journal: str = ""
    days: Mapping[str, StoredDay] = field(default_factory=dict)
    parts: Sequence[ParquetPart] = ()
    foreign: Mapping[str, int] = field(default_factory=dict)


class Manifest:
    """The manifests below the folder of the events."""

    def __init__(self, spark: SparkSession | None, out: str) -> None:
        self.folder = folder_at(spark, out)
        self._days: dict[str, list[IngestedFile]] = {}

    def state(self) -> ManifestState:
        """The state that counts; an empty one before the first. BadInput if it cannot be read by this version."""
        numbers = self._numbers()
        if numbers:
            return _state(json.loads(self.folder.read(_name(numbers[-1]))), self.folder.path(_name(numbers[-1])))
        return ManifestState()

    def reads(self, state: ManifestState, days: Iterable[str]) -> list[IngestedFile]:
        """The journal files of these days."""
        return [read for dt in days if dt in state.days for read in self._of_day(state.days[dt].reads)]

    def with_reads(self, state: ManifestState, reads: Iterable[IngestedFile]) -> ManifestState:
        """The state with these files too. A file of the same path is replaced: what it added before stays stored."""
        by_day: dict[str, list[IngestedFile]] = {}
        for read in reads:
            by_day.setdefault(read.dt, []).append(read)
        days = dict(state.days)
        for dt, new in by_day.items():
            known = {read.path: read for read in self.reads(state, [dt])}
            known |= {read.path: _after(read, known.get(read.path)) for read in new}
            whole = list(known.values())
            name = f"{DAYS}/{dt}.{new_id()}.json"
            self.folder.write(name, json.dumps({"version": MANIFEST_VERSION, "files": whole}).encode())
            days[dt] = StoredDay(name, _ranges(whole))
        return replace(state, days=days)

    def publish(self, state: ManifestState) -> ManifestState | None:
        """Make this the state that counts; None if another process published one meanwhile."""
        after = replace(state, number=state.number + 1)
        if not self.folder.publish(_name(after.number), json.dumps(_plain(after)).encode()):
            return None
        for number in self._numbers()[:-MANIFESTS_MAX]:
            self.folder.delete(_name(number))
        self._sweep(state, after)
        return after

    def _sweep(self, before: ManifestState, state: ManifestState) -> None:
        """Delete what neither of the last two manifests names, unless it may be about to be published."""
        old = f"{datetime.now(UTC) - UNUSED_AGE:%Y%m%dT%H%M%S}"
        named = {part.path.split("/")[1] for part in state.parts}
        for name in self.folder.names(DATA):
            if name not in named and name.rpartition("=")[2] < old:
                self.folder.delete(f"{DATA}/{name}")
        read = {day.reads for one in (before, state) for day in one.days.values()}
        for name in self.folder.names(DAYS):
            if f"{DAYS}/{name}" not in read and name.rsplit(".", 2)[1] < old:
                self.folder.delete(f"{DAYS}/{name}")

    def _numbers(self) -> list[int]:
        return sorted(int(match[1]) for name in self.folder.names(MANIFEST) if (match := _NUMBER.fullmatch(name)))

    def _of_day(self, name: str) -> list[IngestedFile]:
        if name not in self._days:
            rows = json.loads(self.folder.read(name))["files"]
            self._days[name] = [IngestedFile._make((*row[:-1], [Range(*r) for r in row[-1]])) for row in rows]
        return self._days[name]


def new_id() -> str:
    """Sorts by time; no two are equal."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"


def _name(number: int) -> str:
    return f"{MANIFEST}/{number:08d}.json"


def _after(read: IngestedFile, before: IngestedFile | None) -> IngestedFile:
    """A file that was read again: what it held before is stored as well."""
    if before is None:
        return read
    ranges = _ranges([read, before]).get(read.ns, [])
    return read._replace(added=read.added + before.added, ranges=ranges)


def _ranges(reads: Iterable[IngestedFile]) -> dict[str, list[Range]]:
    """From the first to the last sequence number of each boot, by name server."""
    found: dict[str, dict[int, Range]] = {}
    for read in reads:
        boots = found.setdefault(read.ns, {})
        for boot, low, high in read.ranges:
            known = boots.get(boot, Range(boot, low, high))
            boots[boot] = Range(boot, min(low, known.low), max(high, known.high))
    return {ns: list(boots.values()) for ns, boots in found.items()}


def _plain(state: ManifestState) -> dict[str, Any]:
    return {
        "version": MANIFEST_VERSION, "number": state.number, "journal": state.journal,
        "days": {dt: [day.reads, day.ranges] for dt, day in sorted(state.days.items())},
        "parts": list(state.parts), "foreign": dict(state.foreign),
    }  # fmt: skip


def _state(plain: Mapping[str, Any], path: str) -> ManifestState:
    if plain["version"] != MANIFEST_VERSION:
        said = _(
            "%(path)s has version %(version)s, and this rocketns reads version %(known)s. Name another --out, or "
            "delete the folder of the events to read the journal again."
        )
        raise BadInput(said % {"path": path, "version": plain["version"], "known": MANIFEST_VERSION})
    days = {
        dt: StoredDay(reads, {ns: [Range(*r) for r in ranges] for ns, ranges in numbers.items()})
        for dt, (reads, numbers) in plain["days"].items()
    }
    parts = [ParquetPart(*part) for part in plain["parts"]]
    return ManifestState(plain["number"], plain["journal"], days, parts, plain["foreign"])
