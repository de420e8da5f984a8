"""QUERY_DATA_VERSION and BROKER_HEARTBEAT: their answers. tests/timed has their effect on expiry."""

from __future__ import annotations

import pytest

from interop.harness import codes
from interop.harness.payloads import data_version
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, query_version, registered, unregister_ext
from tests.behaviour.views import addrs, cluster_info, group

STORED = data_version(counter=3, timestamp=1000, state=2)


def test_unknown_broker_is_changed(client: Client, names: Names) -> None:
    """B168: 322 unknown: changed true, no body; asking does not register."""
    answer = query_version(client, names, STORED)
    assert (answer.code, answer.ext, answer.body) == (0, {"changed": "true"}, None)
    assert group(client, names.broker) is None


@pytest.mark.parametrize("body", [b"", b"null"], ids=["none", "null"])
def test_query_without_version_is_changed(client: Client, names: Names, body: bytes) -> None:
    """B170: 322 without body."""
    registered(client, names, version=STORED)
    answer = client.request(codes.QUERY_DATA_VERSION, unregister_ext(names), body)
    assert (answer.code, answer.ext) == (0, {"changed": "true"})
    assert answer.json() == STORED


def test_missing_keys_of_the_version_have_defaults(client: Client, names: Names) -> None:
    """B169: stateVersion and counter are 0 where they are missing (4.9 sends no stateVersion); keys in any order."""
    registered(client, names, version=data_version(0, timestamp=5, state=0))
    answer = client.request(codes.QUERY_DATA_VERSION, unregister_ext(names), b'{"timestamp":5}')
    assert answer.ext == {"changed": "false"}


IGNORED = [{"brokerName": "other"}, {"brokerName": None}, {"brokerId": "7"}, {"brokerId": "x"}, {"brokerId": None}]


@pytest.mark.parametrize("ext", IGNORED)
def test_name_and_id_do_not_matter(client: Client, names: Names, ext: dict[str, str]) -> None:
    """B171: 322 wrong brokerName or id."""
    registered(client, names, version=STORED)
    assert query_version(client, names, STORED, **ext).ext == {"changed": "false"}


@pytest.mark.parametrize("body", [b"x", b"[]", b'{"counter":', b'{"counter":"x"}'])
def test_query_with_a_bad_body_fails(client: Client, names: Names, body: bytes) -> None:
    """B172: 322 bad body."""
    registered(client, names, version=STORED)
    answer = client.request(codes.QUERY_DATA_VERSION, unregister_ext(names), body)
    assert (answer.code, answer.ext, answer.body) == (1, None, None)
    assert answer.remark


def test_query_repeated_answers_the_same(client: Client, names: Names) -> None:
    """B173: 322 repeated: the tables do not change."""
    registered(client, names, version=STORED)
    before = group(client, names.broker)
    for _ in range(5):
        answer = query_version(client, names, dict(reversed(STORED.items())))
        assert (answer.ext, answer.json()) == ({"changed": "false"}, STORED)
    assert group(client, names.broker) == before


def test_heartbeat_succeeds_for_known_and_unknown(client: Client, names: Names) -> None:
    """B174: 904 known / unknown: code 0 both, and no registration."""
    unknown = heartbeat(client, names)
    assert group(client, names.broker) is None
    registered(client, names)
    for answer in (unknown, heartbeat(client, names)):
        assert (answer.code, answer.remark, answer.ext, answer.body) == (0, None, None, None)


@pytest.mark.parametrize(
    "ext", [{"brokerName": None}, {"brokerId": None}, {"epoch": "x"}, {"heartbeatTimeoutMills": "0"}]
)
def test_heartbeat_ignores_the_rest(client: Client, names: Names, ext: dict[str, str]) -> None:
    """B174: only cluster and address are read."""
    registered(client, names)
    assert heartbeat(client, names, **ext).code == 0
    assert addrs(client, names.broker) == {"0": names.addr()}


@pytest.mark.parametrize("ext", [{"clusterName": None}, {"brokerAddr": None}], ids=["cluster", "address"])
def test_heartbeat_without_cluster_or_address_fails(client: Client, names: Names, ext: dict[str, None]) -> None:
    """B175: 904 missing cluster or address."""
    answer = heartbeat(client, names, **ext)
    assert (answer.code, answer.ext) == (1, None)
    assert answer.remark


def test_heartbeat_without_any_field_fails(client: Client) -> None:
    """B175: 904 without ext."""
    answer = client.request(codes.BROKER_HEARTBEAT)
    assert (answer.code, answer.ext) == (1, None)


def test_heartbeat_of_a_wrong_cluster_succeeds(client: Client, names: Names) -> None:
    """B176: 904 wrong cluster: code 0; no cluster appears."""
    registered(client, names)
    assert heartbeat(client, names, clusterName=names.cluster + "-2").code == 0
    assert names.cluster + "-2" not in cluster_info(client)["clusterAddrTable"]
