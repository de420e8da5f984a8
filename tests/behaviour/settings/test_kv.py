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


def test_put_without_value_creates_only_the_namespace(client: Client, names: Names) -> None:
    """B096: 100 without value; then 101 says 22, the list omits it."""
    assert put(client, namespace=names.cluster, key="k").code == 0
    assert get(client, namespace=names.cluster, key="k").code == codes.QUERY_NOT_FOUND
    assert listed(client, names.cluster).body == b'{"table":{}}'


def test_put_without_value_hides_the_value_before(client: Client, names: Names) -> None:
    """B096: a missing value replaces an existing one."""
    put(client, namespace=names.cluster, key="k", value="v")
    assert put(client, namespace=names.cluster, key="k").code == 0
    assert get(client, namespace=names.cluster, key="k").code == codes.QUERY_NOT_FOUND


def test_put_of_an_empty_value_is_a_value(client: Client, names: Names) -> None:
    """B097: 100 empty value in a JSON header."""
    assert put(client, namespace=names.cluster, key="k", value="").code == 0
    answer = get(client, namespace=names.cluster, key="k")
    assert (answer.code, answer.ext) == (0, {"value": ""})
    assert listed(client, names.cluster).json() == {"table": {"k": ""}}


@pytest.mark.parametrize("value", ["1", "broker-a:4;broker-b:4", 'ü "quoted" \\ \u2028', "two\nlines"])
def test_get_returns_the_value(client: Client, names: Names, value: str) -> None:
    """B098: 101 found."""
    put(client, namespace=names.cluster, key="k", value=value)
    answer = get(client, namespace=names.cluster, key="k")
    assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, {"value": value}, None)


def test_get_of_a_missing_key_or_namespace_is_not_found(client: Client, names: Names) -> None:
    """B099: 101 missing."""
    put(client, namespace=names.cluster, key="k", value="v")
    for namespace in (names.cluster, names.broker):
        answer = get(client, namespace=namespace, key="zz")
        assert answer.code == codes.QUERY_NOT_FOUND
        assert (answer.remark, answer.ext) == (f"No config item, Namespace: {namespace} Key: zz", {})


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


def test_deleting_the_last_key_keeps_the_namespace(client: Client, names: Names) -> None:
    """B102: 102 last key."""
    put(client, namespace=names.cluster, key="k", value="v")
    delete(client, namespace=names.cluster, key="k")
    answer = listed(client, names.cluster)
    assert (answer.code, answer.body) == (0, b'{"table":{}}')


def test_list_gives_the_whole_namespace(client: Client, names: Names) -> None:
    """B103: 219 found."""
    put(client, namespace=names.cluster, key="k1", value="v1")
    assert listed(client, names.cluster).body == b'{"table":{"k1":"v1"}}'
    put(client, namespace=names.cluster, key="k2", value="v2")
    answer = listed(client, names.cluster)
    assert (answer.code, answer.remark, answer.ext) == (0, None, None)
    assert answer.json() == {"table": {"k1": "v1", "k2": "v2"}}


def test_list_of_an_unknown_namespace_is_not_found(client: Client, names: Names) -> None:
    """B104: 219 missing."""
    answer = listed(client, names.broker)
    assert (answer.code, answer.remark) == (22, f"No config item, Namespace: {names.broker}")
    assert (answer.ext, answer.body) == (None, None)


@pytest.mark.parametrize("ext", [{}, None])
def test_list_without_namespace_is_not_found(client: Client, ext: dict[str, str] | None) -> None:
    """B104: 219 without its field prints null."""
    answer = client.request(codes.GET_KVLIST_BY_NAMESPACE, ext)
    assert (answer.code, answer.remark, answer.ext) == (22, "No config item, Namespace: null", None)
