"""The report as text: the verdict, the findings in order, and what is well."""

from __future__ import annotations

from collections.abc import Iterator

from rocketns.doctor.finding import Finding, State
from rocketns.doctor.output.colours import Colour, Palette
from rocketns.doctor.output.verdict import verdict
from rocketns.doctor.running import Report
from rocketns.doctor.words import _
from rocketns.logtext import escape, one_line

COLOURS = {State.ILL: Colour.RED, State.UNKNOWN: Colour.YELLOW, State.WELL: Colour.GREEN}


def report_text(report: Report, palette: Palette) -> str:
    """Lines, each escaped before it is painted."""
    return "".join(f"{line}\n" for line in _lines(report, palette))


def _lines(report: Report, palette: Palette) -> Iterator[str]:
    yield palette.paint(COLOURS[report.findings[0].state], one_line(verdict(report)))
    shown = [one for one in report.findings if one.state is not State.WELL]
    for number, one in enumerate(shown, 1):
        yield ""
        yield from finding_lines(number, one, palette)
    yield ""
    if report.more:
        left = _(", ").join(f"{check} ({count})" for check, count in report.more.items())
        yield palette.paint(Colour.YELLOW, _("More findings, not shown: %(checks)s") % {"checks": left})
    if well := list(dict.fromkeys(one.check for one in report.of(State.WELL))):
        yield palette.paint(Colour.GREEN, _("Well: %(checks)s") % {"checks": _(", ").join(well)})
    if report.skipped:
        skipped = _("Not checked, because there was no answer, or --topic or --group was not given: %(checks)s")
        yield palette.paint(Colour.DIM, skipped % {"checks": _(", ").join(report.skipped)})
    yield palette.paint(Colour.DIM, _asked(report))


def finding_lines(number: int, one: Finding, palette: Palette) -> Iterator[str]:
    """Sentence, evidence and commands of one finding."""
    head = _("%(number)d. %(check)s: ") if one.state is State.ILL else _("%(number)d. %(check)s, cannot tell: ")
    painted = palette.paint(COLOURS[one.state], head % {"number": number, "check": one.check})
    yield f"{painted}{one_line(one.sentence)}"
    if one.evidence:
        yield "   " + palette.paint(Colour.BOLD, _("How it is known:"))
        yield from (f"     {one_line(line)}" for line in one.evidence)
    if one.commands:
        yield "   " + palette.paint(Colour.BOLD, _("What mends it:"))
        yield from ("     " + palette.paint(_of_command(line), line) for line in map(_command, one.commands))


def _command(line: str) -> str:
    """A command that is cut could do something else, so it is a comment then."""
    shown = one_line(line)
    return shown if shown == escape(line) else f"# {shown}"


def _of_command(line: str) -> Colour:
    return Colour.DIM if line.startswith("#") else Colour.CYAN


def _asked(report: Report) -> str:
    requests = sum(sum(sent.values()) for one in report.facts.requests for sent in one.sent.values())
    addresses = sum(len(one.sent) for one in report.facts.requests)
    words = {"n": requests, "addresses": addresses, "left": report.facts.left_out}
    if report.facts.left_out:
        text = _("Requests: %(n)d, addresses: %(addresses)d. There are too many brokers: %(left)d were not asked.")
        return text % words
    return _("Requests: %(n)d, addresses: %(addresses)d.") % words
