"""Name servers and brokers on real sockets that count what they are asked, by request code.

Their answers have the forms of Java's: those of brokers were recorded from RocketMQ 5.5.0 and 4.9.7
(`interop/doctor/test_asking_brokers.py` compares them).
"""

from __future__ import annotations

import asyncio
import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

from interop.harness import codes
from interop.harness.wire import frame, json_header
from rocketns.client.name_server import Signer
from rocketns.client.tls import client_context
from rocketns.doctor.asking.gathering import gather
from rocketns.doctor.facts import DoctorOptions
from rocketns.doctor.report import Report, run
from rocketns.protocol.command import RemotingCommand
from tests.client.peers import Peer, Serve, peer, serving
from tests.server.tls_configs import config
from tests.tools.scripted import Scripted

NOT_SUPPORTED, TOPIC_NOT_EXIST, NO_GROUP, NOT_ONLINE, NO_PERMISSION = 3, 17, 26, 206, 16
V5_5_0, V4_9_7 = 513, 407
Reply = tuple[int, bytes]


def as_json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


@dataclass
class Counting:
    """``received``: by request code. ``peer`` has the connections, and the address while it listens."""

    received: Counter[int] = field(default_factory=Counter)
    fields: list[dict[str, str | None]] = field(default_factory=list)
    version: int = V5_5_0
    peer: Peer | None = None

    @property
    def addr(self) -> str:
        assert self.peer is not None, "it does not listen"
        return self.peer.addr

    @property
    def connects(self) -> int:
        assert self.peer is not None, "it does not listen"
        return len(self.peer.connections)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # the test is over
            await serving(self._counted)(reader, writer)

    def _counted(self, request: RemotingCommand) -> bytes:
        self.received[request.code] += 1
        self.fields.append(dict(request.ext_fields or {}))
        code, body = self.answer(request)
        return frame(json_header(code, opaque=request.opaque, flag=1, version=self.version), body)

    def answer(self, request: RemotingCommand) -> Reply:
        """Response code and body."""
        raise NotImplementedError


@dataclass
class FakeBroker(Counting):
    """A broker. ``settings`` are added to its configuration; ``groups`` and ``topics`` have its configurations by name,
    ``consumers`` answers to 203 and ``offsets`` queues (topic, at the broker, consumed) by group."""

    name: str = "broker-a"
    broker_id: int = 0
    cluster: str = "DefaultCluster"
    settings: dict[str, str] = field(default_factory=dict)
    topics: dict[str, dict[str, Any]] = field(default_factory=dict)
    groups: dict[str, dict[str, Any]] = field(default_factory=dict)
    consumers: dict[str, dict[str, Any]] = field(default_factory=dict)
    offsets: dict[str, list[tuple[str, int, int]]] = field(default_factory=dict)
    ahead_s: float = 0.0

    def answer(self, request: RemotingCommand) -> Reply:
        asked: dict[int, Callable[[RemotingCommand], Reply]] = {
            28: self._runtime, 26: self._configuration, 203: self._consumers, 208: self._offsets, 201: self._groups,
            21: self._topics,
        }  # fmt: skip
        if self.version >= V5_5_0:
            asked |= {351: self._topic, 352: self._group}
        return asked[request.code](request) if request.code in asked else (NOT_SUPPORTED, b"")

    def _groups(self, _request: RemotingCommand) -> Reply:
        return 0, as_json({"dataVersion": {}, "subscriptionGroupTable": self.groups})

    def _topics(self, _request: RemotingCommand) -> Reply:
        return 0, as_json({"dataVersion": {}, "topicConfigTable": self.topics})

    def _runtime(self, _request: RemotingCommand) -> Reply:
        started_ms = int((time.time() + self.ahead_s) * 1000) - 93_784_000  # 1 day, 2 hours, 3 minutes, 4 seconds
        return 0, as_json({"table": {
            "bootTimestamp": str(started_ms), "runtime": "[ 1 days, 2 hours, 3 minutes, 4 seconds ]",
            "brokerVersionDesc": "V5_5_0"}})  # fmt: skip

    def _configuration(self, _request: RemotingCommand) -> Reply:
        host, _, port = self.addr.rpartition(":")
        lines = {"brokerName": self.name, "brokerId": self.broker_id, "brokerClusterName": self.cluster,
                 "brokerIP1": host, "listenPort": port, "autoCreateTopicEnable": "true",
                 "autoCreateSubscriptionGroup": "true", "useTLS": "false",
                 "secretOfSomebody": "not to be kept"} | self.settings  # fmt: skip
        return 0, "".join(f"{name}={text}\n" for name, text in lines.items()).encode()

    def _topic(self, request: RemotingCommand) -> Reply:
        found = self.topics.get(request.ext("topic") or "")
        return (TOPIC_NOT_EXIST, b"") if found is None else (0, as_json(found))

    def _group(self, request: RemotingCommand) -> Reply:
        """As Java's, which creates it."""
        name = request.ext("group") or ""
        if name not in self.groups and self.settings.get("autoCreateSubscriptionGroup") != "false":
            self.groups[name] = group(name)
        return (0, as_json(self.groups[name])) if name in self.groups else (NO_GROUP, b"")

    def _consumers(self, request: RemotingCommand) -> Reply:
        found = self.consumers.get(request.ext("consumerGroup") or "")
        return (NOT_ONLINE, b"") if found is None else (0, as_json(found))

    def _offsets(self, request: RemotingCommand) -> Reply:
        """Keys that are objects, as fastjson writes them."""
        wanted = request.ext("topic")
        queues = self.offsets.get(request.ext("consumerGroup") or "", [])
        pairs = (
            as_json({"brokerName": self.name, "queueId": number, "topic": topic}) + b":"
            + as_json({"brokerOffset": at_broker, "consumerOffset": consumed, "lastTimestamp": 0})
            for number, (topic, at_broker, consumed) in enumerate(queues) if wanted in (None, topic)
        )  # fmt: skip
        return 0, b'{"consumeTps":0.0,"offsetTable":{' + b",".join(pairs) + b"}}"


def topic(name: str, perm: int = 6, queues: int = 4) -> dict[str, Any]:
    return {"attributes": {}, "order": False, "perm": perm, "readQueueNums": queues, "topicFilterType": "SINGLE_TAG",
            "topicName": name, "topicSysFlag": 0, "writeQueueNums": queues}  # fmt: skip


def group(name: str, **settings: Any) -> dict[str, Any]:
    return {"attributes": {}, "brokerId": 0, "consumeBroadcastEnable": True, "consumeEnable": True,
            "consumeFromMinEnable": True, "consumeMessageOrderly": False, "groupName": name,
            "groupRetryPolicy": {"type": "CUSTOMIZED"}, "notifyConsumerIdsChangedEnable": True, "retryMaxTimes": 16,
            "retryQueueNums": 1, "whichBrokerWhenConsumeSlowly": 1} | settings  # fmt: skip


def connected(*topics: str, model: str = "CLUSTERING") -> dict[str, Any]:
    """What 203 answers for one consumer."""
    subscribed = {one: {"expressionType": "TAG", "subString": "*", "topic": one} for one in topics}
    return {"connectionSet": [{"clientAddr": "127.0.0.1:55020", "clientId": "192.0.2.2@1", "language": "JAVA",
                               "version": V5_5_0}],
            "consumeFromWhere": "CONSUME_FROM_FIRST_OFFSET", "consumeType": "CONSUME_PASSIVELY",
            "messageModel": model, "subscriptionTable": subscribed}  # fmt: skip


@dataclass
class FakeNameServer(Counting, Scripted):
    """``brokers``: name → id → address.

    ``clusters``: cluster → broker names, where a broker is not in the cluster ``c`` alone. ``later`` are the brokers of
    the looks after the first.
    """

    clusters: dict[str, list[str]] = field(default_factory=dict)
    later: list[dict[str, dict[int, str]]] = field(default_factory=list)
    properties: str = "kvConfigPath=/kv\n"
    answer = Scripted.answer

    def shows(self, *brokers: FakeBroker, at: str | None = None) -> None:
        """Have these brokers, at their own addresses or at another one, with their topics."""
        for one in brokers:
            self.show(one.name, one.broker_id, at or one.addr, one.cluster)
            for name in one.topics:
                self.topics.setdefault(name, {})[one.name] = {}

    def show(self, name: str, broker_id: int, addr: str, cluster: str) -> None:
        """Have this broker."""
        self.brokers.setdefault(name, {})[broker_id] = addr
        names = self.clusters.setdefault(cluster, [])
        names += [] if name in names else [name]

    def _cluster_info(self) -> Any:
        is_later = self.later and self.received[codes.GET_BROKER_CLUSTER_INFO] > 1
        brokers = self.later.pop(0) if is_later else self.brokers
        return {
            "brokerAddrTable": {name: self._group(name, addrs) for name, addrs in brokers.items()},
            "clusterAddrTable": self.clusters or {"c": list(brokers)},
        }

    def _group(self, name: str, addrs: dict[int, str] | None = None) -> dict[str, Any]:
        shown = self.brokers.get(name, {}) if addrs is None else addrs
        cluster = next((one for one, names in self.clusters.items() if name in names), "c")
        return {"cluster": cluster, "brokerName": name, "brokerAddrs": {str(key): addr for key, addr in shown.items()}}


@asynccontextmanager
async def listening(*peers: Counting, serve: Serve | None = None) -> AsyncIterator[None]:
    """They listen until the end. ``serve`` replaces what they answer."""
    async with AsyncExitStack() as stack:
        for one in peers:
            one.peer = await stack.enter_async_context(peer(serve or one.serve))
        yield


TIMEOUT_S = 20.0


async def examine(
    *name_servers: FakeNameServer | str, tls: bool = False, signer: Signer | None = None, **options: Any
) -> Report:
    """The report. ``options`` are those of the doctor."""
    addrs = tuple(one if isinstance(one, str) else one.addr for one in name_servers)
    settings = {"timeout_s": TIMEOUT_S} | options
    asked = DoctorOptions(addrs, tls=tls, **settings)
    return run(await gather(asked, client_context(config()) if tls else None, signer, print))


async def report_on(*brokers: FakeBroker, serve: Serve | None = None, **options: Any) -> tuple[Report, FakeNameServer]:
    """The report about these brokers, and the name server that has them. ``serve`` replaces what they answer."""
    name_server = FakeNameServer()
    async with listening(name_server), listening(*brokers, serve=serve):
        name_server.shows(*brokers)
        return await examine(name_server, **options), name_server
