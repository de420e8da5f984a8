"""`rocketns access check` and `rocketns access suggest`."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path

from rocketns.access.policy import Policy
from rocketns.access.policy_file import FILE_BYTES_MAX, read_policy
from rocketns.access.policy_values import PolicyError
from rocketns.extras import install_command
from rocketns.files import read_text
from rocketns.tools.access.explanation import explained
from rocketns.tools.access.notices import summary
from rocketns.tools.access.question import QuestionError, question_of
from rocketns.tools.access.suggesting.journals import JournalError, Journals
from rocketns.tools.access.suggesting.seen import Sightings
from rocketns.tools.output import (
    EXIT_DIFFERENT,
    EXIT_FOUND,
    EXIT_UNREADABLE,
    complain,
    print_json,
    print_report,
    print_text,
)


def run(options: Namespace) -> int:
    """The exit status."""
    return {"check": check, "suggest": suggest}[options.thing](options)


def check(options: Namespace) -> int:
    """Print what the policy allows, or whether it allows the request. The exit status."""
    try:
        policy = policy_at(options.file)
        return _explain(policy, options) if options.request else _summarise(policy, options)
    except PolicyError as error:
        complain(f"rocketns access: the policy cannot be used: {error}")
        return EXIT_DIFFERENT
    except QuestionError as error:
        complain(f"rocketns access check: {error}")
        return EXIT_UNREADABLE


def _summarise(policy: Policy, options: Namespace) -> int:
    found = summary(policy)
    if options.json:
        print_json(found.value)
    else:
        print_report(found.report())
    return EXIT_FOUND


def _explain(policy: Policy, options: Namespace) -> int:
    found = explained(policy, question_of(options.request))
    if options.json:
        print_json(found.value())
    else:
        print_report(found.report())
    return EXIT_FOUND if found.is_allowed else EXIT_DIFFERENT


def policy_at(path: str) -> Policy:
    """The policy of a file. PolicyError if it cannot be used."""
    folder = Path(path).parent
    return read_policy(path, _text(path), lambda name: _text(str(folder / name)))


def _text(path: str) -> str:
    try:
        return read_text(path, FILE_BYTES_MAX)
    except ValueError as error:
        raise PolicyError(path, 0, str(error)) from None


def suggest(options: Namespace) -> int:
    """The exit status."""
    try:
        from rocketns.tools.access.suggesting.document import policy_text
    except ModuleNotFoundError as error:
        if error.name != "tomli_w":
            raise
        complain(f"rocketns access suggest: tomli_w is needed to write TOML: {install_command('tools')}")
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
