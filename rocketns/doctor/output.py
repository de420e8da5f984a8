"""The report as text for people and as JSON for programs, whose keys and names of checks no language changes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rocketns.doctor.finding import Diagnosis, Health
from rocketns.doctor.report import Report, verdict
from rocketns.doctor.words import _
from rocketns.logs import escape, one_line
from rocketns.protocol.codes import version_name

# Of ECMA-48
BOLD, DIM, RED, GREEN, YELLOW, CYAN = "1", "2", "1;31", "1;32", "1;33", "36"
COLOURS = {Health.ILL: RED, Health.UNKNOWN: YELLOW}


def report_text(report: Report, *, coloured: bool) -> str:
    """Lines, each escaped before it is painted."""
    lines = (f"\x1b[{colour}m{line}\x1b[0m" if coloured and line else line for colour, line in _lines(report))
    return "".join(f"{line}\n" for line in lines)


def _lines(report: Report) -> Iterator[tuple[str, str]]:
    """Each with its colour."""
    yield COLOURS[report.findings[0].state] if report.findings else GREEN, one_line(verdict(report))
    for number, one in enumerate(report.findings, 1):
        yield "", ""
        yield from finding_lines(number, one)
    yield "", ""
    if report.more:
        left = _(", ").join(f"{check} ({count})" for check, count in report.more.items())
        yield YELLOW, _("More findings, not shown: %(checks)s") % {"checks": left}
    if report.well:
        yield GREEN, _("Well: %(checks)s") % {"checks": _(", ").join(report.well)}
    if report.skipped:
        skipped = _("Not checked, because there was no answer, or --topic or --group was not given: %(checks)s")
        yield DIM, skipped % {"checks": _(", ").join(report.skipped)}
    words = {"n": report.facts.requests, "left": report.facts.left_out}
    asked = _("Requests: %(n)d.")
    if report.facts.left_out:
        asked = _("Requests: %(n)d. There are too many brokers: %(left)d were not asked.")
    yield DIM, asked % words


def finding_lines(number: int, one: Diagnosis) -> Iterator[tuple[str, str]]:
    """Sentence, evidence and commands of one finding, each line with its colour."""
    head = _("%(number)d. %(check)s: ") if one.state is Health.ILL else _("%(number)d. %(check)s, cannot tell: ")
    yield COLOURS[one.state], head % {"number": number, "check": one.check} + one_line(one.sentence)
    if one.evidence:
        yield BOLD, "   " + _("How it is known:")
        yield from (("0", f"     {one_line(line)}") for line in one.evidence)
    if one.commands:
        yield BOLD, "   " + _("What mends it:")
        for line in one.commands:
            shown = one_line(line)
            if shown != escape(line):  # a command that is cut could do something else
                shown = f"# {shown}"
            yield DIM if shown.startswith("#") else CYAN, f"     {shown}"


def report_json(report: Report) -> dict[str, Any]:
    """The whole report. ``checks`` has the exit status of each check that ran."""
    return {
        "exitStatus": report.exit_status,
        "verdict": verdict(report),
        "checks": dict.fromkeys(report.well, 0) | {one.check: int(one.state) for one in reversed(report.findings)},
        "skipped": list(report.skipped),
        "findings": [
            {"check": one.check, "state": one.state.name.lower(), "weight": one.weight.name.lower(),
             "sentence": one.sentence, "evidence": list(one.evidence), "commands": list(one.commands)}
            for one in report.findings
        ],
        "findingsLeftOut": dict(report.more),
        "nameServers": [
            {"addr": one.addr, "outcome": str(one.outcome), "kind": str(one.kind),
             "version": None if one.version is None else version_name(one.version)}
            for one in report.facts.name_servers
        ],
        "requests": report.facts.requests,
        "brokersLeftOut": report.facts.left_out,
    }  # fmt: skip
