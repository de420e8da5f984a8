"""Gathers all facts: name servers first, then the addresses and brokers that they show, then changes."""

from __future__ import annotations

import asyncio
import signal
import ssl
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from rocketns.client.name_server import Fields, Signer, UnusableError, decoded, route_fields
from rocketns.client.resolving import every_address
from rocketns.config.properties import of_lines
from rocketns.doctor.asking.brokers import ask_brokers
from rocketns.doctor.asking.connecting import Call, Line, UnreachedError, reach
from rocketns.doctor.asking.requests import CONNECTS_MAX, RequestBudget
from rocketns.doctor.facts import DoctorOptions, FleetFacts, LaterGroups, NameServerFacts, Reaction, ServerKind
from rocketns.doctor.words import _
from rocketns.errors import BodyDecodeError
from rocketns.fleet.group_view import GroupView, group_views
from rocketns.protocol.body.decoding import (
    decode_cluster_info,
    decode_kv_table,
    decode_topic_list,
    decode_topic_route_data,
)
from rocketns.protocol.bounds import FRAME_SIZE_MAX_BYTES
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG, RequestCode, ResponseCode
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.json import fastjson
from rocketns.protocol.names import CREATION_TOPIC, SELF_TEST_TOPIC

FIRST = RequestCode.GET_BROKER_CLUSTER_INFO
Value = TypeVar("Value")


class Tables:
    """``found`` are fields of NameServerFacts; ``error`` says what could not be read."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._errors: list[str] = []
        self.found: dict[str, Any] = {"codes": {}, "routes": {}}

    @property
    def error(self) -> str:
        return "; ".join(dict.fromkeys(self._errors))

    def brokers(self, answer: RemotingCommand) -> None:
        """The groups, of the answer to the first question."""
        self.found["version"] = answer.version
        try:
            if (both := self._kept(FIRST, answer, _cluster_info)) is not None:
                self.found["groups"], self.found["clusters"] = both
        except UnusableError as error:
            self._errors.append(str(error))
        is_broker = answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED
        self.found["kind"] = ServerKind.OTHER if is_broker else ServerKind.UNKNOWN

    async def rest(self, topics: Sequence[str]) -> None:
        """The routes, and the rest. Names of topics are last: a list above the limit of a frame ends the connection."""
        if self.found["kind"] is ServerKind.OTHER:
            return
        for reading in self._readings(topics):
            try:
                await reading
            except (UnusableError, UnreachedError) as error:
                self._errors.append(str(error))

    def _readings(self, topics: Sequence[str]) -> Iterator[Coroutine[Any, Any, None]]:
        yield from map(self._route, topics)
        yield self._table("configuration", RequestCode.GET_NAMESRV_CONFIG, {}, _properties)
        order: Fields = {"namespace": NAMESPACE_ORDER_TOPIC_CONFIG}
        yield self._table("order", RequestCode.GET_KVLIST_BY_NAMESPACE, order, decode_kv_table)
        yield self._kind()
        yield self._table("topics", RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {}, _topics)

    async def _route(self, topic: str) -> None:
        code = RequestCode.GET_ROUTEINFO_BY_TOPIC
        answer = await self._asked(code, route_fields(topic))
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            self.found["routes"][topic] = None
        elif (route := self._kept(code, answer, decode_topic_route_data)) is not None:
            self.found["routes"][topic] = route

    async def _kind(self) -> None:
        """Only rocketns knows the request. Its properties are those of Java's name server."""
        answer = await self._asked(RequestCode.GET_ROUTE_DIGESTS, {})
        if answer.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self.found["kind"] = ServerKind.ROCKETNS
        elif "kvConfigPath" in self.found.get("configuration", {}):
            self.found["kind"] = ServerKind.JAVA

    async def _table(self, name: str, code: RequestCode, fields: Fields, decode: Callable[[bytes], object]) -> None:
        if (value := self._kept(code, await self._asked(code, fields), decode)) is not None:
            self.found[name] = value

    async def _asked(self, code: RequestCode, fields: Fields) -> RemotingCommand:
        return await self._call.ask(code, fields, FRAME_SIZE_MAX_BYTES)

    def _kept(self, code: RequestCode, answer: RemotingCommand, decode: Callable[[bytes], Value]) -> Value | None:
        """What an answer says; None, and its code is kept, where it is no success. UnusableError."""
        if answer.code == ResponseCode.SUCCESS:
            return decoded(answer.body or b"", decode)
        self.found["codes"][code] = answer.code
        return None


def _properties(body: bytes) -> dict[str, str]:
    return of_lines(body.decode("utf-8", "replace"))


def _topics(body: bytes) -> frozenset[str]:
    return frozenset(decode_topic_list(body))


def _cluster_info(body: bytes) -> tuple[dict[str, GroupView], dict[str, frozenset[str]]]:
    """The groups by broker name, and the broker names of each cluster."""
    return group_views(decode_cluster_info(body)), fastjson.read(body, _clusters_of)


def _clusters_of(value: Any) -> dict[str, frozenset[str]]:
    table = (fastjson.as_object(value) or {}).get("clusterAddrTable") or {}
    if not isinstance(table, dict) or not all(isinstance(names, list) for names in table.values()):
        raise BodyDecodeError("clusterAddrTable is no table of lists")
    return {str(cluster): frozenset(str(name) for name in names) for cluster, names in table.items()}


async def read_name_server(addr: str, line: Line, options: DoctorOptions) -> NameServerFacts:
    """All that it says. Never raises for what it does."""
    found, call = await reach(addr, FIRST, FRAME_SIZE_MAX_BYTES, line)
    if call is None:
        outcome = Reaction.UNREACHABLE if found.outcome is Reaction.NO_HOST else found.outcome
        return NameServerFacts(addr, outcome, found.error, found.ips, found.is_here)
    tables = Tables(call)
    tables.brokers(call.first)
    try:
        await tables.rest(topics_to_look_up(options))
    finally:
        call.close()
    return NameServerFacts(addr, Reaction.ANSWERED, tables.error, found.ips, found.is_here, **tables.found)


async def read_groups(addr: str, line: Line) -> dict[str, GroupView] | None:
    """Its broker groups once more. None: it does not say."""
    _found, call = await reach(addr, FIRST, FRAME_SIZE_MAX_BYTES, line)
    if call is None:
        return None
    call.close()
    try:
        return group_views(decode_cluster_info(call.first.body or b""))
    except BodyDecodeError:
        return None


# 8 looks come at 8 moments of the 30 s between two registrations, evenly spread, and of 10 s as well. Looks each 5 s
# come at 2 moments of 10 s, so they could see the same of two brokers each time.
LOOK_EVERY_S = 3.75
LOOKS_OF_SUSPICION = 8


def topics_to_look_up(options: DoctorOptions) -> tuple[str, ...]:
    """The topics whose routes each name server is asked for, once each."""
    return tuple(dict.fromkeys((*options.topics, CREATION_TOPIC, SELF_TEST_TOPIC)))


def looks(options: DoctorOptions) -> int:
    """How often each name server is asked for its brokers again, because the user wants it."""
    return int(options.watch_s // LOOK_EVERY_S)


def name_server_budget(options: DoctorOptions) -> RequestBudget:
    """What each name server may be asked."""
    return RequestBudget({
        # one more to tell TLS from plain, and one for each look
        "connect": CONNECTS_MAX + (looks(options) or LOOKS_OF_SUSPICION),
        RequestCode.GET_BROKER_CLUSTER_INFO: 2 + (looks(options) or LOOKS_OF_SUSPICION),
        RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER: 1,
        RequestCode.GET_NAMESRV_CONFIG: 1,
        RequestCode.GET_KVLIST_BY_NAMESPACE: 1,
        RequestCode.GET_ROUTE_DIGESTS: 1,  # rocketns' own: a Java name server answers that it does not know it
        RequestCode.GET_ROUTEINFO_BY_TOPIC: len(topics_to_look_up(options)),
    })  # fmt: skip


# Of one name server, in all looks that are kept: some 50 MB. Beyond it, what is new is left out.
MEMBERS_MAX = 100_000


async def gather(
    options: DoctorOptions, context: ssl.SSLContext | None, signer: Signer | None, say: Callable[[str], None],
    look_every_s: float = LOOK_EVERY_S,
) -> FleetFacts:  # fmt: skip
    """Ask, and give what was found. ``context`` is None without TLS. ``say`` is told what is done now."""
    line = Line(context, signer, options.timeout_s, name_server_budget(options))
    names = {each: addr for addr in options.name_servers for each in await every_address(addr)}
    say(_("asking name servers"))
    reading = (read_name_server(addr, line, options) for addr in names)
    name_servers = [
        one if names[one.addr] == one.addr else replace(one, name=names[one.addr])
        for one in await asyncio.gather(*reading)
    ]
    facts = await ask_brokers(options, name_servers, line, say)
    is_suspected = not looks(options) and any(facts.unknown_at())
    if rounds := looks(options) or (LOOKS_OF_SUSPICION if is_suspected else 0):
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, ended.set)
        say(_("looking again; Ctrl-C ends it"))
        facts = await _look_again(facts, rounds, look_every_s, ended, line, ends_with_change=is_suspected)
        loop.remove_signal_handler(signal.SIGINT)
    return replace(facts, requests=facts.requests + line.budget.requests)


async def _look_again(
    facts: FleetFacts, rounds: int, every_s: float, ended: asyncio.Event, line: Line, *, ends_with_change: bool
) -> FleetFacts:
    """With so many looks more at all name servers, until the event; ``ends_with_change``: or until one has changed."""
    for number in range(1, rounds + 1):
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), every_s)
        if ended.is_set():
            break
        looked = (_looked(one, number * every_s, line) for one in facts.name_servers)
        facts = replace(facts, name_servers=tuple(await asyncio.gather(*looked)))
        if ends_with_change and any(one.looks for one in facts.name_servers):
            break
    return facts


async def _looked(seen: NameServerFacts, at_s: float, line: Line) -> NameServerFacts:
    """With one look more, if it shows something new, and there is room for it."""
    groups = await read_groups(seen.addr, line) if seen.is_readable else None
    known = (seen.groups, *(one.groups for one in seen.looks))
    if groups is None or groups in known:
        return seen
    members = sum(len(group.addrs) for one in (groups, *known[1:]) for group in (one or {}).values())
    return seen if members > MEMBERS_MAX else replace(seen, looks=(*seen.looks, LaterGroups(at_s, groups)))
