"""`rocketns audit run --name-servers`: watch name servers for a while first, then audit what was seen."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence

from rocketns.languages import language
from rocketns.pipeline.contract.terms import EXIT_FINDINGS, EXIT_NOTHING, EXIT_USAGE, STATUS, AuditVerdict, BadInput
from rocketns.pipeline.saying import Say, _
from rocketns.pipeline.storage.folders import is_on_this_machine

COLLECTED = "collected"
FOR = "10m"

Collect = Callable[[Sequence[str]], int]


def journal_of(options: argparse.Namespace) -> str:
    """The folder of the journals: that of the option, or else the one below --out that is collected into. BadInput if
    nothing is named, or what is collected cannot be written there."""
    if options.name_servers is None:
        if options.collect_for is not None:
            raise BadInput(
                _("%(option)s goes with --name-servers: it says how these are watched") % {"option": "--for"}
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


def collected(options: argparse.Namespace, journal: str, say: Say, collect: Collect | None = None) -> bool:
    """Watch the name servers of the options; whether each of them was read. Ctrl-C ends it early, and what was seen
    counts. BadInput after an error that the collector has printed. ``collect``: the main function of `rocketns
    collect`."""
    from rocketns.collect.cli import main  # loaded only where it is asked for

    time = options.collect_for or FOR
    shown = {"servers": options.name_servers, "time": time, "journal": journal}
    say(_("watching %(servers)s for %(time)s; what is seen goes to %(journal)s") % shown)
    words = ["--name-servers", options.name_servers, "--for", time, "--language", language(), "--journal", journal]
    status = (collect or main)(words)
    if status == EXIT_USAGE:
        raise BadInput(_("the name servers were not watched: see above"))
    return status == EXIT_NOTHING


def with_unread(status: int) -> int:
    """The exit status of a run, if some name server was never read."""
    return STATUS[AuditVerdict.INCOMPLETE] if status in (EXIT_NOTHING, EXIT_FINDINGS) else status
