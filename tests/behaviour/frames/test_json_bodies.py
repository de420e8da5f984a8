"""The JSON of bodies: escapes, and numeric map keys that a broker writes."""

from __future__ import annotations

from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, topic_config
from interop.harness.wire import Client
from tests.behaviour.calls import put_kv
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register_with
from tests.behaviour.views import route


def kv_list(client: Client, names: Names) -> bytes:
    body = client.request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": names.cluster}).body
    assert body is not None
    return body


def mapping(names: Names, **more: Any) -> dict[str, Any]:
    """topicQueueMappingInfoMap of the test's topic T on its broker, eight logical queues."""
    info = {
        "bname": names.broker,
        "currIdMap": {"0": 0, "1": 1},
        "dirty": False,
        "epoch": 7,
        "scope": "__global__",
        "topic": names.topic(),
        "totalQueues": 8,
    }
    return {names.topic(): info | more}


NAMED = {'"': '\\"', "\\": "\\\\", "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}
NUMBERED = {chr(n): f"\\u{n:04x}" for n in range(32) if chr(n) not in NAMED}


def test_control_characters_are_escaped(client: Client, names: Names) -> None:
    """B089: by a letter if JSON has one, else by four lower-case hex digits; in a body and in a header."""
    escapes = NAMED | NUMBERED
    put_kv(client, names.cluster, "k", "".join(escapes))
    written = '"' + "".join(escapes.values()) + '"'
    assert kv_list(client, names) == f'{{"table":{{"k":{written}}}}}'.encode()
    answer = client.request(codes.GET_KV_CONFIG, {"namespace": names.cluster, "key": "k"})
    assert f'"value":{written}'.encode() in answer.header_bytes


@pytest.mark.parametrize(
    "written", [b"{0:0,1:1}", b'{"0":0,"1":1}', b'{0:"0", 1 : 1}'], ids=["bare", "quoted", "mixed"]
)
def test_bare_numeric_keys_are_accepted(client: Client, names: Names, written: bytes) -> None:
    """B093: brokers send their mappings with either."""
    topics = [topic_config(names.topic(name)) for name in "TU"]
    body = register_body(topics, mapping=mapping(names, currIdMap="HERE")).replace(b'"HERE"', written)
    assert register_with(client, names, body).code == codes.SUCCESS
    assert route(client, names.topic())["topicQueueMappingByBroker"][names.broker]["currIdMap"] == {"0": 0, "1": 1}
