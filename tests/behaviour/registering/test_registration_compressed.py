"""REGISTER_BROKER bodies that are one zlib stream, as 4.9 brokers send them."""

from __future__ import annotations

from typing import Any

import pytest

from interop.harness.payloads import compressed_body, data_version, topic_config
from interop.harness.wire import Answer, Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import configs, query_version, register_with
from tests.behaviour.views import filter_servers, queue, route

V5_0_0 = 413
FILTERS = ["10.9.9.9:1"]


def register_compressed(client: Client, names: Names, body: bytes, **more: Any) -> Answer:
    return register_with(client, names, body, compressed="true", **more)


@pytest.mark.parametrize("version", [V5_0_0, 513, 613])
def test_body_with_mappings_is_accepted(client: Client, names: Names, version: int) -> None:
    """B126: version ≥ 413 with mapping count: accepted; the topic's sysFlag is not carried."""
    mapping = {"bname": names.broker, "currIdMap": {"0": 0}, "epoch": 1, "scope": "s", "topic": names.topic("T"),
               "totalQueues": 1}  # fmt: skip
    topics = [topic_config(names.topic("T"), read=5, write=4, perm=7, flag=3), *configs(names, ["U"])]
    body = compressed_body(topics, data_version(9), filters=(*FILTERS,), mapping=[mapping])
    assert register_compressed(client, names, body, peer_version=version).code == 0
    assert queue(client, names.topic("T")) == {
        "brokerName": names.broker, "perm": 7, "readQueueNums": 5, "topicSysFlag": 0, "writeQueueNums": 4,
    }  # fmt: skip
    assert filter_servers(client, names.topic("T")) == {names.addr(): FILTERS}
    assert route(client, names.topic("T"))["topicQueueMappingByBroker"][names.broker]["totalQueues"] == 1
    assert query_version(client, names, data_version(9)).ext == {"changed": "false"}


def test_no_body_is_no_stream(client: Client, names: Names) -> None:
    """B131: no body, marked compressed: the same as unmarked."""
    assert register_compressed(client, names, b"").code == 0
    assert query_version(client, names, data_version(0, 0)).ext == {"changed": "false"}
