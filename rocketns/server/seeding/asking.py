"""Asks one name server, Java's or rocketns, for what a look-up can ask. Nothing that it answers is trusted."""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TypeVar

from rocketns.errors import BodyDecodeError, RocketnsError
from rocketns.protocol.body.route import BrokerData, TopicRouteData
from rocketns.protocol.body.route_decoding import decode_cluster_info, decode_topic_list, decode_topic_route_data
from rocketns.protocol.codes import RequestCode, ResponseCode, SerializeType
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.encoding import encode_request
from rocketns.server.outgoing.remoting_client import NotSentError, RemotingClient

ANSWER_WITHIN_S = 3.0

Decoded = TypeVar("Decoded")


class LeftOutError(RocketnsError):
    """A name server cannot be used; the text says why."""


class SeedServer:
    """The name server at ``addr``. Each method raises LeftOutError if there is no usable answer in time."""

    def __init__(self, client: RemotingClient, addr: str, serialize_type: SerializeType) -> None:
        self.addr = addr
        self._client = client
        self._serialize_type = serialize_type

    async def groups(self) -> dict[str, BrokerData]:
        """All broker groups by name."""
        answer = await self._ask(RequestCode.GET_BROKER_CLUSTER_INFO, {})
        return _decoded(answer, decode_cluster_info)

    async def topics(self) -> list[str]:
        """The names of all topics."""
        answer = await self._ask(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, {})
        return _decoded(answer, decode_topic_list)

    async def route(self, topic: str) -> TopicRouteData | None:
        """The route of a topic. None if it is gone by now."""
        fields: dict[str, str | None] = {"topic": topic, "acceptStandardJsonOnly": "true"}
        answer = await self._ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, fields, {ResponseCode.TOPIC_NOT_EXIST})
        return None if answer.code == ResponseCode.TOPIC_NOT_EXIST else _decoded(answer, decode_topic_route_data)

    async def _ask(
        self, code: RequestCode, fields: dict[str, str | None], also: Container[int] = ()
    ) -> RemotingCommand:
        """The answer, whose code is success or one of ``also``."""
        opaque, frame = encode_request(code, fields, self._serialize_type)
        try:
            answer = await self._client.invoke(self.addr, opaque, frame, ANSWER_WITHIN_S)
        except NotSentError as error:
            raise LeftOutError(str(error)) from error
        if answer.code != ResponseCode.SUCCESS and answer.code not in also:
            raise LeftOutError(f"it answered request {code} with code {answer.code}")
        return answer


def _decoded(answer: RemotingCommand, decode: Callable[[bytes], Decoded]) -> Decoded:
    try:
        return decode(answer.body or b"")
    except BodyDecodeError as error:
        raise LeftOutError(f"its answer is none of a name server: {error}") from error
