"""From a decoded request to its handler: unknown codes, failing handlers, and how header fields are read."""

from __future__ import annotations

from typing import Any

import pytest

from interop.harness import codes
from interop.harness.payloads import register_body, register_ext
from interop.harness.wire import Client
from tests.behaviour.calls import both_encodings, get_kv, put_kv
from tests.behaviour.conftest import Names
from tests.behaviour.views import addrs

ACL_FIELDS = {"AccessKey": "someone", "Signature": "bm8=", "SecurityToken": "t", "OnsChannel": "ALIYUN"}


@pytest.mark.parametrize("code", [9999, 0, -1, 1, 99, 107, 321, 902, 903, 905, 32767])
@both_encodings
def test_an_unknown_code_is_not_supported(client: Client, code: int, binary: bool) -> None:
    """B076: the remark begins with a blank. 905 is a request that the name server sends, not one it takes."""
    answer = client.request(code, {"topic": "T"}, b"body", binary=binary)
    assert answer.code == codes.REQUEST_CODE_NOT_SUPPORTED
    assert answer.remark == f" request type {code} not supported"
    assert (answer.ext, answer.body) == (None, None)


def test_codes_beyond_the_binary_headers_range_are_not_supported(client: Client) -> None:
    """B076: a JSON header carries 32 bits."""
    for code in (2**31 - 1, -(2**31), 65536 + 206):
        assert client.request(code).remark == f" request type {code} not supported"


@pytest.mark.parametrize("code", [*range(1001, 1007), *range(1009, 1014)])
def test_controller_codes_are_not_supported(client: Client, code: int) -> None:
    """B249: the controller is not served on the name server's port."""
    answer = client.request(code, {"clusterName": "C1", "brokerName": "b"})
    assert (answer.code, answer.remark) == (3, f" request type {code} not supported")


@pytest.mark.parametrize(
    ("code", "ext", "body"),
    [
        (codes.REGISTER_BROKER, register_ext(brokerId=None), b""),
        (codes.REGISTER_BROKER, register_ext(bodyCrc32=None), b"{"),
        (codes.QUERY_DATA_VERSION, {"clusterName": "C", "brokerAddr": "a:1"}, b"{"),
        (codes.QUERY_DATA_VERSION, {"clusterName": "C"}, b""),
        (codes.BROKER_HEARTBEAT, {"brokerAddr": "a:1"}, b""),
        (codes.REGISTER_TOPIC_IN_NAMESRV, {"topic": "T"}, b"not json"),
    ],
    ids=["no broker id", "bad registration", "bad version", "no address", "no cluster", "bad route"],
)
@both_encodings
def test_a_failing_handler_answers_a_system_error(
    client: Client, code: int, ext: dict[str, str], body: bytes, binary: bool
) -> None:
    """B079: the remark is not empty, and there is no ext area even where a success has one."""
    answer = client.request(code, ext, body, binary=binary)
    assert answer.code == codes.SYSTEM_ERROR
    assert answer.remark
    assert (answer.ext, answer.body) == (None, None)
    assert client.request(codes.GET_ALL_TOPIC_LIST_FROM_NAMESERVER).code == codes.SUCCESS


@pytest.mark.parametrize(
    ("code", "result", "remark"),
    [
        (codes.GET_KV_CONFIG, codes.QUERY_NOT_FOUND, "No config item, Namespace: null Key: null"),
        (codes.DELETE_KV_CONFIG, codes.SUCCESS, None),
        (codes.UNREGISTER_BROKER, codes.SUCCESS, None),
        (codes.WIPE_WRITE_PERM_OF_BROKER, codes.SUCCESS, None),
        (codes.DELETE_TOPIC_IN_NAMESRV, codes.SUCCESS, None),
        (codes.GET_TOPICS_BY_CLUSTER, codes.SUCCESS, None),
    ],
)
@pytest.mark.parametrize("ext", [None, {}, {"unrelated": "1"}], ids=["no ext", "empty ext", "other fields"])
@both_encodings
def test_missing_fields_are_no_error_by_themselves(
    client: Client, code: int, result: int, remark: str | None, ext: dict[str, str] | None, binary: bool
) -> None:
    """B082, B083: without ext nothing is checked; with ext a missing required field is null."""
    answer = client.request(code, ext, binary=binary)
    assert (answer.code, answer.remark) == (result, remark)


@pytest.mark.parametrize("body", [b"{}", b"not json \x00\xff", bytes(100_000)], ids=["json", "noise", "zeros"])
def test_a_body_that_is_not_needed_is_ignored(client: Client, names: Names, body: bytes) -> None:
    """B086: an unexpected body does not change the answer."""
    put_kv(client, names.topic("ns"), "k", "v")
    fields = {"namespace": names.topic("ns"), "key": "k", "topic": names.topic("none")}
    for code in (codes.GET_KV_CONFIG, codes.GET_KVLIST_BY_NAMESPACE, codes.GET_ROUTEINFO_BY_TOPIC):
        bare, stuffed = client.request(code, fields), client.request(code, fields, body)
        assert (stuffed.code, stuffed.remark, stuffed.ext) == (bare.code, bare.remark, bare.ext)
        assert stuffed.body == bare.body


@both_encodings
def test_acl_fields_are_ignored(client: Client, names: Names, binary: bool) -> None:
    """B251: there is no access control; signed requests work like unsigned ones."""
    body = register_body([])
    fields: dict[str, Any] = register_ext(names.cluster, names.broker, names.addr(), body=body)
    assert client.request(codes.REGISTER_BROKER, fields | ACL_FIELDS, body, binary=binary).ext == {}
    assert addrs(client, names.broker) == {"0": names.addr()}
    stored = {"namespace": names.topic("ns"), "key": "k", "value": "v"}
    assert client.request(codes.PUT_KV_CONFIG, stored | ACL_FIELDS, binary=binary).code == codes.SUCCESS
    assert get_kv(client, names.topic("ns"), "k").ext == {"value": "v"}
    answer = client.request(codes.GET_ROUTEINFO_BY_TOPIC, {"topic": names.topic("none")} | ACL_FIELDS, binary=binary)
    assert answer.code == codes.TOPIC_NOT_EXIST
