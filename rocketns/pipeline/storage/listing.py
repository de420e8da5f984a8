"""Which files of a journal there are, by their names: finished ones, those still being written, and other versions."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from pyspark.sql import SparkSession

from rocketns.journal.record import VERSION
from rocketns.pipeline.contract.exits import BadInput
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


def journal_files(spark: SparkSession | None, roots: Sequence[str]) -> Listing:
    """The journal's files below the folders. BadInput if there is none that this version can read."""
    closed: list[JournalFile] = []
    being_written: list[JournalFile] = []
    foreign = Counter[str]()
    for path, size, changed in {found for root in roots for found in folder_at(spark, root).files()}:
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
        raise BadInput(_none(roots, foreign))
    return Listing(sorted(closed, key=_place), sorted(being_written, key=_place), dict(sorted(foreign.items())))


def _place(file: JournalFile) -> tuple[str, ...]:
    return file.dt, file.ns, file.segment, file.path


def _none(roots: Sequence[str], foreign: Mapping[str, int]) -> str:
    if foreign:
        said = _("%(roots)s: a journal of version %(other)s, and this audit reads version %(version)s")
        return said % {"roots": ", ".join(roots), "other": ", ".join(foreign), "version": VERSION}
    said = _("no file of a journal (v=%(version)s/dt=…/ns=…/*.jsonl) in %(roots)s")
    return said % {"roots": ", ".join(roots), "version": VERSION}
