"""Asks one name server all that is needed of it."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from collections.abc import Container, Coroutine, Sequence
from dataclasses import replace
from typing import Any

from rocketns.addresses import literal, split
from rocketns.client.name_server import NameServer, UnusableError, decoded, route_fields
from rocketns.client.reading import NO_FRAME
from rocketns.client.remoting_client import RemotingClient
from rocketns.client.resolving import addresses_of, is_own
from rocketns.client.signer import Fields, Signer
from rocketns.config.properties import of_lines
from rocketns.doctor.asking.requests import Budget, topics_to_look_up
from rocketns.doctor.facts import Kind, NameServerFacts, Options, Outcome
from rocketns.errors import BodyDecodeError
from rocketns.fleet.group_view import GroupView, group_views
from rocketns.protocol.body.decoding import (
    decode_cluster_info,
    decode_kv_table,
    decode_topic_list,
    decode_topic_route_data,
)
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG, RequestCode, ResponseCode, SerializeType
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.json import fastjson


class Tables:
    """``found`` are fields of NameServerFacts; ``error`` says what could not be read."""

    def __init__(self, server: NameServer) -> None:
        self._server = server
        self._errors: list[str] = []
        self.found: dict[str, Any] = {"codes": {}, "routes": {}}

    @property
    def error(self) -> str:
        return "; ".join(dict.fromkeys(self._errors))

    async def brokers(self) -> None:
        """The groups. UnusableError if there is no answer."""
        answer = await self._server.ask(RequestCode.GET_BROKER_CLUSTER_INFO, {}, None)
        self.found["version"] = answer.version
        if self._succeeded(RequestCode.GET_BROKER_CLUSTER_INFO, answer):
            try:
                self.found["groups"], self.found["clusters"] = decoded(answer.body or b"", _cluster_info)
            except UnusableError as error:
                self._errors.append(str(error))
        # A broker does not know the request.
        self.found["kind"] = Kind.OTHER if answer.code == ResponseCode.REQUEST_CODE_NOT_SUPPORTED else Kind.UNKNOWN

    async def rest(self, topics: Sequence[str]) -> None:
        """The routes, and the rest. Names of topics are last: a list above the limit of a frame ends the connection."""
        if self.found["kind"] is Kind.OTHER:
            return
        for topic in topics:
            await self._try(self._route(topic))
        await self._try(self._configuration())
        await self._try(self._order())
        await self._try(self._kind())
        await self._try(self._topics())

    async def _route(self, topic: str) -> None:
        code = RequestCode.GET_ROUTEINFO_BY_TOPIC
        answer = await self._server.ask(code, route_fields(topic), None)
        if answer.code == ResponseCode.TOPIC_NOT_EXIST:
            self.found["routes"][topic] = None
        elif self._succeeded(code, answer):
            self.found["routes"][topic] = decoded(answer.body or b"", decode_topic_route_data)

    async def _configuration(self) -> None:
        answer = await self._ask(RequestCode.GET_NAMESRV_CONFIG, {})
        if answer is not None:
            self.found["configuration"] = of_lines((answer.body or b"").decode("utf-8", "replace"))

    async def _order(self) -> None:
        answer = await self._ask(RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": NAMESPACE_ORDER_TOPIC_CONFIG})
        if answer is not None:
            self.found["order"] = decoded(answer.body or b"", decode_kv_table)

    async def _kind(self) -> None:
        """Only rocketns knows the request. Its properties are those of Java's name server."""
        answer = await self._server.ask(RequestCode.GET_ROUTE_DIGESTS, {}, None)
        if answer.code != ResponseCode.REQUEST_CODE_NOT_SUPPORTED:
            self.found["kind"] = Kind.ROCKETNS
        elif "kvConfigPath" in self.found.get("configuration", {}):
            self.found["kind"] = Kind.JAVA

    async def _topics(self) -> None:
        answer = await self._ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {})
        if answer is not None:
            self.found["topics"] = frozenset(decoded(answer.body or b"", decode_topic_list))

    async def _ask(self, code: RequestCode, fields: Fields) -> RemotingCommand | None:
        answer = await self._server.ask(code, fields, None)
        return answer if self._succeeded(code, answer) else None

    async def _try(self, reading: Coroutine[Any, Any, None]) -> None:
        try:
            await reading
        except UnusableError as error:
            self._errors.append(str(error))

    def _succeeded(self, code: RequestCode, answer: RemotingCommand) -> bool:
        if answer.code != ResponseCode.SUCCESS:
            self.found["codes"][code] = answer.code
        return answer.code == ResponseCode.SUCCESS


def _cluster_info(body: bytes) -> tuple[dict[str, GroupView], dict[str, frozenset[str]]]:
    """The groups by broker name, and the broker names of each cluster."""
    return group_views(decode_cluster_info(body)), fastjson.read(body, _clusters_of)


def _clusters_of(value: Any) -> dict[str, frozenset[str]]:
    table = (fastjson.as_object(value) or {}).get("clusterAddrTable") or {}
    if not isinstance(table, dict) or not all(isinstance(names, list) for names in table.values()):
        raise BodyDecodeError("clusterAddrTable is no table of lists")
    return {str(cluster): frozenset(str(name) for name in names) for cluster, names in table.items()}


# After these the other one of TLS and plain is tried, once.
MAY_BE_TLS = (Outcome.CLOSED, Outcome.SILENT)

# Of several addresses of one host asyncio raises one OSError without a number; its text has all of them.
_ERRNO = re.compile(r"\[Errno (-?[0-9]{1,5})\]")
_UNREACHABLE = {errno.EHOSTUNREACH, errno.ENETUNREACH, errno.EHOSTDOWN, errno.ENETDOWN, errno.EADDRNOTAVAIL}


class Counted(NameServer):
    """A name server whose requests are counted, and refused beyond the budget."""

    def __init__(
        self, client: RemotingClient, addr: str, options: Options, signer: Signer | None, budget: Budget
    ) -> None:
        # Connecting has a time of its own, so that it ends before the waiting for an answer does.
        super().__init__(client, addr, SerializeType.JSON, 2 * options.timeout_s, signer)
        self._budget = budget

    async def ask(
        self, code: RequestCode, fields: Fields, also: Container[int] | None = (), bytes_max: int | None = None
    ) -> RemotingCommand:
        """See `NameServer.ask`."""
        self._budget.spend(self.addr, code)
        return await super().ask(code, fields, also, bytes_max)


async def read_name_server(server: NameServer, other: NameServer, options: Options) -> NameServerFacts:
    """All that it says. ``other`` is the same one, with TLS where ``server`` is without, and the other way round."""
    facts = await _reached(server, options)
    if facts.outcome in MAY_BE_TLS and await _answers(other):
        return replace(facts, outcome=Outcome.SPEAKS_PLAIN if options.tls else Outcome.SPEAKS_TLS)
    return facts


async def _reached(server: NameServer, options: Options) -> NameServerFacts:
    host, port = split(server.addr)
    try:
        ips = tuple(await addresses_of(host, port or 0))
    except (OSError, ValueError) as error:  # an IPv6 address may name an interface that is not there
        is_name = literal(host.partition("%")[0]) is None
        return NameServerFacts(server.addr, Outcome.UNRESOLVED if is_name else Outcome.UNREACHABLE, str(error))
    is_here = await is_own(server.addr, port or 0)
    tables = Tables(server)
    try:
        await tables.brokers()
    except UnusableError as failed:
        return NameServerFacts(server.addr, outcome_of(failed), str(failed), ips, is_here)
    await tables.rest(topics_to_look_up(options))
    return NameServerFacts(server.addr, Outcome.ANSWERED, tables.error, ips, is_here, **tables.found)


async def _answers(server: NameServer) -> bool:
    try:
        await server.ask(RequestCode.GET_BROKER_CLUSTER_INFO, {}, None)
    except UnusableError:
        return False
    return True


def outcome_of(error: BaseException) -> Outcome:
    """What an error of `RemotingClient` means, or of one of its causes."""
    for cause in _causes(error):
        match cause:
            case socket.gaierror():
                return Outcome.UNRESOLVED
            case ssl.SSLError():
                return Outcome.CLOSED
            case TimeoutError() if cause.errno is None:
                return Outcome.SILENT if str(error).startswith("no answer") else Outcome.TIMED_OUT
            case OSError():
                return _of_system(cause)
            case _:
                pass
    return Outcome.OTHER_PROTOCOL if NO_FRAME in str(error) else Outcome.CLOSED


def _causes(error: BaseException | None) -> list[BaseException]:
    found: list[BaseException] = []
    while error is not None:
        found.append(error)
        error = error.__cause__
    return found


def _of_system(error: OSError) -> Outcome:
    numbers = {error.errno} if error.errno is not None else {int(one) for one in _ERRNO.findall(str(error))}
    if numbers == {errno.ECONNREFUSED}:
        return Outcome.REFUSED
    if numbers & _UNREACHABLE:
        return Outcome.UNREACHABLE
    return Outcome.TIMED_OUT if errno.ETIMEDOUT in numbers else Outcome.CLOSED
