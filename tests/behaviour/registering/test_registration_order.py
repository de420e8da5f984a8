"""REGISTER_BROKER's answer has the ordered topics: the KV namespace ORDER_TOPIC_CONFIG."""

from __future__ import annotations

from collections.abc import Callable

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register, registered

ORDER = {"namespace": "ORDER_TOPIC_CONFIG", "key": "TopicO"}


def put(client: Client) -> None:
    assert client.request(codes.PUT_KV_CONFIG, ORDER | {"value": "broker-a:4"}).code == 0


def test_answer_carries_the_order_configuration(start_server: Callable[..., NameServer], names: Names) -> None:
    """B117, B116, B118: without the namespace no body; with it, its table; when emptied, an empty table."""
    with start_server().connect() as client:
        assert registered(client, names).body is None
        put(client)
        assert registered(client, names).body == b'{"table":{"TopicO":"broker-a:4"}}'
        assert client.request(codes.DELETE_KV_CONFIG, ORDER).code == 0
        assert registered(client, names).body == b'{"table":{}}'


def test_refused_registration_does_not_carry_it(start_server: Callable[..., NameServer], names: Names) -> None:
    """B116: only a successful registration is answered with the ordered topics."""
    with start_server().connect() as client:
        put(client)
        answer = register(client, names, ["T"])
        assert (answer.code, answer.body) == (1, None)


def test_answer_has_no_body_when_switched_off(start_server: Callable[..., NameServer], names: Names) -> None:
    """B119: returnOrderTopicConfigToBroker=false."""
    with start_server({"returnOrderTopicConfigToBroker": "false"}).connect() as client:
        put(client)
        answer = registered(client, names)
        assert (answer.ext, answer.body) == ({}, None)
