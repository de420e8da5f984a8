"""Asks one name server, Java's or rocketns, for what anybody may read. Nothing that it answers is trusted.

Never add request 322, 904 or 103 here: a name server takes them as a sign of life of the broker that they name.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Container, Mapping
from secrets import token_hex
from typing import Protocol, TypeVar

from rocketns.client.connection import NotSentError
from rocketns.client.remoting_client import RemotingClient
from rocketns.errors import BodyDecodeError, RocketnsError
from rocketns.protocol.body.decoding import (
    decode_cluster_info,
    decode_kv_table,
    decode_topic_list,
    decode_topic_route_data,
)
from rocketns.protocol.body.route import BrokerData, TopicRouteData
from rocketns.protocol.codes import ANNOUNCED_ADDRESSES, RequestCode, ResponseCode, SerializeType
from rocketns.protocol.command import RemotingCommand
from rocketns.protocol.encoding import encode_request

ANSWER_WITHIN_S = 3.0
# More characters than the journal's counters keep (lookups.TOPIC_CHARS_MAX), so that the audit has no rows of them.
UNUSED_TOPIC_CHARS = 256
NOT_READY: dict[int, str] = {
    ResponseCode.SYSTEM_ERROR: "it starts, or waits for its brokers",
    ResponseCode.SYSTEM_BUSY: "it is overloaded",
    ResponseCode.GO_AWAY: "it drains, or stops",
}
# Requests whose answers have addresses of brokers.
OF_BROKERS = frozenset({RequestCode.GET_ROUTEINFO_BY_TOPIC, RequestCode.GET_BROKER_CLUSTER_INFO})

Decoded = TypeVar("Decoded")
Fields = dict[str, str | None]


class Signer(Protocol):
    """Adds an access key and a signature to requests without a body: see `rocketns.access.signature`."""

    def signed(self, fields: Mapping[str, str | None]) -> Fields:
        """The fields of a request, and those that sign it."""


class UnusableError(RocketnsError):
    """A name server cannot be used; the text says why."""


def unused_topic() -> str:
    """Another name at each call, that nobody can know before: no broker has it, and no peer can register it.

    "Topic not exist" is the answer of a name server that is ready.
    """
    return f"rocketns-readiness-{token_hex(UNUSED_TOPIC_CHARS // 2)}"


class NameServer:
    """The name server at ``addr``. Each method raises UnusableError if there is no usable answer in time.

    Brokers have the addresses that they announced, not those that clients here get.
    """

    def __init__(
        self, client: RemotingClient, addr: str, serialize_type: SerializeType, within_s: float | None = None,
        signer: Signer | None = None,
    ) -> None:  # fmt: skip
        """``within_s`` is the time for each answer. With a signer all requests are signed."""
        self.addr = addr
        self._within_s = within_s
        self._client = client
        self._serialize_type = serialize_type
        self._signer = signer

    async def groups(self) -> dict[str, BrokerData]:
        """All broker groups by name."""
        return decoded(await self._body(RequestCode.GET_BROKER_CLUSTER_INFO), decode_cluster_info)

    async def topics(self) -> list[str]:
        """The names of all topics."""
        return decoded(await self._body(RequestCode.GET_ALL_TOPIC_LIST_FROM_NAMESERVER), decode_topic_list)

    async def route(self, topic: str) -> TopicRouteData | None:
        """The route of a topic. None if there is none."""
        body = await self.route_body(topic)
        return None if body is None else decoded(body, decode_topic_route_data)

    async def route_body(self, topic: str) -> bytes | None:
        """The route of a topic as JSON with quoted keys, not checked. None if there is none."""
        answer = await self._lookup(topic, {ResponseCode.TOPIC_NOT_EXIST})
        return None if answer.code == ResponseCode.TOPIC_NOT_EXIST else answer.body or b""

    async def why_not_ready(self) -> str | None:
        """The check of `/readyz`, by the name server protocol. None if route lookups are answered."""
        return NOT_READY.get(await self.lookup_code({ResponseCode.TOPIC_NOT_EXIST, *NOT_READY}))

    async def lookup_code(self, also: Container[int] | None = None) -> int:
        """The response code for the lookup of a topic that no broker has: see `ask`."""
        return (await self._lookup(unused_topic(), also)).code

    async def kv(self, namespace: str) -> dict[str, str]:
        """The KV items of a namespace, none if there is no such namespace. No request lists namespaces."""
        also = {ResponseCode.QUERY_NOT_FOUND}
        answer = await self.ask(RequestCode.GET_KVLIST_BY_NAMESPACE, {"namespace": namespace}, also)
        return {} if answer.code == ResponseCode.QUERY_NOT_FOUND else decoded(answer.body or b"", decode_kv_table)

    async def configuration(self) -> str:
        """All properties, as lines ``key=value``."""
        return (await self._body(RequestCode.GET_NAMESRV_CONFIG)).decode("utf-8", "replace")

    async def _body(self, code: RequestCode) -> bytes:
        return (await self.ask(code, {})).body or b""

    async def _lookup(self, topic: str, also: Container[int] | None) -> RemotingCommand:
        return await self.ask(RequestCode.GET_ROUTEINFO_BY_TOPIC, route_fields(topic), also)

    async def ask(
        self, code: RequestCode, fields: Fields, also: Container[int] | None = (), bytes_max: int | None = None
    ) -> RemotingCommand:
        """The answer, whose code is success or one of ``also``; None: any code. A larger one ends the connection."""
        if code in OF_BROKERS:
            fields = {**fields, ANNOUNCED_ADDRESSES: "true"}
        opaque, frame = encode_request(code, self._signed(fields), self._serialize_type)
        within_s = self._within_s or ANSWER_WITHIN_S
        try:
            answer = await self._client.invoke(self.addr, opaque, frame, within_s, bytes_max)
        except NotSentError as error:
            raise UnusableError(str(error)) from error
        if also is not None and answer.code != ResponseCode.SUCCESS and answer.code not in also:
            raise UnusableError(f"it answered request {code} with code {answer.code}")
        return answer

    def _signed(self, fields: Fields) -> Fields:
        return fields if self._signer is None else self._signer.signed(fields)

    def disconnect(self) -> None:
        """End the connection, if there is one: the network may have lost it without a sign."""
        self._client.disconnect(self.addr)


def route_fields(topic: str) -> Fields:
    """The fields of a lookup whose answer is JSON with quoted keys."""
    return {"topic": topic, "acceptStandardJsonOnly": "true"}


def decoded(body: bytes, decode: Callable[[bytes], Decoded]) -> Decoded:
    """The body of an answer as a value. UnusableError where it is not one."""
    try:
        return decode(body)
    except BodyDecodeError as error:
        raise UnusableError(f"its answer is not that of a name server: {error}") from error


# A Java name server answers 16 lookups at a time with half the CPU time of one at a time.
LOOKUPS_AT_ONCE = 16


async def ask_each(topics: Collection[str], ask: Callable[[str], Awaitable[object]], per_second: float = 0) -> None:
    """Await ``ask`` with each topic; 0 a second is no limit. UnusableError, the first that it raises, ends all."""
    waiting, pace = iter(topics), _Pace(per_second)

    async def ask_some() -> None:
        for topic in waiting:
            await pace.step()
            await ask(topic)

    try:
        async with asyncio.TaskGroup() as asking:
            for _ in range(min(LOOKUPS_AT_ONCE, len(topics))):
                asking.create_task(ask_some())
    except* UnusableError as errors:
        first = errors.exceptions[0]
        raise UnusableError(str(first)) from first


class _Pace:
    """At most so many steps a second; 0 is no limit."""

    def __init__(self, per_second: float) -> None:
        self._every_s = 1 / per_second if per_second else 0.0
        self._next_s = 0.0

    async def step(self) -> None:
        """Wait for the next step's time."""
        if self._every_s:
            now = asyncio.get_running_loop().time()
            self._next_s = max(now, self._next_s + self._every_s)
            await asyncio.sleep(self._next_s - now)
