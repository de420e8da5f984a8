"""`rocketns audit verify`: checks the hash chain of each name server's journal. Needs neither Spark nor Java."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rocketns.journal.chain import HASH_CHARS, Seal
from rocketns.journal.reading.verifying import Checked, check, name_servers
from rocketns.pipeline.cli.progress import Progress
from rocketns.pipeline.contract.exits import EXIT_FINDINGS, EXIT_NOTHING, EXIT_USAGE, BadInput

HEAD = re.compile(rf"(?:([A-Za-z0-9._-]+):(\d{{1,18}}):(\d{{1,18}}):)?([0-9a-f]{{{HASH_CHARS}}})")
PROGRESS_EVERY_S = 5.0
CAVEAT = (
    "A chain shows changes of what it was made of. Whoever can write the files can make it anew up to its end, or cut "
    "its end off: keep heads where they cannot be changed, and check them with --head."
)


class Head(NamedTuple):
    """The head of an earlier check. Without name server only the hash is known."""

    ns: str | None
    boot: int
    seq: int
    hash: str

    @classmethod
    def of(cls, text: str) -> Head | None:
        """None if the text is no head."""
        match = HEAD.fullmatch(text.strip())
        return None if match is None else cls(match[1], int(match[2] or 0), int(match[3] or 0), match[4])


class Verified(NamedTuple):
    """``lines`` are for standard output."""

    lines: list[str]
    exit_status: int


def verify(journal: str, heads: Sequence[Head], say: Progress) -> Verified:
    """Check all name servers of a journal, and whether these heads are in their chains. BadInput."""
    root = Path(journal)
    names = name_servers(root)
    if not names:
        raise BadInput(f"{journal} has no journal: name the folder that holds v=1, on this machine")
    wanted = {head.hash for head in heads}
    try:
        found = [check(root, ns, wanted, _Saying(say, ns)) for ns in names]
    except OSError as error:
        raise BadInput(f"the journal cannot be read: {error}") from error
    missing = [head for head in heads if not any(head.hash in one.heads for one in found)]
    gone = [head for head in missing if _is_too_old(head, found)]
    lines = [line for one in found for line in _lines(one)]
    lines += [_missing(head, is_gone=head in gone) for head in missing]
    is_broken = any(one.faults for one in found) or len(gone) < len(missing)
    is_unsure = bool(gone) or any(one.head is None for one in found)
    status = EXIT_FINDINGS if is_broken else EXIT_USAGE if is_unsure else EXIT_NOTHING
    return Verified([*lines, CAVEAT], status)


class _Saying:
    """Says how far the check of a name server is, every few seconds."""

    def __init__(self, say: Progress, ns: str) -> None:
        self._say, self._ns, self._said_s = say, ns, say.seconds()

    def __call__(self, done: int) -> None:
        if self._say.seconds() - self._said_s >= PROGRESS_EVERY_S:
            self._said_s = self._say.seconds()
            self._say(f"{self._ns}: {done >> 20} MiB read")


def _lines(one: Checked) -> Iterator[str]:
    if one.head is None:
        yield f"{one.ns}: cannot tell. Its {one.files} files have no seal: an older version wrote them"
        return
    state = "intact" if not one.faults_count else f"BROKEN at {one.faults_count} places"
    yield f"{one.ns}: {state}. {one.seals} seals in {one.files} files, {one.bytes} bytes"
    yield from (f"  {fault}" for fault in one.faults)
    if one.faults_count > len(one.faults):
        yield f"  … and {one.faults_count - len(one.faults)} more"
    before = "nothing was before" if one.older is None else f"it continues {one.older}, whose file is not here any more"
    yield f"  the chain begins in {one.begin}: {before}"
    if one.unsealed_files:
        yield f"  {one.unsealed_files} files before it have no seal"
    yield from (f"  a chain begins anew in {path}: the files before it have no seal" for path in one.anew)
    if one.tail:
        yield f"  not sealed: the last {one.tail} bytes. The server's next seal covers them, or that of its next start"
    yield f"  head: {_head_of(one.ns, one.head)}"


def _head_of(ns: str, seal: Seal) -> str:
    return f"{ns}:{seal.boot}:{seal.seq}:{seal.hash}"


def _is_too_old(head: Head, found: Sequence[Checked]) -> bool:
    """Whether the name server's chain begins after the head, so that nobody can tell."""
    firsts = [one.first for one in found if one.ns == head.ns]
    return any(first is not None and (head.boot, head.seq) < (first.boot, first.seq) for first in firsts)


def _missing(head: Head, *, is_gone: bool) -> str:
    if is_gone:
        return f"cannot tell whether {head.hash} was in the chain of {head.ns}: its files are not here any more"
    return f"BROKEN: no chain here has {head.hash}. What it covered was removed or changed, and the chain made anew"
