"""`rocketns audit run --name-servers`: watch name servers for a while first, then audit what was seen.

Lines of progress on standard error.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence

from rocketns.languages import language
from rocketns.pipeline.contract.terms import EXIT_FINDINGS, EXIT_NOTHING, EXIT_USAGE, STATUS, AuditVerdict, BadInput
from rocketns.pipeline.saying import _
from rocketns.pipeline.storage.folders import is_on_this_machine

COLLECTED = "collected"
FOR = "10m"
# Options of a run that are passed on as they were written, by the name of the collector's option.
PASSED_ON = {
    "--name-servers": "name_servers", "--for": "collect_for", "--interval": "interval",
    "--requests-per-second": "requests_per_second",
}  # fmt: skip

Collect = Callable[[Sequence[str]], int]


def journal_of(options: argparse.Namespace) -> str:
    """The folder of the journals: that of the option, or else the one below --out that is collected into. BadInput if
    nothing is named, or what is collected cannot be written there."""
    if options.name_servers is None:
        if given := [name for name, value in _given(options).items() if value is not None]:
            raise BadInput(
                _("%(option)s goes with --name-servers: it says how these are watched") % {"option": given[0]}
            )
        if options.journal is None:
            raise BadInput(_("name the --journal, or with --name-servers the name servers to watch"))
        return str(options.journal)
    folder = options.journal or f"{options.out.rstrip('/')}/{COLLECTED}"
    if not is_on_this_machine(folder):
        raise BadInput(
            _("what is collected is written on this machine first: name another --journal than %(folder)s")
            % {"folder": folder}
        )
    return str(folder)


def collected(options: argparse.Namespace, journal: str, say: Progress, collect: Collect | None = None) -> bool:
    """Watch the name servers of the options; whether each of them was read. Ctrl-C ends it early, and what was seen
    counts. BadInput after an error that the collector has printed. ``collect``: the main function of `rocketns
    collect`."""
    shown = {"servers": options.name_servers, "time": options.collect_for or FOR, "journal": journal}
    say(_("watching %(servers)s for %(time)s; what is seen goes to %(journal)s") % shown)
    status = (collect or _collector())(arguments(options, journal))
    if status == EXIT_USAGE:
        raise BadInput(_("the name servers were not watched: see above"))
    return status == EXIT_NOTHING


def arguments(options: argparse.Namespace, journal: str) -> list[str]:
    """The command line of the collector."""
    given = _given(options) | {"--name-servers": options.name_servers, "--for": options.collect_for or FOR}
    words = [word for name, value in given.items() if value is not None for word in (name, str(value))]
    return [*words, "--language", language(), "--journal", journal, *(["--brokers"] if options.brokers else [])]


def with_unread(status: int) -> int:
    """The exit status of a run, if some name server was never read."""
    return STATUS[AuditVerdict.INCOMPLETE] if status in (EXIT_NOTHING, EXIT_FINDINGS) else status


def _given(options: argparse.Namespace) -> dict[str, str | None]:
    given = {option: getattr(options, name) for option, name in PASSED_ON.items()}
    return given | ({"--brokers": ""} if options.brokers and options.name_servers is None else {})


def _collector() -> Collect:
    """Loaded only where it is asked for."""
    from rocketns.collect.cli import main

    return main


class Progress:
    """Prints each step with the seconds since the start."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock, self._start = clock, clock()

    def __call__(self, text: str) -> None:
        sys.stderr.write(f"{self._clock() - self._start:6.1f} s  {text}\n")
        sys.stderr.flush()
