"""`rocketns access check` and `rocketns views check`: a file as the name server reads it, and what to notice in it."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from pathlib import Path

from rocketns.access.policy_file import FILE_BYTES_MAX, read_policy
from rocketns.access.policy_values import PolicyError
from rocketns.client.name_server import NameServer, UnusableError
from rocketns.errors import RocketnsError
from rocketns.files import read_text
from rocketns.protocol.body.route import BrokerData
from rocketns.tools.access.explanation import explained
from rocketns.tools.access.notices import summary
from rocketns.tools.access.question import question_of
from rocketns.tools.management import rows_of
from rocketns.tools.output import EXIT_DIFFERENT, EXIT_FOUND, TextTable, complain, print_report
from rocketns.views import views_file
from rocketns.views.checking import addresses, notices, overlaps, problems, view_named
from rocketns.views.views import Views

WITHOUT_BROKERS = "no broker was looked at: -n HOST:PORT names a name server that has them"


def check_policy(options: Namespace) -> int:
    """Print what the policy allows, or whether it allows the request. The exit status."""
    folder = Path(options.file).parent
    try:
        text = _text(options.file, FILE_BYTES_MAX)
        policy = read_policy(options.file, text, lambda name: _text(str(folder / name), FILE_BYTES_MAX))
        if not options.request:
            print_report(summary(policy))
            return EXIT_FOUND
        found = explained(policy, question_of(options.request))
    except PolicyError as error:
        return _unusable("policy", error)
    print_report(found.report())
    return EXIT_FOUND if found.is_allowed else EXIT_DIFFERENT


async def check_views(options: Namespace, server: NameServer | None) -> int:
    """Print what is to be noticed, or what a client gets. The exit status. UnusableError for a silent name server."""
    try:
        views = Views(views_file.read_views(options.file, _text(options.file, views_file.FILE_BYTES_MAX)))
    except PolicyError as error:
        return _unusable("views", error)
    groups = {} if server is None else await server.groups()
    if options.who is not None:
        return _print_addresses(options.who, views, groups)
    wrong = list(problems(views, groups, {} if server is None else await _through(options, server)))
    said = [*overlaps(list(views)), *notices(views, groups)]
    rows = [(view.name, view.listen or " ".join(map(str, view.networks)), str(len(view.mapping))) for view in views]
    table = TextTable(("VIEW", "WHO IS IN IT", "RULES"), rows)
    print_report([table, *wrong, *said, *([WITHOUT_BROKERS] if server is None else [])])
    return EXIT_DIFFERENT if wrong else EXIT_FOUND


def _print_addresses(who: str, views: Views, groups: Mapping[str, BrokerData]) -> int:
    try:
        view = view_named(views, who)
    except LookupError as error:
        raise RocketnsError(error.args[0]) from None
    found = addresses(view, groups)
    where = "is in no view" if view is None else f"is in the view {view.name}"
    rows = [(one.broker, str(one.broker_id), one.announced, one.shown, one.rule or "-") for one in found]
    head = ("BROKER", "ID", "ANNOUNCED", "CLIENT GETS", "BY THE RULE")
    print_report([f"{who} {where}", TextTable(head, rows)])
    return EXIT_FOUND


def _text(path: str, bytes_max: int) -> str:
    try:
        return read_text(path, bytes_max)
    except ValueError as error:
        raise PolicyError(path, 0, str(error)) from None


def _unusable(what: str, error: PolicyError) -> int:
    complain(f"rocketns: the {what} cannot be used: {error}")
    return EXIT_DIFFERENT


async def _through(options: Namespace, server: NameServer) -> dict[str, str]:
    """By which view brokers registered, by their address: a rocketns with a management port knows it."""
    try:
        rows = await rows_of("brokers?sort=broker", options, server)
    except UnusableError:
        return {}
    return {str(row["address"]): str(row["view"]) for row in rows if row.get("view")}
