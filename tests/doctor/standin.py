"""Name servers whose answers a test decides, and the doctor's report of them, all in one event loop."""

from __future__ import annotations

import asyncio
import json
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest

from interop.harness import codes
from rocketns.doctor.asking import gathering
from rocketns.doctor.asking.brokers.reading import Found
from rocketns.doctor.asking.watching import Watch
from rocketns.doctor.facts.brokers import BrokerFacts
from rocketns.doctor.facts.facts import Facts
from rocketns.doctor.facts.options import Options
from rocketns.doctor.finding import Finding, State
from rocketns.doctor.progress import Progress
from rocketns.doctor.running import Report, run
from rocketns.protocol.command import RemotingCommand
from tests.client.peers import Serve, answer, peer, serving
from tests.server.tls_configs import config

QUEUES = {"readQueueNums": 8, "writeQueueNums": 8, "perm": 6, "topicSysFlag": 0}
DIGESTS = 0x524E
WITHIN_S = 30.0


@dataclass
class StandIn:
    """``brokers``: name → id → address. ``topics``: name → broker → values that differ from QUEUES.

    ``clusters``: cluster → broker names, where a broker is not in the cluster ``c`` alone. ``wrong`` has the response
    code of requests that are refused. ``later`` are the brokers of the looks after the first.
    """

    brokers: dict[str, dict[int, str]] = field(default_factory=dict)
    topics: dict[str, dict[str, dict[str, int]]] = field(default_factory=dict)
    clusters: dict[str, list[str]] = field(default_factory=dict)
    wrong: dict[int, int] = field(default_factory=dict)
    later: list[dict[str, dict[int, str]]] = field(default_factory=list)
    is_rocketns: bool = False
    asked: list[int] = field(default_factory=list)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.CancelledError):  # the test is over
            await serving(lambda request: answer(request, *self.answer(request)))(reader, writer)

    def answer(self, request: RemotingCommand) -> tuple[int, bytes]:
        self.asked.append(request.code)
        if request.code in self.wrong:
            return self.wrong[request.code], b""
        if request.code == codes.GET_NAMESRV_CONFIG:
            return 0, b"kvConfigPath=/kv\n"
        code, value = self._value(request)
        return code, json.dumps(value).encode()

    def _value(self, request: RemotingCommand) -> tuple[int, Any]:
        match request.code:
            case codes.GET_BROKER_CLUSTER_INFO:
                return 0, self._cluster_info()
            case codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER:
                return 0, {"topicList": list(self.topics)}
            case codes.GET_ROUTEINFO_BY_TOPIC:
                return self._route(request.ext("topic") or "")
            case _ if request.code == DIGESTS and self.is_rocketns:
                return 0, None
        return 3, None

    def _cluster_info(self) -> Any:
        brokers = self.brokers
        if self.later and self.asked.count(codes.GET_BROKER_CLUSTER_INFO) > 1:
            brokers = self.later.pop(0)
        return {
            "brokerAddrTable": {name: self._group(name, addrs) for name, addrs in brokers.items()},
            "clusterAddrTable": self.clusters or {"c": list(brokers)},
        }

    def _route(self, topic: str) -> tuple[int, Any]:
        queues = self.topics.get(topic)
        if queues is None:
            return codes.TOPIC_NOT_EXIST, None
        datas = [{"brokerName": name} | QUEUES | other for name, other in queues.items()]
        groups = [self._group(name, self.brokers.get(name, {})) for name in queues]
        return 0, {"brokerDatas": groups, "filterServerTable": {}, "queueDatas": datas}

    def _group(self, name: str, addrs: dict[int, str]) -> dict[str, Any]:
        cluster = next((one for one, names in self.clusters.items() if name in names), "c")
        return {"cluster": cluster, "brokerName": name, "brokerAddrs": {str(key): addr for key, addr in addrs.items()}}


def gathered(
    *serves: Serve, every_s: float = 0.01, addrs: tuple[str, ...] = (), told: tuple[BrokerFacts, ...] = (),
    **options: Any,
) -> Facts:  # fmt: skip
    """What is gathered from name servers with these ways to serve, and at ``addrs``. No broker is asked.

    ``told`` is what brokers would have said.
    """

    async def gathering_all() -> Facts:
        async with AsyncExitStack() as stack:
            peers = [await stack.enter_async_context(peer(serve)) for serve in serves]
            given = Options((*(one.addr for one in peers), *addrs), **({"timeout_s": WITHIN_S} | options))
            tls = config(tls_enable="true") if given.tls else config()
            async with asyncio.timeout(2 * WITHIN_S):
                return await gathering.gather(given, tls, None, Progress(None), Watch(every_s))

    async def nobody(*_arguments: object) -> Found:
        return Found(brokers=told)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(gathering, "ask_brokers", nobody)
        return asyncio.run(gathering_all())


def examined(*name_servers: StandIn, **options: Any) -> Report:
    """The report of these name servers."""
    return run(gathered(*(one.serve for one in name_servers), **options))


def ill(report: Report) -> list[str]:
    """The names of the checks that found something, in order."""
    return [one.check for one in report.of(State.ILL)]


def found(report: Report, check: str) -> Finding:
    """The first finding of a check."""
    return next(one for one in report.findings if one.check == check)


ONE, TWO = "10.0.0.1:10911", "10.0.0.2:10911"
SYSTEM = {"SELF_TEST_TOPIC": {"broker-a": {}, "broker-b": {}}}
CREATION = {"TBW102": {"broker-a": {}, "broker-b": {}}}


def well(**topics: dict[str, dict[str, int]]) -> StandIn:
    """Two brokers that create topics by themselves, and the topic Orders on both."""
    both: dict[str, dict[str, int]] = {"broker-a": {}, "broker-b": {}}
    return StandIn({"broker-a": {0: ONE}, "broker-b": {0: TWO}}, {"Orders": both, **SYSTEM, **CREATION, **topics})
