"""GET_ROUTEINFO_BY_TOPIC: its body in both JSON dialects, and its refusals."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import Client, frame
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import ask_route, route

ORDER = {"namespace": "ORDER_TOPIC_CONFIG"}


def body_with(names: Names, addresses: str) -> bytes:
    """The route of a topic of one broker with two addresses. ``addresses`` is the map as written."""
    return (
        f'{{"brokerDatas":[{{"brokerAddrs":{addresses},"brokerName":"{names.broker}","cluster":"{names.cluster}",'
        '"enableActingMaster":true,"zoneName":"z1"}],"filterServerTable":{},'
        f'"queueDatas":[{{"brokerName":"{names.broker}","perm":6,"readQueueNums":4,"topicSysFlag":1,'
        '"writeQueueNums":3}]}'
    ).encode()


def quoted(names: Names) -> bytes:
    return body_with(names, f'{{"0":"{names.addr(1)}","1":"{names.addr(2)}"}}')


def unquoted(names: Names) -> bytes:
    return body_with(names, f'{{0:"{names.addr(1)}",1:"{names.addr(2)}"}}')


@pytest.fixture
def topic(client: Client, names: Names) -> str:
    """A topic on a master with a slave."""
    more: dict[str, Any] = {"enableActingMaster": "true", "__ZONE_NAME": "z1"}
    registered(client, names, [topic_config(names.topic("T"), read=4, write=3, flag=1), "U"], **more)
    registered(client, names, host=2, broker_id=1, **more)
    return names.topic("T")


def test_client_without_version_gets_unquoted_keys(client: Client, names: Names, topic: str) -> None:
    """B199: version absent."""
    client.send(frame(json.dumps({"code": 105, "opaque": 5, "extFields": {"topic": topic}}).encode()))
    assert client.receive().body == unquoted(names)


@pytest.mark.parametrize("version", [0, 400, 513])
@pytest.mark.parametrize("value", ["true", "TRUE"])
def test_standard_json_gets_quoted_keys(client: Client, names: Names, topic: str, version: int, value: str) -> None:
    """B200: acceptStandardJsonOnly true, any version."""
    assert ask_route(client, topic, version=version, acceptStandardJsonOnly=value).body == quoted(names)


@pytest.mark.parametrize("value", ["false", "1", "", "yes"])
def test_other_values_do_not_ask_for_standard_json(client: Client, names: Names, topic: str, value: str) -> None:
    """B200: anything but true leaves it to the version."""
    assert ask_route(client, topic, version=0, acceptStandardJsonOnly=value).body == unquoted(names)


def test_every_key_in_order(start_server: Callable[..., NameServer], names: Names) -> None:
    """B201: 105 body keys."""
    topic = names.topic("T")
    mapping = {topic: {"bname": names.broker, "currIdMap": {}, "topic": topic}}
    with start_server({"orderMessageEnable": "true"}).connect() as client:
        registered(client, names, mapping=mapping)
        assert list(route(client, topic)) == [
            "brokerDatas", "filterServerTable", "queueDatas", "topicQueueMappingByBroker",
        ]  # fmt: skip
        assert client.request(codes.PUT_KV_CONFIG, ORDER | {"key": topic, "value": "v"}).code == 0
        assert list(route(client, topic)) == [
            "brokerDatas", "filterServerTable", "orderTopicConf", "queueDatas", "topicQueueMappingByBroker",
        ]  # fmt: skip
