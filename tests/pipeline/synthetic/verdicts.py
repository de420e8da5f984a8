"""The outcome of each fault and of each reported row, in an audit's comparison with the truth."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, NamedTuple


class FaultOutcome(StrEnum):
    """The outcome of one fault, or of one row that the audit reports."""

    FOUND = "found"
    MISSED = "missed"
    INVENTED = "invented"
    QUIET = "quiet"  # seeded so that nothing should be found, and nothing was


class Verdict(NamedTuple):
    """``fault``: the id of the fault, or the table of the row."""

    outcome: FaultOutcome
    fault: str
    detail: str

    @property
    def good(self) -> bool:
        return self.outcome in (FaultOutcome.FOUND, FaultOutcome.QUIET)


def sets(table: str, wanted: set[Any], found: set[Any]) -> Iterator[Verdict]:
    """A verdict for each wanted value, then for each other value that was found."""
    for what in sorted(wanted, key=repr):
        yield Verdict(outcome(what in found), table, _words(what))
    yield from (invented(table, _words(what)) for what in sorted(found - wanted, key=repr))


def _words(what: Any) -> str:
    return " ".join(map(str, what)) if isinstance(what, tuple) else str(what)


def outcome(yes: bool) -> FaultOutcome:
    """Found or missed."""
    return FaultOutcome.FOUND if yes else FaultOutcome.MISSED


def invented(table: str, detail: str) -> Verdict:
    """The verdict about a row of ``table`` that nothing explains."""
    return Verdict(FaultOutcome.INVENTED, table, detail)
