"""From a decoded request to its handler: codes of the controller, bodies and fields that nobody reads."""

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
