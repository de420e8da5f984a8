"""REGISTER_BROKER bodies that are one zlib stream, as 4.9 brokers send them."""

from __future__ import annotations

import struct
import zlib
from typing import Any

import pytest

from interop.harness.payloads import compressed_body, data_version, dumps, register_body, topic_config
from interop.harness.wire import Answer, Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import TWO_TOPICS, assert_decode_failed, configs, query_version, register_with
from tests.behaviour.views import filter_servers, group, queue, route

V4_9_4_SNAPSHOT, V5_0_0 = 400, 413
FILTERS = ["10.9.9.9:1"]


def register_compressed(client: Client, names: Names, body: bytes, **more: Any) -> Answer:
    return register_with(client, names, body, compressed="true", **more)


def from_blocks(*lines: bytes, count: int | None = None, filters: bytes = b"[]") -> bytes:
    """A stream with topic lines and a filter list of any content, and no mappings."""
    blocks = [dumps(data_version()), struct.pack(">i", len(lines) if count is None else count), *lines, filters]
    raw = [blocks[1] if i == 1 else struct.pack(">i", len(b)) + b for i, b in enumerate(blocks)]
    return zlib.compress(b"".join([*raw, struct.pack(">i", 0)]))


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


def test_old_peers_mappings_are_not_read(client: Client, names: Names) -> None:
    """B128: version 400: bytes after the filter list are ignored."""
    body = compressed_body(configs(names, TWO_TOPICS), mapping=[{"topic": names.topic("T"), "bname": "b"}])
    assert register_compressed(client, names, body, peer_version=V4_9_4_SNAPSHOT).code == 0
    assert "topicQueueMappingByBroker" not in route(client, names.topic("T"))


def test_no_body_is_no_stream(client: Client, names: Names) -> None:
    """B131: no body, marked compressed: the same as unmarked."""
    assert register_compressed(client, names, b"").code == 0
    assert query_version(client, names, data_version(0, 0)).ext == {"changed": "false"}


GOOD = from_blocks(b"T 1 1 6 SINGLE_TAG", b"U 1 1 6 SINGLE_TAG")
BAD = {
    "plain JSON": register_body([topic_config("T"), topic_config("U")]),
    "bad zlib": b"x\x9c" + b"\xff" * 40,
    "truncated": GOOD[: len(GOOD) // 2],
    "four tokens": from_blocks(b"T 1 1 6", b"U 1 1 6 SINGLE_TAG"),
    "no number": from_blocks(b"T one 1 6 SINGLE_TAG", b"U 1 1 6 SINGLE_TAG"),
    "unknown filter type": from_blocks(b"T 1 1 6 NONE", b"U 1 1 6 SINGLE_TAG"),
    "more topics announced": from_blocks(b"T 1 1 6 SINGLE_TAG", count=1000),
    "negative length": zlib.compress(struct.pack(">i", -1)),
}


@pytest.mark.parametrize("body", BAD.values(), ids=BAD)
def test_broken_stream_is_refused(client: Client, names: Names, body: bytes) -> None:
    """B129: compressed flag on plain JSON, bad zlib, truncated, bad line: decode failure, nothing registered."""
    assert_decode_failed(register_compressed(client, names, body))
    assert group(client, names.broker) is None


ATTRIBUTES = ["", " {}", ' {"+message.type":"FIFO"}', " not-json", " {} seventh"]


@pytest.mark.parametrize("attributes", ATTRIBUTES)
def test_sixth_token_does_not_matter(client: Client, names: Names, attributes: str) -> None:
    """B126: attributes are optional, and an unparsable one is ignored."""
    lines = [f"{names.topic(t)} 3 2 4 MULTI_TAG{attributes}".encode() for t in TWO_TOPICS]
    assert register_compressed(client, names, from_blocks(*lines)).code == 0
    assert queue(client, names.topic("T")) == {
        "brokerName": names.broker, "perm": 4, "readQueueNums": 3, "topicSysFlag": 0, "writeQueueNums": 2,
    }  # fmt: skip


def test_unparsable_filter_list_is_read_as_empty(client: Client, names: Names) -> None:
    """B126: the registration is still accepted."""
    lines = [f"{names.topic(t)} 1 1 6 SINGLE_TAG".encode() for t in TWO_TOPICS]
    register_compressed(client, names, from_blocks(*lines, filters=b'["10.9.9.9:1"]'))
    assert filter_servers(client, names.topic("T")) == {names.addr(): FILTERS}
    assert register_compressed(client, names, from_blocks(*lines, filters=b"[broken")).code == 0
    assert filter_servers(client, names.topic("T")) == {}
