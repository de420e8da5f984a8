"""The file of views: TOML. docs/views.md describes it with examples.

``[views.NAME]`` has ``networks`` or ``listen``, and ``[views.NAME.addresses]`` the rules. The file is refused whole.
"""

from __future__ import annotations

import re
import tomllib

from rocketns.access.policy_values import PolicyError, PolicyTable
from rocketns.addresses import read_server, with_port
from rocketns.config.address_texts import Network
from rocketns.views.mapping import AddressMapping, NetworkRule, read_broker, read_rule
from rocketns.views.views import NETWORKS_MAX, VIEWS_MAX, View

FILE_BYTES_MAX = 4 * 1024 * 1024
RULES_MAX = 4096  # of all views
NETWORK_RULES_MAX = 256  # of a view: they are tried one after the other
NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")  # it is a label of metrics, and a word of log lines


def read_views(file: str, text: str) -> tuple[View, ...]:
    """The views of a text, in its order. PolicyError, with the line and the reason."""
    try:
        top = PolicyTable(file, text, "", tomllib.loads(text))
    except ValueError as error:  # also for a number of more digits than Python reads
        raise PolicyError(file, 0, f"it is no TOML: {error}") from error
    except RecursionError:
        raise PolicyError(file, 0, "its lists or tables are nested too deeply") from None
    if not text.endswith("\n"):
        raise PolicyError(file, text.count("\n") + 1, "the last line has no end, so it may be half written: end it")
    tables = top.tables("views")
    top.end("only views are here: [views.NAME]")
    if len(tables) > VIEWS_MAX:
        top.refuse("views", f"{len(tables)} views, more than {VIEWS_MAX}")
    views = tuple(_view(name, table) for name, table in tables.items())
    _check_together(views, tables, top)
    return views


def _check_together(views: tuple[View, ...], tables: dict[str, PolicyTable], top: PolicyTable) -> None:
    owner: dict[Network | str, str] = {}
    for view in views:
        for one in (*view.networks, *([view.listen] if view.listen else [])):
            if one in owner:
                key = "networks" if view.networks else "listen"
                tables[view.name].refuse(key, f"{one} is also of the view {owner[one]!r}, or there twice")
            owner[one] = view.name
    for what, count, most in (("networks", sum(len(view.networks) for view in views), NETWORKS_MAX),
                              ("rules", sum(len(view.mapping) for view in views), RULES_MAX)):  # fmt: skip
        if count > most:
            top.refuse("views", f"{count} {what} of all views, more than {most}")


def _view(name: str, table: PolicyTable) -> View:
    if not NAME.fullmatch(name):
        table.refuse(None, "the name of a view has 1 to 64 letters, digits, - and _")
    networks, listen = table.networks("networks"), table.text("listen")
    if bool(networks) is bool(listen):
        table.refuse("networks", "who is in the view? networks, or an address of its own to listen at: one of the two")
    mapping = _mapping(table.table("addresses"))
    table.end()
    return View(name, networks or (), None if listen is None else _listen(table, listen), mapping)


def _listen(table: PolicyTable, text: str) -> str:
    found = read_server(text)
    if found is None:
        table.refuse("listen", f"{text!r} must be host:port, such as 0.0.0.0:19876")
    return with_port(*found)


def _mapping(table: PolicyTable) -> AddressMapping:
    brokers: dict[tuple[str, int], str] = {}
    addresses: dict[str, str] = {}
    rules: dict[Network, NetworkRule] = {}
    for key in table.names():
        target = table.text(key) or ""
        if (broker := read_broker(key)) is not None:
            brokers[broker] = _target(table, key, target)
        elif "/" in key:
            rule = _rule(table, key, target)
            if rule.network in rules:
                table.refuse(key, f"{rule.network} is there twice")
            rules[rule.network] = rule
        elif read_server(key) is not None:
            addresses[key] = _target(table, key, target)
        else:
            table.refuse(key, 'must be a broker ("broker-a/0"), an announced address ("10.1.0.6:10911") or a network '
                              '("10.2.0.0/16")')  # fmt: skip
    if len(rules) > NETWORK_RULES_MAX:
        table.refuse(None, f"{len(rules)} networks, more than {NETWORK_RULES_MAX}")
    return AddressMapping(brokers, addresses, tuple(rules.values()))


def _target(table: PolicyTable, key: str, text: str) -> str:
    if read_server(text) is None:
        table.refuse(key, f"{text!r} must be host:port, such as 203.0.113.7:30911")
    return text


def _rule(table: PolicyTable, key: str, target: str) -> NetworkRule:
    try:
        return read_rule(key, target)
    except ValueError as error:
        table.refuse(key, str(error))
