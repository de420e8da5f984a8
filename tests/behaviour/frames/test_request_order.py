"""Requests of one connection take effect in the order of sending, whichever thread answers them."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext, topic_config
from interop.harness.servers import NameServer
from interop.harness.wire import ROCKETMQ, binary_header, frame, json_header
from tests.behaviour.calls import both_encodings
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import loads

REGISTER_OPAQUE, LOOKUP_OPAQUE = 71, 72


def request(code: int, ext: dict[str, str], body: bytes, opaque: int, binary: bool) -> bytes:
    if binary:
        return frame(binary_header(code, ext, opaque=opaque), body, ROCKETMQ)
    return frame(json_header(code, ext, opaque=opaque), body)


@both_encodings
@pytest.mark.parametrize("topics", [1, 3_000], ids=["small", "large"])
def test_a_lookup_behind_a_registration_finds_its_topics(
    server: NameServer, names: Names, binary: bool, topics: int
) -> None:
    """B041: both arrive in one piece. The lookup must not overtake the earlier request of its own peer."""
    if server.kind == "java":
        pytest.skip("Java's thread pools answer the requests of one connection in any order")
    configs = [topic_config(names.topic(f"New{n}")) for n in range(topics)]
    body = register_body(configs)
    ext = register_ext(names.cluster, names.broker, names.addr(), 0, body)
    with server.connect() as client:
        registered(client, names)
        client.send(
            request(codes.REGISTER_BROKER, ext, body, REGISTER_OPAQUE, binary)
            + request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": names.topic("New0")}, b"", LOOKUP_OPAQUE, binary)
        )
        first, second = client.receive(), client.receive()
    assert (first.opaque, first.code) == (REGISTER_OPAQUE, codes.SUCCESS)
    assert (second.opaque, second.code) == (LOOKUP_OPAQUE, codes.SUCCESS), second.remark
    assert loads(second.body)["queueDatas"][0]["brokerName"] == names.broker
