"""Reads the journals, and prints the policy."""

from __future__ import annotations

from argparse import Namespace

from rocketns.tools.access.suggesting.journals import JournalError, Journals
from rocketns.tools.access.suggesting.seen import Sightings
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, EXIT_UNREADABLE, complain, print_text

NO_LIBRARY = "tomli_w is needed to write TOML: pip install 'rocketns[tools]'"


def suggest(options: Namespace) -> int:
    """The exit status."""
    try:
        from rocketns.tools.access.suggesting.document import policy_text
    except ModuleNotFoundError as error:
        if error.name != "tomli_w":
            raise
        complain(f"rocketns access suggest: {NO_LIBRARY}")
        return EXIT_UNREADABLE
    since_us = 0 if options.since is None else int(options.since.timestamp() * 1_000_000)
    journals, sightings = Journals(options.journal, since_us), Sightings(options.networks)
    try:
        for record in journals.refusals():
            sightings.add(record)
    except JournalError as error:
        complain(f"rocketns access suggest: {error}")
        return EXIT_UNREADABLE
    if not sightings.requests:
        complain(f"rocketns access suggest: {journals.files} files of journals have no refused request")
        return EXIT_DIFFERENT
    print_text(policy_text(sightings, journals))
    return EXIT_FOUND
