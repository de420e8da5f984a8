"""Reads what a name server that answers has, request by request; one that is refused leaves out only its own part."""

from __future__ import annotations

from collections.abc import Coroutine, Sequence
from typing import Any

from rocketns.client.name_server import NameServer, UnusableError, decoded, route_fields
from rocketns.client.signer import Fields
from rocketns.config.properties import of_lines
from rocketns.doctor.facts.name_servers import Kind
from rocketns.errors import BodyDecodeError
from rocketns.fleet.group_view import GroupView, group_views
from rocketns.protocol.body.decoding import (
    decode_cluster_info,
    decode_kv_table,
    decode_topic_list,
    decode_topic_route_data,
)
from rocketns.protocol.codes import NAMESPACE_ORDER_TOPIC_CONFIG, RequestCode, ResponseCode
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
    return group_views(decode_cluster_info(body)), fastjson.read(body, _clusters)


def _clusters(value: Any) -> dict[str, frozenset[str]]:
    table = (fastjson.as_object(value) or {}).get("clusterAddrTable") or {}
    if not isinstance(table, dict) or not all(isinstance(names, list) for names in table.values()):
        raise BodyDecodeError("clusterAddrTable is no table of lists")
    return {str(cluster): frozenset(str(name) for name in names) for cluster, names in table.items()}
