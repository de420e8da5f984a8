"""DELETE_TOPIC_IN_NAMESRV and REGISTER_TOPIC_IN_NAMESRV."""

from __future__ import annotations

from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import dumps
from interop.harness.wire import Answer, Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import addrs, perms, route


def delete(client: Client, **ext: str) -> None:
    answer = client.request(codes.DELETE_TOPIC_IN_NAMESRV, ext or None)
    assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, None, None)


def queue_data(broker: str | None, perm: int = 6) -> dict[str, Any]:
    return {"brokerName": broker, "perm": perm, "readQueueNums": 1, "topicSysFlag": 3, "writeQueueNums": 2}


def send_topic(client: Client, topic: str, body: bytes) -> Answer:
    return client.request(codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": topic}, body)


def register_topic(client: Client, topic: str, *queues: dict[str, Any]) -> None:
    answer = send_topic(client, topic, dumps({"queueDatas": queues}))
    assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, None, None)


def register_in_two_clusters(client: Client, names: Names) -> tuple[str, str]:
    """A broker in each of two clusters, both with topic T; the second broker and cluster."""
    broker, cluster = names.broker + "-b", names.cluster + "-2"
    registered(client, names)
    registered(client, names, host=2, brokerName=broker, clusterName=cluster)
    return broker, cluster


@pytest.mark.parametrize("cluster", [{}, {"clusterName": ""}], ids=["absent", "empty"])
def test_delete_without_cluster_is_everywhere(client: Client, names: Names, cluster: dict[str, str]) -> None:
    """B222: 216 without cluster: topic gone everywhere; brokers and their other topics stay."""
    register_in_two_clusters(client, names)
    delete(client, topic=names.topic("T"), **cluster)
    assert route(client, names.topic("T")) is None
    assert addrs(client, names.broker) == {"0": names.addr(1)}
    assert len(perms(client, names.topic("U"))) == 2


def test_delete_with_cluster_is_of_that_cluster(client: Client, names: Names) -> None:
    """B223: 216 with cluster: only in that cluster. The topic is removed with its last broker."""
    other, second = register_in_two_clusters(client, names)
    delete(client, topic=names.topic("T"), clusterName=names.cluster)
    assert perms(client, names.topic("T")) == {other: 6}
    delete(client, topic=names.topic("T"), clusterName=second)
    assert route(client, names.topic("T")) is None


def test_delete_in_an_unknown_cluster_changes_nothing(client: Client, names: Names) -> None:
    """B224: 216 unknown cluster / unknown topic."""
    registered(client, names)
    delete(client, topic=names.topic("T"), clusterName="unknown")
    delete(client, topic="unknown", clusterName=names.cluster)
    delete(client, topic="unknown")
    assert perms(client, names.topic("T")) == {names.broker: 6}


def test_delete_without_topic_changes_nothing(client: Client, names: Names) -> None:
    """B224: 216 no topic / no ext."""
    registered(client, names)
    delete(client)
    delete(client, clusterName=names.cluster)
    delete(client, topic="")
    assert perms(client, names.topic("T")) == perms(client, names.topic("U")) == {names.broker: 6}


def test_existing_part_is_replaced_and_others_stay(client: Client, names: Names) -> None:
    """B225: 217 of a topic that two brokers have."""
    other, _ = register_in_two_clusters(client, names)
    register_topic(client, names.topic("T"), queue_data(names.broker, perm=2))
    assert perms(client, names.topic("T")) == {names.broker: 2, other: 6}


def test_several_parts_at_once(client: Client, names: Names) -> None:
    """B225: 217 new topic on two known brokers."""
    other, _ = register_in_two_clusters(client, names)
    register_topic(client, names.topic("V"), queue_data(names.broker), queue_data(other, perm=4))
    assert perms(client, names.topic("V")) == {names.broker: 6, other: 4}


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


@pytest.mark.parametrize("body", [b"x", b"[]", b'{"queueDatas":', b'{"queueDatas":[{"brokerName":}]}'])
def test_bad_json_fails(client: Client, names: Names, body: bytes) -> None:
    """B229: 217 bad JSON: code 1, nothing registered."""
    registered(client, names)
    answer = send_topic(client, names.topic("V"), body)
    assert (answer.code, answer.ext) == (1, None)
    assert answer.remark
    assert route(client, names.topic("V")) is None
