"""DELETE_TOPIC_IN_NAMESRV and REGISTER_TOPIC_IN_NAMESRV."""

from __future__ import annotations

from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import dumps
from interop.harness.wire import Answer, Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import route


def queue_data(broker: str | None, perm: int = 6) -> dict[str, Any]:
    return {"brokerName": broker, "perm": perm, "readQueueNums": 1, "topicSysFlag": 3, "writeQueueNums": 2}


def send_topic(client: Client, topic: str, body: bytes) -> Answer:
    return client.request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": topic}, body)


def register_topic(client: Client, topic: str, *queues: dict[str, Any]) -> None:
    answer = send_topic(client, topic, dumps({"queueDatas": queues}))
    assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, None, None)


@pytest.mark.parametrize("unknown", ["no-such-broker", None])
def test_new_topic_with_an_unknown_broker_is_not_registered(client: Client, names: Names, unknown: str | None) -> None:
    """B226: 217 new topic with an unknown broker: code 0, nothing registered."""
    registered(client, names)
    register_topic(client, names.topic("V"), queue_data(names.broker), queue_data(unknown))
    assert route(client, names.topic("V")) is None


NO_QUEUES = [b"", b"{}", b'{"queueDatas":[]}', b'{"queueDatas":null}', b'{"queueDatas":[null]}', b"null", b'{"x":1}']


@pytest.mark.parametrize("body", NO_QUEUES)
def test_body_without_queues_registers_nothing(client: Client, names: Names, body: bytes) -> None:
    """B228: 217 no body / empty."""
    registered(client, names)
    assert send_topic(client, names.topic("V"), body).code == 0
    assert route(client, names.topic("V")) is None


@pytest.mark.parametrize("ext", [{}, None])
def test_no_topic_registers_nothing(client: Client, names: Names, ext: dict[str, str] | None) -> None:
    """B228: 217 no topic."""
    registered(client, names)
    before = client.request(codes.GET_TOPICS_BY_CLUSTER, {"cluster": names.cluster}).json()
    body = dumps({"queueDatas": [queue_data(names.broker)]})
    assert client.request(codes.REGISTER_TOPIC_IN_NAMESRV, ext, body).code == 0
    after = client.request(codes.GET_TOPICS_BY_CLUSTER, {"cluster": names.cluster}).json()
    assert sorted(after["topicList"]) == sorted(before["topicList"])
