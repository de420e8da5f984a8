"""KV configuration over the wire: put, get, delete and list."""

from __future__ import annotations

import json

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Answer, Client
from tests.behaviour.conftest import Names


def put(client: Client, **fields: str) -> Answer:
    return client.request(codes.PUT_KV_CONFIG, fields)


def get(client: Client, **fields: str) -> Answer:
    return client.request(codes.GET_KV_CONFIG, fields)


def delete(client: Client, **fields: str) -> Answer:
    return client.request(codes.DELETE_KV_CONFIG, fields)


def listed(client: Client, namespace: str) -> Answer:
    return client.request(codes.GET_KVLIST_BY_NAMESPACE, {"namespace": namespace})


def test_put_stores_the_value_and_rewrites_the_file(server: NameServer, client: Client, names: Names) -> None:
    """B094: 100 good."""
    answer = put(client, namespace=names.cluster, key="k", value="v")
    assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, None, None)
    assert get(client, namespace=names.cluster, key="k").ext == {"value": "v"}
    stored = json.loads((server.home / "kvConfig.json").read_bytes())
    assert stored["configTable"][names.cluster] == {"k": "v"}


@pytest.mark.parametrize("ext", [{"namespace": "n", "value": "v"}, {"key": "k", "value": "v"}, {}, None])
def test_put_without_namespace_or_key_is_refused(client: Client, ext: dict[str, str] | None) -> None:
    """B095: 100 without namespace or key, or without ext."""
    answer = client.request(codes.PUT_KV_CONFIG, ext)
    assert (answer.code, answer.remark, answer.ext) == (1, "namespace or key is null", None)


@pytest.mark.parametrize("ext", [{}, None])
def test_get_without_fields_says_null(client: Client, ext: dict[str, str] | None) -> None:
    """B100: 101 without fields."""
    answer = client.request(codes.GET_KV_CONFIG, ext)
    assert (answer.code, answer.remark) == (22, "No config item, Namespace: null Key: null")


def test_delete_always_succeeds(client: Client, names: Names) -> None:
    """B101: 102 existing, repeated, unknown."""
    put(client, namespace=names.cluster, key="k", value="v")
    for namespace, key in (
        (names.cluster, "k"),
        (names.cluster, "k"),
        (names.cluster, "no"),
        (names.broker, "k"),
    ):
        answer = delete(client, namespace=namespace, key=key)
        assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, None, None)
        assert get(client, namespace=namespace, key=key).code == codes.QUERY_NOT_FOUND


@pytest.mark.parametrize("ext", [{}, None, {"namespace": "unknown"}, {"key": "unknown"}])
def test_delete_without_fields_succeeds(client: Client, ext: dict[str, str] | None) -> None:
    """B101: 102 without ext."""
    assert client.request(codes.DELETE_KV_CONFIG, ext).code == 0


@pytest.mark.parametrize("ext", [{}, None])
def test_list_without_namespace_is_not_found(client: Client, ext: dict[str, str] | None) -> None:
    """B104: 219 without its field prints null."""
    answer = client.request(codes.GET_KVLIST_BY_NAMESPACE, ext)
    assert (answer.code, answer.remark, answer.ext) == (22, "No config item, Namespace: null", None)
