"""`rocketns audit verify`: checks the chain of hashes through each name server's journal: what was changed or
removed, and what is not sealed. Needs neither Spark nor Java.

See `rocketns.journal.chain`. After a fault the check goes on from the next seal, so each damaged place is named.
"""

from __future__ import annotations

import mmap
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from pathlib import Path

from rocketns.journal.chain import NO_HASH, Seal, Span, hash_of, link_after, mapped, seals
from rocketns.journal.lines import record_of
from rocketns.journal.record import VERSION
from rocketns.journal.segments import OPEN_PREFIX, Segment, Store, segment_of
from rocketns.languages import N_
from rocketns.pipeline.cli.arguments import ChainHead
from rocketns.pipeline.contract.terms import EXIT_FINDINGS, EXIT_NOTHING, EXIT_USAGE, BadInput
from rocketns.pipeline.saying import _

CAVEAT = N_(
    "A chain shows changes of what it was made of. Whoever can write the files can make it anew up to its end, or cut "
    "its end off: keep heads where they cannot be changed, and check them with --head."
)
STRAY = N_("BROKEN: %(path)s is no file of a journal here, but the audit reads it")


def verify(journal: str, heads: Sequence[ChainHead]) -> tuple[list[str], int]:
    """Check all name servers of a journal, and whether these heads are in their chains. Lines for standard output, and
    the exit status. BadInput."""
    root = Path(journal)
    names = name_servers(root)
    if not names:
        raise BadInput(
            _("%(journal)s has no journal: name the folder that holds v=1, on this machine") % {"journal": journal}
        )
    wanted = {head.hash for head in heads}
    try:
        found = [check(root, ns, wanted) for ns in names]
        unread = list(strays(root))
    except OSError as error:
        raise BadInput(_("the journal cannot be read: %(error)s") % {"error": error}) from error
    missing = [head for head in heads if not any(head.hash in one.heads and head.ns in (None, one.ns) for one in found)]
    gone = [head for head in missing if _is_too_old(head, found)]
    lines = [line for one in found for line in _lines(one)]
    lines += [_(STRAY) % {"path": path} for path in unread[:FAULTS_MAX]] + _more(len(unread))
    lines += [_missing(head, is_gone=head in gone) for head in missing]
    is_broken = any(one.faults for one in found) or bool(unread) or len(gone) < len(missing)
    is_unsure = bool(gone) or any(one.head is None for one in found)
    status = EXIT_FINDINGS if is_broken else EXIT_USAGE if is_unsure else EXIT_NOTHING
    return [*lines, _(CAVEAT)], status


def _lines(one: Checked) -> Iterator[str]:
    yield _state(one)
    yield from (f"  {fault.path}:{fault.line}: {_(fault.damage) % fault.values}" for fault in one.faults)
    yield from _more(one.faults_count)
    if one.head is None:
        return
    yield _beginning(one)
    if one.tail:
        said = _("  not sealed: the last %(n)s bytes. The server's next seal covers them, or that of its next start")
        yield said % {"n": one.tail}
    yield _("  head: %(head)s") % {"head": f"{one.ns}:{one.head.boot}:{one.head.seq}:{one.head.hash}"}


def _more(count: int) -> list[str]:
    return [_("  … and %(n)s more") % {"n": count - FAULTS_MAX}] if count > FAULTS_MAX else []


def _state(one: Checked) -> str:
    shown = {"ns": one.ns, "n": one.faults_count, "seals": one.seals, "files": one.files, "bytes": one.bytes}
    if one.faults_count:
        return _("%(ns)s: BROKEN at %(n)s places. %(seals)s seals in %(files)s files, %(bytes)s bytes") % shown
    if one.head is None:
        return _("%(ns)s: cannot tell. Its %(files)s files have no seal") % shown
    return _("%(ns)s: intact. %(seals)s seals in %(files)s files, %(bytes)s bytes") % shown


def _beginning(one: Checked) -> str:
    shown = {"begin": one.begin, "older": one.older}
    if one.older is None:
        return _("  the chain begins in %(begin)s: nothing was before") % shown
    return _("  the chain begins in %(begin)s: it continues %(older)s, whose file is not here any more") % shown


def _is_too_old(head: ChainHead, found: Sequence[Checked]) -> bool:
    """Whether the name server's chain begins after the head, so that nobody can tell."""
    firsts = [one.first for one in found if one.ns == head.ns]
    return any(first is not None and (head.boot, head.seq) < (first.boot, first.seq) for first in firsts)


def _missing(head: ChainHead, *, is_gone: bool) -> str:
    shown = {"hash": head.hash, "ns": head.ns}
    if is_gone:
        return _("cannot tell whether %(hash)s was in the chain of %(ns)s: its files are not here any more") % shown
    return (
        _("BROKEN: no chain here has %(hash)s. What it covered was removed or changed, and the chain made anew") % shown
    )


# Readers pass over names that begin so.
HIDDEN = "._"
EPOCH, DAY_US = date(1970, 1, 1), 86_400_000_000
# Faults that are described; all are counted.
FAULTS_MAX = 20


class ChainDamage(StrEnum):
    """What is wrong at a line, with places for the values of a fault. `rocketns audit verify` says it in each
    language."""

    GAP = ("continues the seal %(prev)s, but the one before it is %(before)s: lines or files between them were "
           "removed, or that seal was changed")  # fmt: skip
    BEFORE = ("continues the seal %(prev)s, which is not here, but files lie before it: they were added, or their "
              "seals were removed")  # fmt: skip
    PLACE = ("the first line is not that of a file with this name in this folder: the file was renamed, moved, "
             "damaged or added")  # fmt: skip
    CHANGED = ("the bytes from line %(since)s, or from a file before, to this seal are not those that it covers: a "
               "line was changed, removed or added")  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChainFault:
    """A place where the chain is broken: a line of a file, and what is wrong there."""

    path: Path
    line: int
    damage: ChainDamage
    values: Mapping[str, str | int] = field(default_factory=dict)


@dataclass(slots=True)
class Checked:
    """What the check of one name server found.

    ``begin``: the file with the first seal, ``first``. ``older``: the hash that it continues, None if nothing was
    before. ``tail``: bytes behind the last seal. ``heads``: those that were asked for and are seals of the chain.
    """

    ns: str
    files: int = 0
    bytes: int = 0
    seals: int = 0
    begin: Path | None = None
    first: Seal | None = None
    older: str | None = None
    head: Seal | None = None
    tail: int = 0
    heads: set[str] = field(default_factory=set)
    faults: list[ChainFault] = field(default_factory=list)
    faults_count: int = 0

    def note(self, fault: ChainFault) -> None:
        self.faults_count += 1
        if len(self.faults) < FAULTS_MAX:
            self.faults.append(fault)


def name_servers(root: Path) -> list[str]:
    """The ids of the name servers that have files below a journal's folder."""
    folders = root.glob(f"v={VERSION}/dt=*/ns=*")
    return sorted({path.name.removeprefix("ns=") for path in folders if any(path.iterdir())})


def strays(root: Path) -> Iterator[Path]:
    """Files that `check` passes over, but readers of the folder take for closed files of a journal."""
    for path in root.rglob(f"v={VERSION}/dt=*/ns=*/*.jsonl"):
        is_known = segment_of(path) is not None and path.parents[3] == root
        if not is_known and path.name[0] not in HIDDEN:
            yield path


def check(root: Path, ns: str, heads: Container[str] = ()) -> Checked:
    """Read all files of a name server. OSError."""
    checker = _Checker(ns, heads)
    for segment, path in _existing(Store(root, ns).everything()):
        checker.read(segment, path)
    return checker.end()


def _existing(files: Sequence[tuple[Segment, Path]]) -> Iterator[tuple[Segment, Path]]:
    """The files as they are now: a server may have closed some, and deleted the oldest."""
    begun = False
    for segment, path in files:
        closed = path.with_name(path.name.removeprefix(OPEN_PREFIX).removesuffix(".jsonl") + ".jsonl")
        there = next((one for one in (path, closed) if one.exists()), None)
        if there is None and begun:
            raise FileNotFoundError(f"{path} was removed while the journal was read")
        if there is not None:
            begun = True
            yield segment, there


class _Checker:
    """``_prev``: what the next seal continues; ``_spans``: what it covers.

    ``_sealed`` is the hash of the last seal, ``_behind`` the bytes since then, also those of other boots.
    """

    def __init__(self, ns: str, heads: Container[str]) -> None:
        self.found = Checked(ns)
        self._heads = heads
        self._boot: int | None = None
        self._prev = self._sealed = NO_HASH
        self._spans: list[Span] = []
        self._behind: list[Span] = []

    def read(self, segment: Segment, path: Path) -> None:
        if segment.boot != self._boot:  # the seals of a boot continue the link that its start made
            self._boot, self._spans = segment.boot, []
            self._prev = link_after(self._sealed, self._behind)
        with mapped(path) as content:
            is_open = path.name.startswith(OPEN_PREFIX)
            end = content.rfind(b"\n") + 1 if is_open else len(content)
            if (end or not is_open) and not _is_own(content[: content.find(b"\n") + 1], self.found.ns, segment):
                self.found.note(ChainFault(path, 1, ChainDamage.PLACE))
            place = 0
            for seal in seals(content):
                self._check(seal, path, content, place)
                place = seal.end
            rest = Span(path, place, end)
            self._spans.append(rest)
            self._behind.append(rest)
            self.found.bytes += len(content)
        self.found.files += 1

    def _check(self, seal: Seal, path: Path, content: mmap.mmap | bytes, place: int) -> None:
        if self.found.first is None:
            self._begin(seal, path)
        if seal.prev != self._prev:
            damage = ChainDamage.GAP if self.found.seals else ChainDamage.BEFORE
            self._fault(path, content, seal, damage, prev=seal.prev, before=self._prev)
        elif hash_of(seal.prev, [*self._spans, Span(path, place, seal.digits)]) != seal.hash:
            self._fault(path, content, seal, ChainDamage.CHANGED, since=_line(content, place))
        self._prev = self._sealed = seal.hash
        self._spans, self._behind = [], []
        self.found.head = seal
        self.found.seals += 1
        if seal.hash in self._heads:
            self.found.heads.add(seal.hash)

    def _begin(self, seal: Seal, path: Path) -> None:
        """Only the first file of all may continue a seal that is not here: retention leaves such files."""
        self.found.begin, self.found.first = path, seal
        if not self.found.files and seal.prev != NO_HASH:
            self.found.older = self._prev = seal.prev

    def _fault(
        self, path: Path, content: mmap.mmap | bytes, seal: Seal, damage: ChainDamage, **values: str | int
    ) -> None:
        self.found.note(ChainFault(path, _line(content, seal.begin), damage, values))

    def end(self) -> Checked:
        self.found.tail = sum(span.end - span.begin for span in self._behind) if self.found.seals else 0
        return self.found


def _is_own(line: bytes, ns: str, segment: Segment) -> bool:
    """Whether the first line of a file is an ``open`` of this name server, day, boot and number."""
    opened = record_of(line)
    if opened is None:
        return False
    days = opened["ts"] // DAY_US
    said = (opened["ev"], opened.get("ns"), days, opened["boot"], opened.get("file"))
    return said == ("open", ns, (segment.day - EPOCH).days, segment.boot, segment.number)


def _line(content: mmap.mmap | bytes, place: int) -> int:
    """The number of the line that begins at a place."""
    return content[:place].count(b"\n") + 1
