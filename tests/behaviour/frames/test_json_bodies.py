"""The JSON of bodies: omitted members, escapes, and the two dialects of numeric map keys."""

from __future__ import annotations

import json
from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import dumps, register_body, topic_config
from interop.harness.wire import Client
from tests.behaviour.calls import put_kv, route_body
from tests.behaviour.conftest import Names
from tests.behaviour.steps import register_with, registered
from tests.behaviour.views import loads, route

OLD, NEW = 400, 401  # the last peer version with unquoted keys, the first with quoted ones


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


def test_null_fields_are_left_out(client: Client, names: Names) -> None:
    """B087: zone, order configuration and static mapping are omitted; the filter table is present though empty."""
    registered(client, names)
    data = json.loads(route_body(client, names.topic()))
    assert list(data) == ["brokerDatas", "filterServerTable", "queueDatas"]
    assert list(data["brokerDatas"][0]) == ["brokerAddrs", "brokerName", "cluster", "enableActingMaster"]


def test_null_map_values_are_left_out(client: Client, names: Names) -> None:
    """B087: a key stored without a value, and an address without filter servers."""
    put_kv(client, names.cluster, "full", "v")
    client.request(codes.PUT_KV_CONFIG, {"namespace": names.cluster, "key": "hollow"})
    assert kv_list(client, names) == b'{"table":{"full":"v"}}'
    registered(client, names, filters=["f:1"])
    registered(client, names, (), host=2, broker_id=1)
    assert route(client, names.topic())["filterServerTable"] == {names.addr(): ["f:1"]}


def test_a_bodys_keys_are_compact_and_in_alphabetical_order(client: Client, names: Names) -> None:
    """B087: there are no blanks between members."""
    registered(
        client, names, [topic_config(names.topic(), 4, 3, 6, 1), topic_config(names.topic("U"))], __ZONE_NAME="z"
    )
    group = (
        f'{{"brokerAddrs":{{"0":"{names.addr()}"}},"brokerName":"{names.broker}","cluster":"{names.cluster}",'
        '"enableActingMaster":false,"zoneName":"z"}'
    )
    queue = f'{{"brokerName":"{names.broker}","perm":6,"readQueueNums":4,"topicSysFlag":1,"writeQueueNums":3}}'
    whole = f'{{"brokerDatas":[{group}],"filterServerTable":{{}},"queueDatas":[{queue}]}}'
    assert route_body(client, names.topic()) == whole.encode()


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


def join_members(client: Client, names: Names, ids: list[int]) -> str:
    """Register members with these ids, host number = place in the list; their addresses as standard-mode JSON."""
    addresses = {}
    for host, broker_id in enumerate(ids, 1):
        registered(client, names, host=host, broker_id=broker_id)
        addresses[broker_id] = names.addr(host)
    return dumps({str(n): addresses[n] for n in sorted(addresses)}).decode()


@pytest.mark.parametrize("version", [0, 37, 213, 399, OLD, -1])
def test_numeric_keys_are_bare_in_default_mode(client: Client, names: Names, version: int) -> None:
    """B090: {0:"…",1:"…"}, which is not valid JSON."""
    registered(client, names, mapping=mapping(names))
    registered(client, names, (), host=2, broker_id=1)
    body = route_body(client, names.topic(), version)
    assert f'"brokerAddrs":{{0:"{names.addr(1)}",1:"{names.addr(2)}"}}'.encode() in body
    assert b'"currIdMap":{0:0,1:1}' in body


@pytest.mark.parametrize(
    ("code", "key"),
    [(codes.GET_BROKER_CLUSTER_INFO, "brokerAddrTable"), (codes.GET_BROKER_MEMBER_GROUP, "brokerMemberGroup")],
)
@pytest.mark.parametrize("version", [0, 513, 612])
def test_other_bodies_are_always_in_default_mode(
    client: Client, names: Names, code: int, key: str, version: int
) -> None:
    """B090: cluster and group information have bare keys for every peer."""
    registered(client, names)
    fields = {"clusterName": names.cluster, "brokerName": names.broker}
    body = client.request(code, fields, version=version).body or b""
    assert f'{{0:"{names.addr()}"}}'.encode() in body
    assert key in loads(body)


@pytest.mark.parametrize("version", [NEW, 513, 612, 32767])
def test_numeric_keys_are_quoted_and_sorted_in_standard_mode(client: Client, names: Names, version: int) -> None:
    """B091: by number, not by text."""
    expected = join_members(client, names, [0, 10, 2, -3, 1])
    body = route_body(client, names.topic(), version)
    assert expected.startswith('{"-3":')
    assert f'"brokerAddrs":{expected},'.encode() in body


@pytest.mark.parametrize(
    "written", [b"{0:0,1:1}", b'{"0":0,"1":1}', b'{0:"0", 1 : 1}'], ids=["bare", "quoted", "mixed"]
)
def test_bare_numeric_keys_are_accepted(client: Client, names: Names, written: bytes) -> None:
    """B093: brokers send their mappings with either."""
    topics = [topic_config(names.topic(name)) for name in "TU"]
    body = register_body(topics, mapping=mapping(names, currIdMap="HERE")).replace(b'"HERE"', written)
    assert register_with(client, names, body).code == codes.SUCCESS
    assert route(client, names.topic())["topicQueueMappingByBroker"][names.broker]["currIdMap"] == {"0": 0, "1": 1}
