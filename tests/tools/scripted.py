"""Name servers whose answers a test decides, in the event loop of the test."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from interop.harness import codes
from rocketns.client.name_server import NameServer
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import RemotingCommand
from tests.client.peers import answer, peer, remoting, serving

QUEUES = {"readQueueNums": 8, "writeQueueNums": 8, "perm": 6, "topicSysFlag": 0}


@dataclass
class Scripted:
    """``brokers``: name → address of its master. ``topics``: name → broker → values that differ from QUEUES.

    ``wrong`` has the body, or the response code, of requests that are answered otherwise. ``at_request`` is called with
    the code of each request before it is answered.
    """

    brokers: dict[str, Any] = field(default_factory=dict)
    topics: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    order: dict[str, str] = field(default_factory=dict)
    wrong: dict[int, bytes | int] = field(default_factory=dict)
    at_request: Callable[[int], None] = lambda _code: None
    looked_up: list[str] = field(default_factory=list)
    properties: str = "listenPort=9876\n"

    def answer(self, request: RemotingCommand) -> tuple[int, bytes]:
        self.at_request(request.code)
        wrong = self.wrong.get(request.code)
        if wrong is not None:
            return (wrong, b"") if isinstance(wrong, int) else (0, wrong)
        if request.code == codes.GET_NAMESRV_CONFIG:
            return 0, self.properties.encode()
        code, value = self._value(request)
        return code, json.dumps(value).encode()

    def _value(self, request: RemotingCommand) -> tuple[int, Any]:
        match request.code:
            case codes.GET_BROKER_CLUSTER_INFO:
                return 0, self._cluster_info()
            case codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER:
                return 0, {"topicList": list(self.topics)}
            case codes.GET_KVLIST_BY_NAMESPACE:
                return (0, {"table": self.order}) if self.order else (22, None)
            case codes.GET_ROUTEINFO_BY_TOPIC:
                return self._route(request.ext("topic") or "")
        return 3, None

    def _cluster_info(self) -> Any:
        return {"brokerAddrTable": {name: self._group(name) for name in self.brokers}}

    def _route(self, topic: str) -> tuple[int, Any]:
        self.looked_up.append(topic)
        queues = self.topics.get(topic)
        if queues is None:
            return codes.TOPIC_NOT_EXIST, None
        datas = [{"brokerName": name} | QUEUES | other for name, other in queues.items()]
        return 0, {"brokerDatas": [self._group(name) for name in queues], "filterServerTable": {}, "queueDatas": datas}

    def _group(self, name: str) -> dict[str, Any]:
        return {"cluster": "c", "brokerName": name, "brokerAddrs": {"0": self.brokers.get(name, "x:1")}}

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await serving(lambda request: answer(request, *self.answer(request)))(reader, writer)


@asynccontextmanager
async def name_servers(*scripts: Scripted) -> AsyncIterator[list[NameServer]]:
    """A client's view of these name servers, while they listen."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(remoting())
        peers = [await stack.enter_async_context(peer(one.serve)) for one in scripts]
        yield [NameServer(client, each.addr, SerializeType.JSON) for each in peers]
