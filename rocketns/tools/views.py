"""`rocketns views check`: reads a file of views as the name server does, and holds it against registered brokers."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Mapping
from itertools import chain

from rocketns.access.policy_values import PolicyError
from rocketns.client.name_server import NameServer, UnusableError
from rocketns.files import read_text
from rocketns.protocol.body.route import BrokerData
from rocketns.tools.management import rows_of
from rocketns.tools.output import (
    EXIT_DIFFERENT,
    EXIT_FOUND,
    EXIT_UNREADABLE,
    Report,
    TextTable,
    complain,
    print_json,
    print_report,
)
from rocketns.views.checking import ShownAddress, addresses, notices, overlaps, problems, view_named
from rocketns.views.views import View, Views
from rocketns.views.views_file import FILE_BYTES_MAX, read_views

WITHOUT_BROKERS = "no broker was looked at: -n HOST:PORT names a name server that has them"


async def check(options: Namespace, server: NameServer | None) -> int:
    """Print what is to be noticed, or what a client gets. The exit status. UnusableError for a silent name server."""
    try:
        views = Views(read_views(options.file, _text(options.file)))
        seen = None if options.who is None else (view_named(views, options.who),)
    except PolicyError as error:
        complain(f"rocketns views: the views cannot be used: {error}")
        return EXIT_DIFFERENT
    except LookupError as error:
        complain(f"rocketns views check: {error.args[0]}")
        return EXIT_UNREADABLE
    groups: Mapping[str, BrokerData] = {} if server is None else await server.groups()
    if seen is not None:
        _print_addresses(options, seen[0], addresses(seen[0], groups))
        return EXIT_FOUND
    wrong = list(problems(views, groups, {} if server is None else await _through(options, server)))
    said = [*overlaps(list(views)), *notices(views, groups)]
    if options.json:
        print_json({"views": [_row(view) for view in views], "problems": wrong, "notices": said})
    else:
        rows = [(view.name, view.listen or " ".join(map(str, view.networks)), str(len(view.mapping))) for view in views]
        report: Report = [TextTable(("VIEW", "WHO IS IN IT", "RULES"), rows), *wrong, *said]
        print_report(report if server is not None else [*report, WITHOUT_BROKERS])
    return EXIT_DIFFERENT if wrong else EXIT_FOUND


def _text(path: str) -> str:
    try:
        return read_text(path, FILE_BYTES_MAX)
    except ValueError as error:
        raise PolicyError(path, 0, str(error)) from None


async def _through(options: Namespace, server: NameServer) -> dict[str, str]:
    """By which view brokers registered, by their address: a rocketns with a management port knows it."""
    try:
        rows = await rows_of("brokers?sort=broker", options, server)
    except UnusableError:
        return {}
    return {str(row["address"]): str(row["view"]) for row in rows if row.get("view")}


def _row(view: View) -> dict[str, object]:
    return {"view": view.name, "networks": [*map(str, view.networks)], "listen": view.listen,
            "rules": list(chain(view.mapping.rules()))}  # fmt: skip


def _print_addresses(options: Namespace, view: View | None, found: list[ShownAddress]) -> None:
    if options.json:
        name = None if view is None else view.name
        print_json({"client": options.who, "view": name, "addresses": [one._asdict() for one in found]})
        return
    where = "is in no view" if view is None else f"is in the view {view.name}"
    rows = [(one.broker, str(one.broker_id), one.announced, one.shown, one.rule or "-") for one in found]
    head = ("BROKER", "ID", "ANNOUNCED", "CLIENT GETS", "BY THE RULE")
    print_report([f"{options.who} {where}", TextTable(head, rows)])
