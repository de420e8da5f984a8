"""REGISTER_BROKER bodies in plain JSON: their form by version, defaults, nulls and garbage."""

from __future__ import annotations

import zlib
from collections.abc import Callable

import pytest

from interop.harness.payloads import compressed_body, data_version, dumps, register_body, wrapper
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import TWO_TOPICS, assert_decode_failed, configs, query_version, register_with, registered
from tests.behaviour.views import addrs, filter_servers, group, loads, perms, route

V3_0_11, V5_0_0 = 37, 413
FILTERS = ["10.9.9.9:1"]


@pytest.mark.parametrize("version", [0, V3_0_11 - 1])
def test_old_peer_sends_the_bare_wrapper(client: Client, names: Names, version: int) -> None:
    """B122: version 36 bare wrapper body: topics registered, filters untouched."""
    registered(client, names, filters=FILTERS)
    body = dumps(wrapper(configs(names, ["T", "V"]), data_version(2)))
    # Such a peer knows no compression: the flag is ignored.
    assert register_with(client, names, body, peer_version=version, compressed="true").code == 0
    assert perms(client, names.topic("V")) == {names.broker: 6}
    assert filter_servers(client, names.topic("T")) == {names.addr(): FILTERS}


def test_old_peer_without_body_has_version_zero(client: Client, names: Names) -> None:
    """B122, B131: no body from a peer before V3_0_11."""
    assert register_with(client, names, b"", peer_version=V3_0_11 - 1).code == 0
    assert query_version(client, names, data_version(0, 0)).ext == {"changed": "false"}


def test_bare_wrapper_of_a_new_peer_has_no_known_keys(client: Client, names: Names) -> None:
    """B123: version 37 with a bare wrapper is like an empty body."""
    body = dumps(wrapper(configs(names, TWO_TOPICS)))
    assert register_with(client, names, body, peer_version=V3_0_11).code == 0
    assert addrs(client, names.broker) == {"0": names.addr()}
    assert route(client, names.topic("T")) is None


@pytest.mark.parametrize("version", [V5_0_0, 513])
def test_a_deflated_body_marked_plain(
    client: Client, names: Names, server_class: type[NameServer], version: int
) -> None:
    """B130: what a 5.x broker with compressedRegister=true sends.

    Java answers that it cannot decode it, so such a broker never registers. rocketns detects the deflated body.
    """
    body = compressed_body(configs(names, TWO_TOPICS))
    answer = register_with(client, names, body, peer_version=version)
    if server_class.kind == "java":
        assert_decode_failed(answer)
        return
    assert (answer.code, answer.ext) == (0, {})
    assert perms(client, names.topic("T")) == {names.broker: 6}
    assert query_version(client, names, data_version()).ext == {"changed": "false"}


@pytest.mark.parametrize("damage", [zlib.compress, lambda body: b"x" + body, lambda body: zlib.compress(body)[:-9]])
def test_deflated_json_is_no_compressed_registration(
    client: Client, names: Names, damage: Callable[[bytes], bytes]
) -> None:
    """B130: deflated JSON, whole and cut, and JSON behind an "x"."""
    body = damage(register_body(configs(names, TWO_TOPICS)))
    assert_decode_failed(register_with(client, names, body))
    assert group(client, names.broker) is None


def test_an_older_broker_says_what_it_sends(client: Client, names: Names) -> None:
    """B130: 4.x brokers set the flag when they deflate, so a body marked plain is plain."""
    body = compressed_body(configs(names, TWO_TOPICS), mapping=None)
    assert_decode_failed(register_with(client, names, body, peer_version=V5_0_0 - 1))


@pytest.mark.parametrize("body", [b"{}", b'{"topicConfigSerializeWrapper":{}}', b'{"unknown":[1]}'])
def test_empty_object_is_accepted(client: Client, names: Names, body: bytes) -> None:
    """B132: body {}: code 0, DataVersion 0/now/0."""
    answer = register_with(client, names, body)
    assert (answer.code, answer.ext) == (0, {})
    assert addrs(client, names.broker) == {"0": names.addr()}
    stored = loads(query_version(client, names).body)
    assert (stored["counter"], stored["stateVersion"]) == (0, 0)
    assert stored["timestamp"] > data_version()["timestamp"]
