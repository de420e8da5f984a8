"""GET_BROKER_CLUSTER_INFO and GET_BROKER_MEMBER_GROUP: the tables as they are."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from interop.harness import codes
from interop.harness.servers import NameServer
from interop.harness.wire import Client
from tests.behaviour.conftest import Names
from tests.behaviour.steps import registered
from tests.behaviour.views import loads

VERSIONS = [0, 400, 401, 513]
REMARK = "not set any response code"


def test_tables_have_unquoted_keys_for_all_versions(start_server: Callable[..., NameServer], names: Names) -> None:
    """B216: 106: raw tables, unquoted keys, even in standard JSON mode and with acting master."""
    more = {"enableActingMaster": "true", "__ZONE_NAME": "z1"}
    with start_server({"supportActingMaster": "true"}).connect() as client:
        registered(client, names, host=1, broker_id=1, **more)
        registered(client, names, host=2, broker_id=2, **more)
        expected = (
            f'{{"brokerAddrTable":{{"{names.broker}":{{"brokerAddrs":{{1:"{names.addr(1)}",2:"{names.addr(2)}"}},'
            f'"brokerName":"{names.broker}","cluster":"{names.cluster}","enableActingMaster":true,"zoneName":"z1"}}}},'
            f'"clusterAddrTable":{{"{names.cluster}":["{names.broker}"]}}}}'
        ).encode()
        for version in VERSIONS:
            ext = {"acceptStandardJsonOnly": "true"}
            assert client.request(codes.GET_BROKER_CLUSTER_INFO, ext, version=version).body == expected


def test_cluster_lists_all_its_brokers(client: Client, names: Names) -> None:
    """B216: two groups of one cluster, one of another."""
    second = names.cluster + "-2"
    for host, (broker, cluster) in enumerate([("a", names.cluster), ("b", names.cluster), ("c", second)], 1):
        registered(client, names, host=host, brokerName=f"{names.broker}-{broker}", clusterName=cluster)
    info = loads(client.request(codes.GET_BROKER_CLUSTER_INFO).body)
    assert sorted(info["clusterAddrTable"][names.cluster]) == [f"{names.broker}-a", f"{names.broker}-b"]
    assert info["clusterAddrTable"][second] == [f"{names.broker}-c"]
    assert info["brokerAddrTable"][f"{names.broker}-c"]["cluster"] == second


def members_of(client: Client, version: int = 513, **ext: str) -> bytes | None:
    """The body of 901. Code, remark and extFields are always the same."""
    answer = client.request(codes.GET_BROKER_MEMBER_GROUP, ext or None, version=version)
    assert (answer.code, answer.remark, answer.ext) == (0, REMARK, None)
    return answer.body


@pytest.mark.parametrize("version", VERSIONS)
def test_members_of_a_group(client: Client, names: Names, version: int) -> None:
    """B217: 901 known group."""
    registered(client, names)
    registered(client, names, host=2, broker_id=1)
    body = members_of(client, version, clusterName=names.cluster, brokerName=names.broker)
    assert (
        body
        == (
            f'{{"brokerMemberGroup":{{"brokerAddrs":{{0:"{names.addr(1)}",1:"{names.addr(2)}"}},'
            f'"brokerName":"{names.broker}","cluster":"{names.cluster}"}}}}'
        ).encode()
    )


@pytest.mark.parametrize("ext", [{"clusterName": "c"}, {"clusterName": "c", "x": "y"}])
def test_missing_broker_name_is_left_out(client: Client, ext: dict[str, str]) -> None:
    """B217: 901 without brokerName."""
    assert members_of(client, **ext) == b'{"brokerMemberGroup":{"brokerAddrs":{},"cluster":"c"}}'
