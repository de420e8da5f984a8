"""The report as text for people and as JSON for programs, whose keys and names of checks no language changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any, TextIO

from rocketns.doctor.facts import AddressFacts, BrokerFacts, NameServerFacts
from rocketns.doctor.finding import Diagnosis, Health
from rocketns.doctor.report import Report, verdict
from rocketns.doctor.words import _
from rocketns.logtext import escape, one_line
from rocketns.protocol.codes import version_name


class Colour(StrEnum):
    """Escape sequences of ECMA-48."""

    BOLD = "\x1b[1m"
    RED = "\x1b[1;31m"
    YELLOW = "\x1b[1;33m"
    GREEN = "\x1b[1;32m"
    CYAN = "\x1b[36m"
    DIM = "\x1b[2m"


RESET = "\x1b[0m"


class Palette:
    """Paints where ``is_on``."""

    def __init__(self, *, is_on: bool) -> None:
        self._is_on = is_on

    @classmethod
    def of(cls, stream: TextIO, environment: Mapping[str, str]) -> Palette:
        """On for a terminal, unless NO_COLOR is set (no-color.org) or the terminal is dumb."""
        return cls(is_on=stream.isatty() and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb")

    def paint(self, colour: Colour, text: str) -> str:
        """The text, which is escaped already, in a colour."""
        return f"{colour}{text}{RESET}" if self._is_on and text else text


COLOURS = {Health.ILL: Colour.RED, Health.UNKNOWN: Colour.YELLOW, Health.WELL: Colour.GREEN}


def report_text(report: Report, palette: Palette) -> str:
    """Lines, each escaped before it is painted."""
    return "".join(f"{line}\n" for line in _lines(report, palette))


def _lines(report: Report, palette: Palette) -> Iterator[str]:
    yield palette.paint(COLOURS[report.findings[0].state], one_line(verdict(report)))
    shown = [one for one in report.findings if one.state is not Health.WELL]
    for number, one in enumerate(shown, 1):
        yield ""
        yield from finding_lines(number, one, palette)
    yield ""
    if report.more:
        left = _(", ").join(f"{check} ({count})" for check, count in report.more.items())
        yield palette.paint(Colour.YELLOW, _("More findings, not shown: %(checks)s") % {"checks": left})
    if well := list(dict.fromkeys(one.check for one in report.of(Health.WELL))):
        yield palette.paint(Colour.GREEN, _("Well: %(checks)s") % {"checks": _(", ").join(well)})
    if report.skipped:
        skipped = _("Not checked, because there was no answer, or --topic or --group was not given: %(checks)s")
        yield palette.paint(Colour.DIM, skipped % {"checks": _(", ").join(report.skipped)})
    yield palette.paint(Colour.DIM, _asked(report))


def finding_lines(number: int, one: Diagnosis, palette: Palette) -> Iterator[str]:
    """Sentence, evidence and commands of one finding."""
    head = _("%(number)d. %(check)s: ") if one.state is Health.ILL else _("%(number)d. %(check)s, cannot tell: ")
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
    requests = sum(sum(sent.values()) for one in report.facts.requests for sent in one["sent"].values())
    addresses = sum(len(one["sent"]) for one in report.facts.requests)
    words = {"n": requests, "addresses": addresses, "left": report.facts.left_out}
    if report.facts.left_out:
        text = _("Requests: %(n)d, addresses: %(addresses)d. There are too many brokers: %(left)d were not asked.")
        return text % words
    return _("Requests: %(n)d, addresses: %(addresses)d.") % words


def report_json(report: Report) -> dict[str, Any]:
    """The whole report. ``checks`` has the exit status of each check that ran."""
    statuses: dict[str, Health] = {}
    for one in report.findings:
        statuses[one.check] = max(statuses.get(one.check, Health.WELL), one.state, key=_severity)
    return {
        "exitStatus": report.exit_status,
        "verdict": verdict(report),
        "checks": {name: {"exitStatus": int(state), "state": state.name.lower()} for name, state in statuses.items()},
        "skipped": list(report.skipped),
        "findings": [_finding_json(one) for one in report.findings],
        "findingsLeftOut": dict(report.more),
        "nameServers": [_name_server(one) for one in report.facts.name_servers],
        "addresses": [_address(one) for one in report.facts.addresses.values()],
        "brokers": [_broker(one) for one in report.facts.brokers],
        "requests": list(report.facts.requests),
        "brokersLeftOut": report.facts.left_out,
    }


def _severity(state: Health) -> int:
    return (Health.WELL, Health.UNKNOWN, Health.ILL).index(state)


def _finding_json(one: Diagnosis) -> dict[str, Any]:
    return {
        "check": one.check, "state": one.state.name.lower(), "weight": one.weight.name.lower(),
        "sentence": one.sentence, "evidence": list(one.evidence), "commands": list(one.commands),
    }  # fmt: skip


def _name_server(one: NameServerFacts) -> dict[str, Any]:
    return {
        "addr": one.addr, "outcome": str(one.outcome), "error": one.error, "kind": str(one.kind),
        "version": None if one.version is None else version_name(one.version),
        "brokers": None if one.groups is None else len(one.groups),
        "topics": None if one.topics is None else len(one.topics),
    }  # fmt: skip


def _address(one: AddressFacts) -> dict[str, Any]:
    return {
        "addr": one.addr, "ips": list(one.ips), "place": str(one.place), "outcome": str(one.outcome),
        "connectMs": None if one.ms is None else round(one.ms, 1), "error": one.error,
    }  # fmt: skip


def _broker(one: BrokerFacts) -> dict[str, Any]:
    return {
        "name": one.name, "id": one.broker_id, "cluster": one.cluster, "addr": one.addr,
        "version": None if one.version is None else version_name(one.version),
    }  # fmt: skip
