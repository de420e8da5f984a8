"""QUERY_DATA_VERSION and BROKER_HEARTBEAT: their answers. tests/timed has their effect on expiry."""

from __future__ import annotations

import pytest

from interop.harness.payloads import data_version
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import heartbeat, query_version, registered
from tests.behaviour.views import addrs, group

STORED = data_version(counter=3, timestamp=1000, state=2)


IGNORED = [{"brokerName": "other"}, {"brokerName": None}, {"brokerId": "7"}, {"brokerId": "x"}, {"brokerId": None}]


@pytest.mark.parametrize("ext", IGNORED)
def test_name_and_id_do_not_matter(client: Client, names: Names, ext: dict[str, str]) -> None:
    """B171: 322 wrong brokerName or id."""
    registered(client, names, version=STORED)
    assert query_version(client, names, STORED, **ext).ext == {"changed": "false"}


def test_query_repeated_answers_the_same(client: Client, names: Names) -> None:
    """B173: 322 repeated: the tables do not change."""
    registered(client, names, version=STORED)
    before = group(client, names.broker)
    for _ in range(5):
        answer = query_version(client, names, dict(reversed(STORED.items())))
        assert (answer.ext, answer.json()) == ({"changed": "false"}, STORED)
    assert group(client, names.broker) == before


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
