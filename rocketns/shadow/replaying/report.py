"""What `rocketns replay` prints: sentences and a table for people, JSON for programs."""

from __future__ import annotations

from typing import Any

from rocketns.logtext import one_line
from rocketns.protocol.codes import request_name
from rocketns.shadow.outcome import Outcome
from rocketns.shadow.replaying.result import Result, Shown
from rocketns.tools.output import Report, TextTable

# A replay is no relay: nothing of it is late, or compared with a reference.
COLUMNS = (Outcome.EQUAL, Outcome.ORDER, Outcome.LISTED, Outcome.SETTLED, Outcome.DIFFERENT, Outcome.MISSING)
LINES_MAX = 20
"""Differing pairs that are printed for people; --json has all that are kept."""


def report(result: Result, addr: str) -> Report:
    """For people."""
    parts: Report = [f"{result.sent} requests were sent to {addr}, and {result.number} answers compared."]
    parts += [f"{number} were not sent: {reason}." for reason, number in sorted(result.unsent.items())]
    if result.oneway:
        parts.append(f"{result.oneway} have no answer (oneway).")
    if result.unanswered:
        parts.append(f"{result.unanswered} had no recorded answer.")
    if result.number:
        parts.append(_table(result))
    parts += [f"{number} show the listed difference {name}." for name, number in sorted(result.listed.items())]
    parts += [line for shown in result.shown[:LINES_MAX] for line in _lines(shown)]
    more = result.unwanted - min(len(result.shown), LINES_MAX)
    return [*parts, f"{more} more differ."] if more else parts


def as_json(result: Result, addr: str) -> dict[str, Any]:
    """For programs."""
    return {
        "to": addr,
        "sent": result.sent,
        "compared": result.number,
        "oneway": result.oneway,
        "unanswered": result.unanswered,
        "unsent": {str(reason): number for reason, number in result.unsent.items()},
        "outcomes": {str(outcome): result.of(outcome) for outcome in COLUMNS},
        "listed": dict(result.listed),
        "differing": [_pair_json(shown) for shown in result.shown],
    }


def _table(result: Result) -> TextTable:
    names = sorted({name for name, _ in result.outcomes})
    rows = [(name, *(str(result.outcomes[name, outcome]) for outcome in COLUMNS)) for name in names]
    return TextTable(("REQUEST", *(str(outcome).upper() for outcome in COLUMNS)), rows)


def _lines(shown: Shown) -> list[str]:
    finding = shown.finding
    head = f"pair {shown.number}, request {shown.code} ({request_name(shown.code)}) of {shown.peer}: {finding.outcome}"
    if finding.note:
        head += f"; {finding.note}"
    parts = [f"    {one.path}: recorded {one.upstream or '-'}, now {one.own or '-'}" for one in finding.differences]
    return [one_line(line) for line in (head, *parts)]


def _pair_json(shown: Shown) -> dict[str, Any]:
    return {
        "pair": shown.number, "code": shown.code, "peer": shown.peer, "outcome": str(shown.finding.outcome),
        "note": shown.finding.note,
        "differences": [{"path": d.path, "recorded": d.upstream, "now": d.own} for d in shown.finding.differences],
    }  # fmt: skip
