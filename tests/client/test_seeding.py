"""Reading the routes from another name server: which of several is used, and which are left out, and why."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import Any

import pytest

from interop.harness import codes
from rocketns.client import seeding
from rocketns.client.name_server import NameServer
from rocketns.protocol.codes import SerializeType
from rocketns.protocol.command import RemotingCommand
from rocketns.routeinfo.prior_routes import PriorRoutes
from tests.client.peers import CLOSED, Serve, answer, peer, remoting, serving

EPOCH_MS = 1_700_000_000_000
GROUP = {"cluster": "c", "brokerName": "b", "brokerAddrs": {"0": "10.0.0.1:10911", "1": "10.0.0.2:10911"}}
QUEUES = {"brokerName": "b", "readQueueNums": 8, "writeQueueNums": 4, "perm": 6, "topicSysFlag": 1}
ROUTE = {"brokerDatas": [GROUP], "filterServerTable": {}, "queueDatas": [QUEUES]}
CLUSTER, TOPICS, LOOKUP = (
    codes.GET_BROKER_CLUSTER_INFO, codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER, codes.GET_ROUTEINFO_BY_TOPIC,
)  # fmt: skip
WHOLE = {
    CLUSTER: {"brokerAddrTable": {"b": GROUP}, "clusterAddrTable": {"c": ["b"]}},
    TOPICS: {"topicList": ["T", "U"]},
    LOOKUP: ROUTE,
}

Answers = Mapping[int, Any] | Callable[[RemotingCommand], tuple[int, Any]]


def answering(answers: Answers) -> Serve:
    """A name server with answers by request code, or one response code and body for every request."""

    def answer_to(request: RemotingCommand) -> bytes:
        code, body = answers(request) if callable(answers) else (0, answers.get(request.code))
        return answer(request, code, body if isinstance(body, bytes) else json.dumps(body).encode())

    return serving(answer_to)


async def seeded(*servers: Serve | str, within_s: float = 20) -> PriorRoutes | None:
    """The routes read from these servers; a text is an address."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(remoting())
        addrs = [one if isinstance(one, str) else (await stack.enter_async_context(peer(one))).addr for one in servers]
        seeds = [NameServer(client, addr, SerializeType.JSON) for addr in addrs]
        return await seeding.seeded_routes(seeds, within_s, EPOCH_MS)


async def test_equal_names_are_one_object() -> None:
    """The tables have one for each topic: it is kept once, and compared by identity."""
    group, queues = (one | {"brokerName": "broker"} for one in (GROUP, QUEUES))
    route = {"brokerDatas": [group], "queueDatas": [queues], "topicQueueMappingByBroker": {"broker": {}}}
    known = await seeded(answering(WHOLE | {CLUSTER: {"brokerAddrTable": {"broker": group}}, LOOKUP: route}))
    assert known is not None
    (name,) = known.groups
    held = [name for of_topic in (known.topics, known.mappings) for brokers in of_topic.values() for name in brokers]
    assert (len(held), {id(one) for one in held}) == (4, {id(name)})


async def test_a_route_drops_brokers_that_the_cluster_info_lacks() -> None:
    """A broker that registered meanwhile, and queues of a broker that is gone."""
    other = QUEUES | {"brokerName": "other"}
    known = await seeded(answering(WHOLE | {LOOKUP: ROUTE | {"queueDatas": [other, QUEUES]}}))
    assert known is not None
    assert known.topics["T"].keys() == {"b"}


def refusing(code: int) -> Answers:
    return lambda request: (1, b"") if request.code == code else (0, WHOLE[request.code])


WRONG: dict[str, tuple[Serve | str, str]] = {
    "nobody listens": (CLOSED, "connecting to 127.0.0.1:1 failed"),
    "no brokers": (answering(WHOLE | {CLUSTER: {}}), "it has no brokers itself"),
    "no topics": (answering(WHOLE | {TOPICS: {"topicList": []}}), "it has no topics itself"),
    "not ready": (answering(refusing(LOOKUP)), "it answered request 105 with code 1"),
    "no JSON": (answering(WHOLE | {CLUSTER: b"<html>"}), "its answer is not that of a name server"),
    "queues without a broker": (answering(WHOLE | {LOOKUP: {"queueDatas": [{}]}}), "not that of a name server"),
    "too many values": (answering(WHOLE | {TOPICS: {"topicList": [""] * 500_001}}), "not that of a name server"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
async def test_a_peer_that_gives_no_routes_is_left_out_and_the_next_is_taken(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    serve, reason = WRONG[name]
    known = await seeded(serve, answering(WHOLE))
    assert known is not None
    assert known.topics.keys() == {"T", "U"}
    [left_out] = [one.getMessage() for one in caplog.records if "is left out" in one.getMessage()]
    assert reason in left_out


async def silence(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter) -> None:
    while await reader.read(1 << 16):
        pass


async def test_the_whole_time_is_bounded(caplog: pytest.LogCaptureFixture) -> None:
    assert await seeded(silence, answering(WHOLE), within_s=0.3) is None
    assert "took longer than seedSeconds" in caplog.text
    assert "brokers appear as they register" in caplog.text


async def test_queues_beyond_the_bound_are_refused(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(seeding, "ENTRIES_MAX", 2)
    assert await seeded(answering(WHOLE)) is not None
    monkeypatch.setattr(seeding, "ENTRIES_MAX", 1)
    assert await seeded(answering(WHOLE)) is None
    assert "it has more than 1 queues of topics on brokers" in caplog.text
