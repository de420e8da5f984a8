"""Gathers all facts: name servers first, then the addresses and brokers that they show, then changes."""

from __future__ import annotations

import asyncio
import signal
import ssl
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

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


class Tables:
    """`read` fills ``found``, fields of NameServerFacts, and ``errors``: what could not be read."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self.errors: list[str] = []
        self.found: dict[str, Any] = {"codes": call.codes, "routes": {}, "version": call.first.version}

    async def read(self, topics: Sequence[str]) -> None:
        """Everything; of what is no name server nothing more than its first answer."""
        for reading in self._readings(topics):
            try:
                await reading
            except (UnusableError, UnreachedError) as error:
                self.errors.append(str(error))

    def _readings(self, topics: Sequence[str]) -> Iterator[Coroutine[Any, Any, None]]:
        """Names of topics are last: a list above the limit of a frame ends the connection."""
        yield self._brokers()
        if self._call.first.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self.found["kind"] = ServerKind.OTHER
            return
        yield from map(self._route, topics)
        yield self._table("configuration", RequestCode.GET_NAMESRV_CONFIG, {},
                          lambda body: of_lines(body.decode("utf-8", "replace")))  # fmt: skip
        order: Fields = {"namespace": NAMESPACE_ORDER_TOPIC_CONFIG}
        yield self._table("order", RequestCode.GET_KVLIST_BY_NAMESPACE, order, decode_kv_table)
        yield self._kind()
        yield self._table("topics", RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {},
                          lambda body: frozenset(decode_topic_list(body)))  # fmt: skip

    async def _brokers(self) -> None:
        """The groups, of the answer to the first question."""
        if (answer := self._call.expected(FIRST, self._call.first)) is not None:
            self.found["groups"], self.found["clusters"] = decoded(answer.body or b"", _cluster_info)

    async def _route(self, topic: str) -> None:
        answer = await self._ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, route_fields(topic), ResponseCode.TOPIC_NOT_EXIST)
        if answer is not None:
            is_there = answer.code == ResponseCode.SUCCESS
            self.found["routes"][topic] = decoded(answer.body or b"", decode_topic_route_data) if is_there else None

    async def _kind(self) -> None:
        """Only rocketns knows the request. Its properties are those of Java's name server."""
        code = RequestCode.GET_ROUTE_DIGESTS
        await self._ask(code, {})
        if self._call.codes.get(code) != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self.found["kind"] = ServerKind.ROCKETNS
        elif "kvConfigPath" in self.found.get("configuration", {}):
            self.found["kind"] = ServerKind.JAVA

    async def _table(self, name: str, code: RequestCode, fields: Fields, decode: Callable[[bytes], object]) -> None:
        if (answer := await self._ask(code, fields)) is not None:
            self.found[name] = decoded(answer.body or b"", decode)

    async def _ask(self, code: RequestCode, fields: Fields, also: int | None = None) -> RemotingCommand | None:
        return await self._call.ask_expecting(code, fields, FRAME_SIZE_MAX_BYTES, also)


def _cluster_info(body: bytes) -> tuple[dict[str, GroupView], dict[str, frozenset[str]]]:
    """The groups by broker name, and the broker names of each cluster."""
    return group_views(decode_cluster_info(body)), fastjson.read(body, _clusters_of)


def _clusters_of(value: Any) -> dict[str, frozenset[str]]:
    table = (fastjson.as_object(value) or {}).get("clusterAddrTable") or {}
    if not isinstance(table, dict) or not all(isinstance(names, list) for names in table.values()):
        raise BodyDecodeError("clusterAddrTable is no table of lists")
    return {str(cluster): frozenset(str(name) for name in names) for cluster, names in table.items()}


async def read_name_server(addr: str, name: str, line: Line, options: DoctorOptions) -> NameServerFacts:
    """All that it says. ``name``: see NameServerFacts. Never raises for what it does."""
    found, call = await reach(addr, FIRST, FRAME_SIZE_MAX_BYTES, line)
    if call is None:
        outcome = Reaction.UNREACHABLE if found.outcome is Reaction.NO_HOST else found.outcome
        return NameServerFacts(addr, outcome, found.error, found.ips, found.is_here, name=name)
    tables = Tables(call)
    try:
        await tables.read(topics_to_look_up(options))
    finally:
        call.close()
    errors = "; ".join(dict.fromkeys(tables.errors))
    return NameServerFacts(addr, Reaction.ANSWERED, errors, found.ips, found.is_here, **tables.found, name=name)


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


# Broker addresses in all looks at one name server: some 50 MB. A look that would exceed it is not kept.
MEMBERS_MAX = 100_000


async def gather(
    options: DoctorOptions, context: ssl.SSLContext | None, signer: Signer | None, say: Callable[[str], None],
    look_every_s: float = LOOK_EVERY_S,
) -> FleetFacts:  # fmt: skip
    """Ask, and give what was found. ``context`` is None without TLS. ``say`` is told what is done now."""
    line = Line(context, signer, options.timeout_s, name_server_budget(options))
    names = {each: addr for addr in options.name_servers for each in await every_address(addr)}
    say(_("asking name servers"))
    reading = (read_name_server(addr, "" if name == addr else name, line, options) for addr, name in names.items())
    facts = await ask_brokers(FleetFacts(options, tuple(await asyncio.gather(*reading))), line, say)
    is_suspected = not looks(options) and any(facts.unknown_at())
    if rounds := looks(options) or (LOOKS_OF_SUSPICION if is_suspected else 0):
        ended, loop = asyncio.Event(), asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, ended.set)
        say(_("looking again; Ctrl-C ends it"))
        await _look_again(facts, rounds, look_every_s, ended, line, ends_with_change=is_suspected)
        loop.remove_signal_handler(signal.SIGINT)
    return replace(facts, requests=facts.requests + line.budget.requests)


async def _look_again(
    facts: FleetFacts, rounds: int, every_s: float, ended: asyncio.Event, line: Line, *, ends_with_change: bool
) -> None:
    """Look so many times more at all name servers that can be read, until the event; ``ends_with_change``: or until one
    has changed."""
    for number in range(1, rounds + 1):
        with suppress(TimeoutError):
            await asyncio.wait_for(ended.wait(), every_s)
        if ended.is_set():
            break
        await asyncio.gather(*(_look(one, number * every_s, line) for one in facts.readable))
        if ends_with_change and any(one.looks for one in facts.readable):
            break


async def _look(seen: NameServerFacts, at_s: float, line: Line) -> None:
    """Add a look, if it shows something new, and there is room for it."""
    _found, call = await reach(seen.addr, FIRST, FRAME_SIZE_MAX_BYTES, line)
    if call is None:
        return
    call.close()
    try:
        groups = group_views(decode_cluster_info(call.first.body or b""))
    except BodyDecodeError:
        return
    known = (seen.groups, *(one.groups for one in seen.looks))
    members = sum(len(group.addrs) for one in (groups, *known[1:]) for group in (one or {}).values())
    if groups not in known and members <= MEMBERS_MAX:
        seen.looks.append(LaterGroups(at_s, groups))
