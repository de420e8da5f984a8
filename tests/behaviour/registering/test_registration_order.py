"""REGISTER_BROKER's answer has the ordered topics: the KV namespace ORDER_TOPIC_CONFIG."""

from __future__ import annotations

from collections.abc import Callable

from interop.harness import codes
from interop.harness.servers import NameServer
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register

ORDER = {"namespace": "ORDER_TOPIC_CONFIG", "key": "TopicO", "value": "broker-a:4"}


def test_refused_registration_does_not_carry_it(start_server: Callable[..., NameServer], names: Names) -> None:
    """B116: only a successful registration is answered with the ordered topics."""
    with start_server().connect() as client:
        assert client.request(codes.PUT_KV_CONFIG, ORDER).code == 0
        answer = register(client, names, ["T"])
        assert (answer.code, answer.body) == (1, None)
