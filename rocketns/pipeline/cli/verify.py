"""`rocketns audit verify`: checks the hash chain of each name server's journal. Needs neither Spark nor Java."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from rocketns.languages import N_
from rocketns.pipeline.cli.arguments import ChainHead
from rocketns.pipeline.contract.terms import EXIT_FINDINGS, EXIT_NOTHING, EXIT_USAGE, BadInput
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.verifying import FAULTS_MAX, Checked, check, name_servers, strays

CAVEAT = N_(
    "A chain shows changes of what it was made of. Whoever can write the files can make it anew up to its end, or cut "
    "its end off: keep heads where they cannot be changed, and check them with --head."
)
STRAY = N_("BROKEN: %(path)s is no file of a journal here, but the audit reads it")


class Verified(NamedTuple):
    """``lines`` are for standard output."""

    lines: list[str]
    exit_status: int


def verify(journal: str, heads: Sequence[ChainHead]) -> Verified:
    """Check all name servers of a journal, and whether these heads are in their chains. BadInput."""
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
    return Verified([*lines, _(CAVEAT)], status)


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
