"""What the API lists: for each list its rows, where they come from, its filters and its orders."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, get_args

from rocketns.admin.api import copies
from rocketns.admin.api.history import HistoryRow, LastHour
from rocketns.admin.api.paging import LIMIT, OFFSET, TEXT, Parameter
from rocketns.admin.api.rows import (
    BrokerStateRow,
    ConnectionRow,
    KvRow,
    MissingRow,
    Role,
    State,
    TopicRow,
    ViewRow,
)
from rocketns.admin.recent import EventRow, Recent, worded
from rocketns.admin.view import ControlView, Copier
from rocketns.config.properties import java_name
from rocketns.fleet.comparing import FactKind
from rocketns.fleet.missing import MissingReason
from rocketns.fleet.state import Disagreement, Member

_FOLLOWS = Parameter(
    "follows", "topics that follow from this broker group; empty: only what follows from none",
    test=lambda row, text: text in row.follows if text else not row.follows,
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ApiSource:
    """Where rows come from."""

    view: ControlView
    recent: Recent
    history: LastHour


@dataclass(frozen=True, slots=True)
class ApiTable:
    """One list. ``read`` gets the values of the parameters. ``sorts``: the columns that order rows, the first one
    without ``sort``; a - before it is downwards. ``finish`` adds what only the rows of an answer have.
    """

    name: str
    meaning: str
    row: type
    read: Callable[[ApiSource, Mapping[str, str]], Awaitable[Sequence[Any]]]
    sorts: tuple[str, ...]
    filters: tuple[Parameter, ...] = ()
    finish: Callable[[ApiSource, Sequence[Any]], Awaitable[Sequence[Any]]] | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The columns that order rows, by their names in JSON."""
        return {java_name(one): one for one in (sort.removeprefix("-") for sort in self.sorts)}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """All that a request may have."""
        orders = [sign + name for name in self.columns for sign in ("", "-")]
        schema = {"enum": orders, "default": orders[self.sorts[0].startswith("-")]}
        return LIMIT, OFFSET, Parameter("sort", "sort by this column, downwards after a -", schema), *self.filters


def _search(*columns: str) -> Parameter:
    names = ", ".join(java_name(column) for column in columns)
    return Parameter("q", f"a part of {names}; capitals do not matter", test=lambda row, text: any(
        text.casefold() in (getattr(row, column) or "").casefold() for column in columns))  # fmt: skip


def _equals(column: str, *choices: str) -> Parameter:
    name, schema = java_name(column), {"enum": list(choices)} if choices else TEXT
    return Parameter(name, f"exactly this {name}", schema, lambda row, text: getattr(row, column) == text)


def _copied(copier: Copier[Any]) -> Callable[[ApiSource, object], Awaitable[Sequence[Any]]]:
    """Reads what control copies."""
    return lambda source, _: source.view.copy(copier)


async def _topics(source: ApiSource, wanted: Mapping[str, str]) -> Sequence[TopicRow]:
    rows = await source.view.copy(copies.copy_topics)
    broker = wanted.get("broker")
    return rows if broker is None else await source.view.read(partial(copies.topics_of, rows, broker))


async def _with_queues(source: ApiSource, rows: Sequence[TopicRow]) -> Sequence[TopicRow]:
    return await source.view.read(partial(copies.with_queues, rows))


def _kept(read: Callable[[ApiSource], Iterable[Any]]) -> Callable[[ApiSource, object], Awaitable[Sequence[Any]]]:
    """Reads what needs no copy of control's."""

    async def rows(source: ApiSource, _: object) -> Sequence[Any]:
        return tuple(read(source))

    return rows


TABLES = (
    ApiTable("brokers", "Brokers of the routes", BrokerStateRow,
          _copied(copies.copy_brokers),
          ("broker", "cluster", "id", "address", "state", "silent_ms", "last_heartbeat", "version", "zone"),
          (_search("broker", "address", "cluster", "zone"), _equals("cluster"), _equals("broker"), _equals("zone"),
           _equals("state", *get_args(State)), _equals("role", *get_args(Role)))),
    ApiTable("topics", "Topics", TopicRow, _topics, ("topic", "brokers"),
          (_search("topic"), Parameter("broker", "topics of this broker group")), _with_queues),
    ApiTable("missing", "Topics that were asked for, and have no route", MissingRow,
          _copied(copies.copy_missing),
          ("-last_ms", "since_ms", "topic", "lookups"),
          (_search("topic"), _equals("reason", *MissingReason))),
    ApiTable("views", "Views: which addresses of brokers clients get", ViewRow, _copied(copies.copy_views),
          ("view", "lookups", "bytes"), (_search("view"),)),
    ApiTable("kv", "Items of the KV configuration", KvRow, _copied(copies.copy_kv), ("namespace", "key", "characters"),
          (_search("namespace", "key"), _equals("namespace"))),
    ApiTable("connections", "Connections of the name server port", ConnectionRow,
          _copied(copies.copy_connections),
          ("peer", "since", "requests", "waiting", "language", "version"),
          (_search("peer"), _equals("language"))),
    ApiTable("nameservers", "Name servers of the fleet: this one and rocketns.peers", Member,
          _kept(lambda source: source.view.facts.fleet.members),
          ("address", "since", "differing_brokers", "differing_topics"), (_search("address"),)),
    ApiTable("disagreements", "What the name servers of the fleet disagree about", Disagreement,
          _kept(lambda source: source.view.facts.fleet.disagreements),
          ("since", "kind", "name"),
          (_search("name"), _equals("kind", *FactKind), _FOLLOWS)),
    ApiTable("history", "The last hour, a row each half minute", HistoryRow,
          _kept(lambda source: source.history.rows), ("at",)),
    ApiTable("events", "What changed lately, the newest first", EventRow,
          _kept(lambda source: map(worded, source.recent.events.copy())), ("-seq", "at", "event"),
          (_search("text"), _equals("event"), _equals("broker"), _equals("cluster"))),
)  # fmt: skip
